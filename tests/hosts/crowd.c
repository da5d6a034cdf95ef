/* SPDX-License-Identifier: MIT */
/*
 * crowd COUNT SIDE WHAT...: COUNT short processes, SIDE of them at a time; WHAT: a program that
 * each executes, or "fork": children that make one block. Says what the collector has cost by then:
 * the most memory that it had at once (KiB), and processor time (ticks).
 */
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static pid_t begin(char **what)
{
	void *volatile block;
	pid_t pid;

	if (strcmp(*what, "fork") != 0)
		return posix_spawn(&pid, *what, NULL, NULL, what, environ) ? -1 : pid;
	pid = fork();
	if (pid)
		return pid;
	block = malloc(1361);
	free(block);
	_exit(0);
}

static void say_cost(int collector)
{
	char path[64], line[1024];
	unsigned long user, kernel;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", collector);
	file = fopen(path, "r");
	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, "VmHWM:", 6))
			printf("memory %ld\n", atol(line + 6));
	if (file)
		fclose(file);
	snprintf(path, sizeof(path), "/proc/%d/stat", collector);
	file = fopen(path, "r");
	if (file && fgets(line, sizeof(line), file) && strrchr(line, ')') &&
	    sscanf(strrchr(line, ')'), ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu",
		   &user, &kernel) == 2)
		printf("ticks %lu\n", user + kernel);
	if (file)
		fclose(file);
}

int main(int argc, char **argv)
{
	const char *run = getenv("HOLDTRACE_ARENA"), *colon = run ? strchr(run, ':') : NULL;
	int collector = colon ? atoi(colon + 1) : 0;
	long count, side, begun = 0, ended = 0, failed = 0;

	if (argc < 4)
		return 2;
	count = atol(argv[1]);
	side = atol(argv[2]);
	while (ended < count) {
		int status = 0;

		if (begun < count && begun - ended < side) {
			begun++;
			if (begin(argv + 3) > 0)
				continue;
			failed++;
		} else if (wait(&status) > 0) {
			failed += status != 0;
		}
		ended++;
	}
	say_cost(collector);
	printf("failed %ld\n", failed);
	return failed != 0;
}
