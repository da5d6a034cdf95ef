/* SPDX-License-Identifier: MIT */
#ifndef LIVE_RUN_H
#define LIVE_RUN_H

/* The files of a run that goes on, followed, and the processes that they tell of. */

#include "live/follow.h"
#include "live/watched.h"

#define RUN_FILES_MAX 16u

struct run {
	struct follow files[RUN_FILES_MAX];
	size_t file_count;
	struct {
		struct watched **items;
		size_t count, capacity;
	} processes;
};

/* Paths of traces; FILE#N is FILE. Returns 0 or a negative errno; run_free() in any case. */
int run_open(struct run *run, char *const *paths, size_t count, struct error *err);

/* Takes what was written since. */
int run_pump(struct run *run, struct error *err);

/* Nothing will be written any more. */
bool run_is_complete(const struct run *run);

/* Waits until all that was passed on has been read. */
void run_settle(struct run *run);

/* Ends the following, and waits for the readers. */
void run_free(struct run *run);

#endif
