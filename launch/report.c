/* SPDX-License-Identifier: MIT */
#include "launch/command.h"
#include "launch/run.h"

#include "base/cleanup.h"
#include "base/invocation.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ends as a part of holdtrace, under our name, so that it speaks as we do: it reads the words. */
static int become(enum part part, const char *prefix, int argc, char **argv, struct error *err)
{
	cleanup_free char **words = calloc((size_t)argc + 2, sizeof(*words));
	char command[PATH_MAX];

	if (!words) {
		error_system(err, ENOMEM, "%s", argv[0]);
		return STATUS_OWN_FAILURE;
	}
	snprintf(command, sizeof(command), "%s%s", prefix, argv[0]);
	words[0] = program_invocation_name;
	words[1] = command;
	memcpy(words + 2, argv + 1, (size_t)(argc - 1) * sizeof(*words));
	return run_become(part, words, err);
}

int command_report(int argc, char **argv, struct error *err)
{
	return become(PART_POSTPROC, INVOCATION_COMMAND, argc, argv, err);
}

int command_live(int argc, char **argv, struct error *err)
{
	return become(PART_LIVE, "", argc, argv, err);
}

/* It starts the post-processor, and is told where that is. */
int command_view(int argc, char **argv, struct error *err)
{
	cleanup_free char *path = NULL;

	if (place_find(PART_POSTPROC, &path, err))
		return STATUS_OWN_FAILURE;
	argv[0] = path;
	return become(PART_VIEW, "", argc, argv, err);
}

int report_print_help(const char *what, struct error *err)
{
	char option[256];
	char *words[] = { program_invocation_name, option, (char *)"--help", NULL };

	snprintf(option, sizeof(option), "--report=%s", what);
	putchar('\n');
	fflush(stdout);
	return run_become(PART_POSTPROC, words, err);
}
