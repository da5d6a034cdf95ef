/* SPDX-License-Identifier: MIT */
/*
 * coroutines COUNT ROUNDS: so many coroutines of one thread, each with a stack of its own, allocate
 * in turn.
 */
#include <sys/mman.h>
#include <ucontext.h>

#include "made.h"

#define COUNT_MAX  256
#define STACK_SIZE (64u << 10)

static ucontext_t back, coroutines[COUNT_MAX];
static int current;

static void run(void)
{
	for (;;) {
		make_silently(1, 1307);
		swapcontext(&coroutines[current], &back);
	}
}

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 2, rounds = argc > 2 ? atoi(argv[2]) : 100;
	char *stacks;

	if (count > COUNT_MAX)
		return 2;
	stacks = mmap(NULL, (size_t)count * STACK_SIZE, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < count; i++) {
		getcontext(&coroutines[i]);
		coroutines[i].uc_stack.ss_sp = stacks + (size_t)i * STACK_SIZE;
		coroutines[i].uc_stack.ss_size = STACK_SIZE;
		makecontext(&coroutines[i], run, 0);
	}
	for (int i = 0; i < rounds; i++)
		for (current = 0; current < count; current++)
			swapcontext(&back, &coroutines[current]);
	say_made((unsigned long)(count * rounds), 1307);
	return 0;
}
