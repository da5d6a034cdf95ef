/* SPDX-License-Identifier: MIT */
/*
 * Hooks on the smallest stacks there are: a thread's of PTHREAD_STACK_MIN, coroutines' of 8 and 16
 * KiB, and a signal's of little more than the kernel itself needs.
 */
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "made.h"

static ucontext_t back, coroutine;
static uintptr_t shallow;

static void *start(void *argument)
{
	make_silently(100, 1045);
	return argument;
}

static void run(void)
{
	for (int i = 0; i < 10; i++) {
		make_silently(10, 1047);
		swapcontext(&coroutine, &back);
	}
}

static void handler(int number)
{
	char here;

	(void)number;
	shallow = (uintptr_t)&here;
	make_silently(1, 1049);
}

/* A stack with a page behind its low end that nobody may touch. */
static char *guarded(size_t size)
{
	size_t whole = (size + 4095) & ~4095ul;
	char *memory = mmap(NULL, whole + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);

	mprotect(memory, 4096, PROT_NONE);
	return memory + 4096 + whole - size;
}

int main(void)
{
	/* What the kernel puts there for a signal, and a page for the handler and all that it
	 * calls. */
	size_t size = getauxval(AT_MINSIGSTKSZ) + 4096;
	stack_t stack = { .ss_sp = guarded(size), .ss_size = size };
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_ONSTACK };
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, PTHREAD_STACK_MIN);
	pthread_create(&thread, &attributes, start, NULL);
	pthread_join(thread, NULL);
	for (size_t bytes = 8 << 10; bytes <= 16 << 10; bytes *= 2) {
		getcontext(&coroutine);
		coroutine.uc_stack.ss_sp = guarded(bytes);
		coroutine.uc_stack.ss_size = bytes;
		coroutine.uc_link = &back;
		makecontext(&coroutine, run, 0);
		for (int i = 0; i < 10; i++)
			swapcontext(&back, &coroutine);
	}
	if (sigaltstack(&stack, NULL) || sigaction(SIGUSR1, &action, NULL))
		return 1;
	for (int i = 0; i < 100; i++)
		raise(SIGUSR1);
	printf("on its stack %d\n", shallow - (uintptr_t)stack.ss_sp < size);
	fflush(stdout);
	say_made(100, 1045);
	say_made(200, 1047);
	say_made(100, 1049);
	return 0;
}
