/* SPDX-License-Identifier: MIT */
/*
 * Streams, directories and threads that somebody still has, and some that nobody has any more: says
 * of each place how many are lost, "LOST FUNCTION". "wait": it waits for its input.
 */
#include <dirent.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/hosts/stack.h"

#define COUNT 5

static FILE *streams[COUNT];
static DIR *directories[COUNT];
static pthread_t threads[2 * COUNT];
static struct {
	FILE *stream;
} * holder;
static sem_t over;

static void *run(void *argument)
{
	sem_wait(&over);
	return argument;
}

static void *end(void *argument)
{
	return argument;
}

NOINLINE static void keep_streams(void)
{
	for (int i = 0; i < COUNT; i++)
		streams[i] = fopen("/dev/null", "r");
	holder = malloc(sizeof(*holder));
	holder->stream = fdopen(dup(0), "r");
}

NOINLINE static void lose_streams(void)
{
	for (int i = 0; i < COUNT; i++)
		use(fopen("/dev/null", "r"));
}

NOINLINE static void keep_directories(void)
{
	for (int i = 0; i < COUNT; i++)
		directories[i] = opendir("/");
}

NOINLINE static void lose_directories(void)
{
	for (int i = 0; i < COUNT; i++)
		use(opendir("/"));
}

/* Some that run and some that have ended. */
NOINLINE static void keep_threads(void)
{
	for (int i = 0; i < COUNT; i++) {
		pthread_create(&threads[i], NULL, run, NULL);
		pthread_create(&threads[COUNT + i], NULL, end, NULL);
	}
}

NOINLINE static void lose_threads(void)
{
	pthread_t thread;

	for (int i = 0; i < COUNT; i++)
		pthread_create(&thread, NULL, run, NULL);
}

NOINLINE static void lose_ended_threads(void)
{
	pthread_t thread;

	for (int i = 0; i < COUNT; i++)
		pthread_create(&thread, NULL, end, NULL);
}

int main(int argc, char **argv)
{
	char line[16];

	sem_init(&over, 0, 0);
	lose_streams();
	keep_streams();
	lose_directories();
	keep_directories();
	keep_threads();
	lose_threads();
	lose_ended_threads();
	use(streams);
	use(directories);
	use(&holder);
	wipe_stack();
	usleep(100000); /* until those that end have ended */
	printf("0 keep_streams\n%d lose_streams\n0 keep_directories\n%d lose_directories\n", COUNT,
	       COUNT);
	printf("0 keep_threads\n%d lose_threads\n%d lose_ended_threads\npid %d\n", COUNT, COUNT,
	       (int)getpid());
	fflush(stdout);
	while (argc > 1 && !strcmp(argv[1], "wait") && read(0, line, sizeof(line)) > 0)
		;
	return 0;
}
