/* SPDX-License-Identifier: MIT */
/*
 * Takes locks, waits for conditions and semaphores, and knows how often and for how long: each line
 * of its output is one of
 *
 *   count REPORT TABLE FUNCTION COLUMN [KEY] NUMBER      exactly so many
 *   least REPORT TABLE FUNCTION COLUMN [KEY] NUMBER      ns that it slept meanwhile
 *   most REPORT TABLE FUNCTION COLUMN [KEY] NUMBER       ns by its own clock, around it all
 *
 * what the report must say of the place where that function took, waited or woke. KEY: what the
 * row's first column must be; "-": anything. With an argument, "deadlock", two threads take two
 * mutexes in different orders and it ends by a signal; with "orders" they do it one after the
 * other, and with "gate" under a third one.
 */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NOT_SHARED __attribute__((noinline, noclone, optimize("no-optimize-sibling-calls")))
#define MS	   1000000ull

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t third = PTHREAD_MUTEX_INITIALIZER, recursive, state;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static sem_t sem;
static pthread_barrier_t barrier;
static int waiting, wakes, tickets; /* under state */

static void say(const char *kind, const char *table, const char *function, const char *column,
		const char *key, unsigned long long number)
{
	printf("%s %s %s %s %s %llu\n", kind, table, function, column, key, number);
}

static void count_is(const char *table, const char *function, const char *column, const char *key,
		     unsigned long long number)
{
	say("count", table, function, column, key, number);
}

static unsigned long long now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (unsigned long long)time.tv_sec * 1000000000 + (unsigned long long)time.tv_nsec;
}

static void rest(long ms)
{
	struct timespec pause = { .tv_nsec = ms * (long)MS };

	nanosleep(&pause, NULL);
}

static pthread_t start(void *(*function)(void *))
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, function, NULL))
		exit(99);
	return thread;
}

/* ---- locks ---- */

/* Three times 20 ms, twice within a lock that is taken again meanwhile. */
NOT_SHARED static void hold(void)
{
	unsigned long long begin = now();

	for (int i = 0; i < 3; i++) {
		pthread_mutex_lock(&recursive);
		pthread_mutex_lock(&recursive);
		rest(10);
		pthread_mutex_unlock(&recursive);
		rest(10);
		pthread_mutex_unlock(&recursive);
	}
	say("most", "lock_sites", "hold", "hold_time_ns", "mutex", now() - begin);
	say("least", "lock_sites", "hold", "hold_time_ns", "mutex", 60 * MS);
	say("least", "lock_sites", "hold", "longest_hold_ns", "mutex", 20 * MS);
	count_is("lock_sites", "hold", "waits", "mutex", 0);
}

/* Has it while the other one comes, which is refused it once before it waits. */
NOT_SHARED static void keep(void)
{
	unsigned long long begin = now();

	pthread_mutex_lock(&first);
	pthread_barrier_wait(&barrier);
	rest(100);
	pthread_mutex_unlock(&first);
	say("least", "longest_holds", "keep", "hold_time_ns", "mutex", 100 * MS);
	say("most", "longest_holds", "keep", "hold_time_ns", "mutex", now() - begin);
}

NOT_SHARED static void want(void)
{
	unsigned long long begin;

	pthread_barrier_wait(&barrier);
	begin = now();
	pthread_mutex_lock(&first);
	say("most", "lock_sites", "want", "wait_time_ns", "mutex", now() - begin);
	pthread_mutex_unlock(&first);
}

NOT_SHARED static void try(void)
{
	struct timespec until;

	if (pthread_mutex_trylock(&first) != EBUSY)
		exit(99);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += 5 * (long)MS;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	if (pthread_mutex_timedlock(&first, &until) != ETIMEDOUT)
		exit(99);
}

static void *contend(void *unused)
{
	want();
	return unused;
}

static void *fail(void *unused)
{
	try();
	return unused;
}

static void use_locks(void)
{
	pthread_mutexattr_t attributes;
	pthread_t thread;

	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&recursive, &attributes);
	hold();
	pthread_barrier_init(&barrier, NULL, 2);
	thread = start(contend);
	keep();
	pthread_join(thread, NULL);
	count_is("lock_waits", "want", "waits", "mutex", 1);
	count_is("lock_sites", "want", "waits", "mutex", 1);
	count_is("lock_sites", "want", "locked", "mutex", 1);
	pthread_mutex_lock(&first);
	pthread_join(start(fail), NULL);
	pthread_mutex_unlock(&first);
	count_is("lock_waits", "try", "waits", "mutex", 1);
	say("least", "lock_waits", "try", "wait_time_ns", "mutex", 4 * MS);
}

/* Readers at the same time, and a writer that has to wait for both. */
static void *read_it(void *unused)
{
	pthread_rwlock_rdlock(&rwlock);
	pthread_barrier_wait(&barrier);
	rest(25);
	pthread_rwlock_unlock(&rwlock);
	return unused;
}

NOT_SHARED static void write_it(void)
{
	pthread_rwlock_wrlock(&rwlock);
	rest(10);
	pthread_rwlock_unlock(&rwlock);
}

static void use_rwlock(void)
{
	pthread_t one, two;

	pthread_barrier_destroy(&barrier);
	pthread_barrier_init(&barrier, NULL, 3);
	one = start(read_it);
	two = start(read_it);
	pthread_barrier_wait(&barrier);
	write_it();
	pthread_join(one, NULL);
	pthread_join(two, NULL);
	count_is("lock_sites", "read_it", "locked", "read", 2);
	count_is("lock_sites", "read_it", "waits", "read", 0);
	say("least", "lock_sites", "read_it", "hold_time_ns", "read", 50 * MS);
	count_is("lock_sites", "write_it", "locked", "write", 1);
	count_is("lock_waits", "write_it", "waits", "write", 1);
	say("least", "lock_sites", "write_it", "hold_time_ns", "write", 10 * MS);
}

/* ---- conditions ---- */

NOT_SHARED static void await(void)
{
	pthread_mutex_lock(&state);
	while (!tickets) {
		waiting++;
		pthread_cond_wait(&changed, &state);
		waiting--;
		wakes++;
	}
	tickets--;
	pthread_mutex_unlock(&state);
}

static void *take_ticket(void *unused)
{
	await();
	return unused;
}

NOT_SHARED static void call_all(void)
{
	pthread_mutex_lock(&state);
	tickets++;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&state);
}

NOT_SHARED static void call_nobody(void)
{
	for (int i = 0; i < 4; i++)
		pthread_cond_signal(&changed);
}

NOT_SHARED static void wait_in_vain(void)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += 100 * (long)MS;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_mutex_lock(&state);
	while (pthread_cond_timedwait(&changed, &state, &until) != ETIMEDOUT)
		;
	pthread_mutex_unlock(&state);
}

static void until_waiting(int threads, int after_wakes)
{
	for (int is_ready = 0; !is_ready;) {
		rest(1);
		pthread_mutex_lock(&state);
		is_ready = waiting == threads && wakes == after_wakes;
		pthread_mutex_unlock(&state);
	}
}

/* Three wait. Each broadcast wakes all that do, and has a ticket for one. */
static void use_conditions(void)
{
	pthread_t threads[3];

	pthread_mutex_init(&state, NULL);
	call_nobody();
	for (int i = 0; i < 3; i++)
		threads[i] = start(take_ticket);
	until_waiting(3, 0);
	call_all();
	until_waiting(2, 3);
	call_all();
	until_waiting(1, 5);
	call_all();
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	wait_in_vain();
	count_is("signals", "call_all", "count", "-", 3);
	count_is("signals", "call_all", "woke", "-", 3 + 2 + 1);
	count_is("signals", "call_nobody", "count", "-", 4);
	count_is("signals", "call_nobody", "without_waiter", "-", 4);
	count_is("cond_waits", "await", "waits", "signalled", 3);
	count_is("cond_waits", "await", "waits", "waited_again", 3);
	count_is("cond_waits", "wait_in_vain", "waits", "timed_out", 1);
	say("least", "cond_waits", "wait_in_vain", "wait_time_ns", "timed_out", 90 * MS);
	/* What sleeps holds nothing. */
	say("most", "lock_sites", "wait_in_vain", "longest_hold_ns", "mutex", 80 * MS);
}

/* ---- semaphores ---- */

static void *fetch(void *unused)
{
	sem_wait(&sem);
	return unused;
}

NOT_SHARED static void fetch_lying(void)
{
	for (int i = 0; i < 3; i++)
		sem_wait(&sem);
}

NOT_SHARED static void post_ahead(void)
{
	for (int i = 0; i < 3; i++)
		sem_post(&sem);
}

NOT_SHARED static void post_to(void)
{
	sem_post(&sem);
}

NOT_SHARED static void look(void)
{
	for (int i = 0; i < 5; i++)
		if (!sem_trywait(&sem))
			exit(99);
}

static void use_semaphores(void)
{
	pthread_t thread;

	sem_init(&sem, 0, 1);
	post_ahead();
	fetch_lying(); /* the initial one and two of the three */
	sem_wait(&sem);
	look();
	thread = start(fetch);
	rest(50);
	post_to();
	pthread_join(thread, NULL);
	post_to();
	count_is("posts", "post_ahead", "count", "-", 3);
	count_is("posts", "post_ahead", "without_waiter", "-", 3);
	count_is("sem_waits", "look", "waits", "refused", 5);
	count_is("sem_waits", "fetch", "waits", "posted", 1);
	say("least", "sem_waits", "fetch", "wait_time_ns", "posted", 20 * MS);
}

/* ---- orders ---- */

NOT_SHARED static void one_way(long ms)
{
	pthread_mutex_lock(&first);
	rest(ms);
	pthread_mutex_lock(&second);
	pthread_mutex_unlock(&second);
	pthread_mutex_unlock(&first);
}

NOT_SHARED static void other_way(long ms)
{
	pthread_mutex_lock(&second);
	rest(ms);
	pthread_mutex_lock(&first);
	pthread_mutex_unlock(&first);
	pthread_mutex_unlock(&second);
}

static void *go_back(void *gate)
{
	if (gate)
		pthread_mutex_lock(&third);
	other_way(0);
	if (gate)
		pthread_mutex_unlock(&third);
	return NULL;
}

static void *block(void *unused)
{
	other_way(100);
	return unused;
}

static void use_orders(pthread_mutex_t *gate)
{
	pthread_t thread;

	if (gate)
		pthread_mutex_lock(gate);
	one_way(0);
	if (gate)
		pthread_mutex_unlock(gate);
	pthread_create(&thread, NULL, go_back, gate);
	pthread_join(thread, NULL);
}

/* A cycle of three: no pair of them was taken in both orders. */
static void use_cycle(void)
{
	pthread_mutex_t *const all[] = { &first, &second, &third, &first };

	for (int i = 0; i < 3; i++) {
		pthread_mutex_lock(all[i]);
		pthread_mutex_lock(all[i + 1]);
		pthread_mutex_unlock(all[i + 1]);
		pthread_mutex_unlock(all[i]);
	}
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "deadlock")) {
		start(block);
		alarm(1);
		one_way(100);
	} else if (!strcmp(what, "orders")) {
		use_orders(NULL);
	} else if (!strcmp(what, "gate")) {
		use_orders(&third);
	} else if (!strcmp(what, "circle")) {
		use_cycle();
	} else {
		use_locks();
		use_rwlock();
		use_conditions();
		use_semaphores();
	}
	return 0;
}
