/* SPDX-License-Identifier: MIT */
/*
 * crashes SEED HOW: three threads link, free and lose blocks until the first thread ends them after
 * a time that depends on SEED. HOW: "abort"; "segv"; "stop", by SIGSTOP, after it has printed its
 * pid; "alone": as abort, without the threads.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

int main(int argc, char **argv)
{
	unsigned seed = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
	const char *how = argc > 2 ? argv[2] : "abort";
	int count = strcmp(how, "alone") ? 3 : 0;
	pthread_t threads[3];

	if (!strcmp(how, "stop")) {
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
	usleep(2000 + seed * 7919 % 30000);
	if (!strcmp(how, "stop"))
		raise(SIGSTOP);
	if (!strcmp(how, "segv"))
		*(volatile int *)0 = 0;
	abort();
}
