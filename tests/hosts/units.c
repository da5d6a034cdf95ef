/* SPDX-License-Identifier: MIT */
/*
 * units N [KIND]: does N units of work, each of which ends with a mark. Ten call sites leak, ten
 * fill caches, and the amounts of ten go up and down by chance: the functions leak_*, cache_* and
 * noise_*. KIND: call only functions whose names begin with it.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "holdtrace.h"

#define SLOTS 4096

static uint64_t state = 1;
static void *volatile kept;

static unsigned chance(unsigned count)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(state >> 33) % count;
}

/* Puts a new block into a slot, and frees the block that was there. */
static inline __attribute__((always_inline)) void put(void **slot, size_t size)
{
	free(*slot);
	*slot = malloc(size);
}

#define FUNCTION(name) \
	static __attribute__((noinline, noclone)) void name(unsigned i __attribute__((unused)))
#define SLOTS_OF(count) static void *slots[count]

FUNCTION(leak_each)
{
	kept = malloc(48);
}
FUNCTION(leak_third)
{
	if (i % 3 == 0)
		kept = malloc(1000);
}
FUNCTION(leak_by_chance)
{
	if (chance(2))
		kept = malloc(64);
}
FUNCTION(leak_sizes)
{
	kept = malloc(1 + chance(200));
}
FUNCTION(leak_descriptor)
{
	if (i % 4 == 0)
		kept = (void *)(intptr_t)open("/dev/null", O_RDONLY);
}
FUNCTION(leak_mapping)
{
	kept = mmap(0, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}
FUNCTION(leak_string)
{
	kept = strdup(i % 2 ? "odd" : "evenly");
}
FUNCTION(leak_list)
{
	static void **list;
	static size_t count;

	list = realloc(list, ++count * sizeof(*list));
}
FUNCTION(leak_and_free)
{
	SLOTS_OF(8);

	for (int k = 0; k < 4; k++)
		put(&slots[chance(8)], 32);
	slots[i % 8] = NULL;
}
FUNCTION(leak_after_start)
{
	kept = malloc(i < 20 ? 5000 : 200);
}

FUNCTION(cache_array)
{
	SLOTS_OF(SLOTS);
	if (!slots[i % 60])
		put(&slots[i % 60], 100);
}
FUNCTION(cache_late)
{
	SLOTS_OF(SLOTS);
	unsigned k = i % 320;
	if (!slots[k])
		put(&slots[k], 100);
}
FUNCTION(cache_replaced)
{
	SLOTS_OF(SLOTS);
	put(&slots[i % 100], 100);
}
FUNCTION(cache_sizes)
{
	SLOTS_OF(SLOTS);
	put(&slots[i % 100], 50 + chance(100));
}
FUNCTION(cache_keys)
{
	SLOTS_OF(SLOTS);
	unsigned k = chance(20);
	if (!slots[k])
		put(&slots[k], 100);
}
FUNCTION(cache_many_keys)
{
	SLOTS_OF(SLOTS);
	unsigned k = chance(300);
	if (!slots[k])
		put(&slots[k], 100);
}
FUNCTION(cache_table)
{
	static void *table;
	static size_t room;

	if (i >= room && room < 256)
		table = realloc(table, (room = room ? 2 * room : 8) * 100);
}
FUNCTION(cache_emptied)
{
	SLOTS_OF(SLOTS);

	if (i % 150 == 149)
		for (int k = 0; k < 150; k++)
			put(&slots[k], 0), free(slots[k]), slots[k] = NULL;
	put(&slots[i % 150], 100);
}
FUNCTION(cache_descriptors)
{
	static int fds[30];
	int *fd = &fds[i % 30];
	if (*fd)
		close(*fd);
	*fd = open("/dev/null", O_RDONLY);
}
FUNCTION(cache_rare_keys)
{
	SLOTS_OF(SLOTS);
	unsigned k = 0;

	while (k < SLOTS - 1 && chance(30))
		k++;
	if (!slots[k])
		put(&slots[k], 100);
}

FUNCTION(noise_size)
{
	SLOTS_OF(1);
	put(&slots[0], 1 + chance(100000));
}
FUNCTION(noise_slots)
{
	SLOTS_OF(64);
	unsigned k = chance(64);
	put(&slots[k], 1 + chance(1000));
	if (chance(2)) {
		free(slots[k]);
		slots[k] = NULL;
	}
}
FUNCTION(noise_queue)
{
	SLOTS_OF(SLOTS);
	static unsigned used = SLOTS / 2;

	if (chance(2)) {
		put(&slots[used++ % SLOTS], 100);
	} else {
		free(slots[--used % SLOTS]);
		slots[used % SLOTS] = NULL;
	}
}
FUNCTION(noise_wave)
{
	SLOTS_OF(1);
	put(&slots[0], 1000 + (i % 70 > 35 ? 70 - i % 70 : i % 70) * 100);
}
FUNCTION(noise_rare)
{
	SLOTS_OF(1);
	put(&slots[0], chance(25) ? 10 : 100000);
}
FUNCTION(noise_steps)
{
	SLOTS_OF(1);
	if (i % 37 == 0)
		put(&slots[0], 1 + chance(10000));
}
FUNCTION(noise_walk)
{
	static size_t size = 500000;
	static void *block;
	size += 1000 - (size_t)chance(2001);
	block = realloc(block, size);
}
FUNCTION(noise_descriptors)
{
	static int fd;
	if (fd)
		close(fd), fd = 0;
	else if (chance(2))
		fd = open("/dev/null", O_RDONLY);
}
FUNCTION(noise_batches)
{
	SLOTS_OF(50);
	for (unsigned k = 0; k < 50; k++)
		if (chance(3) == 0)
			put(&slots[k], 10 + chance(500));
}
FUNCTION(noise_falls)
{
	SLOTS_OF(1);
	put(&slots[0], 1000000 / (1 + i) + chance(1000));
}

static const struct {
	const char *name;
	void (*call)(unsigned i);
} functions[] = {
#define ROW(name) { #name, name },
	ROW(leak_each) ROW(leak_third) ROW(leak_by_chance) ROW(leak_sizes) ROW(leak_descriptor)
		ROW(leak_mapping) ROW(leak_string) ROW(leak_list) ROW(leak_and_free) ROW(
			leak_after_start) ROW(cache_array) ROW(cache_late) ROW(cache_replaced)
			ROW(cache_sizes) ROW(cache_keys) ROW(cache_many_keys) ROW(cache_table)
				ROW(cache_emptied) ROW(cache_descriptors) ROW(cache_rare_keys)
					ROW(noise_size) ROW(noise_slots) ROW(noise_queue)
						ROW(noise_wave) ROW(noise_rare) ROW(noise_steps)
							ROW(noise_walk) ROW(noise_descriptors)
								ROW(noise_batches) ROW(noise_falls)
};

/* One unit of work. */
static __attribute__((noinline)) void do_unit(unsigned i, const char *kind)
{
	for (size_t k = 0; k < sizeof(functions) / sizeof(*functions); k++)
		if (!strncmp(functions[k].name, kind, strlen(kind)))
			functions[k].call(i);
}

int main(int argc, char **argv)
{
	unsigned count = argc > 1 ? (unsigned)atoi(argv[1]) : 400;
	const char *kind = argc > 2 ? argv[2] : "";

	for (unsigned i = 0; i < count; i++) {
		do_unit(i, kind);
		/* a recorded call once for each unit, outside do_unit() */
		close(dup(0));
		holdtrace_mark(i % 2 ? "odd" : "even");
	}
	return 0;
}
