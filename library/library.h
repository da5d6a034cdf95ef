/* SPDX-License-Identifier: MIT */
#ifndef LIBRARY_H
#define LIBRARY_H

/*
 * Shared by the parts of libholdtrace-trace, the components of the analyst behind a stable
 * interface.
 */

#include <stdbool.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/error.h"
#include "base/pool.h"
#include "holdtrace/trace.h"
#include "trace/trace.h"

/* Exported from the library; library/exports.map lists the same symbols for the linker. */
#define PUBLIC __attribute__((visibility("default")))

struct library_names;
struct library_account;

/* Backtraces as arrays of frames, by id; NULL: not requested yet. */
struct library_frames {
	struct pool pool;
	ARRAY_OF(const uint64_t *) rows;
};

struct holdtrace_trace {
	struct trace *trace;
	char *root, *debug_directory; /* copies of the options */
	const struct event *current;  /* returned last; NULL: none */
	struct holdtrace_event event;
	ARRAY_OF(const char *) resources; /* by id */
	struct library_frames *frames;
	struct library_names *names;
	struct library_account *account; /* NULL: not requested */
	bool has_origin; /* the start of the run, from which times count, is known */
	bool hands_out_notes;
};

/* options must outlive the result. NULL: no memory. */
struct library_names *library_names_create(const struct holdtrace_options *options);
void library_names_destroy(struct library_names *names);

/* Adds a mapping of the trace, or a backtrace at its first event. Return 0 or -ENOMEM. */
int library_names_map(struct library_names *names, const struct event *event);
int library_names_meet(struct library_names *names, const struct event *event);

/* The number of backtraces added; their ids are smaller. */
size_t library_names_met(const struct library_names *names);

/*
 * A backtrace that was added, as a node of the address map: equal for the same code in any process.
 * NULL: no memory.
 */
const struct trace_node *library_names_place(struct library_names *names,
					     const struct backtrace *backtrace);

/* NULL: no memory. */
struct library_account *library_account_create(void);
void library_account_destroy(struct library_account *account);

/* Adds a call or note. Returns 0 or -ENOMEM. */
int library_account_event(struct library_account *account, const struct event *event,
			  struct error *err);

/* Checks that the trace has an account. Returns 0 or -EINVAL. */
int library_account_ask(const struct holdtrace_trace *trace, struct error *err);

/* Copies an error to the caller's. Returns its negative number. */
int library_fail(struct holdtrace_error *error, const struct error *err);

#endif
