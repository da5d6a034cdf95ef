/* SPDX-License-Identifier: MIT */
#include "serve/written.h"

#include "base/cleanup.h"
#include "base/invocation.h"
#include "base/memory.h"
#include "base/out.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *command; /* view or push */

static void end_without_memory(void)
{
	print_message(stderr, "holdtrace: %s: out of memory", command);
	_exit(STATUS_FAILURE);
}

int written_refuse(const char *text)
{
	print_message(stderr, "holdtrace: %s: %s", command, text);
	return STATUS_USAGE;
}

int written_begin(const char *name, const char *usage, const struct option_table *table,
		  void *asked, int argc, char **argv)
{
	int status = options_about(argc, argv, usage);
	struct error err = { 0 };

	command = name;
	memory_set_end(end_without_memory);
	if (status >= 0)
		return status ? STATUS_FAILURE : 0;
	if (argc < 2) {
		error_set(&err, EINVAL, "holdtrace-%s is started by holdtrace %s", name, name);
		return written_refuse(err.text);
	}
	if (argc == 3 && !strcmp(argv[2], "--help")) {
		options_print(stdout, table, OPTION_FULL);
		return fflush(stdout) ? STATUS_FAILURE : 0;
	}
	return options_read(table, asked, argc - 1, argv + 1, &err) < 0 ? written_refuse(err.text)
									: -1;
}

int written_run(const char *format, char **words, int fd)
{
	size_t count = options_count(words);
	cleanup_free char **argv = memory_zalloc(count + 3, sizeof(*argv));
	struct stat made;
	int status = 0;
	pid_t child;

	if (fd < 0)
		return STATUS_FAILURE;
	argv[0] = program_invocation_name;
	argv[1] = (char *)INVOCATION_COMMAND "view"; /* the next argument is a format */
	argv[2] = (char *)(uintptr_t)format;
	memcpy(argv + 3, words + 1, (count - 1) * sizeof(*argv));
	child = fork();
	if (child == 0) {
		dup2(fd, STDOUT_FILENO);
		execv(words[0], argv);
		_exit(STATUS_FAILURE);
	}
	while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (child < 0 || !WIFEXITED(status))
		return STATUS_FAILURE;
	status = WEXITSTATUS(status);
	if (status != STATUS_USAGE && fstat(fd, &made) == 0 && made.st_size)
		return 0;
	return status ? status : STATUS_FAILURE;
}
