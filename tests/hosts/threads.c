/* SPDX-License-Identifier: MIT */
/*
 * Makes threads and knows what became of each: each line of its output is
 *
 *   threads NAME COLUMN VALUE       exactly so
 *   threads NAME COLUMN >=VALUE     at least, in ns
 *
 * what the report threads must say of the thread with that name.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NOT_SHARED __attribute__((noinline, noclone, optimize("no-optimize-sibling-calls")))

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static sem_t semaphore, never;

static void say(const char *name, const char *column, const char *value)
{
	char line[128];
	int length = snprintf(line, sizeof(line), "threads %s %s %s\n", name, column, value);

	if (write(STDOUT_FILENO, line, (size_t)length) != length)
		_exit(99);
}

static void pause_ms(long ms)
{
	struct timespec pause = { .tv_nsec = ms * 1000000 };

	nanosleep(&pause, NULL);
}

static atomic_int waiter; /* who is about to wait */

/* Until the waiter sleeps, however late it was made: then a pause is one of its wait as well. */
static void pause_while_it_waits(long ms)
{
	char path[64], text[512] = "";
	const char *state = NULL;

	do {
		int fd;

		sched_yield();
		snprintf(path, sizeof(path), "/proc/self/task/%d/stat", waiter);
		fd = open(path, O_RDONLY);
		if (fd < 0)
			continue;
		if (read(fd, text, sizeof(text) - 1) > 0)
			state = strrchr(text, ')');
		close(fd);
	} while (!state || state[2] != 'S');
	waiter = 0;
	pause_ms(ms);
}

static void *call_twice(void *argument)
{
	pthread_setname_np(pthread_self(), "grandchild");
	free(malloc(10));
	return argument;
}

/* setname, create, join, and what libc calls in them. */
static void *be_parent(void *argument)
{
	pthread_t thread;

	pthread_setname_np(pthread_self(), "parent");
	if (pthread_create(&thread, NULL, call_twice, NULL))
		_exit(99);
	pthread_join(thread, NULL);
	return argument;
}

static void *wait_for_lock(void *argument)
{
	pthread_setname_np(pthread_self(), "locker");
	waiter = gettid();
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
	return argument;
}

static void *wait_for_post(void *argument)
{
	pthread_setname_np(pthread_self(), "poster");
	waiter = gettid();
	sem_wait(&semaphore);
	return argument;
}

static void *wait_for_signal(void *argument)
{
	struct timespec until;

	pthread_setname_np(pthread_self(), "signalled");
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += 30000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_mutex_lock(&mutex);
	pthread_cond_timedwait(&condition, &mutex, &until);
	pthread_mutex_unlock(&mutex);
	return argument;
}

static void *be_detached(void *argument)
{
	pthread_setname_np(pthread_self(), "detached");
	return argument;
}

static void *be_forgotten(void *argument)
{
	pthread_setname_np(pthread_self(), "forgotten");
	return argument;
}

static void *be_stuck(void *argument)
{
	pthread_setname_np(pthread_self(), "stuck");
	sem_wait(&never);
	return argument;
}

static void *work(void *argument)
{
	pthread_setname_np(pthread_self(), "worker");
	return argument;
}

static pthread_t make(void *(*start)(void *))
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, start, NULL))
		_exit(99);
	return thread;
}

static void wait_in_vain(void)
{
	pthread_t thread;

	pthread_mutex_lock(&mutex);
	thread = make(wait_for_lock);
	pause_while_it_waits(30);
	pthread_mutex_unlock(&mutex);
	pthread_join(thread, NULL);
	say("locker", "locks_ns", ">=20000000");
	say("locker", "life_ns", ">=20000000");
	say("locker", "end", "joined");
	say("locker", "events", ">=3");

	thread = make(wait_for_post);
	pause_while_it_waits(30);
	sem_post(&semaphore);
	pthread_join(thread, NULL);
	say("poster", "semaphores_ns", ">=20000000");

	pthread_join(make(wait_for_signal), NULL);
	say("signalled", "conditions_ns", ">=20000000");
}

NOT_SHARED static void make_many(void)
{
	pthread_t threads[20];

	for (int i = 0; i < 20; i++)
		threads[i] = make(work);
	for (int i = 0; i < 20; i++)
		pthread_join(threads[i], NULL);
	say("worker", "count", "20");
	say("worker", "events", ">=20");
}

int main(void)
{
	sem_init(&semaphore, 0, 0);
	sem_init(&never, 0, 0);
	pthread_join(make(be_parent), NULL);
	say("parent", "end", "joined");
	say("parent", "events", ">=3");
	say("grandchild", "end", "joined");
	say("grandchild", "events", ">=3");
	wait_in_vain();
	make_many();
	pthread_detach(make(be_detached));
	say("detached", "end", "detached");
	make(be_forgotten);
	say("forgotten", "end", "never joined");
	make(be_stuck);
	say("stuck", "end", "in sem_wait");
	say("stuck", "semaphores_ns", ">=20000000");
	pause_ms(50);
	_exit(0);
}
