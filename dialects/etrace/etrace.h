/* SPDX-License-Identifier: MIT */
#ifndef ETRACE_H
#define ETRACE_H

/*
 * Shared by the parts of the etrace writer: etrace.c folds the events, etrace_calls.c converts the
 * calls.
 */

#include "base/array.h"
#include "dialects/places.h"
#include "dialects/etrace/tasks.h"
#include "dialects/etrace/etrace_lines.h"

struct etrace;

/* An event of a call and the task that made the call. */
struct etrace_call {
	const struct event *event;
	struct task_process *process;
	struct task *task;
	const struct etrace_row *row;
};

/* How a hooked function is converted. */
struct etrace_row {
	const char *name;
	void (*take)(struct etrace *etrace, const struct etrace_call *call);
	const char *before;   /* prefix of a path that the function composes itself, or NULL */
	uint32_t flags, mode; /* of an open, if the call does not have them */
};

struct etrace {
	const struct trace *trace;
	struct out *out;
	bool is_framed; /* --format=etrace:cas */
	bool has_names; /* not --format=etrace:no-thread-names */
	struct tasks tasks;
	struct etrace_lines lines;
	ARRAY_OF(const struct etrace_row *) rows; /* by function; NULL: not converted */
	struct path one, two, value;		  /* scratch, for the current call */
	struct {
		struct task_process *process; /* NULL: none */
		uint64_t time_ns, size;
		uint32_t cpu;
		struct path program, interpreter, directory, arguments; /* arguments: with NULs */
		unsigned count;
	} image;		     /* a new program, until all its arguments were read */
	struct path first_directory; /* initial directory of the run */
	struct {
		const struct task *task; /* NULL: none */
		struct path path;
		uint64_t fd; /* UINT64_MAX: of a link */
	} file;		     /* the kernel's name for the file of the task's next call */
};

/* The row of a function, or NULL: then only descriptors that it closes matter. */
const struct etrace_row *etrace_row_of(const char *function);

/* Converts a descriptor that any function closed. */
void etrace_close(struct etrace *etrace, const struct etrace_call *call);

/*
 * Stores the whole value of an argument in etrace->value and returns its text; NULL: no such
 * argument.
 */
const char *etrace_value(struct etrace *etrace, const struct event *event, const char *name);

/* The value of an argument as a number in C notation, or otherwise. */
int64_t etrace_number(const struct event *event, const char *name, int64_t otherwise);

/*
 * Converts the end of a process; how: from ~end. Its threads end with the status of the process.
 * Nothing is written if the status is unknown or a signal ended the process.
 */
void etrace_end_process(struct etrace *etrace, const struct etrace_call *call, const char *how,
			uint64_t time_ns);

#endif
