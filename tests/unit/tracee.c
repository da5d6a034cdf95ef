/* SPDX-License-Identifier: MIT */
/* Tests how threads of another process are stopped to be read. */
#include "process/tracee.h"
#include "tests/lib/tap.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* Starts a process that waits in vfork(), so that nothing stops it until its child ends. */
static pid_t begin_stuck(void)
{
	pid_t pid = fork();
	char state = 0;

	if (pid == 0) {
		if (vfork() == 0)
			for (;;)
				pause();
		_exit(7);
	}
	while (pid > 0 && state != 'D') {
		struct stopping stopping;

		stopping_look(&stopping, pid, pid);
		state = stopping.state;
	}
	return pid;
}

/* Returns the pid of the only child of a process, or 0. */
static pid_t child_of(pid_t pid)
{
	char path[64];
	FILE *file;
	int child = 0;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
	file = fopen(path, "r");
	if (!file || fscanf(file, "%d", &child) != 1)
		child = 0;
	if (file)
		fclose(file);
	return child;
}

struct attempt {
	pid_t pid;
	int rc;
};

static void *stop_it(void *argument)
{
	struct attempt *attempt = argument;
	struct stopping stopping;
	struct tracee tracee;

	stopping_look(&stopping, attempt->pid, attempt->pid);
	attempt->rc = tracee_ask(&tracee, &stopping);
	if (!attempt->rc)
		attempt->rc = tracee_await(&tracee);
	return NULL;
}

int main(void)
{
	struct attempt attempt = { .pid = begin_stuck() };
	pid_t child = attempt.pid > 0 ? child_of(attempt.pid) : 0;
	int status = -1;
	pid_t got = 0;

	if (!child) {
		printf("1..0 # SKIP this kernel does not say which children a process has\n");
		return 0;
	}
	tracee_apart(stop_it, &attempt);
	if (attempt.rc == -EPERM || attempt.rc == -ENOSYS) {
		printf("1..0 # SKIP no process can be traced here\n");
		kill(child, SIGKILL);
		return 0;
	}
	ok(attempt.rc == -EBUSY,
	   "a process that waits for its vfork's child does not stop in time");
	kill(child, SIGKILL);
	for (int i = 0; i < 200 && !got; i++) {
		got = waitpid(attempt.pid, &status, WNOHANG);
		usleep(10000);
	}
	ok(got == attempt.pid && WIFEXITED(status) && WEXITSTATUS(status) == 7,
	   "it runs on when its wait is over, although it was not released");
	if (!got)
		kill(attempt.pid, SIGKILL);
	return tap_end();
}
