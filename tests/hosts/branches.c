/* SPDX-License-Identifier: MIT */
/*
 * Allocates at known places in a tree of functions, and says what each amounts to:
 *
 *   FUNCTION BYTES-THROUGH-IT BYTES-IN-IT CALLS-THROUGH-IT HELD-THROUGH-IT
 *
 * Built with -DNEWER it is the next version of itself: other addresses, one place more, one less,
 * one that holds more. With the argument "wait" a thread waits for a lock that another one holds
 * for 200 ms; with "files" it leaves two files open; with "fail" it ends with status 7.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NOT_SHARED __attribute__((noinline, noclone, optimize("no-optimize-sibling-calls")))

static void *volatile kept; /* nobody may leave a malloc out */

static void pause_ms(long ms)
{
	struct timespec pause = { .tv_nsec = ms * 1000000 };

	nanosleep(&pause, NULL);
}

#ifdef NEWER
/* Moves all that is behind it. */
NOT_SHARED static void fresh(void)
{
	for (int i = 0; i < 3; i++)
		kept = malloc(70);
}
#define SWOLLEN 5
#else
#define SWOLLEN 2
NOT_SHARED static void gone(void)
{
	kept = malloc(90);
}
#endif

NOT_SHARED static void steady(void)
{
	kept = malloc(1000);
}

NOT_SHARED static void swell(void)
{
	for (int i = 0; i < SWOLLEN; i++)
		kept = malloc(200);
}

NOT_SHARED static void leaf(size_t size)
{
	kept = malloc(size);
	free(kept);
}

NOT_SHARED static void twig(void)
{
	leaf(10);
	kept = malloc(5);
	free(kept);
}

/* Through itself ten times, and through the other one. */
NOT_SHARED static void again(int times);
NOT_SHARED static void other(int times)
{
	if (times)
		again(times - 1);
	kept = malloc(1);
	free(kept);
}

NOT_SHARED static void again(int times)
{
	if (times)
		other(times);
	else
		leaf(100);
}

NOT_SHARED static void inside(void)
{
	FILE *file = fopen("/dev/null", "r");

	if (file)
		fclose(file);
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static volatile int is_taken;

static void *hold(void *unused)
{
	pthread_mutex_lock(&mutex);
	is_taken = 1;
	pause_ms(200);
	pthread_mutex_unlock(&mutex);
	return unused;
}

NOT_SHARED static void wait_for_it(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, hold, NULL);
	while (!is_taken)
		pause_ms(1);
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
	pthread_join(thread, NULL);
}

static void say(void)
{
	static const char truth[] = "twig 45 15 6 0\n"
				    "leaf 130 130 4 0\n"
				    "again 110 0 11 0\n"
				    "other 10 10 10 0\n"
				    "steady 1000 1000 1 1000\n"
				    "swell 400 400 2 400\n";

	if (write(STDOUT_FILENO, truth, sizeof(truth) - 1) < 0)
		_exit(99);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	for (int i = 0; i < 3; i++)
		twig();
	again(10);
	steady();
	swell();
#ifdef NEWER
	fresh();
#else
	gone();
#endif
	inside();
	inside();
	if (!strcmp(what, "wait"))
		wait_for_it();
	for (int i = 0; i < 2 && !strcmp(what, "files"); i++)
		if (open("/dev/null", O_RDONLY) < 0)
			return 99;
	say();
	return strcmp(what, "fail") ? 0 : 7;
}
