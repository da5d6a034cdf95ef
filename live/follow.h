/* SPDX-License-Identifier: MIT */
#ifndef LIVE_FOLLOW_H
#define LIVE_FOLLOW_H

/*
 * Reads a trace file while it is being written, and passes the bytes of each of its streams on to a
 * pipe. A reader of the pipe blocks until there is more, so it needs a thread of its own. A file of
 * one stream has one pipe.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define FOLLOW_STREAMS_MAX 256u

struct follow_stream {
	int input;     /* -1: not open, or its reader has gone */
	void *reader;  /* set by begins() */
	uint64_t next; /* bytes passed on so far */
};

struct follow {
	int fd;
	bool is_bundle, is_known; /* it has several streams; its first bytes were read */
	bool is_complete;	  /* its writer has closed it */
	uint64_t offset;	  /* in the file: bytes passed on so far */
	struct follow_stream streams[FOLLOW_STREAMS_MAX];
	size_t count;
	uint64_t left_out; /* streams that are not followed: more than FOLLOW_STREAMS_MAX */
	/*
	 * Called for a new stream; output: the descriptor to read, which the callee then owns.
	 * *reader: stored in the stream.
	 */
	int (*begins)(void *user, int output, void **reader, struct error *err);
	void *user;
};

/* begins and user must be set. Returns 0 or a negative errno. */
int follow_open(struct follow *follow, const char *path, struct error *err);

/* Passes on the new bytes. May block for readers, never for the writer. */
int follow_pump(struct follow *follow, struct error *err);

/* Closes all streams, so that their readers reach the end. */
void follow_close(struct follow *follow);

#endif
