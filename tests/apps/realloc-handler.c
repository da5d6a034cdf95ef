/* SPDX-License-Identifier: MIT */
/* What a signal handler gains while a block is moved stands between the loss and the gain. */
#include "expect.h"

#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>

#define PAGE  4096ul
#define SIZE  (16 * PAGE)
#define LARGE 100000

static char *page;
static void *volatile acquired;

/* The copy has come to the page; the allocator has nothing half done then. */
static void on_fault(int signal)
{
	(void)signal;
	mprotect(page, PAGE, PROT_READ | PROT_WRITE);
	acquired = malloc(77);
}

int main(void)
{
	struct sigaction action = { .sa_handler = on_fault };
	char *block = malloc(SIZE), *behind = malloc(100), *moved;
	uintptr_t old = (uintptr_t)block;

	sigaction(SIGSEGV, &action, NULL);
	page = block + (-old & (PAGE - 1)) + PAGE;
	mprotect(page, PAGE, PROT_NONE);
	moved = realloc(block, LARGE);
	if (!acquired || (uintptr_t)moved == old)
		return 1;
	expect("realloc<memory>(0x%lx)\nmalloc<memory>(77) = %p\nrealloc<memory>(%d) = %p",
	       (unsigned long)old, acquired, LARGE, (void *)moved);
	free(behind);
	expect_print();
	return 0;
}
