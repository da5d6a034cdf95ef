/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_SINK_H
#define COLLECT_SINK_H

/*
 * Where the bytes of one stream go: a file, an inherited descriptor or the input of a command;
 * compressed by zstd if the name says so. It knows nothing of packets and blocks, except which of
 * the two the name asks for.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "base/error.h"

/* The meaning of the setting out. */
enum sink_form { SINK_FILE, SINK_DIRECTORY, SINK_DESCRIPTOR, SINK_COMMAND };

/*
 * The directory of the run's files: opened before any process is traced, so that nothing that
 * happens later, such as a renamed directory, changes it.
 */
struct sink_place {
	const char *out; /* the setting: "", PATH, DIRECTORY, stdout, fd:N, |command */
	enum sink_form form;
	int directory; /* of all files; a negative errno: not open */
};

/* The request for a sink: the user's options, and which stream of the run it is for. */
struct sink_options {
	const struct sink_place *place;
	bool force;	     /* overwrite an existing file */
	bool prefers_htr;    /* a file whose name does not say its format becomes an .htr */
	bool waits_for_room; /* if the disk is full; else the stream ends */
	bool first;	     /* the first stream of the run has the name itself, others add to it */
	int inherited;	     /* descriptor for stdout and fd:N; -1: use these themselves */
	/*
	 * start of the run: a file that is not older belongs to another stream and is never
	 * overwritten
	 */
	time_t begun;
	const char *program;
	int32_t pid;
};

struct sink {
	int fd;	      /* -1: closed */
	bool regular; /* a file of our own: can be truncated, is locked until complete */
	bool locked;  /* by us, until it is complete: readers wait */
	bool is_htr;  /* expects an .htr, not packets */
	bool waits_for_room;
	pid_t command; /* 0: none */
	void *zstd;    /* ZSTD_CCtx; NULL: plain */
	void *packed;  /* buffer for the output of zstd */
	size_t packed_room;
	uint64_t size;	     /* bytes in the file so far */
	int directory;	     /* directory of the file */
	char name[5120];     /* for messages */
	uint64_t *heartbeat; /* incremented with every portion that is written; may be NULL */
};

/* The descriptor that out names (stdout, fd:N); -1: out names none. */
int sink_descriptor(const char *out);

/*
 * The path of a stream's file, without the number that is added if the path is taken. False if it
 * does not fit, or the request is not for a file.
 */
bool sink_path(const struct sink_options *options, char *path, size_t size);

/* Whether the name of a stream's file depends on the program. */
bool sink_needs_program(const struct sink_place *place);

/*
 * Opens the directory in which files will be made, and checks that files can be made in a directory
 * that the setting names. out must live as long as the place.
 */
int sink_place_open(struct sink_place *place, const char *out, struct error *err);
void sink_place_close(struct sink_place *place);

/*
 * Opens the requested sink. On failure nothing is left behind. A name that the user gave may be
 * that of a device, a named pipe or a link, unless another user put a trap there in a directory
 * that all users may write to. A name that is made up here only ever names a regular file of ours.
 * Only the owner may read the files: a trace has arguments and paths in it.
 */
int sink_open(struct sink *sink, const struct sink_options *options, struct error *err);

/*
 * Writes all bytes; through zstd it flushes, so that a reader can decompress all of them. *written:
 * how many bytes were written. After an error the file ends with these (through zstd: with the
 * write before). Fails with -ENOSPC, -EPIPE and so on; the error text names the sink.
 */
int sink_write(struct sink *sink, const void *bytes, size_t size, size_t *written,
	       struct error *err);

/* A file that is to replace another one. */
struct sink_next {
	int fd;		/* -1: none */
	char name[256]; /* in the same directory; "": it has no name (yet) */
};

/*
 * Makes a file that may replace the sink's file, for the same owner only, open for reading and
 * writing. Returns 0 or a negative errno. Then call sink_succeed() or sink_forget_next().
 */
int sink_make_next(const struct sink *sink, struct sink_next *next, struct error *err);

/* Closes and removes the file, and no other file that may have its name by now. */
void sink_forget_next(const struct sink *sink, struct sink_next *next);

/*
 * Replaces the sink's file: next takes its name and the number of its descriptor. size: of the new
 * file. lock: it is locked before it has the name. Returns 0, or a negative errno: then nothing has
 * changed, except that next is closed.
 */
int sink_succeed(struct sink *sink, struct sink_next *next, uint64_t size, bool lock,
		 struct error *err);

/*
 * Whether the user's name is that of a link: the file that it leads to can be written, but not
 * replaced.
 */
bool sink_is_link(const struct sink_place *place);

/* Removes the last size bytes of a plain file. Does nothing for other sinks. */
void sink_cut(struct sink *sink, size_t size);

/* Ends the stream and unlocks it. A command may still be running: see sink_finished(). */
int sink_close(struct sink *sink, struct error *err);

/* Closes a sink without data, and removes the file that was made for it. */
void sink_discard(struct sink *sink);

/* Whether a closed sink's command has ended. */
bool sink_finished(struct sink *sink);

#endif
