/* SPDX-License-Identifier: MIT */
/*
 * busy-own [slow]: a program to be attached to that has an allocator of its own, and is nearly
 * always in it, with a lock: a loader that was called then would wait for that lock for ever. slow:
 * instead it sleeps, and its allocator takes so long that loading a library does. Ends at SIGTERM,
 * with status 1 if a block was not what it should be, or a library could not be loaded.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OF_CLASS(size) (64 - __builtin_clzl((size) | 15))

static volatile sig_atomic_t is_over, is_slow;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char heap[64 << 20] __attribute__((aligned(16)));
static size_t used;

struct block {
	size_t class;
	struct block *next; /* while it is free */
};

static struct block *unused[64];

static struct block *take(size_t class)
{
	struct block *block = unused[class];

	if (block) {
		unused[class] = block->next;
		return block;
	}
	if (used + 16 + (1ul << class) > sizeof(heap))
		return NULL;
	block = (struct block *)(void *)(heap + used);
	block->class = class;
	used += 16 + (1ul << class);
	return block;
}

void *malloc(size_t size)
{
	struct block *block;

	pthread_mutex_lock(&lock);
	block = take((size_t)OF_CLASS(size));
	for (volatile int i = 0; i < 2000; i++)
		;
	pthread_mutex_unlock(&lock);
	if (is_slow)
		usleep(30000);
	return block ? (char *)block + 16 : NULL;
}

/* Also where the compiler knows what malloc returns. */
static struct block *block_of(void *address)
{
	uintptr_t at = (uintptr_t)address - 16;

	__asm__("" : "+r"(at));
	return (struct block *)at;
}

void free(void *address)
{
	struct block *block = block_of(address);

	if (!address)
		return;
	pthread_mutex_lock(&lock);
	block->next = unused[block->class];
	unused[block->class] = block;
	pthread_mutex_unlock(&lock);
}

void *calloc(size_t count, size_t size)
{
	void *block = malloc(count * size);

	return block ? memset(block, 0, count * size) : NULL;
}

void *realloc(void *old, size_t size)
{
	const struct block *block = block_of(old);
	size_t room = old ? 1ul << block->class : 0;
	void *new = malloc(size);

	if (old && new)
		memcpy(new, old, room < size ? room : size);
	free(old);
	return new;
}

static void end(int number)
{
	is_over = number;
}

static void *load(void *argument)
{
	void *library = dlopen("libresolv.so.2", RTLD_NOW);

	return library && dlclose(library) == 0 ? argument : NULL;
}

/* Whether this thread and another one can still load libraries. */
static bool loads(void)
{
	pthread_t thread;
	void *result = NULL;

	if (pthread_create(&thread, NULL, load, heap) == 0)
		pthread_join(thread, &result);
	return result && load(heap);
}

int main(int argc, char **argv)
{
	unsigned long rounds = 0, wrong = 0;

	(void)argv;
	signal(SIGTERM, end);
	is_slow = argc > 1;
	while (is_slow && !is_over) {
		usleep(20000);
		rounds++;
	}
	is_slow = 0;
	while (!is_over) {
		size_t size = rounds % 3000 + 1;
		char *bytes = malloc(size);

		memset(bytes, (int)rounds & 127, size);
		wrong += bytes[size / 2] != (char)(rounds & 127);
		free(bytes);
		/* a moment outside, one of some thousand */
		if (rounds++ % 1024 == 0)
			usleep(50);
	}
	wrong += !loads();
	printf("rounds %lu wrong %lu\n", rounds, wrong);
	return wrong != 0;
}
