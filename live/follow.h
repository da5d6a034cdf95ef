/* SPDX-License-Identifier: MIT */
#ifndef LIVE_FOLLOW_H
#define LIVE_FOLLOW_H

/*
 * Reads a trace file while it is being written, and writes the bytes of each of its streams to a
 * pipe of that stream. A reader of a pipe blocks until more bytes arrive, so each reader needs its
 * own thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define FOLLOW_STREAMS_MAX 256u

struct follow_stream {
	int input; /* end of the pipe that is written to; -1: not open, or the reader closed its end
		    */
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

/*
 * Opens the file. The members `begins` and `user` must be set before. Returns 0 or a negative
 * errno.
 */
int follow_open(struct follow *follow, const char *path, struct error *err);

/*
 * Writes the new bytes of the file to the pipes. Blocks while a pipe is full, but never waits for
 * the writer of the file.
 */
int follow_pump(struct follow *follow, struct error *err);

/* Closes all pipes, so that the readers reach the end of their streams. */
void follow_close(struct follow *follow);

#endif
