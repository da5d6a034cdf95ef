/* SPDX-License-Identifier: MIT */
#ifndef LIVE_FOLLOW_H
#define LIVE_FOLLOW_H

/*
 * A trace file that is being written, as the streams that it has by now, each as a descriptor that
 * its bytes come out of as they come: whoever reads one waits there until there is more. A file
 * of one stream is one of them. Descriptors are pipes, so a reader needs a thread of its own.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define FOLLOW_STREAMS_MAX 256u

struct follow_stream {
	int input;     /* -1: not open, or its reader has gone */
	void *reader;  /* as begins() named it */
	uint64_t next; /* bytes of it that were passed on */
};

struct follow {
	int fd;
	bool is_bundle, is_known; /* of several streams; its first bytes were there */
	bool is_complete;	  /* its writer has finished with it */
	uint64_t offset;	  /* in the file: all before was passed on */
	struct follow_stream streams[FOLLOW_STREAMS_MAX];
	size_t count;
	uint64_t left_out; /* streams beyond the most that are followed */
	/*
	 * A stream begins; output: the descriptor to read, which is the callee's. *reader: whoever
	 * reads it.
	 */
	int (*begins)(void *user, int output, void **reader, struct error *err);
	void *user;
};

/* begins and user are set. Returns 0 or a negative errno. */
int follow_open(struct follow *follow, const char *path, struct error *err);

/* Passes on what has come since. Waits for readers, never for the writer. */
int follow_pump(struct follow *follow, struct error *err);

/* Ends all streams: their readers come to their end. */
void follow_close(struct follow *follow);

#endif
