/* SPDX-License-Identifier: MIT */
/* Mappings: a free says its range, whatever was mapped there; the break grows and shrinks. */
#include "expect.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096ul
#define DATA (PROT_READ | PROT_WRITE)

static void mapped(const char *how, char *at, unsigned long size, int flags)
{
	expect("%s<mapping>(%lu) = 0x%lx\n\t$length = %lu\n\t$prot = 0x3\n\t$flags = 0x%x", how,
	       size, (unsigned long)at, size, (unsigned)flags);
	expect("\t$fd = -1\n\t$offset = 0x0");
}

int main(void)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS;
	char *at = mmap(NULL, 8 * PAGE, DATA, flags, -1, 0), *old, *end;

	mapped("mmap", at, 8 * PAGE, flags);
	if (munmap(at + 6 * PAGE, 2 * PAGE))
		return 1;
	expect("munmap<mapping>(0x%lx)\n\t$length = 8192", (unsigned long)at + 6 * PAGE);
	if (mmap64(at + PAGE, PAGE, DATA, flags | MAP_FIXED, -1, 0) != at + PAGE)
		return 1;
	expect("mmap64<mapping>(0x%lx)", (unsigned long)at + PAGE);
	mapped("mmap64", at + PAGE, PAGE, flags | MAP_FIXED);
	old = at + 4 * PAGE;
	end = mremap(old, 2 * PAGE, 4 * PAGE, MREMAP_MAYMOVE);
	expect("mremap<mapping>(0x%lx)\nmremap<mapping>(16384) = 0x%lx", (unsigned long)old,
	       (unsigned long)end);
	expect("\t$length = 8192\n\t$new_length = 16384\n\t$flags = 0x1");
	if (mremap(end, 4 * PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, at) != at)
		return 1;
	expect("mremap<mapping>(0x%lx)\nmremap<mapping>(0x%lx)\nmremap<mapping>(4096) = 0x%lx",
	       (unsigned long)at, (unsigned long)end, (unsigned long)at);
	if (mmap(NULL, 0, DATA, flags, -1, 0) != MAP_FAILED || errno != EINVAL)
		return 1;
	expect("mmap<event>(0xffffffffffffffff)");
	if (munmap(at + 1, PAGE) != -1 || errno != EINVAL)
		return 1;
	expect("munmap<event>(0x%lx)", (unsigned long)at + 1);
	old = sbrk(3 * PAGE);
	expect("sbrk<mapping>(12288) = 0x%lx\n\t$increment = 12288", (unsigned long)old);
	if (sbrk(0) != old + 3 * PAGE || sbrk(-(long)PAGE) != old + 3 * PAGE)
		return 1;
	expect("sbrk<event>(*)\n\t$increment = 0");
	expect("sbrk<mapping>(0x%lx)\n\t$increment = -4096", (unsigned long)old + 2 * PAGE);
	if (brk(old + 4 * PAGE) || brk(old))
		return 1;
	expect("brk<mapping>(8192) = 0x%lx", (unsigned long)old + 2 * PAGE);
	expect("brk<mapping>(0x%lx)", (unsigned long)old);
	expect_print();
	return 0;
}
