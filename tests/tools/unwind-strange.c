/* SPDX-License-Identifier: MIT */
/*
 * Allocates from every kind of stack that a backtrace may have to pass: signal handlers on the
 * thread's stack and on one of their own, callbacks from libc, frames of unknown size, realigned
 * frames, coroutines, PLT entries that are not yet bound, functions interrupted anywhere, threads
 * with stacks of their own making. With an argument, only the part of that name.
 */
#define _GNU_SOURCE
#include <alloca.h>
#include <dlfcn.h>
#include <pthread.h>
#include <search.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

static void *volatile keep;

static NOINLINE void allocate(void)
{
	keep = malloc(10);
	free(keep);
	keep = NULL;
}

static void on_signal(int number)
{
	(void)number;
	allocate();
}

static void on_signal_info(int number, siginfo_t *info, void *context)
{
	(void)number, (void)info, (void)context;
	allocate();
	if (number == SIGUSR1)
		raise(SIGUSR2); /* a handler within a handler */
	allocate();
}

static void set_handler(int number, int flags)
{
	struct sigaction action = { .sa_flags = flags };

	if (flags & SA_SIGINFO)
		action.sa_sigaction = on_signal_info;
	else
		action.sa_handler = on_signal;
	sigaction(number, &action, NULL);
}

static NOINLINE void raise_deep(int depth)
{
	if (depth == 0)
		raise(SIGUSR1);
	else
		raise_deep(depth - 1);
	__asm__ volatile("");
}

static void signals(void)
{
	set_handler(SIGUSR1, 0);
	raise_deep(5);
	set_handler(SIGUSR2, SA_SIGINFO);
	set_handler(SIGUSR1, SA_SIGINFO);
	raise_deep(5);
}

static void signal_stacks(void)
{
	/*
	 * One below the stack, one above where that is possible: in the heap, and in a frame of our
	 * own.
	 */
	static char below[65536] __attribute__((aligned(16)));
	char own[32768] __attribute__((aligned(16)));
	stack_t stack = { .ss_sp = below, .ss_size = sizeof(below) };

	set_handler(SIGUSR1, SA_ONSTACK | SA_SIGINFO);
	set_handler(SIGUSR2, SA_SIGINFO);
	sigaltstack(&stack, NULL);
	raise_deep(5);
	stack.ss_sp = own;
	stack.ss_size = sizeof(own);
	sigaltstack(&stack, NULL);
	raise_deep(5);
	stack.ss_flags = SS_DISABLE;
	sigaltstack(&stack, NULL);
}

static int compare(const void *left, const void *right)
{
	allocate();
	return memcmp(left, right, sizeof(int));
}

static void visit(const void *node, VISIT which, int depth)
{
	(void)node, (void)which, (void)depth;
	allocate();
}

static void callbacks(void)
{
	static int numbers[64];
	void *root = NULL;

	for (int i = 0; i < 64; i++)
		numbers[i] = i * 37 % 64;
	qsort(numbers, 64, sizeof(numbers[0]), compare);
	bsearch(&numbers[5], numbers, 64, sizeof(numbers[0]), compare);
	for (int i = 0; i < 8; i++)
		tsearch(&numbers[i], &root, compare);
	twalk(root, visit);
	atexit(allocate);
}

static NOINLINE void use(void *memory)
{
	memset(memory, 1, 1);
	allocate();
}

static NOINLINE void sized(int size)
{
	char *memory = alloca((size_t)size);

	use(memory);
	if (size < 5000)
		sized(size * 3);
	use(memory);
}

static NOINLINE void aligned(int depth)
{
	char memory[96] __attribute__((aligned(64)));

	use(memory);
	if (depth > 0)
		aligned(depth - 1);
	use(memory);
}

static NOINLINE int aligned_arguments(int a, int b, int c, int d, int e, int f, int g, int depth)
{
	char memory[256] __attribute__((aligned(128)));
	char *more = alloca((size_t)(a + b + 16));

	use(memory);
	use(more);
	if (depth > 0)
		a += aligned_arguments(b, c, d, e, f, g, a, depth - 1);
	use(memory);
	return a + g;
}

static NOINLINE int realigned(int depth)
{
	volatile char memory[64] __attribute__((aligned(64)));

	memory[depth] = (char)depth;
	return depth > 0 ? realigned(depth - 1) + memory[depth] : 0;
}

static NOINLINE int compare_bytes(const void *left, const void *right)
{
	return *(const char *)left - *(const char *)right;
}

static volatile int steps_left;

/* Sets the trap flag in what it interrupted, so that the next instruction comes here again. */
static void on_step(int number, siginfo_t *info, void *context)
{
#if defined(__x86_64__)
	greg_t *flags = &((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL];

	(void)number, (void)info;
	allocate();
	if (steps_left > 0 && --steps_left > 0)
		*flags |= 0x100;
	else
		*flags &= ~0x100LL;
#else
	(void)number, (void)info, (void)context;
#endif
}

/*
 * A capture from every single instruction: of prologues and epilogues, PLT entries, lazy binding,
 * hand-written assembly, kernel entry and vdso. Nothing here may allocate by itself.
 */
static void steps(void)
{
	struct sigaction action = { .sa_flags = SA_SIGINFO, .sa_sigaction = on_step };
	struct timespec now;
	volatile double root;
	div_t parts;
	char text[64];

	sigaction(SIGTRAP, &action, NULL);
	steps_left = 12000;
	raise(SIGTRAP);
	realigned(3);
	parts = div((int)getpid(), 7);
	clock_gettime(CLOCK_MONOTONIC, &now);
	root = strtod("2.5e3", NULL) + parts.rem;
	snprintf(text, sizeof(text), "%d %s %f", (int)now.tv_nsec, "word", root);
	steps_left += strchr(text, 'x') != NULL || strcspn(text, "y") == 1;
	bsearch(text, text, 4, 1, compare_bytes);
	steps_left = 0;
}

static void frames(void)
{
	sized(16);
	aligned(4);
	aligned_arguments(1, 2, 3, 4, 5, 6, 7, 4);
}

static ucontext_t main_context, coroutine_context;

static NOINLINE void yield(int depth)
{
	allocate();
	if (depth > 0)
		yield(depth - 1);
	else
		swapcontext(&coroutine_context, &main_context);
	allocate();
}

static void coroutine(void)
{
	yield(3);
	aligned(2);
	raise_deep(2);
	yield(10);
}

/* below and above: one stack that malloc gave, one among mappings that cannot be read. */
static void run_coroutine(char *stack, size_t size)
{
	getcontext(&coroutine_context);
	coroutine_context.uc_stack.ss_sp = stack;
	coroutine_context.uc_stack.ss_size = size;
	coroutine_context.uc_link = &main_context;
	makecontext(&coroutine_context, coroutine, 0);
	for (int i = 0; i < 3; i++) {
		swapcontext(&main_context, &coroutine_context);
		allocate();
	}
}

static void coroutines(void)
{
	size_t size = 65536;
	char *memory = malloc(size);
	char *map = mmap(NULL, size * 3, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	set_handler(SIGUSR1, SA_SIGINFO);
	set_handler(SIGUSR2, 0);
	run_coroutine(memory, size);
	mprotect(map + size, size, PROT_READ | PROT_WRITE);
	run_coroutine(map + size, size);
	munmap(map, size * 3);
	free(memory);
}

static void *run_thread(void *argument)
{
	int depth = (int)(intptr_t)argument;

	aligned(depth);
	sized(100);
	raise_deep(3);
	callbacks();
	return NULL;
}

static void threads(void)
{
	pthread_t thread[5];
	pthread_attr_t attributes;
	void *stack = NULL;
	size_t size = 262144;

	set_handler(SIGUSR1, SA_SIGINFO);
	set_handler(SIGUSR2, 0);
	pthread_attr_init(&attributes);
	if (posix_memalign(&stack, 65536, size) == 0)
		pthread_attr_setstack(&attributes, stack, size);
	pthread_create(&thread[4], &attributes, run_thread, (void *)4);
	for (int i = 0; i < 4; i++)
		pthread_create(&thread[i], NULL, run_thread, (void *)(intptr_t)i);
	for (int i = 0; i < 5; i++)
		pthread_join(thread[i], NULL);
	pthread_attr_destroy(&attributes);
	free(stack);
}

static sigjmp_buf back;

static void leave(int number)
{
	(void)number;
	allocate();
	siglongjmp(back, 1);
}

static void jumps(void)
{
	signal(SIGUSR1, leave);
	for (volatile int i = 0; i < 10; i++) {
		if (sigsetjmp(back, 1) == 0)
			raise_deep(i);
		allocate();
	}
}

/*
 * Loading calls malloc from the loader, from constructors below it, and from the resolver of lazy
 * binding.
 */
static void loading(void)
{
	for (int i = 0; i < 3; i++) {
		void *handle = dlopen("libm.so.6", RTLD_LAZY);

		allocate();
		if (handle != NULL)
			dlclose(handle);
	}
}

static const struct part {
	const char *name;
	void (*run)(void);
} parts[] = {
	{ "signals", signals }, { "signal-stacks", signal_stacks },
	{ "steps", steps },	{ "callbacks", callbacks },
	{ "frames", frames },	{ "coroutines", coroutines },
	{ "threads", threads }, { "jumps", jumps },
	{ "loading", loading },
};

int main(int argc, char *argv[])
{
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (argc < 2 || strcmp(argv[1], parts[i].name) == 0)
			parts[i].run();
	return 0;
}
