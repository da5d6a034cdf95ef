/* SPDX-License-Identifier: MIT */
#include "launch/command.h"
#include "launch/place.h"

#include "base/cleanup.h"

#include <errno.h>
#include <unistd.h>

/* Ends as the program does that looks at running processes; its first word is the command. */
static int run_live(char **argv, struct error *err)
{
	cleanup_free char *path = NULL;
	cleanup_free char **list = NULL;
	int count = 0;

	while (argv[count])
		count++;
	list = calloc((size_t)count + 2, sizeof(*list));
	if (!list) {
		error_system(err, ENOMEM, "%s", argv[0]);
		return STATUS_OWN_FAILURE;
	}
	if (place_find(PART_LIVE, &path, err))
		return STATUS_OWN_FAILURE;
	list[0] = program_invocation_name;
	for (int i = 0; i < count; i++)
		list[i + 1] = argv[i];
	execv(path, list);
	error_system(err, errno, "cannot start %s", path);
	return STATUS_OWN_FAILURE;
}

int command_waits(int argc, char **argv, struct error *err)
{
	(void)argc;
	return run_live(argv, err);
}
