/* SPDX-License-Identifier: MIT */
/*
 * measure FILE [NAME=VALUE]... COMMAND...: runs the command with these variables and appends "WALL
 * CPU RSS STATUS OWN OWN_RSS" to the file. WALL: ns until the command ended. CPU: processor ns of
 * the command and all its descendants, even those that outlive it. RSS: peak KiB of the largest of
 * these processes. STATUS: exit status (128 + N: signal N; 124: killed after two minutes). OWN,
 * OWN_RSS: like CPU and RSS, but without the descendants that the command did not wait for.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SECONDS_MAX 120

static volatile sig_atomic_t is_late;

static void on_alarm(int number)
{
	(void)number;
	is_late = 1;
}

static int64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static int64_t nanoseconds(const struct timeval *t)
{
	return t->tv_sec * INT64_C(1000000000) + t->tv_usec * INT64_C(1000);
}

/* Sets the variables and executes the command, as env(1) does. */
static _Noreturn void run(char **words)
{
	for (; *words != NULL && strchr(*words, '=') != NULL; words++)
		putenv(*words);
	if (*words != NULL)
		execvp(*words, words);
	perror("measure");
	_exit(127);
}

/* Waits for the command and its orphaned descendants. Returns the command's exit status. */
static int wait_for_all(pid_t command, int64_t *ended, struct rusage *own)
{
	int status, result = 125;

	for (;;) {
		struct rusage usage;
		pid_t pid = wait4(-1, &status, 0, &usage);

		if (pid == command) {
			*ended = now();
			*own = usage;
			result = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
		} else if (pid < 0 && is_late) {
			kill(command, SIGKILL);
			return 124;
		} else if (pid < 0 && errno != EINTR) {
			return result;
		}
	}
}

static int64_t processor(const struct rusage *usage)
{
	return nanoseconds(&usage->ru_utime) + nanoseconds(&usage->ru_stime);
}

static int append(const char *path, int64_t wall, const struct rusage *all,
		  const struct rusage *own, int status)
{
	FILE *file = fopen(path, "ae");

	if (file == NULL) {
		perror(path);
		return 125;
	}
	fprintf(file, "%lld %lld %ld %d %lld %ld\n", (long long)wall, (long long)processor(all),
		all->ru_maxrss, status, (long long)processor(own), own->ru_maxrss);
	return fclose(file) == 0 ? status : 125;
}

int main(int argc, char **argv)
{
	const struct sigaction alarm_action = { .sa_handler = on_alarm };
	struct rusage all, own = { 0 };
	int64_t start, end;
	pid_t command;
	int status;

	if (argc < 3)
		return 2;
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	start = end = now();
	command = fork();
	if (command == 0)
		run(argv + 2);
	if (command < 0)
		return 125;
	sigaction(SIGALRM, &alarm_action, NULL);
	alarm(SECONDS_MAX);
	status = wait_for_all(command, &end, &own);
	getrusage(RUSAGE_CHILDREN, &all);
	return append(argv[1], end - start, &all, &own, status);
}
