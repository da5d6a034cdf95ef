/* SPDX-License-Identifier: MIT */
/*
 * names-badly DIRECTORY: all that a program can name has a name that breaks terminals: the process,
 * a thread that waits for a lock, a file, a function, a mark. It leaks a block by that function and
 * keeps the file open. Says "ready", and ends at the end of its input.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

/* A control sequence, a new line, U+009B, U+202E, and a byte that is no UTF-8: as comm has room. */
#define BAD "\033[7m\n\302\233m\342\200\256\377"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *volatile kept;

__attribute__((noinline, used)) static void
leaks(void) __asm__("\"leaks_\033[7m\302\233m\342\200\256\377\"");

static void leaks(void)
{
	kept = malloc(4321);
	kept = NULL;
}

static void *wait_for_lock(void *name)
{
	pthread_setname_np(pthread_self(), name);
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
	return NULL;
}

int main(int argc, char **argv)
{
	char bad[] = BAD, path[4096];
	pthread_t thread;

	prctl(PR_SET_NAME, bad);
	snprintf(path, sizeof(path), "%s/file_%s", argc > 1 ? argv[1] : ".", bad);
	if (open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) < 0)
		return 1;
	leaks();
	pthread_mutex_lock(&lock);
	if (pthread_create(&thread, NULL, wait_for_lock, bad))
		return 1;
	usleep(20000);
	puts("ready");
	fflush(stdout);
	while (read(STDIN_FILENO, path, sizeof(path)) > 0)
		;
	pthread_mutex_unlock(&lock);
	pthread_join(thread, NULL);
	return 0;
}
