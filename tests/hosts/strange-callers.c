/* SPDX-License-Identifier: MIT */
/*
 * Allocates from code that no unwind table describes: generated at run time, and with garbage in
 * the frame pointer; then under 100,000 frames of recursion.
 */
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "made.h"

#if defined(__x86_64__)
/* Calls malloc with garbage in rbp; gives the block back. */
__asm__(".text\n.globl call_with_garbage\n.type call_with_garbage, @function\ncall_with_garbage:\n"
	"push %rbp\npush %rbx\npush %rbx\n"
	"mov $0xdeadbeefcafe, %rbp\n"
	"call malloc@PLT\n"
	"mov $8, %rbp\nmov %rax, %rdi\n"
	"call free@PLT\n"
	"pop %rbx\npop %rbx\npop %rbp\nret\n"
	".size call_with_garbage, .-call_with_garbage\n");
void call_with_garbage(size_t size);

/* sub rsp, 8; movabs rax, malloc; call rax; add rsp, 8; ret */
static void *(*generate(void))(size_t)
{
	static const unsigned char before[] = { 0x48, 0x83, 0xec, 0x08, 0x48, 0xb8 };
	static const unsigned char after[] = { 0xff, 0xd0, 0x48, 0x83, 0xc4, 0x08, 0xc3 };
	void *(*function)(size_t) = malloc;
	char *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memcpy(code, before, sizeof(before));
	memcpy(code + sizeof(before), &function, sizeof(function));
	memcpy(code + sizeof(before) + sizeof(function), after, sizeof(after));
	return (void *(*)(size_t))(void *)code;
}
#else
static void call_with_garbage(size_t size)
{
	make_silently(1, size);
}

static void *(*generate(void))(size_t)
{
	return malloc;
}
#endif

static __attribute__((noinline)) unsigned descend(unsigned depth)
{
	volatile unsigned below;

	if (!depth) {
		make_silently(100, 1055);
		return 0;
	}
	below = descend(depth - 1);
	return below + 1;
}

int main(void)
{
	void *(*generated)(size_t) = generate();

	for (int i = 0; i < 100; i++) {
		free(generated(1051));
		call_with_garbage(1053);
	}
	printf("depth %u\n", descend(100000));
	fflush(stdout);
	say_made(100, 1051);
	say_made(100, 1053);
	say_made(100, 1055);
	return 0;
}
