/* SPDX-License-Identifier: MIT */
/*
 * churns MODE BLOCKS [MORE]: a server whose four threads together hold BLOCKS blocks and change
 * them all the time: MODE mixed allocates, resizes and frees, MODE resize does nothing else than
 * realloc(). Before, it loses 100 blocks, in MODE resize none. Says its pid, and for each line of
 * its input loses MORE blocks in another place and says so; ends with its input.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/hosts/stack.h"

#define THREADS 4
#define LOST	100
#define BURST	200  /* changes, before a thread lets others run */
#define REST_US 2000 /* or the trace is soon longer than anybody wants to read */

static void **slots;
static size_t slots_each;
static const char *mode;
static volatile int is_over;

NOINLINE static void lose(int count)
{
	for (int i = 0; i < count; i++)
		use(malloc(40 + (size_t)i));
}

NOINLINE static void lose_more(int count)
{
	for (int i = 0; i < count; i++)
		use(calloc(1, 72));
}

static uint32_t next_random(uint32_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 17;
	*seed ^= *seed << 5;
	return *seed;
}

static void change(void **slot, uint32_t random)
{
	size_t size = 16 + (random >> 8) % 400;

	if (*mode == 'r' || random % 4 == 0) {
		*slot = realloc(*slot, size);
	} else {
		free(*slot);
		*slot = NULL;
		*slot = random % 4 == 1 ? calloc(1, size) : malloc(size);
	}
	/* what was there before is none of ours, and leads nowhere */
	if (*slot)
		memset(*slot, 0, size);
}

NOINLINE static void *churn(void *argument)
{
	uint32_t seed = 2463534242u + (uint32_t)(uintptr_t)argument;
	void **mine = slots + (size_t)argument * slots_each;

	while (!is_over) {
		for (int i = 0; i < BURST; i++) {
			uint32_t random = next_random(&seed);

			change(&mine[next_random(&seed) % slots_each], random);
		}
		usleep(REST_US);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	int more = argc > 3 ? atoi(argv[3]) : 0, rc = 0;
	char line[16];

	if (argc < 3)
		return 2;
	mode = argv[1];
	slots_each = strtoul(argv[2], NULL, 10) / THREADS;
	slots = calloc(slots_each * THREADS, sizeof(*slots));
	if (!slots || !slots_each)
		return 2;
	for (size_t i = 0; i < slots_each * THREADS; i++)
		slots[i] = calloc(1, 16 + i % 400);
	if (*mode != 'r')
		lose(LOST);
	wipe_stack();
	for (uintptr_t i = 0; i < THREADS; i++)
		rc |= pthread_create(&threads[i], NULL, churn, (void *)i);
	printf("pid %d\n", (int)getpid());
	fflush(stdout);
	while (rc == 0 && read(0, line, sizeof(line)) > 0) {
		lose_more(more);
		wipe_stack();
		printf("more\n");
		fflush(stdout);
	}
	is_over = 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return rc ? 2 : 0;
}
