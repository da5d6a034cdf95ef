/* SPDX-License-Identifier: MIT */
#ifndef LIVE_RUN_FILES_H
#define LIVE_RUN_FILES_H

/* The files of a running trace, followed while they grow, and the processes recorded in them. */

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
	ARRAY_OF(char *) left_out; /* paths of files that are not followed: more than
				    * RUN_FILES_MAX */
	uint64_t unnamed;	   /* number of files whose names the collector could not send */
	ARRAY_OF(struct watched *) processes;
	int list; /* descriptor from which the names of new files are read while the run goes on;
		   * -1: none */
	char *heard;
	size_t heard_size;
	uint64_t looked_ns;
	/* files that were replaced; pointers to their old processes are invalid */
	uint64_t restarts;
};

/*
 * names: list of traces, up to a NULL, in which FILE#N means FILE; or one process id, which means
 * all files of its run. Returns 0 or a negative errno; call run_free() in any case.
 */
int run_open(struct run *run, char *const *names, struct error *err);

/* Reads new bytes of the files, and new files. */
int run_pump(struct run *run, struct error *err);

/* Whether all files are complete. */
bool run_is_complete(const struct run *run);

/* Number of files, and of streams of files, that are not followed because there are too many. */
uint64_t run_left_out(const struct run *run);

/* Waits until the readers have read all that was passed on. */
void run_settle(struct run *run);

/* Closes all streams and waits for their readers. */
void run_free(struct run *run);

#endif
