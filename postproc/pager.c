/* SPDX-License-Identifier: MIT */
#include "pager.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/terminal.h"

#define DEFAULT_PAGER "command -v less >/dev/null && exec less -FRX; exec cat"

/*
 * The command of the pager. NULL: standard output is not a terminal, or the user has turned the
 * pager off.
 */
static const char *find_pager(void)
{
	static const char *const names[] = { "HOLDTRACE_PAGER", "PAGER" };

	if (!isatty(STDOUT_FILENO) || terminal_is_dumb())
		return NULL;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *pager = getenv(names[i]);

		if (pager)
			return *pager && strcmp(pager, "cat") != 0 ? pager : NULL;
	}
	return DEFAULT_PAGER;
}

static int wait_for(pid_t pid)
{
	int status = 0;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/*
 * Forks. In the child, replaces the descriptor `standard` (0 or 1) by the matching end of the pipe.
 */
static pid_t start(const int *ends, int standard)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	dup2(ends[standard], standard);
	close(ends[0]);
	close(ends[1]);
	return 0;
}

void pager_begin(struct options *options)
{
	enum { ALWAYS = 1, NEVER }; /* values of --color, numbered as in options.def */
	const char *pager = find_pager();
	pid_t reader, writer;
	int ends[2], status;
	char columns[16];

	if (!pager)
		return;
	/* a pipe has no width, so pass on the width of the terminal */
	snprintf(columns, sizeof(columns), "%u", terminal_width(STDOUT_FILENO));
	setenv("COLUMNS", columns, 0);
	if (!options->color.word)
		options->color.value = terminal_has_colour(STDOUT_FILENO) ? ALWAYS : NEVER;
	if (pipe(ends))
		return;
	writer = start(ends, STDOUT_FILENO);
	if (!writer)
		return;
	reader = start(ends, STDIN_FILENO);
	if (!reader) {
		execl("/bin/sh", "sh", "-c", pager, (char *)NULL);
		_exit(127);
	}
	/*
	 * Ignore Ctrl-C, to wait for both child processes: it ends the one that writes the report,
	 * and the pager handles it.
	 */
	signal(SIGINT, SIG_IGN);
	close(ends[0]);
	close(ends[1]);
	status = writer > 0 ? wait_for(writer) : 1;
	if (reader > 0)
		wait_for(reader);
	_exit(status);
}
