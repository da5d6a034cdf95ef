/* SPDX-License-Identifier: MIT */
#ifndef WRITERS_OUTDIR_H
#define WRITERS_OUTDIR_H

/*
 * A directory of files that appear together or not at all: each is written under a temporary name
 * (NAME.new), and all are renamed at the end.
 */

#include <stdbool.h>

#include "base/array.h"
#include "base/error.h"
#include "base/out.h"

struct outdir {
	int fd;
	const char *path;	/* the caller's; NULL: not open */
	bool was_made;		/* by outdir_open: taken away again if nothing came of it */
	ARRAY_OF(char *) names; /* final names, in order of creation */
};

/*
 * Opens or makes the directory. One that has files is refused (-EEXIST) unless force.
 * path: outlives the outdir. Returns 0 or a negative errno.
 */
int outdir_open(struct outdir *outdir, const char *path, bool force, struct error *err);

/* Begins a file. Returns 0 or a negative errno. */
int outdir_create(struct outdir *outdir, const char *name, struct out *out, struct error *err);

/* Ends the file that was begun last. Returns 0 or a negative errno; err names the file. */
int outdir_finish(struct outdir *outdir, struct out *out, struct error *err);

/* Removes the files whose names begin and end so, those of an older run. */
void outdir_remove(const struct outdir *outdir, const char *start, const char *end);

/*
 * Moves the files whose names begin and end so into another directory.
 * Returns 0 or a negative errno.
 */
int outdir_move(const struct outdir *outdir, const struct outdir *to, const char *start,
		const char *end, struct error *err);

/* Gives all files their names. Returns 0 or a negative errno. */
int outdir_commit(struct outdir *outdir, struct error *err);

/* Without outdir_commit() before it nothing stays. */
void outdir_close(struct outdir *outdir);

#endif
