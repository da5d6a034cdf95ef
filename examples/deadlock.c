/* SPDX-License-Identifier: MIT */
/*
 * Two accounts, each with a lock, and two threads that take both locks in opposite order. They wait
 * for each other until a signal ends the program. With the argument "lucky", the second thread
 * starts after the first has ended, so there is no deadlock.
 *
 *   cc -g -pthread -o deadlock examples/deadlock.c
 *   holdtrace ./deadlock
 *   holdtrace record -o lucky.htr ./deadlock lucky; holdtrace report waits lucky.htr
 *
 * The screen of the first run has both threads, the lock that each waits for, and where the other
 * thread locked it. The report of the lucky run shows that the locks are taken in both orders.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

struct account {
	pthread_mutex_t lock;
	long cents;
};

static struct account alice = { PTHREAD_MUTEX_INITIALIZER, 1000 };
static struct account bob = { PTHREAD_MUTEX_INITIALIZER, 1000 };

static void move(struct account *from, struct account *to, long cents)
{
	pthread_mutex_lock(&from->lock);
	usleep(20 * 1000); /* the other thread takes its first lock in this time */
	pthread_mutex_lock(&to->lock);
	from->cents -= cents;
	to->cents += cents;
	pthread_mutex_unlock(&to->lock);
	pthread_mutex_unlock(&from->lock);
}

static void *pay(void *unused)
{
	(void)unused;
	move(&alice, &bob, 700);
	return NULL;
}

static void *pay_back(void *unused)
{
	(void)unused;
	move(&bob, &alice, 20);
	return NULL;
}

int main(int argc, char **argv)
{
	int is_lucky = argc > 1 && strcmp(argv[1], "lucky") == 0;
	struct itimerval patience = { .it_value.tv_usec = 300 * 1000 };
	pthread_t first, second;

	setitimer(ITIMER_REAL, &patience, NULL); /* SIGALRM ends the program */
	pthread_create(&first, NULL, pay, NULL);
	if (is_lucky)
		pthread_join(first, NULL);
	pthread_create(&second, NULL, pay_back, NULL);
	if (!is_lucky)
		pthread_join(first, NULL);
	pthread_join(second, NULL);
	printf("alice %ld, bob %ld\n", alice.cents, bob.cents);
	return 0;
}
