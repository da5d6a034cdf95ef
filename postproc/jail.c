/* SPDX-License-Identifier: MIT */
#include "jail.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "postproc/request/output.h"

static void allow(struct jail *jail, const char *directory)
{
	for (int i = 0; i < SANDBOX_WRITABLE_MAX; i++)
		if (!jail->options.writable[i]) {
			jail->options.writable[i] = directory;
			return;
		}
}

void jail_plan(struct jail *jail, const struct options *options, const struct writer *writer)
{
	const char *directory = options->directory, *temporary = getenv("TMPDIR");
	const char *slash = directory ? strrchr(directory, '/') : NULL;

	*jail = (struct jail){ .is_verbose = options->verbose };
	/* child processes look up names, so the jail allows fork; -r also executes the resolver */
	jail->options.may_start = true;
	jail->options.may_execute = options->resolve;
	allow(jail, temporary && *temporary ? temporary : "/tmp");
	if ((options->report || writer->kind == FORMAT_SCREEN) && output_is_named(directory)) {
		snprintf(jail->report, sizeof(jail->report), "%.*s",
			 slash ? (int)(slash - directory) + 1 : 1, slash ? directory : ".");
		allow(jail, jail->report);
	} else if (directory && strcmp(directory, "stdout") != 0) {
		allow(jail, directory);
		if (writer->flags & FORMAT_DIRECTORY)
			jail->made = directory;
	}
}

bool jail_is_needed(const struct jail *jail, int fd)
{
	struct stat facts;

	return !jail->is_entered && (fstat(fd, &facts) || facts.st_uid != geteuid());
}

void jail_enter(struct jail *jail, void (*say)(void *context, const char *line), void *context)
{
	unsigned walls;

	jail->is_entered = true;
	/* create the writer's directory now: the jail will not allow it later */
	if (jail->made)
		mkdir(jail->made, 0777);
	walls = sandbox_enter(&jail->options);
	if (jail->is_verbose)
		sandbox_describe(walls, &jail->options, say, context);
}
