/* SPDX-License-Identifier: MIT */
/*
 * busy-own [slow | sleeps | new | rests | trims | returns]: a program to be attached to that has an
 * allocator of its own (own-pool.c), and is nearly always in it, with a lock: a loader that was
 * called then would wait for that lock for ever. slow: instead it sleeps, and its allocator takes
 * so long that loading a library does. sleeps: so it does, and from SIGUSR1 on frees as slowly.
 * new: by operator new, which sleeps with the lock. rests: in a function of the allocator that has
 * no name for it. trims: there it gives memory back. returns: there it is just
 * after a system call (on x86-64; elsewhere it trims). Ends at SIGTERM, with status 1 if a block
 * was not what it should be, or a library could not be loaded. busy-pool: has it in a library.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t is_over;
static char mark;

extern int pool_is_slow, pool_frees_slowly;
void *_Znwm(size_t size);
void _ZdlPv(void *address);
void pool_rest(void);
void pool_trim(void);
void pool_return(void);

static void free_slowly(int number)
{
	pool_frees_slowly = number;
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

	if (pthread_create(&thread, NULL, load, &mark) == 0)
		pthread_join(thread, &result);
	return result && load(&mark);
}

static char *take(size_t size, bool by_new)
{
	return by_new ? _Znwm(size) : malloc(size);
}

static void give(char *bytes, bool by_new)
{
	if (by_new)
		_ZdlPv(bytes);
	else
		free(bytes);
}

int main(int argc, char **argv)
{
	bool is_slow = argc > 1 && !strcmp(argv[1], "slow");
	bool sleeps = argc > 1 && !strcmp(argv[1], "sleeps");
	bool rests = argc > 1 && !strcmp(argv[1], "rests");
	bool trims = argc > 1 && !strcmp(argv[1], "trims");
	bool returns = argc > 1 && !strcmp(argv[1], "returns");
	bool by_new = argc > 1 && !strcmp(argv[1], "new");
	unsigned long rounds = 0, wrong = 0;

	signal(SIGTERM, end);
	signal(SIGUSR1, free_slowly);
	pool_is_slow = is_slow;
	while ((is_slow || sleeps) && !is_over) {
		usleep(20000);
		rounds++;
	}
	pool_is_slow = pool_frees_slowly = 0;
	while (!is_over) {
		size_t size = rounds % 3000 + 1;
		char *bytes = take(size, by_new);

		memset(bytes, (int)rounds & 127, size);
		wrong += bytes[size / 2] != (char)(rounds & 127);
		give(bytes, by_new);
		while (rests && !is_over)
			pool_rest();
		if (trims)
			pool_trim();
		if (returns)
			pool_return();
		/* a moment outside, one of some thousand */
		if (rounds++ % (by_new ? 16 : trims || returns ? 1 : 1024) == 0)
			usleep(trims || returns ? 1000 : 50);
	}
	wrong += !rests && !loads();
	printf("rounds %lu wrong %lu\n", rounds, wrong);
	return wrong != 0;
}
