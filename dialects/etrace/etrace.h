/* SPDX-License-Identifier: MIT */
#ifndef ETRACE_H
#define ETRACE_H

/*
 * Shared by the files of the etrace writer: etrace.c processes the events, and etrace_calls.c
 * converts calls to lines.
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
	const char *before;   /* directory in which the function itself puts the file, or NULL */
	uint32_t flags, mode; /* flags to add to the call's, and the mode if the call has none */
};

struct etrace {
	const struct trace *trace;
	struct out *out;
	bool is_framed; /* --format=etrace:cas */
	bool has_names; /* not --format=etrace:no-thread-names */
	struct tasks tasks;
	struct etrace_lines lines;
	ARRAY_OF(const struct etrace_row *) rows; /* by id of the function; NULL: not converted */
	struct path one, two, value;		  /* scratch, for the current call */
	struct {
		struct task_process *process; /* NULL: none */
		uint64_t time_ns, size;
		uint32_t cpu;
		struct path program, interpreter, directory, arguments; /* each ends with NUL */
		unsigned count;
	} image;		     /* a new program whose arguments have not all been read */
	struct path first_directory; /* directory in which the run started */
	struct {
		const struct task *task; /* NULL: none */
		struct path path;
		uint64_t fd; /* UINT64_MAX: `path` is the target of a link */
	} file;		     /* the file that the task's next call opens, as the kernel names it */
};

/*
 * The row of a function. NULL: its calls are not converted, except that etrace_close() converts the
 * descriptors that they close.
 */
const struct etrace_row *etrace_row_of(const char *function);

/* Writes the line of a descriptor that a call of any function closed. */
void etrace_close(struct etrace *etrace, const struct etrace_call *call);

/*
 * Copies the whole value of an argument, which the trace may hold in parts, to etrace->value and
 * returns it. NULL: no such argument.
 */
const char *etrace_value(struct etrace *etrace, const struct event *event, const char *name);

/* The value of an argument, a number in C notation; `otherwise` if there is no such number. */
int64_t etrace_number(const struct event *event, const char *name, int64_t otherwise);

/*
 * Converts the end of a process. how: the argument of ~end. All threads of the process get its exit
 * status. If the status is unknown or a signal ended the process, writes nothing.
 */
void etrace_end_process(struct etrace *etrace, const struct etrace_call *call, const char *how,
			uint64_t time_ns);

#endif
