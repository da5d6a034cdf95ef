/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_SINK_H
#define COLLECT_SINK_H

/*
 * The destination of one stream: a file, an inherited descriptor or the input of a command. The
 * output is compressed with zstd if the file's name requests it. A sink does not parse the bytes;
 * it only distinguishes packets from an .htr.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "base/error.h"

/* The kinds of destination that the setting `out` can name. */
enum sink_form { SINK_FILE, SINK_DIRECTORY, SINK_DESCRIPTOR, SINK_COMMAND };

/*
 * The value of the setting `out`, and the directory of the run's files. The directory is opened
 * before any process is traced, so that files are created in it even if it is renamed later.
 */
struct sink_place {
	const char *out; /* the setting: "", PATH, DIRECTORY, stdout, fd:N, |command */
	enum sink_form form;
	/* the directory of all files; a negative errno: it could not be opened */
	int directory;
};

/* Options for opening a sink: the user's settings, and facts about the stream. */
struct sink_options {
	const struct sink_place *place;
	bool force; /* overwrite an existing file */
	/* use the format .htr if the file's name does not determine the format */
	bool prefers_htr;
	/* wait if the disk is full; otherwise end the stream */
	bool waits_for_room;
	/* this is the run's first stream: its file has the name in the setting */
	bool first;
	/* the inherited descriptor for stdout or fd:N; -1: use the number in the setting */
	int inherited;
	/* start of the run: a file written since then is not overwritten; 0: no such check */
	time_t begun;
	const char *program;
	int32_t pid;
};

struct sink {
	int fd; /* descriptor of the sink; -1: closed */
	/* the collector opened a regular file, which is locked until it is complete */
	bool regular;
	/* the collector has locked an inherited file until it is complete */
	bool locked;
	/* the sink receives an .htr; otherwise packets */
	bool is_htr;
	bool waits_for_room;
	pid_t command; /* the command's pid; 0: no command */
	void *zstd;    /* a ZSTD_CCtx; NULL: the output is not compressed */
	void *packed;  /* buffer for compressed data */
	size_t packed_room;
	uint64_t size;	 /* bytes in the file so far */
	int directory;	 /* directory of the file */
	char name[5120]; /* the path, or the setting `out`, for messages */
	/* counter that is incremented after each write; may be NULL */
	uint64_t *heartbeat;
};

/* Returns the descriptor that the setting `out` names (stdout, fd:N), or -1 if it names none. */
int sink_descriptor(const char *out);

/*
 * Makes the path of a stream's file, without the number that a second file with this name gets.
 * Returns false if the path is too long.
 */
bool sink_path(const struct sink_options *options, char *path, size_t size);

/* Whether the file's name depends on the name of the program. */
bool sink_needs_program(const struct sink_place *place);

/*
 * Opens the directory in which files will be created. If the setting names a directory, checks that
 * files can be created there. `out` must outlive `place`.
 */
int sink_place_open(struct sink_place *place, const char *out, struct error *err);
void sink_place_close(struct sink_place *place);

/*
 * Opens the requested sink. On failure, leaves no file or descriptor behind. The user can give the
 * name of a device, a named pipe or a link. In a directory to which all users can write, the
 * function does not open a link or pipe of another user, which may be a trap. Under a generated
 * name, it opens only a regular file of this user. Only the owner can read the files, since a trace
 * contains arguments and paths.
 */
int sink_open(struct sink *sink, const struct sink_options *options, struct error *err);

/*
 * Writes all bytes. If the sink compresses, flushes zstd, so that a reader can decompress all
 * bytes. *written: number of bytes that were written. After an error, the file ends with the last
 * of these bytes; a compressed file ends with the data of the previous call. Returns 0, or a
 * negative errno such as -ENOSPC or -EPIPE; the error text names the sink.
 */
int sink_write(struct sink *sink, const void *bytes, size_t size, size_t *written,
	       struct error *err);

/* A new file that will replace a sink's file. */
struct sink_next {
	int fd;		/* descriptor of the file; -1: there is no file */
	char name[256]; /* temporary name in the sink's directory; "": none */
};

/*
 * Creates a file that can replace the sink's file. The file is open for reading and writing, and
 * only its owner can read it. Returns 0 or a negative errno. After success, the caller must call
 * sink_succeed() or sink_forget_next().
 */
int sink_make_next(const struct sink *sink, struct sink_next *next, struct error *err);

/* Closes and removes the file. */
void sink_forget_next(const struct sink *sink, struct sink_next *next);

/*
 * Replaces the sink's file by `next`: the new file gets the old file's name and descriptor number.
 * size: size of the new file. lock: whether to lock the new file before it gets the name. Returns
 * 0, or a negative errno; the old file then remains. Closes `next` in any case.
 */
int sink_succeed(struct sink *sink, struct sink_next *next, uint64_t size, bool lock,
		 struct error *err);

/* Whether the name is a symbolic link: its target can be written, but not replaced by a file. */
bool sink_is_link(const struct sink_place *place);

/* Removes the last `size` bytes of an uncompressed file. Does nothing for other sinks. */
void sink_cut(struct sink *sink, size_t size);

/* Ends the stream, and unlocks and closes the file. A command may still run (sink_finished()). */
int sink_close(struct sink *sink, struct error *err);

/* Closes a sink that got no data, and removes the file that was created for it. */
void sink_discard(struct sink *sink);

/* Whether the command of a closed sink has ended, or the sink had no command. */
bool sink_finished(struct sink *sink);

#endif
