/* SPDX-License-Identifier: MIT */
/*
 * Eight threads allocate by the functions of pool.c, and count their calls and bytes themselves:
 * pool-user ROUNDS [LIBRARY [again | PROGRAM]]. With LIBRARY, the functions are those of a library
 * that the program loads while the threads run and allocate (LOADS). With "again", the program
 * unloads it after half of the rounds, and loads it at another address. With PROGRAM, the program
 * executes PROGRAM at its end, while a thread runs. The library's constructor allocates FIRST
 * blocks of 1000 bytes (pool-private.c), and its destructor frees them.
 */
#include "pool.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define THREADS 8

#ifdef LOADS
#define NAMES(ENTRY)  \
	ENTRY(malloc) \
	ENTRY(calloc) \
	ENTRY(realloc) ENTRY(free) ENTRY(free_sized) ENTRY(aligned_alloc) ENTRY(posix_memalign)
#define TEXT(name)    TEXT_(name)
#define TEXT_(name)   #name
#define POINTER(name) __typeof__(POOL(name)) *name;
#define FIND(name)    loaded.name = (__typeof__(loaded.name))dlsym(library, TEXT(PREFIX) #name);

static struct {
	NAMES(POINTER)
} loaded;
static void *library;
static pthread_barrier_t barrier;

#define CALL(name) loaded.name
#else
#define CALL(name) POOL(name)
#endif

/* an allocator without the function of C23 */
#ifdef NO_SIZED
#define FREE_SIZED(block, size) CALL(free)(block)
#else
#define FREE_SIZED(block, size) CALL(free_sized)(block, size)
#endif

enum call { MALLOC, CALLOC, REALLOC, FREE, CALLS };

struct counts {
	uint64_t calls[CALLS], bytes, live, live_bytes, seed;
};

static uint64_t rounds;

/* Frees all blocks but one in a thousand rounds. */
static void work(struct counts *counts)
{
	uint64_t state = counts->seed;

	for (uint64_t i = 0; i < rounds; i++) {
		size_t size = (state = state * 6364136223846793005u + 1442695040888963407u) >> 54;
		void *a = CALL(malloc)(size), *b = CALL(calloc)(3, size), *c = NULL;
		void *d = CALL(aligned_alloc)(16, size + 1);

		if (CALL(posix_memalign)(&c, 16, size + 2))
			abort();
		a = CALL(realloc)(a, size * 2 + 8);
		counts->calls[MALLOC] += 3;
		counts->calls[CALLOC]++;
		counts->calls[REALLOC]++;
		counts->calls[FREE] += 3;
		counts->bytes += 8 * size + 11;
		CALL(free)(b);
		FREE_SIZED(c, size + 2);
		CALL(free)(d);
		if (i % 1000 == 999) {
			counts->live++;
			counts->live_bytes += size * 2 + 8;
			continue;
		}
		CALL(free)(a);
		counts->calls[FREE]++;
	}
}

#ifdef LOADS
/* Allocates blocks of libc, as many in each run, while the first thread loads the library. */
static void *work_in_halves(void *user)
{
	for (int half = 0; half < 2; half++) {
		for (int i = 0; i < 3000; i++)
			free(malloc(16));
		pthread_barrier_wait(&barrier);
		work(user);
		pthread_barrier_wait(&barrier);
	}
	return NULL;
}

static void count_first(struct counts *counts)
{
	const char *first = getenv("FIRST");
	uint64_t count = first ? strtoull(first, NULL, 10) : 0;

	counts->calls[MALLOC] += count;
	counts->calls[FREE] += count;
	counts->bytes += count * 1000;
}

static void load(const char *path)
{
	library = dlopen(path, RTLD_NOW);
	if (!library)
		exit(1);
	NAMES(FIND)
}

/* Keeps the page at which the library was, so that it is loaded at another address. */
static void load_again(const char *path)
{
	void *before = (void *)(uintptr_t)CALL(malloc);
	Dl_info info;

	if (!dladdr(before, &info) || dlclose(library) ||
	    mmap(info.dli_fbase, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE,
		 -1, 0) != info.dli_fbase)
		exit(3);
	load(path);
	if (before == (void *)(uintptr_t)CALL(malloc))
		exit(4);
}

static void load_and_wait(const char *path, int is_again, struct counts *counts)
{
	load(path);
	count_first(counts);
	for (int half = 0; half < 2; half++) {
		if (half && is_again) {
			load_again(path);
			count_first(counts);
		}
		pthread_barrier_wait(&barrier);
		pthread_barrier_wait(&barrier);
	}
}

static void *wait_for_signal(void *user)
{
	pause();
	return user;
}
#else
static void *work_in_thread(void *user)
{
	work(user);
	return NULL;
}
#endif

int main(int argc, char **argv)
{
	static const char *const names[CALLS] = { "malloc", "calloc", "realloc", "free" };
	struct counts counts[THREADS] = { 0 }, sum = { 0 };
	pthread_t threads[THREADS];

	rounds = argc > 1 ? strtoull(argv[1], NULL, 10) : 100;
#ifdef LOADS
	void *(*const start)(void *) = work_in_halves;
	const char *last = argc > 3 ? argv[3] : "";

	rounds /= 2;
	pthread_barrier_init(&barrier, NULL, THREADS + 1);
#else
	void *(*const start)(void *) = work_in_thread;
#endif
	for (int i = 0; i < THREADS; i++) {
		counts[i].seed = (uint64_t)i;
		if (pthread_create(&threads[i], NULL, start, &counts[i]))
			return 1;
	}
#ifdef LOADS
	load_and_wait(argv[2], !strcmp(last, "again"), &sum);
#endif
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		for (int k = 0; k < CALLS; k++)
			sum.calls[k] += counts[i].calls[k];
		sum.bytes += counts[i].bytes;
		sum.live += counts[i].live;
		sum.live_bytes += counts[i].live_bytes;
	}
#ifdef LOADS
	if (strchr(last, '/') && !pthread_create(&threads[0], NULL, wait_for_signal, NULL))
		execl(last, last, (char *)NULL);
#endif
	for (int k = 0; k < CALLS; k++)
		printf("%s %llu\n", names[k], (unsigned long long)sum.calls[k]);
	printf("bytes %llu\nlive %llu %llu\n", (unsigned long long)sum.bytes,
	       (unsigned long long)sum.live, (unsigned long long)sum.live_bytes);
	return 0;
}
