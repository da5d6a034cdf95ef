/* SPDX-License-Identifier: MIT */
#ifndef LIVE_RUN_FILES_H
#define LIVE_RUN_FILES_H

/* The files of a run that goes on, followed, and the processes that they tell of. */

#include <sys/types.h>

#include "base/array.h"
#include "live/follow.h"
#include "live/watched.h"

#define RUN_FILES_MAX 128u

struct run;

struct run_file {
	struct run *run;
	struct follow follow;
	char *path;
	dev_t device;
	ino_t inode;
};

struct run {
	struct run_file *files[RUN_FILES_MAX];
	size_t file_count;
	ARRAY_OF(char *) left_out; /* files beyond the most that are followed */
	uint64_t untold;	   /* files that the collector has no room to name */
	ARRAY_OF(struct watched *) processes;
	int list; /* descriptor that tells of further files while the run goes on; -1: none */
	char *heard;
	size_t heard_size;
	uint64_t looked_ns;
	/* files that were another one suddenly: their processes were read anew, and those before
	 * are no more */
	uint64_t restarts;
};

/*
 * names: up to a NULL, traces, of which FILE#N is FILE; or one process, which stands for all files
 * of its run. Returns 0 or a negative errno; run_free() in any case.
 */
int run_open(struct run *run, char *const *names, struct error *err);

/* Takes what was written since, and files that have come since. */
int run_pump(struct run *run, struct error *err);

/* Nothing will be written any more. */
bool run_is_complete(const struct run *run);

/* Files, and streams of files, that are not followed because they are too many. */
uint64_t run_left_out(const struct run *run);

/* Waits until all that was passed on has been read. */
void run_settle(struct run *run);

/* Ends the following, and waits for the readers. */
void run_free(struct run *run);

#endif
