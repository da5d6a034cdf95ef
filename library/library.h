/* SPDX-License-Identifier: MIT */
#ifndef LIBRARY_H
#define LIBRARY_H

/* What the parts of libholdtrace-trace share: the rooms of the analyst behind a stable interface.
 */

#include <stdbool.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/error.h"
#include "base/pool.h"
#include "holdtrace/trace.h"
#include "trace/trace.h"

/* Nothing else leaves the library; library/exports.map says the same to the linker. */
#define PUBLIC __attribute__((visibility("default")))

struct library_names;
struct library_account;

/* Backtraces that were asked for, in rows, by id; NULL: not yet. */
struct library_frames {
	struct pool pool;
	ARRAY_OF(const uint64_t *) rows;
};

struct holdtrace_trace {
	struct trace *trace;
	char *root, *debug_directory; /* of the options */
	const struct event *current;  /* handed out last; NULL: none */
	struct holdtrace_event event;
	ARRAY_OF(const char *) resources; /* by id */
	struct library_frames *frames;
	struct library_names *names;
	struct library_account *account; /* NULL: not asked for */
	bool has_origin;		 /* times count from the start of the run, which is known */
	bool hands_out_notes;
};

/* What options has outlives it. NULL: no memory. */
struct library_names *library_names_create(const struct holdtrace_options *options);
void library_names_destroy(struct library_names *names);

/* A mapping of the trace; a backtrace that was not met before. They return 0 or -ENOMEM. */
int library_names_map(struct library_names *names, const struct event *event);
int library_names_meet(struct library_names *names, const struct event *event);

/* How many backtraces were met: their ids are smaller. */
size_t library_names_met(const struct library_names *names);

/* A backtrace that was met, as the atlas has it: the same code in any process. NULL: no memory. */
const struct trace_node *library_names_place(struct library_names *names,
					     const struct backtrace *backtrace);

/* NULL: no memory. */
struct library_account *library_account_create(void);
void library_account_destroy(struct library_account *account);

/* A call or note, handed out or not. Returns 0 or -ENOMEM. */
int library_account_event(struct library_account *account, const struct event *event,
			  struct error *err);

/* Whether there is an account. Returns 0 or -EINVAL. */
int library_account_ask(const struct holdtrace_trace *trace, struct error *err);

/* Hands an error out. Returns its negative number. */
int library_fail(struct holdtrace_error *error, const struct error *err);

#endif
