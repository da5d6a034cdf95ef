/* SPDX-License-Identifier: MIT */
/*
 * `holdtrace check --growth 'COMMAND {N}' N,N,N...`: records the command once for each number of
 * units of work, and has the post-processor check the runs together.
 */
#include "launch/command.h"
#include "launch/run.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/memory.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/invocation.h"

#define PLACEHOLDER "{N}"
#define RUNS_MAX    32u

/* Returns the command with each {N} replaced by the number of units. The caller frees it. */
static char *fill_in(const char *command, const char *units)
{
	char *text = memory_text(""), *longer;
	const char *end;

	for (; (end = strstr(command, PLACEHOLDER)); command = end + strlen(PLACEHOLDER)) {
		longer = memory_format("%s%.*s%s", text, (int)(end - command), command, units);
		free(text);
		text = longer;
	}
	longer = memory_format("%s%s", text, command);
	free(text);
	return longer;
}

/* Records one run. Returns 0 or an exit status. */
static int record(const char *command, const char *units, char *path, struct error *err)
{
	cleanup_free char *filled = fill_in(command, units);
	cleanup_free char *label = memory_format("--label=units=%s", units);
	char *words[] = { (char *)"record", (char *)"-q",      (char *)"-o", path,   label,
			  (char *)"--",	    (char *)"/bin/sh", (char *)"-c", filled, NULL };
	int status = 0, code;
	/*
	 * ignore Ctrl-C, as system(3) does: it ends only the program, and this process can remove
	 * the files
	 */
	void (*interrupt)(int) = signal(SIGINT, SIG_IGN);
	void (*quit)(int) = signal(SIGQUIT, SIG_IGN);
	pid_t pid = fork();

	if (!pid) {
		struct error inner = { 0 };

		/* send the program's output to standard error: standard output has the result */
		signal(SIGINT, interrupt);
		signal(SIGQUIT, quit);
		dup2(STDERR_FILENO, STDOUT_FILENO);
		status = command_record((int)(sizeof(words) / sizeof(*words)) - 1, words, &inner);
		if (inner.number)
			say("%s", inner.text);
		_exit(status);
	}
	if (pid < 0)
		error_system(err, errno, "check: cannot start \"%s\"", filled);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	signal(SIGINT, interrupt);
	signal(SIGQUIT, quit);
	if (pid < 0)
		return STATUS_OWN_FAILURE;
	code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	if (!code)
		return 0;
	error_set(err, EIO, "check: \"%s\" ended with status %d, so its growth is unknown", filled,
		  code);
	return STATUS_UNKNOWN;
}

/*
 * Finds `--growth 'COMMAND {N}'` or `--growth='COMMAND {N}'`. Returns the command, and sets *at to
 * the index of the option and *next to the index of the argument after the command. Returns NULL if
 * there is no such option.
 */
static const char *find_command(int argc, char **argv, int *at, int *next)
{
	static const char option[] = "--growth";
	const char *command;

	for (*at = 1; *at < argc; ++*at) {
		if (strncmp(argv[*at], option, strlen(option)))
			continue;
		command = argv[*at] + strlen(option);
		*next = *at + 1 + !*command;
		command = *command ? command : argv[*at + 1];
		if (command && strstr(command, PLACEHOLDER))
			return command + (*command == '=');
	}
	return NULL;
}

int command_check(int argc, char **argv, struct error *err)
{
	char *paths[RUNS_MAX];
	cleanup_free char **words = memory_zalloc((size_t)argc + RUNS_MAX + 2, sizeof(*words));
	const char *parent = getenv("TMPDIR");
	cleanup_free char *directory =
		memory_format("%s/holdtrace-check.XXXXXX", parent && *parent ? parent : "/tmp");
	size_t count = 0, used = 0, length;
	int at, next, status = 0;
	const char *command = find_command(argc, argv, &at, &next), *list;

	if (!command)
		return command_report(argc, argv, err);
	if (!mkdtemp(directory)) {
		error_system(err, errno, "%s", directory);
		return STATUS_OWN_FAILURE;
	}
	/* the numbers of units, separated by commas */
	for (list = next < argc ? argv[next] : "-"; !status && *list;
	     list += length + (list[length] == ',')) {
		cleanup_free char *units = NULL;

		length = strspn(list, "0123456789");
		if (!length || (list[length] && list[length] != ',') || count == RUNS_MAX) {
			error_set(err, EINVAL,
				  "check --growth: expected at most %u numbers after the command, "
				  "such as 100,200,400",
				  RUNS_MAX);
			status = STATUS_USAGE;
			break;
		}
		units = memory_text_part(list, length);
		paths[count] = memory_format("%s/%zu.htr", directory, count + 1);
		status = record(command, units, paths[count++], err);
	}
	words[used++] = program_invocation_name;
	words[used++] = (char *)INVOCATION_COMMAND "check";
	for (int i = 1; i < argc; i++)
		if (i < at || i > next)
			words[used++] = argv[i];
	words[used++] = (char *)"--growth";
	for (size_t i = 0; i < count; i++)
		words[used++] = paths[i];
	if (!status)
		status = run_part(PART_POSTPROC, words, STDOUT_FILENO, err);
	for (size_t i = 0; i < count; i++) {
		unlink(paths[i]);
		free(paths[i]);
	}
	rmdir(directory);
	return status;
}
