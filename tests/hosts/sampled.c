/* SPDX-License-Identifier: MIT */
/*
 * For tests/e2e/sampling. `sampled places`: a hundred functions each hold blocks of sizes of their
 * own, and say how many bytes: "place_12 123456". `sampled frees`: blocks of every size and
 * function of the malloc family, moved, given back by other threads and by a fork's child; none is
 * held. `sampled large`: a block of 100 MB and one that grows to 1 MB, which no sample misses, and
 * 20,000 small ones; a fork's child gives all of them back, and its parent holds them still.
 * `sampled results`: what calls return and errno, whoever looks on.
 */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PLACES 100
#define BLOCKS 2000

static void *kept[PLACES][BLOCKS];

/* From 16 bytes to 8 KiB, most of them small; a place has its own. */
static size_t size_of(unsigned int place, unsigned int i)
{
	uint32_t number = (place * BLOCKS + i) * 2654435761u;

	number ^= number >> 15;
	number *= 2246822519u;
	number ^= number >> 13;
	return 16 + (number & ((1u << (4 + place % 10)) - 1));
}

#define PLACE(n)                                                               \
	__attribute__((noinline)) static size_t place_##n(unsigned int blocks) \
	{                                                                      \
		size_t sum = 0;                                                \
                                                                               \
		for (unsigned int i = 0; i < blocks; i++) {                    \
			kept[n][i] = malloc(size_of(n, i));                    \
			sum += size_of(n, i);                                  \
		}                                                              \
		return sum;                                                    \
	}
#define TEN(m, d) m(d##0) m(d##1) m(d##2) m(d##3) m(d##4) m(d##5) m(d##6) m(d##7) m(d##8) m(d##9)
#define HUNDRED(m)                                                                                \
	m(0) m(1) m(2) m(3) m(4) m(5) m(6) m(7) m(8) m(9) TEN(m, 1) TEN(m, 2) TEN(m, 3) TEN(m, 4) \
		TEN(m, 5) TEN(m, 6) TEN(m, 7) TEN(m, 8) TEN(m, 9)
HUNDRED(PLACE)

#define ENTRY(n) { "place_" #n, place_##n },
static const struct {
	const char *name;
	size_t (*fill)(unsigned int blocks);
} places[] = { HUNDRED(ENTRY) };

static int hold(void)
{
	for (unsigned int i = 0; i < PLACES; i++)
		printf("%s %zu\n", places[i].name, places[i].fill(BLOCKS));
	return 0;
}

static void *give_back(void *blocks)
{
	for (unsigned int i = 0; i < BLOCKS; i++)
		free(((void **)blocks)[i]);
	return NULL;
}

static void *acquisition(unsigned int how, size_t size)
{
	void *block = NULL;

	switch (how % 9) {
	case 0:
		return malloc(size);
	case 1:
		return calloc(size / 16, 16);
	case 2:
		return realloc(NULL, size);
	case 3:
		return reallocarray(NULL, size, 1);
	case 4:
		return memalign(64, size);
	case 5:
		return aligned_alloc(64, size & ~63ul);
	case 6:
		return valloc(size);
	case 7:
		return posix_memalign(&block, 64, size) ? NULL : block;
	default:
		return pvalloc(size);
	}
}

static int frees(void)
{
	pthread_t thread;
	char *block = NULL;
	pid_t child;

	for (unsigned int i = 0; i < BLOCKS; i++)
		kept[0][i] = acquisition(i, size_of(11, i));
	for (unsigned int i = 0; i < BLOCKS; i++)
		kept[0][i] = i % 2 ? realloc(kept[0][i], size_of(10, i))
				   : reallocarray(kept[0][i], size_of(12, i), 2);
	for (unsigned int i = 0; i < BLOCKS; i++)
		block = realloc(block, size_of(i, i) * 10);
	errno = 0;
	if (realloc(block, SIZE_MAX / 2) || errno != ENOMEM)
		return 1;
	child = fork();
	if (!child) {
		free(block);
		for (unsigned int i = 0; i < BLOCKS; i++)
			kept[1][i] = malloc(size_of(12, i));
		give_back(kept[1]);
		give_back(kept[0]);
		_exit(0);
	}
	free(block);
	pthread_create(&thread, NULL, give_back, kept[0]);
	pthread_join(thread, NULL);
	waitpid(child, NULL, 0);
	return 0;
}

__attribute__((noinline)) static void *huge(void)
{
	return malloc(100000000);
}

__attribute__((noinline)) static void *grow(void)
{
	char *block = NULL;

	for (size_t i = 1; i <= 1000; i++)
		block = realloc(block, i * 1000);
	return block;
}

__attribute__((noinline)) static void many(void)
{
	for (unsigned int i = 0; i < 20000; i++)
		kept[i / BLOCKS][i % BLOCKS] = malloc(100);
}

static int large(void)
{
	void *volatile one = huge(), *volatile other = grow();
	pid_t child;

	many();
	child = fork();
	if (!child) {
		free(one);
		free(other);
		for (unsigned int i = 0; i < 20000; i += BLOCKS)
			give_back(kept[i / BLOCKS]);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	return 0;
}

static int results(void)
{
	void *block = (void *)1;
	volatile size_t most = SIZE_MAX;

	errno = 0;
	printf("%d %d\n", malloc(most / 2) == NULL, errno);
	errno = 0;
	printf("%d %d\n", calloc(most / 2, 3) == NULL, errno);
	errno = 0;
	printf("%d %d\n", reallocarray(NULL, most / 2, 3) == NULL, errno);
	errno = 7;
	printf("%d %d", posix_memalign(&block, 3, 8), errno);
	printf(" %d %d\n", block == (void *)1, posix_memalign(&block, 64, most / 2));
	errno = 0;
	printf("%d %d\n", memalign(64, most / 2) == NULL, errno);
	errno = 7;
	block = malloc(100);
	block = realloc(block, 100000);
	printf("%d %zu\n", errno, malloc_usable_size(block) / 100000);
	free(block);
	printf("%d %d\n", realloc(malloc(10), 0) == NULL, errno);
	free(NULL);
	printf("%d\n", errno);
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "places"))
		return hold();
	if (!strcmp(what, "large"))
		return large();
	return !strcmp(what, "frees") ? frees() : results();
}
