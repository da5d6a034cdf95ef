/* SPDX-License-Identifier: MIT */
/*
 * A timer's signal comes thousands of times into hooks that are under way. The handler calls what
 * the program does not, so that neither disturbs the other in libc: argv[1] descriptors, and the
 * handler allocates; or allocations, and the handler opens and posts.
 */
#include <fcntl.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>

#include "made.h"

static volatile unsigned long handled;
static sem_t semaphore;

static void allocate(int number)
{
	(void)number;
	make_silently(3, 1025);
	handled += 3;
}

static void duplicate(int number)
{
	(void)number;
	close(dup(0));
	sem_post(&semaphore);
	handled++;
}

int main(int argc, char **argv)
{
	int allocates = argc > 1 && strcmp(argv[1], "allocations") == 0;
	struct itimerval often = { { 0, 50 }, { 0, 50 } }, never = { { 0, 0 }, { 0, 0 } };
	struct sigaction action = { .sa_handler = allocates ? duplicate : allocate,
				    .sa_flags = SA_RESTART };
	unsigned long rounds = 0;
	int posts = 0;

	sem_init(&semaphore, 0, 0);
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	for (; handled < 1500; rounds++) {
		if (allocates)
			make_silently(1, 1027);
		else
			close(dup(0));
		for (volatile int pause = 0; pause < 300; pause++)
			; /* the trace need not grow faster than that */
	}
	setitimer(ITIMER_REAL, &never, NULL);
	signal(SIGALRM, SIG_IGN);
	sem_getvalue(&semaphore, &posts);
	if (allocates)
		say_made(rounds, 1027);
	else
		say_made(handled, 1025);
	printf("posts are %s\n", !allocates || posts == (int)handled ? "all there" : "missing");
	return 0;
}
