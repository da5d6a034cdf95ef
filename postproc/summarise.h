/* SPDX-License-Identifier: MIT */
#ifndef SUMMARISE_H
#define SUMMARISE_H

/*
 * Several traces as one screen: the streams of a run, each read to its end, one after the other.
 * --format=summary comes here, since other formats print every stream for itself.
 */

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/out.h"
#include "postproc/select.h"
#include "trace/trace.h"

struct summarise_options {
	struct select_options select;
	struct trace_options trace;
	bool is_newest; /* the files are those that a command without a file reads */
	const volatile sig_atomic_t *stop;
	size_t *unread;	 /* is counted up for a file that cannot be read; may be NULL */
	bool *has_found; /* set when a process was wanted; may be NULL */
	/* Called for a file that cannot be read; the others are used. */
	void (*failed)(const char *path, const struct error *err);
};

/*
 * Prints the screen. *is_damaged: a trace was damaged or could not be read.
 * Returns 0, -EINTR if it was stopped (what was read is printed), or another negative errno: then
 * nothing could be read, or printed.
 */
int summarise(const char *const *paths, size_t count, const struct summarise_options *options,
	      struct out *out, bool *is_damaged, struct error *err);

#endif
