/* SPDX-License-Identifier: MIT */
/*
 * A thread waits for an object of a library, and the main thread ends each wait after a while.
 * Prints a line for each kind of object, as tests/tools/futexes.py reads it: the function that
 * waits, how the waits end, their number and time, the function that ends them, and the kind.
 * "held:FUNCTION" instead of the end is a lock of pthread, whose holder took it in that function.
 * The argument is the number of waits for each object.
 */
#ifndef KNOWN_WAITS_H
#define KNOWN_WAITS_H

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <pthread.h>

#define NOINLINE __attribute__((noinline))

static inline void known_sleep(long us)
{
	struct timespec span = { 0, us * 1000 };

	nanosleep(&span, NULL);
}

static inline long known_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000l + now.tv_nsec;
}

/* A kind of object. take: the main thread takes it before a wait; leave: what the waiter does
 * after. */
struct known {
	const char *name, *kind, *ended;
	void (*take)(void), (*wait)(void), (*wake)(void), (*leave)(void);
};

static std::atomic<int> known_turn;
static long known_span;
static int known_rounds;

static void *known_waiter(void *given)
{
	const struct known *object = (const struct known *)given;

	for (int round = 0; round < known_rounds; round++) {
		long begin;

		while (known_turn.load() != 1)
			known_sleep(100);
		begin = known_now();
		object->wait();
		known_span += known_now() - begin;
		if (object->leave)
			object->leave();
		known_turn.store(0);
	}
	return NULL;
}

static inline void known_run(const struct known *object)
{
	pthread_t thread;

	known_span = 0;
	if (pthread_create(&thread, NULL, known_waiter, (void *)object))
		abort();
	for (int round = 0; round < known_rounds; round++) {
		if (object->take)
			object->take();
		known_turn.store(1);
		known_sleep(20000);
		object->wake();
		while (known_turn.load() != 0)
			known_sleep(100);
	}
	pthread_join(thread, NULL);
	printf("wait_%s %s %d %ld wake_%s %s\n", object->name, object->ended, known_rounds,
	       known_span, object->name, object->kind);
}

static inline int known_main(const struct known *objects, size_t count, const char *rounds)
{
	known_rounds = rounds ? atoi(rounds) : 20;
	for (size_t i = 0; i < count; i++)
		known_run(&objects[i]);
	return 0;
}

#define KNOWN(name, kind, ended, take, leave)                             \
	{                                                                 \
#name, kind, ended, take, wait_##name, wake_##name, leave \
	}
#define FUNCTION(name, ...)           \
	NOINLINE static void name()   \
	{                             \
		__VA_ARGS__;          \
		__asm__ volatile(""); \
	}

#endif
