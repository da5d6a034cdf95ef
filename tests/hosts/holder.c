/* SPDX-License-Identifier: MIT */
/*
 * Holds, gives back and forgets, and knows how much of it: each line of its output is
 *
 *   REPORT TABLE FUNCTION COLUMN NUMBER
 *
 * what the report must say of the place where that function gained something. With a first
 * argument it takes itself for something else: "nothing" calls nothing, "child" goes on in a
 * child, too, from before it forgets, and "killed" ends by SIGKILL.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NOT_SHARED __attribute__((noinline, noclone, optimize("no-optimize-sibling-calls")))

static void *volatile forgotten; /* nobody may leave a malloc out */

static void say(const char *table, const char *function, const char *column, unsigned long number)
{
	char line[128];
	int length =
		snprintf(line, sizeof(line), "%s %s %s %lu\n", table, function, column, number);

	if (write(STDOUT_FILENO, line, (size_t)length) != length)
		_exit(99);
}

static void pause_ms(long ms)
{
	struct timespec pause = { .tv_nsec = ms * 1000000 };

	nanosleep(&pause, NULL);
}

/* The most of the run: all at once, and gone again. */
NOT_SHARED static void hold_most(void)
{
	void *blocks[50];

	for (int i = 0; i < 50; i++)
		blocks[i] = malloc(10000);
	for (int i = 0; i < 50; i++)
		free(blocks[i]);
	say("peak_sites", "hold_most", "amount", 500000);
	say("peak_sites", "hold_most", "count", 50);
	say("allocations", "hold_most", "calls", 50);
	say("allocations", "hold_most", "bytes", 500000);
	say("allocations", "hold_most", "average_bytes", 10000);
}

NOT_SHARED static void forget(void)
{
	for (int i = 0; i < 7; i++)
		forgotten = malloc(100);
	say("leaks", "forget", "amount", 700);
	say("leaks", "forget", "count", 7);
}

NOT_SHARED static void forget_files(void)
{
	for (int i = 0; i < 3; i++)
		if (open("/dev/null", O_RDONLY) < 0)
			_exit(99);
	say("leaks", "forget_files", "amount", 3);
	say("peak_sites", "forget_files", "amount", 3);
}

/* 900 of 1000 at once, and 100 after another call. */
NOT_SHARED static void throw_away(void)
{
	for (int i = 0; i < 1000; i++) {
		void *volatile block = malloc(32), *volatile other;

		if (i % 10 == 0) {
			other = malloc(64);
			free(block);
			block = other;
		}
		free(block);
	}
	say("temporary", "throw_away", "temporary", 900);
	say("temporary", "throw_away", "acquired", 1000);
	say("temporary", "throw_away", "bytes", 900 * 32);
}

/* From begin to end, a little more each time. */
NOT_SHARED static void grow(void)
{
	forgotten = malloc(64);
}

/* As much each time, and no more. */
NOT_SHARED static void breathe(void)
{
	void *volatile block = malloc(128);

	pause_ms(3);
	free(block);
}

/* More each time, but for one block that is freed alone. */
NOT_SHARED static int collect(void)
{
	void *volatile last = NULL;

	for (int i = 0; i < 40; i++) {
		if (i != 20)
			last = malloc(1000);
		else
			free(last);
		pause_ms(3);
	}
	return !last;
}

int main(int argc, char **argv)
{
	pid_t child = 0;

	if (argc > 1 && !strcmp(argv[1], "collects"))
		return collect();
	if (argc > 1 && !strcmp(argv[1], "nothing"))
		return 0;
	grow();
	hold_most();
	if (argc > 1 && !strcmp(argv[1], "child"))
		child = fork();
	forget();
	forget_files();
	throw_away();
	for (int i = 0; i < 15; i++) {
		grow();
		breathe();
	}
	grow();
	if (child > 0)
		waitpid(child, NULL, 0);
	if (argc > 1 && !strcmp(argv[1], "killed"))
		kill(getpid(), SIGKILL);
	return 0;
}
