/* SPDX-License-Identifier: MIT */
/*
 * Blocks that are kept in all ways that programs have, and some that are not: says of each what a
 * scan must find, "WANT LABEL ~ADDRESS". MODE is how it ends; "wait": it waits for its input. After
 * it: a module to load, "": none; and MiB of memory that take a scan its time.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "tests/hosts/stack.h"

struct node {
	struct node *next, *other;
	char rest[48];
};

/* Complements: no word of ours leads to a block by this table. */
static struct label {
	const char *want, *name;
	uintptr_t hidden;
} labels[200];
static int label_count;

static void say(const char *want, const char *name, const void *p)
{
	labels[label_count++] = (struct label){ want, name, ~(uintptr_t)p };
}

static struct node *make(const char *want, const char *name)
{
	struct node *node = malloc(sizeof(*node));

	memset(node, 0, sizeof(*node));
	say(want, name, node);
	use(node);
	return node;
}

/* ---- kept ---- */

struct node *global;
struct node *array[10];
__thread struct node *of_thread;
struct node *inside_of;
uintptr_t tagged, one_past;
static const struct node *volatile read_only[512] __attribute__((aligned(4096))) = { 0 };

NOINLINE static void keep_by_data(void)
{
	static struct node *local;

	global = make("reachable", "global");
	global->next = make("reachable", "second-of-list");
	global->next->other = make("reachable", "third-of-list");
	for (int i = 0; i < 10; i++)
		array[i] = make("reachable", "array");
	local = make("reachable", "static-local");
	use(&local);
	of_thread = make("reachable", "tls-of-main");
	inside_of = (struct node *)((char *)make("interior", "inside") + 16);
	inside_of->next = make("interior", "behind-inside");
	tagged = (uintptr_t)make("weak", "tagged") | 0xab00000000000000u;
	one_past = (uintptr_t)(make("interior", "one-past-its-end") + 1);
}

NOINLINE static void keep_by_mappings(void)
{
	struct node *volatile *pages =
		mmap(NULL, 16384, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct node *volatile *shared =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct node *volatile *raw = sbrk(4096);

	pages[0] = make("reachable", "mapping");
	pages[512] = make("reachable", "read-only-mapping");
	pages[1024] = make("reachable", "mapping-that-none-may-read");
	shared[7] = make("reachable", "shared-mapping");
	raw[3] = make("reachable", "sbrk");
	mprotect((void *)(uintptr_t)(pages + 512), 4096, PROT_READ);
	mprotect((void *)(uintptr_t)(pages + 1024), 4096, PROT_NONE);
	mprotect((void *)(uintptr_t)read_only, 4096, PROT_READ | PROT_WRITE);
	read_only[5] = make("reachable", "constant-data");
	mprotect((void *)(uintptr_t)read_only, 4096, PROT_READ);
}

NOINLINE static void keep_by_kernel(void)
{
	int epoll = epoll_create1(EPOLL_CLOEXEC), ends[2];
	struct epoll_event event = { .events = EPOLLIN };
	struct sigevent timer = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM };
	timer_t id;

	event.data.ptr = make("reachable", "epoll");
	if (pipe(ends) || epoll_ctl(epoll, EPOLL_CTL_ADD, ends[0], &event))
		abort();
	if (access("/proc/self/timers", R_OK))
		return;
	timer.sigev_value.sival_ptr = make("reachable", "timer");
	timer_create(CLOCK_MONOTONIC, &timer, &id);
}

/* ---- threads ---- */

static sem_t begun, over;

NOINLINE static void *hold(void *argument)
{
	struct node *volatile mine[3] = { argument, make("reachable", "stack-of-thread") };

	of_thread = make("reachable", "tls-of-thread");
	sem_post(&begun);
	while (sem_wait(&over) && errno == EINTR)
		;
	use((void *)mine[0]);
	return (void *)mine[1];
}

static void *give(void *argument)
{
	(void)argument;
	return make("reachable", "result-that-nobody-joined");
}

NOINLINE static void *forget(void *argument)
{
	struct node *volatile mine[20];

	(void)argument;
	for (int i = 0; i < 20; i++)
		mine[i] = make("unreachable", "stack-of-ended-thread");
	use((void *)mine);
	return NULL;
}

NOINLINE static void keep_by_threads(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, hold, make("reachable", "argument-of-thread"));
	pthread_create(&thread, NULL, give, NULL);
	while (sem_wait(&begun) && errno == EINTR)
		;
	pthread_create(&thread, NULL, forget, NULL);
	pthread_join(thread, NULL);
	usleep(100000); /* until the one that gives a result has ended */
}

/* A stack of the program's own, on which nothing runs now. */
static ucontext_t here, there;
char *coroutine_stack;

static void coroutine(void)
{
	struct node *volatile mine = make("reachable", "stack-of-coroutine");

	swapcontext(&there, &here);
	use((void *)mine);
}

NOINLINE static void keep_by_coroutine(void)
{
	coroutine_stack =
		mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	getcontext(&there);
	there.uc_stack.ss_sp = coroutine_stack;
	there.uc_stack.ss_size = 65536;
	makecontext(&there, coroutine, 0);
	swapcontext(&here, &there);
}

/* ---- lost ---- */

NOINLINE static void lose(void)
{
	struct node *first = make("unreachable", "list"), *block;

	first->next = make("indirect", "second-of-lost-list");
	first->next->next = make("indirect", "third-of-lost-list");
	first = make("unreachable", "cycle");
	first->next = make("indirect", "second-of-cycle");
	first->next->next = first;
	block = make("unreachable", "itself");
	block->next = block;
	for (int i = 0; i < 50; i++)
		make("unreachable", "single");
	/* who kept it was freed, and still has the pointer */
	block = malloc(5000);
	memset(block, 0, 5000);
	block->other = make("unreachable", "freed-keeper");
	block->rest[0] = 1;
	use(block);
	free(block);
	say("unreachable", "large", malloc(1 << 20));
	say("unreachable", "empty", malloc(0));
}

NOINLINE static void lose_deep(int depth)
{
	struct node *volatile mine[8];

	for (int i = 0; i < 8; i++)
		mine[i] = make("unreachable", "below-the-stack");
	if (depth)
		lose_deep(depth - 1);
	use((void *)mine);
}

/* Data of a module that is gone. */
NOINLINE static void lose_by_module(const char *path)
{
	void *module = path && *path ? dlopen(path, RTLD_NOW) : NULL;
	struct node **slot = module ? dlsym(module, "module_slot") : NULL;

	if (slot)
		*slot = make("unreachable", "data-of-closed-module");
	if (module)
		dlclose(module);
}

/* Words that lead nowhere. */
static void fill(size_t bytes)
{
	void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pages != MAP_FAILED)
		memset(pages, 1, bytes);
}

/* What no scanner can find. */
uintptr_t hidden;

NOINLINE static void hide(void)
{
	hidden = (uintptr_t)make("hidden", "xor") ^ 0x5555555555555555u;
}

/* ---- the ends ---- */

static void tell(void)
{
	for (int i = 0; i < label_count; i++)
		printf("%s %s %lx\n", labels[i].want, labels[i].name,
		       (unsigned long)labels[i].hidden);
	printf("pid %d\n", (int)getpid());
	fflush(stdout);
}

static void *end_elsewhere(void *argument)
{
	(void)argument;
	exit(0);
}

/* What main has on its stack when it ends by calling somebody. */
NOINLINE static void end(const char *mode, struct node *volatile *kept)
{
	char line[16];
	pthread_t thread;

	if (!strcmp(mode, "exit"))
		exit(0);
	if (!strcmp(mode, "_exit"))
		_exit(0);
	if (!strcmp(mode, "quick_exit"))
		quick_exit(0);
	if (!strcmp(mode, "thread")) {
		pthread_create(&thread, NULL, end_elsewhere, NULL);
		pthread_join(thread, NULL);
	}
	if (!strcmp(mode, "leaderless"))
		pthread_exit(NULL);
	while (!strcmp(mode, "wait") && read(0, line, sizeof(line)) > 0)
		;
	use((void *)kept[0]);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "return";
	struct node *volatile kept[1];
	static char buffer[65536];

	setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
	sem_init(&begun, 0, 0);
	sem_init(&over, 0, 0);
	keep_by_data();
	keep_by_mappings();
	keep_by_kernel();
	keep_by_threads();
	keep_by_coroutine();
	lose_by_module(argc > 2 ? argv[2] : NULL);
	if (argc > 3)
		fill(strtoul(argv[3], NULL, 10) << 20);
	lose();
	hide();
	kept[0] = make(!strcmp(mode, "return") ? "unreachable" : "reachable", "stack-of-main");
	wipe_stack();
	lose_deep(20);
	tell();
	end(mode, kept);
	return 0;
}
