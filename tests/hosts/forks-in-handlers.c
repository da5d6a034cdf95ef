/* SPDX-License-Identifier: MIT */
/*
 * forks-in-handlers COUNT: a handler that comes at any moment forks with _Fork(), which it may. The
 * child returns from the handler, ends what was interrupted, allocates three blocks and is gone.
 */
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "made.h"

static volatile sig_atomic_t forks, most, is_child;

static void handle(int number)
{
	pid_t pid;

	(void)number;
	if (is_child || forks >= most)
		return;
	pid = _Fork();
	if (!pid)
		is_child = 1;
	else if (pid > 0)
		forks++;
}

static int wait_for_all(void)
{
	int status, bad = 0, count = 0;

	while (wait(&status) > 0) {
		if (status)
			printf("# a child ended by %d\n", status);
		bad += status != 0;
		count++;
	}
	printf("%d children, %d of them ended badly\n", count, bad);
	return bad != 0;
}

int main(int argc, char **argv)
{
	const struct itimerval often = { { 0, 700 }, { 0, 700 } }, never = { { 0, 0 }, { 0, 0 } };
	struct sigaction action = { .sa_handler = handle, .sa_flags = SA_RESTART };
	unsigned long made = 0;

	most = argc > 1 ? atoi(argv[1]) : 10;
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	while (forks < most && !is_child) {
		make_silently(1, 1231);
		made++;
	}
	if (is_child) {
		make_silently(3, 1233);
		_exit(0);
	}
	setitimer(ITIMER_REAL, &never, NULL);
	/* The last child may come from the block after the one that was counted. */
	say_made(made, 1231);
	say_made((unsigned long)most * 3, 1233);
	return wait_for_all();
}
