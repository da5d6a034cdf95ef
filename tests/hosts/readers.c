/* SPDX-License-Identifier: MIT */
/*
 * Threads that share a rwlock. Without an argument five readers have it at once, in five ways.
 * "dead": a first reader releases it and ends, a second one has it still and waits for a mutex,
 * whose holder waits to write: a deadlock. "cycle": two threads that take two mutexes in both
 * orders. "ended": a reader ends without releasing it. "condition": one wait of 100 ms for a
 * condition. The last three of these end while threads wait.
 */
#include <pthread.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static pthread_rwlock_t shared = PTHREAD_RWLOCK_INITIALIZER;
static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t together;
static int is_changed;

static void *read_plain(void *unused)
{
	pthread_rwlock_rdlock(&shared);
	pthread_barrier_wait(&together);
	pthread_barrier_wait(&together);
	pthread_rwlock_unlock(&shared);
	return unused;
}

static void *read_try(void *unused)
{
	pthread_rwlock_tryrdlock(&shared);
	pthread_barrier_wait(&together);
	pthread_barrier_wait(&together);
	pthread_rwlock_unlock(&shared);
	return unused;
}

static void *read_timed(void *unused)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 10;
	pthread_rwlock_timedrdlock(&shared, &until);
	pthread_barrier_wait(&together);
	pthread_barrier_wait(&together);
	pthread_rwlock_unlock(&shared);
	return unused;
}

static void *read_twice(void *unused)
{
	pthread_rwlock_rdlock(&shared);
	pthread_rwlock_rdlock(&shared);
	pthread_barrier_wait(&together);
	pthread_barrier_wait(&together);
	pthread_rwlock_unlock(&shared);
	pthread_rwlock_unlock(&shared);
	return unused;
}

static void *read_on(void *unused)
{
	pthread_barrier_wait(&together);
	pthread_rwlock_rdlock(&shared);
	pthread_barrier_wait(&together);
	usleep(20000);
	pthread_mutex_lock(&first);
	return unused;
}

static void *write_it(void *unused)
{
	pthread_mutex_lock(&first);
	usleep(50000);
	pthread_rwlock_wrlock(&shared);
	return unused;
}

static void *never_release(void *unused)
{
	pthread_rwlock_rdlock(&shared);
	return unused;
}

static void *first_second(void *unused)
{
	pthread_mutex_lock(&first);
	pthread_barrier_wait(&together);
	pthread_mutex_lock(&second);
	return unused;
}

static void *second_first(void *unused)
{
	pthread_mutex_lock(&second);
	pthread_barrier_wait(&together);
	pthread_mutex_lock(&first);
	return unused;
}

static void *wait_for_change(void *unused)
{
	pthread_mutex_lock(&first);
	while (!is_changed)
		pthread_cond_wait(&changed, &first);
	pthread_mutex_unlock(&first);
	return unused;
}

static pthread_t start(void *(*function)(void *))
{
	pthread_t thread;

	pthread_create(&thread, NULL, function, NULL);
	return thread;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";

	if (!*how) {
		void *(*const ways[])(void *) = { read_plain, read_try, read_timed, read_twice };
		pthread_t threads[4];

		pthread_barrier_init(&together, NULL, 5);
		for (int i = 0; i < 4; i++)
			threads[i] = start(ways[i]);
		read_plain(NULL);
		for (int i = 0; i < 4; i++)
			pthread_join(threads[i], NULL);
		return 0;
	}
	pthread_barrier_init(&together, NULL, 2);
	if (!strcmp(how, "condition")) {
		pthread_t waiter = start(wait_for_change);

		usleep(100000);
		pthread_mutex_lock(&first);
		is_changed = 1;
		pthread_cond_signal(&changed);
		pthread_mutex_unlock(&first);
		pthread_join(waiter, NULL);
		return 0;
	}
	if (!strcmp(how, "dead")) {
		pthread_t reader = start(read_plain);

		start(read_on);
		start(write_it);
		pthread_join(reader, NULL);
	} else if (!strcmp(how, "cycle")) {
		start(first_second);
		start(second_first);
	} else {
		pthread_join(start(never_release), NULL);
		start(write_it);
	}
	usleep(200000);
	_exit(0);
}
