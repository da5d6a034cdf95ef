/* SPDX-License-Identifier: MIT */
#ifndef LIBRARY_H
#define LIBRARY_H

/*
 * Internals of libholdtrace-trace, which gives other programs a stable interface to the components
 * of the analyst.
 */

#include <stdbool.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/error.h"
#include "base/pool.h"
#include "holdtrace/trace.h"
#include "trace/trace.h"

/* Exports a function. library/exports.map lists the same functions for the linker. */
#define PUBLIC __attribute__((visibility("default")))

struct library_names;
struct library_account;

/* The frames of backtraces. `rows` is indexed by backtrace id; NULL: not requested yet. */
struct library_frames {
	struct pool pool;
	ARRAY_OF(const uint64_t *) rows;
};

struct holdtrace_trace {
	struct trace *trace;
	char *root, *debug_directory; /* copies of the options */
	const struct event *current;  /* the event that was returned last; NULL: none */
	struct holdtrace_event event;
	ARRAY_OF(const char *) resources; /* names of classes, indexed by id */
	struct library_frames *frames;
	struct library_names *names;
	struct library_account *account; /* NULL: no account was requested */
	/* the start of the run, to which `since` and `until` may refer, is known */
	bool has_origin;
	bool hands_out_notes;
};

/*
 * Returns the node of a backtrace in the address map (the modules of all processes). An event with
 * this backtrace must have been read before. The same code has the same node in all processes.
 * Returns NULL if no memory is left.
 */
const struct trace_node *library_names_place(struct library_names *names,
					     const struct backtrace *backtrace);

/* Returns NULL if no memory is left. */
struct library_account *library_account_create(void);
void library_account_destroy(struct library_account *account);

/* Adds a call or note to the account. Returns 0 or -ENOMEM. */
int library_account_event(struct library_account *account, const struct event *event,
			  struct error *err);

/* Copies err to the error struct of the library's caller. Returns -err->number. */
int library_fail(struct holdtrace_error *error, const struct error *err);

#endif
