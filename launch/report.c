/* SPDX-License-Identifier: MIT */
#include "launch/command.h"
#include "launch/run.h"

#include "base/cleanup.h"
#include "base/invocation.h"
#include "base/memory.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Executes the part of holdtrace that parses the arguments of a command. The part gets our own name
 * as argv[0], so its messages begin with that name. `first` and `second` are inserted before the
 * arguments of `argv`; `second` may be NULL.
 */
static int become_part(enum part part, const char *first, const char *second, char **argv,
		       struct error *err)
{
	size_t count = options_count(argv + 1), used = 0;
	cleanup_free char **words = memory_zalloc(count + 4, sizeof(*words));

	words[used++] = program_invocation_name;
	words[used++] = (char *)(uintptr_t)first;
	if (second)
		words[used++] = (char *)(uintptr_t)second;
	memcpy(words + used, argv + 1, count * sizeof(*words));
	return run_become(part, words, err);
}

int command_report(int argc, char **argv, struct error *err)
{
	char command[32];

	(void)argc;
	snprintf(command, sizeof(command), INVOCATION_COMMAND "%s", argv[0]);
	return become_part(PART_POSTPROC, command, NULL, argv, err);
}

int command_live(int argc, char **argv, struct error *err)
{
	(void)argc;
	return become_part(PART_LIVE, argv[0], NULL, argv, err);
}

/* passes the path of the post-processor, because holdtrace-view and holdtrace-push run it */
int command_view(int argc, char **argv, struct error *err)
{
	cleanup_free char *path = NULL;

	(void)argc;
	return place_find(PART_POSTPROC, &path, err)
		       ? STATUS_OWN_FAILURE
		       : become_part(strcmp(argv[0], "push") ? PART_VIEW : PART_PUSH, path, NULL,
				     argv, err);
}

int command_watch(int argc, char **argv, struct error *err)
{
	cleanup_free char *path = NULL, *check = NULL;

	(void)argc;
	if (place_find(PART_POSTPROC, &path, err))
		return STATUS_OWN_FAILURE;
	check = memory_format("--check=%s", path);
	return become_part(PART_LIVE, argv[0], check, argv, err);
}

int report_print_help(const char *what, const char *help, struct error *err)
{
	char option[256];
	char *words[] = { program_invocation_name, option, (char *)(uintptr_t)help, NULL };

	snprintf(option, sizeof(option), "--report=%s", what);
	putchar('\n');
	fflush(stdout);
	return run_become(PART_POSTPROC, words, err);
}
