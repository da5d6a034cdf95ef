/* SPDX-License-Identifier: MIT */
/*
 * Has mapped this and that, and says where; at SIGUSR1 gives most of it back, with what it maps
 * then. churn: maps and unmaps all the time, too.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096ul

static volatile sig_atomic_t is_asked;

static void ask(int number)
{
	(void)number;
	is_asked = 1;
}

static void *churn(void *argument)
{
	for (;;) {
		void *memory = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		usleep(200);
		munmap(memory, 3 * PAGE);
	}
	return argument;
}

static void *sleep_in_arena(void *argument)
{
	argument = malloc(100);
	pause();
	return argument;
}

/* With pages that nobody may touch around it, so that no neighbour becomes one with it. */
static char *map_apart(size_t pages, int flags, int fd)
{
	char *memory =
		mmap(NULL, (pages + 40) * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	munmap(memory, 20 * PAGE);
	munmap(memory + (pages + 20) * PAGE, 20 * PAGE);
	return mmap(memory + 20 * PAGE, pages * PAGE, PROT_READ | PROT_WRITE, MAP_FIXED | flags, fd,
		    0);
}

static void tell(const char *kind, const void *from, size_t pages)
{
	printf("%s %p %p\n", kind, from, (const void *)((const char *)from + pages * PAGE));
}

int main(int argc, char **argv)
{
	int fd = open(argc > 1 ? argv[1] : "/dev/null", O_RDWR);
	char *nameless = map_apart(64, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	char *shared = map_apart(16, MAP_SHARED | MAP_ANONYMOUS, -1);
	char *file = map_apart(2, MAP_SHARED, fd);
	char *kept = map_apart(8, MAP_PRIVATE, fd);
	pthread_t thread;

	signal(SIGUSR1, ask);
	if (argc > 2 && !strcmp(argv[2], "churn"))
		pthread_create(&thread, NULL, churn, NULL);
	pthread_create(&thread, NULL, sleep_in_arena, NULL);
	usleep(100000);
	tell("anonymous", nameless, 64);
	tell("shared", shared, 16);
	tell("file", file, 2);
	tell("file", kept, 8);
	puts("ready");
	fflush(stdout);
	while (!is_asked)
		usleep(10000);
	munmap(nameless + 16 * PAGE, 16 * PAGE); /* out of its middle, … */
	munmap(nameless, 64 * PAGE);		 /* … and what is left */
	nameless = mmap(nameless, 64 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			-1, 0);
	munmap(nameless, 64 * PAGE); /* which is no more that of before */
	munmap(file, 2 * PAGE);
	mmap(shared, 4 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	munmap(shared, 16 * PAGE); /* 4 of these are no more those of before */
	puts("done");
	fflush(stdout);
	for (;;)
		pause();
}
