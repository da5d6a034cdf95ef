/* SPDX-License-Identifier: MIT */
#include "serve/written.h"

#include "base/cleanup.h"
#include "base/invocation.h"
#include "base/memory.h"
#include "base/options.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STATUS_USAGE = 2, STATUS_FAILURE = 125 };

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
	argv[1] = (char *)INVOCATION_COMMAND "view";
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
