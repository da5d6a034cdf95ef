/* SPDX-License-Identifier: MIT */
/*
 * Allocates on stacks that are nearly, but not quite, as they were before: what a remembered
 * backtrace could be mistaken for. The same call site under other callers whose frames are alike,
 * recursions of equal frames, frames shifted by alloca so that others come to lie at the same
 * place, dead frames inside an array, jumps back to the same depth, coroutines in turn on parts of
 * one stack and elsewhere, signal handlers on a stack of their own in between, threads on stacks
 * that others have left. The order is random; an argument chooses it.
 */
#define _GNU_SOURCE
#include <alloca.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#define NOINLINE __attribute__((noinline, noclone))

static __thread uint32_t seed;

static unsigned int dice(unsigned int sides)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 16) % sides;
}

static NOINLINE void leaf(void)
{
	void *memory = malloc(10);

	__asm__ volatile("" : "+r"(memory));
	free(memory);
	__asm__ volatile("");
}

static NOINLINE void other_leaf(void)
{
	void *volatile memory = malloc(20);

	free(memory);
	__asm__ volatile("");
}

/* Callers whose frames are alike and lie at the same place. */
#define TWIN(name)                                 \
	static NOINLINE void name(int depth)       \
	{                                          \
		volatile long room[4] = { depth }; \
		play((int)room[0] - 1);            \
		__asm__ volatile("");              \
	}

static void play(int depth);

TWIN(first_twin)
TWIN(second_twin)
TWIN(third_twin)

static NOINLINE void recurse(int depth, int times)
{
	if (times > 0)
		recurse(depth, times - 1);
	else
		play(depth - 1);
	if (times & 1)
		leaf();
	__asm__ volatile("");
}

static NOINLINE void under_alloca(int depth, volatile char *memory)
{
	memory[0] = (char)depth;
	play(depth - 1);
	__asm__ volatile("");
}

/* Together they shift what is below by the same amount, whichever of them has most of it. */
static NOINLINE void shift_inner(int depth, int size)
{
	volatile char *memory = alloca((size_t)size * 16 + 16);

	under_alloca(depth, memory);
	leaf();
	memory[1] = 0;
}

static NOINLINE void shift(int depth)
{
	int size = (int)dice(4);
	volatile char *memory = alloca((size_t)size * 16 + 16);

	memory[0] = 0;
	shift_inner(depth, 3 - size);
	memory[1] = 0;
}

static void *volatile nothing;

static NOINLINE void single(void)
{
	free(nothing);
	__asm__ volatile("");
}

static NOINLINE void through(int which)
{
	if (which == 0)
		single();
	else
		leaf();
	__asm__ volatile("");
}

static NOINLINE void shifted(int which, int size)
{
	volatile char *memory = alloca((size_t)size * 16 + 16);

	memory[0] = 0;
	if (which == 2)
		single();
	else
		through(which);
	memory[1] = 0;
}

static NOINLINE void shifter(int which, int size)
{
	volatile char *memory = alloca((size_t)size * 16 + 16);

	memory[0] = 0;
	if (size == 0) {
		shifted(which, 3);
		memory[1] = 1;
	} else {
		shifted(which, 3 - size);
		memory[1] = 2;
	}
}

/*
 * The same functions at the same place, but one frame between them has moved, and what it left says
 * that it was called from elsewhere. Only the frame pointer tells.
 */
static NOINLINE void shifts(void)
{
	for (int which = 0; which < 3; which++)
		for (volatile int i = 0; i < 4; i++)
			shifter(which, (i & 1) * 3);
}

static NOINLINE void one_way(void)
{
	leaf();
	__asm__ volatile("");
}

static NOINLINE void other_way(void)
{
	other_leaf();
	__asm__ volatile("");
}

static NOINLINE void turn(int times)
{
	for (volatile int left = times; left > 0; left--) {
		one_way();
		other_way();
	}
}

static NOINLINE void middle(int times)
{
	turn(times);
	__asm__ volatile("");
}

static NOINLINE void one_side(int times)
{
	volatile long room[4] = { times };

	middle((int)room[0]);
	__asm__ volatile("");
}

static NOINLINE void other_side(int times)
{
	volatile long room[4] = { times };

	middle((int)room[0]);
	__asm__ volatile("");
}

/*
 * Two ways in turn, which lead to a frame that is always the same, and what that was called by is
 * not.
 */
static NOINLINE void turns(int times)
{
	one_side(times);
	other_side(times);
	one_side(2);
	__asm__ volatile("");
}

/* Uses the frame pointer for something else while a caller's frame hangs on it. */
static NOINLINE void clobber(int depth)
{
	long values[8];

	for (int i = 0; i < 8; i++)
		values[i] = dice(100) + i;
#if defined(__x86_64__) && defined(CLOBBER_FP)
	__asm__ volatile("" : : : "rbp", "rbx", "r12", "r13", "r14", "r15");
#endif
	play(depth - 1);
	for (int i = 0; i < 8; i++)
		__asm__ volatile("" : : "r"(values[i]));
	leaf();
}

static NOINLINE void aligned(int depth)
{
	volatile char memory[64] __attribute__((aligned(64)));

	memory[depth & 63] = 1;
	play(depth - 1);
	memory[0] = memory[depth & 63];
}

/* Its array covers the frames that others have just left, with their return addresses. */
static NOINLINE void hole(int depth)
{
	volatile char memory[1024];

	memory[dice(1024)] = 1;
	memory[0] += memory[1];
	if (dice(2))
		play(depth - 1);
	else
		leaf();
	memory[0] = 0;
}

static __thread sigjmp_buf back;
static __thread int jumps_left;

static NOINLINE void jump(int depth)
{
	if (jumps_left > 0) {
		jumps_left = 0;
		siglongjmp(back, 1);
	}
	play(depth - 1);
	__asm__ volatile("");
}

static NOINLINE void land(int depth)
{
	volatile int at = depth;
	sigjmp_buf saved;
	int was = jumps_left;

	memcpy(&saved, &back, sizeof(saved));
	if (sigsetjmp(back, 1) == 0) {
		jumps_left = 1;
		play(at - 1);
		leaf();
	} else {
		other_leaf();
	}
	memcpy(&back, &saved, sizeof(saved));
	jumps_left = was;
	leaf();
}

static __thread int handlers;

static void on_signal(int number)
{
	(void)number;
	if (handlers++ < 2)
		play((int)dice(3));
	leaf();
	handlers--;
}

static __thread int coroutine_now = -1;

static NOINLINE void interrupt(int depth)
{
	int was = jumps_left, coroutine_was = coroutine_now;

	jumps_left = 0; /* neither out of a handler nor to another coroutine */
	coroutine_now = -1;
	leaf();
	raise(dice(2) ? SIGUSR1 : SIGUSR2);
	leaf();
	jumps_left = was;
	coroutine_now = coroutine_was;
	play(depth - 1);
	__asm__ volatile("");
}

#define COROUTINES 3

static struct {
	ucontext_t context, caller;
	int depth;
	volatile int is_done;
} coroutines[COROUTINES];

static NOINLINE void yield(int depth)
{
	int now = coroutine_now;

	if (now >= 0) {
		int was = jumps_left;
		sigjmp_buf saved;

		memcpy(&saved, &back, sizeof(saved));
		jumps_left = 0;
		coroutine_now = -1;
		swapcontext(&coroutines[now].context, &coroutines[now].caller);
		memcpy(&back, &saved, sizeof(saved));
		coroutine_now = now;
		jumps_left = was;
	}
	leaf();
	play(depth - 1);
	__asm__ volatile("");
}

static void coroutine(void)
{
	int now = coroutine_now;

	for (int i = 0; i < 20; i++) {
		jumps_left = 0;
		play(coroutines[now].depth);
		yield(0);
	}
	coroutines[now].is_done = 1;
	coroutine_now = -1;
}

/* In turn, the first of them on part of this very stack. */
static NOINLINE void run_coroutines(void)
{
	static char elsewhere[COROUTINES][65536];
	char here[65536] __attribute__((aligned(16)));
	volatile int left = COROUTINES;

	for (int i = 0; i < COROUTINES; i++) {
		getcontext(&coroutines[i].context);
		coroutines[i].context.uc_stack.ss_sp = i == 0 ? here : elsewhere[i];
		coroutines[i].context.uc_stack.ss_size = sizeof(here);
		coroutines[i].context.uc_link = &coroutines[i].caller;
#if defined(__x86_64__)
		/* libunwind follows it out of the coroutine. */
		coroutines[i].context.uc_mcontext.gregs[REG_RBP] = 0;
#endif
		coroutines[i].depth = 4;
		coroutines[i].is_done = 0;
		makecontext(&coroutines[i].context, coroutine, 0);
	}
	while (left > 0) {
		volatile int now = (int)dice(COROUTINES);

		if (coroutines[now].is_done)
			continue;
		coroutine_now = now;
		swapcontext(&coroutines[now].caller, &coroutines[now].context);
		coroutine_now = -1;
		left -= coroutines[now].is_done;
		leaf();
	}
}

static void play(int depth)
{
	static void (*const moves[])(int depth) = { first_twin, second_twin, third_twin, shift,
						    clobber,	aligned,     hole,	 land,
						    jump,	interrupt,   yield };

	if (depth <= 0) {
		leaf();
		return;
	}
	for (unsigned int i = 0; i <= dice(3); i++) {
		unsigned int which = dice(sizeof(moves) / sizeof(moves[0]) + 2);

		if (which < sizeof(moves) / sizeof(moves[0]))
			moves[which](depth);
		else
			recurse(depth, (int)dice(12));
		if (dice(2))
			other_leaf();
	}
}

static void use_signal_stack(void *memory, size_t size)
{
	stack_t stack = { .ss_sp = memory, .ss_size = size };

	sigaltstack(&stack, NULL);
}

static void *run_thread(void *argument)
{
	char signal_stack[65536];

	seed = (uint32_t)(uintptr_t)argument;
	use_signal_stack(signal_stack, sizeof(signal_stack));
	for (int i = 0; i < 10; i++)
		play(4);
	return NULL;
}

int main(int argc, char *argv[])
{
	static char signal_stack[65536];
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_ONSTACK | SA_NODEFER };

	if (argc > 1 && strcmp(argv[1], "turns") == 0) {
		turns(5000);
		return 0;
	}
	seed = argc > 1 ? (uint32_t)atoi(argv[1]) : 1;
	sigaction(SIGUSR1, &action, NULL);
	action.sa_flags = SA_NODEFER;
	sigaction(SIGUSR2, &action, NULL);
	use_signal_stack(signal_stack, sizeof(signal_stack));
	for (int i = 0; i < 60; i++)
		play(6);
	for (int i = 0; i < 10; i++) {
		shifts();
		turns(5);
		recurse(1, 80 + i * 60);
		run_coroutines();
	}
	for (uintptr_t i = 0; i < 20; i++) {
		pthread_t threads[2];

		for (int k = 0; k < 2; k++)
			pthread_create(&threads[k], NULL, run_thread,
				       (void *)(i * 2 + (uintptr_t)k + seed));
		for (int k = 0; k < 2; k++)
			pthread_join(threads[k], NULL);
	}
	return 0;
}
