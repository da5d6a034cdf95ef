/* SPDX-License-Identifier: MIT */
/*
 * Blocks that their program can still reach when it ends, each kind by a way that a scanner may
 * overlook. MODE is the way; with "leaks" behind it, the process that ends with them has lost seven
 * blocks, too. Run it with --scan=exit.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "tests/hosts/stack.h"

#define BLOCKS 100

static void *volatile *table; /* of the blocks, where data of the program has it */
static bool leaks;

static void fill(void *volatile *blocks)
{
	for (int i = 0; i < BLOCKS; i++)
		blocks[i] = malloc(40);
}

NOINLINE static void leak(void)
{
	for (int i = 0; leaks && i < 7; i++)
		use(malloc(77));
	wipe_stack();
}

struct link {
	struct link *next;
	char rest[16];
};

/* Forty blocks, of which each has the one that was allocated before. */
NOINLINE static void leak_chain(void)
{
	struct link *last = NULL;

	for (int i = 0; i < 40; i++) {
		struct link *link = malloc(sizeof(*link));

		link->next = last;
		last = link;
	}
	use(last);
	wipe_stack();
}

/* ---- forks ---- */

static struct config {
	struct config *next;
	void *volatile *table;
} * config;

static void configure(void)
{
	config = malloc(sizeof(*config));
	config->next = malloc(sizeof(*config));
	config->next->next = NULL;
	config->next->table = calloc(BLOCKS, sizeof(void *));
}

NOINLINE static void work(void)
{
	free(malloc(10));
	leak();
	fill(config->next->table);
}

static void in_children(int generations)
{
	configure();
	while (generations--) {
		if (fork()) {
			wait(NULL);
			_exit(0);
		}
	}
	work();
}

/* The child frees what was its parent's, and gets the same memory again. */
static void with_changes(void)
{
	configure();
	if (fork()) {
		wait(NULL);
		_exit(0);
	}
	free((void *)config->next->table);
	free(config->next);
	config->next = calloc(1, sizeof(*config));
	config->next->table = calloc(BLOCKS, sizeof(void *));
	work();
}

/* What the parent does afterwards is nothing to the child. */
static void beside_parent(void)
{
	int ends[2];
	char go;

	configure();
	if (pipe(ends))
		abort();
	if (fork()) {
		free((void *)config->next->table);
		free(config->next);
		free(config);
		if (write(ends[1], "", 1) != 1)
			abort();
		wait(NULL);
		_exit(0);
	}
	if (read(ends[0], &go, 1) != 1)
		abort();
	work();
}

/* Three children, each with one block more from a parent that also forks another program. */
static void in_grandchildren(void)
{
	configure();
	if (fork()) {
		wait(NULL);
		_exit(0);
	}
	for (int i = 0; i < 3; i++) {
		struct config *last = config;

		config = calloc(1, sizeof(*config));
		*config = *last;
		free(last);
		if (vfork() == 0) {
			execl("/bin/true", "true", (char *)NULL);
			_exit(1);
		}
		if (fork() == 0) {
			free(config->next);
			config->next = calloc(1, sizeof(*config));
			config->next->table = calloc(BLOCKS, sizeof(void *));
			work();
			return;
		}
	}
	while (wait(NULL) > 0)
		;
	_exit(0);
}

static void as_daemon(void)
{
	configure();
	if (daemon(1, 1))
		abort();
	work();
}

static void by_system_call(void)
{
	configure();
	if (syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)) {
		wait(NULL);
		_exit(0);
	}
	work();
}

/* ---- stacks ---- */

static ucontext_t back, there;

static void finish(void)
{
	exit(0);
}

/* Ends on a stack that is an array of this frame. */
NOINLINE static void on_array(void)
{
	char stack[65536] __attribute__((aligned(16)));
	void *volatile blocks[BLOCKS];

	fill(blocks);
	getcontext(&there);
	there.uc_stack.ss_sp = stack;
	there.uc_stack.ss_size = sizeof(stack);
	there.uc_link = &back;
	makecontext(&there, finish, 0);
	swapcontext(&back, &there);
	use((void *)blocks);
}

static void on_signal(int number)
{
	(void)number;
	exit(0);
}

NOINLINE static void deeper(void)
{
	void *volatile blocks[BLOCKS];

	fill(blocks);
	raise(SIGUSR1);
	use((void *)blocks);
}

/* Ends in a handler whose stack is an array of this frame, below which another one has the blocks.
 */
NOINLINE static void on_signal_stack(void)
{
	char stack[65536];
	const stack_t place = { .ss_sp = stack, .ss_size = sizeof(stack) };
	const struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_ONSTACK };

	sigaltstack(&place, NULL);
	sigaction(SIGUSR1, &action, NULL);
	deeper();
	use(stack);
}

/* Behind a guard page, and with the head of a ring that is empty where a descriptor would be. */
static void in_guarded_ring(void)
{
	char *memory = mmap(NULL, 5 * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void **head = (void **)(memory + 6144);

	if (memory == MAP_FAILED || mprotect(memory + 4096, 4 * 4096, PROT_READ | PROT_WRITE))
		abort();
	head[0] = head[1] = head[2] = head;
	fill((void *volatile *)(memory + 4096));
}

/* ---- threads ---- */

static __thread void *volatile of_thread[20000];
static pthread_barrier_t ready;

static void *run(void *argument)
{
	for (int i = 0; i < BLOCKS; i++)
		of_thread[i * 200] = malloc(40);
	pthread_barrier_wait(&ready);
	pause();
	return argument;
}

static void in_thread_data(void)
{
	pthread_t thread;

	pthread_barrier_init(&ready, NULL, 2);
	pthread_create(&thread, NULL, run, NULL);
	pthread_barrier_wait(&ready);
}

/* ---- memory ---- */

static void in_shared(int protection)
{
	table = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	fill(table);
	mprotect((void *)(uintptr_t)table, 8192, protection);
}

static void in_file(void)
{
	int fd = memfd_create("holdtrace-cache", 0);

	if (ftruncate(fd, 8192))
		abort();
	table = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	table[0] = NULL;
	fill(table);
}

extern void *__libc_malloc(size_t size) __attribute__((weak));

static void in_libc(void)
{
	table = __libc_malloc ? __libc_malloc(BLOCKS * sizeof(void *)) : calloc(BLOCKS, 8);
	fill(table);
}

/* As a bump allocator may: on a boundary of 64 MiB, with a pointer to where its memory begins. */
static void in_aligned(void)
{
	const size_t size = 64u << 20;
	char *memory = mmap(NULL, 2 * size, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	uintptr_t at = ((uintptr_t)memory + size - 1) & ~(size - 1);

	if (memory == MAP_FAILED)
		abort();
	*(void **)at = (void *)(at + 32);
	fill((void *volatile *)(at + 4096));
}

static void in_break(void)
{
	free(malloc(10));
	table = (void *)syscall(SYS_brk, 0);
	syscall(SYS_brk, (char *)(uintptr_t)table + 8192);
	fill(table);
}

/* Another module's, which has a malloc of its own: tests/hosts/wraps-malloc.c. */
extern void *volatile *wrapper_table(void) __attribute__((weak));

static void in_wrapper(void)
{
	if (!wrapper_table)
		abort();
	fill(wrapper_table());
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";

	leaks = argc > 2 && !strcmp(argv[2], "leaks");
	if (strncmp(mode, "fork", 4) != 0 && strcmp(mode, "daemon") != 0 &&
	    strcmp(mode, "clone") != 0)
		leak();
	if (!strcmp(mode, "fork"))
		in_children(1);
	if (!strcmp(mode, "fork-of-fork"))
		in_children(3);
	if (!strcmp(mode, "forks-of-fork"))
		in_grandchildren();
	if (!strcmp(mode, "fork-and-change"))
		with_changes();
	if (!strcmp(mode, "fork-and-parent-frees"))
		beside_parent();
	if (!strcmp(mode, "daemon"))
		as_daemon();
	if (!strcmp(mode, "clone"))
		by_system_call();
	if (!strcmp(mode, "array"))
		on_array();
	if (!strcmp(mode, "signal-stack"))
		on_signal_stack();
	if (!strcmp(mode, "guarded-ring"))
		in_guarded_ring();
	if (!strcmp(mode, "thread-data"))
		in_thread_data();
	if (!strcmp(mode, "read-only"))
		in_shared(PROT_READ);
	if (!strcmp(mode, "no-access"))
		in_shared(PROT_NONE);
	if (!strcmp(mode, "memfd"))
		in_file();
	if (!strcmp(mode, "libc"))
		in_libc();
	if (!strcmp(mode, "break"))
		in_break();
	if (!strcmp(mode, "module") && (argc < 3 || !dlopen(argv[2], RTLD_NOW)))
		abort();
	if (!strcmp(mode, "chain"))
		leak_chain();
	if (!strcmp(mode, "killed")) {
		fflush(NULL);
		kill(getpid(), SIGTERM);
	}
	if (!strcmp(mode, "environment")) {
		setenv("REACHABLE_A", "a value", 1);
		setenv("REACHABLE_A", "another one, which is longer", 1);
		putenv((char *)(uintptr_t) "REACHABLE_B=b");
	}
	if (!strcmp(mode, "aligned"))
		in_aligned();
	if (!strcmp(mode, "wrapper"))
		in_wrapper();
	exit(0);
}
