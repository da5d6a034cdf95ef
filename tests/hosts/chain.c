/* SPDX-License-Identifier: MIT */
/*
 * Waits in a chain, and knows how long: main has `deep` and works; inner has `middle`, waits for
 * `deep` and works; outer waits for `middle`. Each line of its output is
 *
 *   least|most TABLE FUNCTION COLUMN NS
 *
 * what the table delayed_by must say of the place where that function took a lock: what was slept
 * at least, and by its own clock at most.
 */
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NOT_SHARED __attribute__((noinline, noclone, optimize("no-optimize-sibling-calls")))
#define MS	   1000000ull

static pthread_mutex_t deep = PTHREAD_MUTEX_INITIALIZER, middle = PTHREAD_MUTEX_INITIALIZER;
static unsigned long long inner_has, outer_asks, deep_free, middle_free, outer_has;
static int stage;

static unsigned long long now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (unsigned long long)time.tv_sec * 1000000000 + (unsigned long long)time.tv_nsec;
}

/* Not by the library: to work is no wait that is seen. */
static void work(long ms)
{
	struct timespec pause = { .tv_nsec = ms * (long)MS };

	syscall(SYS_nanosleep, &pause, NULL);
}

static void reach(int wanted)
{
	while (__atomic_load_n(&stage, __ATOMIC_ACQUIRE) < wanted)
		work(1);
}

static void tell(int reached)
{
	__atomic_store_n(&stage, reached, __ATOMIC_RELEASE);
}

NOT_SHARED static void *inner(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&middle);
	inner_has = now();
	tell(1);
	pthread_mutex_lock(&deep);
	work(40);
	middle_free = now();
	pthread_mutex_unlock(&middle);
	pthread_mutex_unlock(&deep);
	return NULL;
}

NOT_SHARED static void *outer(void *unused)
{
	(void)unused;
	reach(1);
	work(10); /* inner waits by now */
	outer_asks = now();
	tell(2);
	pthread_mutex_lock(&middle);
	outer_has = now();
	pthread_mutex_unlock(&middle);
	return NULL;
}

NOT_SHARED static void keep_deep(void)
{
	pthread_mutex_lock(&deep);
}

int main(void)
{
	pthread_t threads[2];
	unsigned long long slept = 80 * MS;

	keep_deep();
	pthread_create(&threads[0], NULL, inner, NULL);
	pthread_create(&threads[1], NULL, outer, NULL);
	reach(2);
	work(80);
	deep_free = now();
	pthread_mutex_unlock(&deep);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);

	/* inner and outer both waited for what keep_deep() had, through all that main slept */
	printf("least delayed_by keep_deep delay_ns %llu\n", 2 * slept);
	printf("most delayed_by keep_deep delay_ns %llu\n",
	       outer_has - inner_has + (outer_has - outer_asks));
	/* outer waited for inner while that worked, and before, while that waited itself */
	printf("least delayed_by inner delay_ns %llu\n", 40 * MS);
	printf("most delayed_by inner delay_ns %llu\n", outer_has - deep_free);
	printf("least delayed_by inner wait_time_ns %llu\n", slept + 40 * MS);
	printf("most delayed_by inner wait_time_ns %llu\n", outer_has - outer_asks);
	printf("least delayed_by inner passed_on_ns %llu\n", slept);
	printf("most delayed_by inner passed_on_ns %llu\n", middle_free - 40 * MS - outer_asks);
	printf("most delayed_by keep_deep passed_on_ns 0\n");
	/* the time went by in main, and then in inner */
	printf("least critical_path keep_deep time_ns %llu\n", slept);
	printf("least critical_path inner time_ns %llu\n", 40 * MS);
	return 0;
}
