/* SPDX-License-Identifier: MIT */
/*
 * crashes SEED HOW: three threads link, free and lose blocks until the first thread ends them after
 * a time that depends on SEED. HOW: "abort"; "segv"; "stop", by SIGSTOP, after it has printed its
 * pid; "alone": as abort, without the threads. "hides": as stop, after it has stored its only
 * pointers to some blocks in memory that no core file has. "locked": abort or, with SEED 0,
 * SIGSTOP, while two threads are in a deadlock, and three others wait for a reader-writer lock, a
 * mutex and a condition. Prints the thread ids.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/hosts/stack.h"

#define LISTS 64

struct node {
	struct node *next;
	char rest[40];
};

struct node *lists[4][LISTS];
static __thread struct node *last;
static atomic_int working; /* threads */

static struct node *add_node(struct node *next)
{
	struct node *node = malloc(sizeof(*node));

	memset(node, 0, sizeof(*node));
	node->next = next;
	last = node;
	return node;
}

NOINLINE static void lose_list(struct node **list)
{
	*list = NULL;
}

NOINLINE static void free_list(struct node **list)
{
	for (struct node *node = *list, *next; node; node = next) {
		next = node->next;
		free(node);
	}
	*list = NULL;
}

static void *work(void *own)
{
	struct node **list = own;
	unsigned number = (unsigned)(list - lists[0]) + 1;

	free(malloc(1));
	working++;
	for (;;) {
		struct node **at;

		number = number * 1664525 + 1013904223;
		at = &list[(number >> 8) % LISTS];
		if (number >> 28 < 12)
			*at = add_node(*at);
		else if (number >> 28 < 15)
			free_list(at);
		else
			lose_list(at);
		for (volatile int i = 0; i < 500; i++)
			;
	}
	return NULL;
}

NOINLINE static void hide_blocks(void)
{
	void **hidden =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	madvise(hidden, 4096, MADV_DONTDUMP);
	for (int i = 0; i < 100; i++)
		hidden[i] = malloc(90);
	wipe_stack();
}

/* ---- locks ---- */

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t third = PTHREAD_MUTEX_INITIALIZER, of_condition = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t shared = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier; /* of the threads of the deadlock */

NOINLINE static void lock_in_order(pthread_mutex_t *one, pthread_mutex_t *other)
{
	pthread_mutex_lock(one);
	pthread_barrier_wait(&barrier);
	pthread_mutex_lock(other);
}

static void *wait_for_lock(void *of)
{
	long number = (long)of;

	printf("%ld %d\n", number, (int)syscall(SYS_gettid));
	fflush(stdout);
	if (number == 1)
		lock_in_order(&first, &second);
	if (number == 2)
		lock_in_order(&second, &first);
	if (number == 3)
		pthread_rwlock_rdlock(&shared);
	if (number == 4)
		pthread_mutex_lock(&third);
	pthread_mutex_lock(&of_condition);
	pthread_cond_wait(&condition, &of_condition);
	return NULL;
}

NOINLINE static void take_locks(void)
{
	pthread_t threads[5];

	pthread_barrier_init(&barrier, NULL, 2);
	pthread_rwlock_wrlock(&shared);
	pthread_mutex_lock(&third);
	printf("0 %d\n", (int)getpid());
	fflush(stdout);
	for (long i = 0; i < 5; i++)
		pthread_create(&threads[i], NULL, wait_for_lock, (void *)(i + 1));
	usleep(300000);
}

int main(int argc, char **argv)
{
	unsigned seed = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
	const char *how = argc > 2 ? argv[2] : "abort";
	bool hides = !strcmp(how, "hides");
	int count = hides || !strcmp(how, "alone") ? 0 : 3;
	pthread_t threads[3];

	if (!strcmp(how, "locked")) {
		take_locks();
		if (!seed)
			raise(SIGSTOP);
		abort();
	}
	if (hides || !strcmp(how, "stop")) {
		printf("%d\n", (int)getpid());
		fflush(stdout);
	}
	for (int i = 0; i < count; i++)
		pthread_create(&threads[i], NULL, work, lists[i + 1]);
	for (unsigned i = 0; i < 200; i++)
		use(malloc(70 + i % 7));
	wipe_stack();
	/*
	 * the kernel leaves out of a core file what was mapped and never touched, such as the arena
	 * of a thread that is about to allocate, as it leaves out what the program excluded
	 */
	while (working < count)
		usleep(100);
	lists[0][0] = add_node(add_node(add_node(NULL)));
	if (hides)
		hide_blocks();
	usleep(2000 + seed * 7919 % 30000);
	if (hides || !strcmp(how, "stop"))
		raise(SIGSTOP);
	if (!strcmp(how, "segv"))
		*(volatile int *)0 = 0;
	abort();
}
