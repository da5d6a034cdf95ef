/* SPDX-License-Identifier: MIT */
/*
 * A program whose heap is mostly free, but stays resident: few blocks of one call site are on most
 * of its pages. It has memory of every other kind, too. Usage: pins SEED [fork]
 *
 * It prints "ready PID" and waits for a line. Then it frees the blocks of that site, trims its
 * heap, and prints by how many bytes its resident memory fell. With fork, a child does all that.
 */
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define REQUESTS 30000u
#define MIB	 (1u << 20)

static unsigned state;
static void *requests[REQUESTS], *sessions[REQUESTS], *cache[2000];
static char *zeros, *mapped;

static unsigned any(unsigned most)
{
	state = state * 1103515245u + 12345u;
	return (state >> 16) % most;
}

#define SITE __attribute__((noinline, noclone))

SITE static void *make_request(size_t size)
{
	return memset(malloc(size), 1, size);
}

SITE static void *make_session(size_t size)
{
	return memset(malloc(size), 2, size);
}

SITE static void *fill_cache(void)
{
	return memset(malloc(1000), 3, 1000);
}

SITE static void *reserve_table(void)
{
	void *table = malloc(32 * MIB);

	__asm__ volatile("" : "+r"(table)); /* no jump to malloc */
	return table;
}

SITE static void *map_half(void)
{
	char *map = mmap(NULL, 4 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return memset(map, 4, 2 * MIB);
}

static void *use_stack(void *unused)
{
	volatile char array[MIB];

	for (size_t i = 0; i < sizeof(array); i += 1024)
		array[i] = 1;
	pause();
	return unused;
}

static unsigned map_others(void)
{
	int file = open("/proc/self/exe", O_RDONLY), shared = memfd_create("pins", 0);
	char *text = mmap(NULL, 16384, PROT_READ, MAP_PRIVATE, file, 0), *memory;
	unsigned sum = 0;
	pthread_t thread;

	if (ftruncate(shared, MIB))
		return 1;
	memory = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_SHARED, shared, 0);
	memset(memory, 5, MIB);
	zeros = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	madvise(zeros, MIB, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < MIB; i += 4096)
		sum += (unsigned)zeros[i];
	for (size_t i = 0; i < 16384; i += 4096)
		sum += (unsigned)text[i];
	pthread_create(&thread, NULL, use_stack, NULL);
	return sum;
}

static long resident(void)
{
	static char text[512];
	int fd = open("/proc/self/statm", O_RDONLY);
	ssize_t got = read(fd, text, sizeof(text) - 1);

	text[got > 0 ? got : 0] = '\0';
	close(fd);
	return strtol(strchr(text, ' '), NULL, 10) * 4096;
}

static void pin(void)
{
	unsigned between = 10 + any(12), size = 16 + any(100), request = 300 + any(300);
	long before;
	char line[8];

	for (unsigned i = 0; i < 2000; i++)
		cache[i] = fill_cache();
	for (unsigned i = 0; i < REQUESTS; i++) {
		requests[i] = make_request(request);
		if (any(between) == 0)
			sessions[i] = make_session(size);
	}
	for (unsigned i = 0; i < REQUESTS; i++)
		free(requests[i]);
	malloc_trim(0);
	dprintf(1, "ready %d\n", (int)getpid());
	if (read(0, line, sizeof(line)) <= 0)
		_exit(0);
	before = resident();
	for (unsigned i = 0; i < REQUESTS; i++)
		free(sessions[i]);
	malloc_trim(0);
	dprintf(1, "%ld\n", before - resident());
}

int main(int argc, char **argv)
{
	void *table = reserve_table();

	state = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
	mapped = map_half();
	if (map_others() > 100000)
		return 1;
	if (argc > 2 && !strcmp(argv[2], "fork")) {
		void *inherited = fill_cache();
		pid_t child = fork();

		if (child) {
			waitpid(child, NULL, 0);
			free(inherited);
			return 0;
		}
	}
	pin();
	return table == NULL;
}
