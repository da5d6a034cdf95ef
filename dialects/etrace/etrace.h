/* SPDX-License-Identifier: MIT */
#ifndef ETRACE_H
#define ETRACE_H

/* What the parts of the etrace writer share: etrace.c is the fold, etrace_calls.c knows the calls.
 */

#include "base/array.h"
#include "dialects/places.h"
#include "dialects/etrace/tasks.h"
#include "dialects/etrace/etrace_lines.h"

struct etrace;

/* One event of a call, and who made it. */
struct etrace_call {
	const struct event *event;
	struct task_process *process;
	struct task *task;
	const struct etrace_row *row;
};

/* What etrace says of one hooked function. */
struct etrace_row {
	const char *name;
	void (*take)(struct etrace *etrace, const struct etrace_call *call);
	const char *before;   /* of a path that the function puts together itself, or NULL */
	uint32_t flags, mode; /* of an open that does not say them */
};

struct etrace {
	const struct trace *trace;
	struct out *out;
	bool is_framed; /* --format=etrace:cas */
	bool has_names; /* not --format=etrace:no-thread-names */
	struct tasks tasks;
	struct etrace_lines lines;
	ARRAY_OF(const struct etrace_row *) rows; /* by function: NULL if it says nothing */
	struct path one, two, value;		  /* of the call that is being looked at */
	struct {
		struct task_process *process; /* NULL: none */
		uint64_t time_ns, size;
		uint32_t cpu;
		struct path program, interpreter, directory, arguments; /* these with their NULs */
		unsigned count;
	} image;		     /* a program that begins, until all its arguments were told */
	struct path first_directory; /* where the run began */
	struct {
		const struct task *task; /* NULL: none */
		struct path path;
		uint64_t fd; /* UINT64_MAX: of a link */
	} file;		     /* what the kernel calls the file of the task's next call */
};

/* The row of a function, or NULL: then only descriptors that it gives back are of interest. */
const struct etrace_row *etrace_row_of(const char *function);

/* A descriptor was given back, whoever did it. */
void etrace_close(struct etrace *etrace, const struct etrace_call *call);

/* The whole value of an argument into etrace->value; NULL if it is not there. */
const char *etrace_value(struct etrace *etrace, const struct event *event, const char *name);

/* Its number, as C writes numbers; otherwise if it is not there. */
int64_t etrace_number(const struct event *event, const char *name, int64_t otherwise);

/*
 * A process is gone; how: as ~end says it. What its threads are said to end with is what the
 * process ended with; nothing is said where nobody knows it, and of what a signal ended.
 */
void etrace_end_process(struct etrace *etrace, const struct etrace_call *call, const char *how,
			uint64_t time_ns);

#endif
