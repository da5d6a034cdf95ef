/* SPDX-License-Identifier: MIT */
/*
 * grows-quietly: makes more and more threads, for which a tracer needs memory, and prints what they
 * cost the process: whether a message queue still notifies it, and how many descriptors it could
 * open above the limit that it has set.
 */
#include <fcntl.h>
#include <mqueue.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <unistd.h>

#include "made.h"

#define THREADS 40
#define LIMIT	32

static volatile sig_atomic_t notified;
static atomic_bool is_over;
static pthread_barrier_t together;

static void note(int number)
{
	(void)number;
	notified = 1;
}

/* Opens all that is possible, again and again; how many were above the limit. */
static void *open_all(void *unused)
{
	long above = 0;

	while (!atomic_load(&is_over)) {
		int fd = open("/dev/null", O_RDONLY);

		above += fd >= LIMIT;
	}
	(void)unused;
	return (void *)(intptr_t)above;
}

static void *work(void *unused)
{
	make_silently(10, 1177);
	pthread_barrier_wait(&together);
	return unused;
}

int main(void)
{
	struct mq_attr shape = { .mq_maxmsg = 1, .mq_msgsize = 1 };
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 };
	struct rlimit limit = { LIMIT, 4096 };
	pthread_t opener, threads[THREADS];
	char name[32];
	void *above;
	mqd_t queue;

	snprintf(name, sizeof(name), "/grows-quietly-%d", (int)getpid());
	queue = mq_open(name, O_CREAT | O_RDWR, 0600, &shape);
	signal(SIGUSR1, note);
	if (queue != (mqd_t)-1 && mq_notify(queue, &event))
		return 1;
	setrlimit(RLIMIT_NOFILE, &limit);
	pthread_barrier_init(&together, NULL, THREADS + 1);
	pthread_create(&opener, NULL, open_all, NULL);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, work, NULL))
			return 1;
	pthread_barrier_wait(&together);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	atomic_store(&is_over, true);
	pthread_join(opener, &above);
	if (queue != (mqd_t)-1)
		mq_send(queue, "", 1, 0);
	else
		notified = 1;
	mq_unlink(name);
	getrlimit(RLIMIT_NOFILE, &limit);
	printf("notified %d, above the limit %ld, limits %d %d\n", (int)notified, (long)above,
	       (int)limit.rlim_cur, (int)limit.rlim_max);
	say_made(10 * THREADS, 1177);
	return 0;
}
