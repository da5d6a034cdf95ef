/* SPDX-License-Identifier: MIT */
#include "launch/live.h"

#include "launch/command.h"
#include "launch/place.h"

#include "base/cleanup.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
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

bool live_is_process(const char *word)
{
	return *word && word[strspn(word, "0123456789")] == '\0' && strlen(word) < 10;
}

int live_of_run(int argc, char **argv, struct error *err)
{
	cleanup_free char *paths = NULL;
	cleanup_free char **words = NULL;
	size_t lines = 0, count = 0;
	int place = argc - 1;

	if (argc < 2 || !live_is_process(argv[place]))
		return run_live(argv, err);
	if (ctl_snapshot(atoi(argv[place]), &paths, err))
		return STATUS_OWN_FAILURE;
	for (const char *at = paths; *at; at++)
		lines += *at == '\n';
	words = calloc((size_t)argc + lines + 1, sizeof(*words));
	if (!words) {
		error_system(err, ENOMEM, "top");
		return STATUS_OWN_FAILURE;
	}
	for (int i = 0; i < place; i++)
		words[count++] = argv[i];
	for (char *save = NULL, *path = strtok_r(paths, "\n", &save); path;
	     path = strtok_r(NULL, "\n", &save))
		words[count++] = path;
	return run_live(words, err);
}

int command_top(int argc, char **argv, struct error *err)
{
	return live_of_run(argc, argv, err);
}

int command_waits(int argc, char **argv, struct error *err)
{
	(void)argc;
	return run_live(argv, err);
}
