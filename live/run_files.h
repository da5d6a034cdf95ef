/* SPDX-License-Identifier: MIT */
#ifndef LIVE_RUN_FILES_H
#define LIVE_RUN_FILES_H

/*
 * The trace files of a run, which are read while they grow, and the processes that are recorded in
 * them.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/array.h"
#include "base/error.h"
#include "live/watched.h"

/*
 * Reads a trace file while it is being written, and writes the bytes of each of its streams to a
 * pipe of that stream. A reader of a pipe blocks until more bytes arrive, so each reader needs its
 * own thread.
 */

#define FOLLOW_STREAMS_MAX 256u

struct follow_stream {
	/*
	 * end of the pipe to which the stream is written; -1: not open, or the reader closed its
	 * end
	 */
	int input;
	void *reader;  /* set by begins() */
	uint64_t next; /* bytes written to the pipe so far */
};

struct follow {
	int fd;
	bool is_bundle, is_known; /* is_bundle: the file has several streams; is_known: is_bundle
				     was read from the file */
	bool is_complete;	  /* the writer has closed the file */
	uint64_t offset; /* position in the file up to which bytes were written to the pipes */
	struct follow_stream streams[FOLLOW_STREAMS_MAX];
	size_t count;
	uint64_t left_out; /* number of streams beyond FOLLOW_STREAMS_MAX, which are not followed */
	/*
	 * Called for each new stream. output: the descriptor to read, which the callee then owns;
	 * *reader: stored in the stream. Returns 0 or a negative errno.
	 */
	int (*begins)(void *user, int output, void **reader, struct error *err);
	void *user;
};

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
	ARRAY_OF(char *) left_out; /* paths of files beyond RUN_FILES_MAX */
	uint64_t unnamed;	   /* number of files whose names the collector could not send */
	ARRAY_OF(struct watched *) processes;
	int list; /* descriptor from which the names of new files are read while the run goes on;
		   * -1: none */
	char *heard;
	size_t heard_size;
	uint64_t looked_ns;
	/* number of replaced files; pointers to processes in these files are invalid */
	uint64_t restarts;
};

/*
 * Opens traces. `names` ends with a NULL and has either paths of traces, where FILE#N means FILE,
 * or one process id, which means all files of the run that the process belongs to. Returns 0 or a
 * negative errno; call run_free() in any case.
 */
int run_open(struct run *run, char *const *names, struct error *err);

/* Passes new bytes of the files on to the readers of their streams, and opens new files. */
int run_pump(struct run *run, struct error *err);

/* Whether all files are complete. */
bool run_is_complete(const struct run *run);

/* Returns the number of files and streams that are not followed because of the limits. */
uint64_t run_left_out(const struct run *run);

/* Waits until the readers have processed all bytes that were passed on. */
void run_settle(struct run *run);

/* Closes all streams, waits until their readers have ended, and frees the run. */
void run_free(struct run *run);

#endif
