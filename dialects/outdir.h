/* SPDX-License-Identifier: MIT */
#ifndef WRITERS_OUTDIR_H
#define WRITERS_OUTDIR_H

/*
 * An output directory in which either all files appear or none: each file is written under a
 * temporary name (NAME.new), and all are renamed at the end.
 */

#include <stdbool.h>

#include "base/array.h"
#include "base/error.h"
#include "base/out.h"

struct outdir {
	int fd;
	const char *path; /* the caller's string; NULL: the directory is not open */
	/* whether outdir_open() created the directory, and no file has been renamed in it yet */
	bool was_made;
	ARRAY_OF(char *) names; /* final names, in order of creation */
};

/*
 * Opens or creates the directory. Unless force is set, fails with -EEXIST if the directory contains
 * files. path must outlive the outdir. Returns 0 or a negative errno.
 */
int outdir_open(struct outdir *outdir, const char *path, bool force, struct error *err);

/* Begins a file. Returns 0 or a negative errno. */
int outdir_create(struct outdir *outdir, const char *name, struct out *out, struct error *err);

/*
 * Ends the most recently begun file. rc: 0, or an earlier error in writing the file, which is
 * returned. Otherwise returns 0 or a negative errno. The error text names the file.
 */
int outdir_finish(struct outdir *outdir, struct out *out, int rc, struct error *err);

/* Removes files of an older run: those whose names start with `start` and end with `end`. */
void outdir_remove(const struct outdir *outdir, const char *start, const char *end);

/*
 * Moves the files whose names start with `start` and end with `end` to another directory. Returns 0
 * or a negative errno.
 */
int outdir_move(const struct outdir *outdir, const struct outdir *to, const char *start,
		const char *end, struct error *err);

/*
 * Renames all files to their final names, in the order in which they were created. Returns 0 or a
 * negative errno; files that were renamed before the error remain, because each of them is complete
 * and may have replaced a file of an older run.
 */
int outdir_commit(struct outdir *outdir, struct error *err);

/* Closes the directory; removes all files that outdir_commit() did not rename. */
void outdir_close(struct outdir *outdir);

#endif
