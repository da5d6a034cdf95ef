/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_SINK_H
#define COLLECT_SINK_H

/*
 * Where the bytes of one stream go: a file, an inherited descriptor, a command's input; through
 * zstd if the name says so. Knows nothing of packets and blocks, but which of them is wanted.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "base/error.h"

/* How the setting of out is meant. */
enum sink_form { SINK_FILE, SINK_DIRECTORY, SINK_DESCRIPTOR, SINK_COMMAND };

/*
 * Where the files of a run are made: settled before anybody is traced, so that nothing that happens
 * later, and nobody who renames directories, moves them.
 */
struct sink_place {
	const char *out; /* the setting: "", PATH, DIRECTORY, stdout, fd:N, |command */
	enum sink_form form;
	int directory; /* of all files; a negative errno: there is none */
};

/* What the user asked for, and which stream of the run this is. */
struct sink_wish {
	const struct sink_place *place;
	bool force;	     /* write over a file that exists */
	bool prefers_htr;    /* files whose name does not say what they are become .htr */
	bool waits_for_room; /* where the disk is full; else that ends the stream */
	bool first;	     /* the run's first stream has the name itself, others add to it */
	int inherited;	     /* descriptor for stdout and fd:N; -1: as they say */
	time_t begun;	     /* of another stream: a file that is not older is never written over */
	const char *program;
	int32_t pid;
};

struct sink {
	int fd;	      /* -1: closed */
	bool regular; /* a file of our own: may be cut, is locked until complete */
	bool locked;  /* by us, until complete: readers wait */
	bool is_htr;  /* an .htr is wanted, no packets */
	bool waits_for_room;
	pid_t command; /* 0: none */
	void *zstd;    /* ZSTD_CCtx; NULL: plain */
	void *packed;  /* room for what zstd makes */
	size_t packed_room;
	uint64_t size;	     /* bytes in the file so far */
	int directory;	     /* of the place: its file lies there */
	char name[5120];     /* for messages */
	uint64_t *heartbeat; /* moves with every portion that is written; may be NULL */
};

/* The descriptor that out names (stdout, fd:N); -1 if it is no such or makes no sense. */
int sink_descriptor(const char *out);

/*
 * The path of a stream's file, before a number is added because it is taken. False if it does
 * not fit or the wish is no file.
 */
bool sink_path(const struct sink_wish *wish, char *path, size_t size);

/* Whether the name of a stream's file depends on the program. */
bool sink_needs_program(const struct sink_place *place);

/*
 * Settles where files will be made, and checks that they can be in a directory that the setting
 * names. out: must live as long as the place.
 */
int sink_place_open(struct sink_place *place, const char *out, struct error *err);
void sink_place_close(struct sink_place *place);

/*
 * Opens what is wished for. On failure nothing is left behind. A name that the user gave may be
 * that of a device, a named pipe or a link, but no trap of another user in a directory that all may
 * write; under a name that is made up here there is only ever a regular file of ours. Files are for
 * their owner alone: a trace has arguments and paths in it.
 */
int sink_open(struct sink *sink, const struct sink_wish *wish, struct error *err);

/*
 * Writes all of it, and through zstd so that all of it can be read. *written: how many of the
 * bytes were; after an error the file ends with them (through zstd: with the write before).
 * Fails with -ENOSPC, -EPIPE and so on; the sentence names the place.
 */
int sink_write(struct sink *sink, const void *bytes, size_t size, size_t *written,
	       struct error *err);

/* A file that is to take the place of another. */
struct sink_next {
	int fd;		/* -1: there is none */
	char name[256]; /* beside the other; "": it has none (yet) */
};

/*
 * Makes one that may take the place of this one, of the same owner alone, open to read and write.
 * Returns 0 or a negative errno. Then sink_succeed() or sink_forget_next().
 */
int sink_make_next(const struct sink *sink, struct sink_next *next, struct error *err);

/* It is not wanted, and goes; nothing else of that name does. */
void sink_forget_next(const struct sink *sink, struct sink_next *next);

/*
 * It takes the name, and the number of the descriptor; size: of it. lock: nobody finds it unlocked
 * under that name. Returns 0 or a negative errno: all is as before, but that next is gone.
 */
int sink_succeed(struct sink *sink, struct sink_next *next, uint64_t size, bool lock,
		 struct error *err);

/* Whether the user's name is that of a link: what it leads to can be written, and not replaced. */
bool sink_is_link(const struct sink_place *place);

/* Takes the last size bytes of a plain file back. Elsewhere nothing happens. */
void sink_cut(struct sink *sink, size_t size);

/* Ends the stream and unlocks it. A command may still be running: see sink_finished(). */
int sink_close(struct sink *sink, struct error *err);

/* Closes a sink that nothing was written to, and removes the file that was made for it. */
void sink_discard(struct sink *sink);

/* Whether a closed sink's command has ended. */
bool sink_finished(struct sink *sink);

#endif
