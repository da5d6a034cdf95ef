/* SPDX-License-Identifier: MIT */
#include "live/run.h"

#include "base/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>

#define SETTLE_NS   2000000
#define SETTLE_MOST 100 /* times */

static int begins(void *user, int output, struct error *err)
{
	struct run *run = user;
	struct watched **place = ARRAY_ADD(&run->processes);
	int status;

	if (!place)
		return error_system(err, ENOMEM, "processes");
	status = watched_start(place, output, err);
	if (status)
		run->processes.count--;
	return status;
}

static bool is_known(const struct run *run, const char *path, char *const *paths, size_t length)
{
	for (size_t i = 0; i < run->file_count; i++)
		if (!strncmp(paths[i], path, length) && !paths[i][length])
			return true;
	return false;
}

int run_open(struct run *run, char *const *paths, size_t count, struct error *err)
{
	char *opened[RUN_FILES_MAX] = { 0 };
	int status = 0;

	*run = (struct run){ 0 };
	for (size_t i = 0; !status && i < count && run->file_count < RUN_FILES_MAX; i++) {
		const char *mark = strrchr(paths[i], '#');
		size_t length = mark && mark[1] && !mark[1 + strspn(mark + 1, "0123456789")]
					? (size_t)(mark - paths[i])
					: strlen(paths[i]);
		struct follow *file = &run->files[run->file_count];

		if (is_known(run, paths[i], opened, length))
			continue;
		opened[run->file_count] = strndup(paths[i], length);
		if (!opened[run->file_count])
			status = error_system(err, ENOMEM, "files");
		file->begins = begins;
		file->user = run;
		if (!status)
			status = follow_open(file, opened[run->file_count], err);
		run->file_count += !status;
	}
	for (size_t i = 0; i < RUN_FILES_MAX; i++)
		free(opened[i]);
	return status;
}

int run_pump(struct run *run, struct error *err)
{
	int status = 0;

	for (size_t i = 0; !status && i < run->file_count; i++)
		status = follow_pump(&run->files[i], err);
	return status;
}

bool run_is_complete(const struct run *run)
{
	for (size_t i = 0; i < run->file_count; i++)
		if (!run->files[i].is_complete)
			return false;
	return true;
}

/* What is left in the pipes. */
static bool is_settled(const struct run *run)
{
	for (size_t i = 0; i < run->file_count; i++)
		for (size_t k = 0; k < run->files[i].count; k++) {
			int input = run->files[i].streams[k].input, left = 0;

			if (input >= 0 && ioctl(input, FIONREAD, &left) == 0 && left)
				return false;
		}
	return true;
}

static uint64_t count_events(const struct run *run)
{
	uint64_t events = 0;

	for (size_t i = 0; i < run->processes.count; i++) {
		watched_lock(run->processes.items[i]);
		events += run->processes.items[i]->events;
		watched_unlock(run->processes.items[i]);
	}
	return events;
}

/* The pipes are empty, and nobody is still at the events of what came out of them. */
void run_settle(struct run *run)
{
	const struct timespec pause = { .tv_nsec = SETTLE_NS };
	uint64_t before = UINT64_MAX;

	for (int i = 0; i < SETTLE_MOST; i++) {
		uint64_t events = count_events(run);

		if (is_settled(run) && events == before)
			return;
		before = events;
		nanosleep(&pause, NULL);
	}
}

void run_free(struct run *run)
{
	for (size_t i = 0; i < run->file_count; i++)
		follow_close(&run->files[i]);
	for (size_t i = 0; i < run->processes.count; i++)
		watched_free(run->processes.items[i]);
	free(run->processes.items);
}
