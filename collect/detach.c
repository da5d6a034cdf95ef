/* SPDX-License-Identifier: MIT */
#include "collect/detach.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/*
 * Raises the soft limits to the hard limits: the traced program may have lowered them for itself.
 */
static void raise_limits(void)
{
	static const int which[] = { RLIMIT_AS, RLIMIT_DATA, RLIMIT_CPU, RLIMIT_FSIZE,
				     RLIMIT_NOFILE };
	struct rlimit limit;

	for (size_t i = 0; i < sizeof(which) / sizeof(which[0]); i++) {
		if (getrlimit((__rlimit_resource_t)which[i], &limit) < 0)
			continue;
		limit.rlim_cur = limit.rlim_max;
		setrlimit((__rlimit_resource_t)which[i], &limit);
	}
}

/*
 * Ctrl-C is meant for the traced program; the collector ends later, when everything is written.
 * SIGTERM stays blocked, and detach_asked_to_end() checks for it.
 */
static void ignore_signals(void)
{
	static const int which[] = { SIGINT,  SIGHUP,  SIGQUIT, SIGPIPE, SIGTSTP, SIGTTIN,
				     SIGTTOU, SIGUSR1, SIGUSR2, SIGALRM, SIGXFSZ, SIGXCPU };
	sigset_t kept;

	for (size_t i = 0; i < sizeof(which) / sizeof(which[0]); i++)
		signal(which[i], SIG_IGN);
	signal(SIGCHLD, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	sigemptyset(&kept);
	sigaddset(&kept, SIGTERM);
	sigprocmask(SIG_SETMASK, &kept, NULL);
}

bool detach_asked_to_end(void)
{
	static const struct timespec now = { 0 };
	sigset_t asked;

	sigemptyset(&asked);
	sigaddset(&asked, SIGTERM);
	return sigtimedwait(&asked, NULL, &now) == SIGTERM;
}

static int compare_numbers(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/*
 * Opens /dev/null for each standard descriptor (0, 1, 2) that the program had closed, so that no
 * file of the collector gets such a number.
 */
static void fill_standard(void)
{
	int null;

	do
		null = open("/dev/null", O_RDWR | O_CLOEXEC);
	while (null >= 0 && null <= STDERR_FILENO);
	if (null >= 0)
		close(null);
}

/*
 * Closes inherited descriptors. If the collector kept the write end of a pipe open, the reader of
 * the pipe would wait for the collector to end.
 */
static void close_others(const int *keep, size_t count)
{
	unsigned from = 0;

	for (size_t i = 0; i < count; i++) {
		if (keep[i] < 0 || (unsigned)keep[i] < from)
			continue;
		if ((unsigned)keep[i] > from)
			syscall(SYS_close_range, from, (unsigned)keep[i] - 1, 0);
		from = (unsigned)keep[i] + 1;
	}
	syscall(SYS_close_range, from, ~0u, 0);
}

static bool is_kept(const int *keep, size_t count, int fd)
{
	for (size_t i = 0; i < count; i++)
		if (keep[i] == fd)
			return true;
	return false;
}

/*
 * Replaces the inherited standard descriptors (0, 1, 2) by /dev/null: the reader of a pipe may wait
 * until they are closed.
 */
static void occupy_standard(const int *keep, size_t count)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int i = 0; null >= 0 && i < 3; i++)
		if (i != null && !is_kept(keep, count, i))
			dup2(null, i);
	if (null > 2)
		close(null);
}

void detach_begin(void)
{
	setsid();
	raise_limits();
	fill_standard();
	ignore_signals();
	/* a command that the collector starts must not inherit the program's descriptors */
	syscall(SYS_close_range, 3, ~0u, CLOSE_RANGE_CLOEXEC);
}

int detach_error_file(void)
{
	struct stat st;

	return fstat(STDERR_FILENO, &st) == 0 && S_ISREG(st.st_mode) ? STDERR_FILENO : -1;
}

void detach_end(int *keep, size_t count)
{
	qsort(keep, count, sizeof(keep[0]), compare_numbers);
	close_others(keep, count);
	occupy_standard(keep, count);
}
