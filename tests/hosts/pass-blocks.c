/* SPDX-License-Identifier: MIT */
/*
 * Four threads in a ring pass blocks on: each frees what it gets from its neighbour and sends what
 * it allocates, so that addresses are used again at once by other threads. argv[1]: pairs in all.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sched.h>

#define THREADS 4
#define ROOM	64

static struct channel {
	void *block[ROOM];
	uint64_t sent __attribute__((aligned(64)));
	uint64_t taken __attribute__((aligned(64)));
} channels[THREADS];

static uint64_t share;

static void send(struct channel *to, void *block)
{
	uint64_t at = to->sent;

	while (at - __atomic_load_n(&to->taken, __ATOMIC_ACQUIRE) == ROOM)
		sched_yield();
	to->block[at % ROOM] = block;
	__atomic_store_n(&to->sent, at + 1, __ATOMIC_RELEASE);
}

static void *take(struct channel *from, int wait)
{
	void *block;

	while (from->taken == __atomic_load_n(&from->sent, __ATOMIC_ACQUIRE)) {
		if (!wait)
			return NULL;
		sched_yield();
	}
	block = from->block[from->taken % ROOM];
	__atomic_store_n(&from->taken, from->taken + 1, __ATOMIC_RELEASE);
	return block;
}

static void *pass(void *argument)
{
	struct channel *mine = argument;
	struct channel *next = &channels[(mine - channels + 1) % THREADS];
	uint64_t freed = 0;

	for (uint64_t i = 0; i < share; i++) {
		void *got = take(mine, 0);

		if (got) {
			free(got);
			freed++;
		}
		/* Sending waits for room; whoever waits must still take. */
		while (next->sent - __atomic_load_n(&next->taken, __ATOMIC_ACQUIRE) == ROOM) {
			got = take(mine, 0);
			if (got) {
				free(got);
				freed++;
			} else {
				sched_yield();
			}
		}
		send(next, malloc(24 + i % 3 * 8));
	}
	while (freed < share) {
		free(take(mine, 1));
		freed++;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];

	share = strtoull(argc > 1 ? argv[1] : "1000000", NULL, 10) / THREADS;
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, pass, &channels[i]);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("%llu pairs\n", (unsigned long long)share * THREADS);
	return 0;
}
