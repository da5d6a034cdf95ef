/* SPDX-License-Identifier: MIT */
#ifndef ETRACE_H
#define ETRACE_H

/*
 * Declarations that the files of the etrace writer share: etrace.c processes the events, and
 * etrace_calls.c converts calls to lines.
 */

#include "base/array.h"
#include "dialects/places.h"
#include "dialects/etrace/tasks.h"
#include "dialects/etrace/etrace_lines.h"

struct etrace;

/* An event, its process, the task that made the call, and the row of the called function. */
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
	const char *before; /* directory in which the function always creates the file, or NULL */
	/* flags: these are added to the call's flags; mode: used if the call has no mode */
	uint32_t flags, mode;
};

struct etrace {
	const struct trace *trace;
	struct out *out;
	bool is_framed; /* --format=etrace:cas was given */
	bool has_names; /* --format=etrace:no-thread-names was not given */
	struct tasks tasks;
	struct etrace_lines lines;
	/* indexed by id of the function; NULL: calls to the function are not converted */
	ARRAY_OF(const struct etrace_row *) rows;
	struct path one, two, value; /* buffers for the current call */
	struct {
		/* the process that executed a new program; NULL: no program is being read */
		struct task_process *process;
		uint64_t time_ns, size;
		uint32_t cpu;
		struct path program, interpreter, directory, arguments; /* these end with NUL */
		unsigned count;
	} image;		     /* a new program whose arguments have not all been read yet */
	struct path first_directory; /* directory in which the run started */
	struct {
		const struct task *task; /* the task of the call; NULL: there is none */
		struct path path;
		uint64_t fd; /* descriptor; UINT64_MAX: `path` is the target of a symbolic link */
	} file;		     /* the file that the task's next call opens, with the kernel's path */
};

/*
 * Returns the row of a function, or NULL if calls to the function are not converted. Descriptors
 * that such calls close are converted by etrace_close().
 */
const struct etrace_row *etrace_row_of(const char *function);

/* Writes the line for a descriptor that a call of any function closed. */
void etrace_close(struct etrace *etrace, const struct etrace_call *call);

/*
 * Copies the whole value of an argument to etrace->value, and returns it. The trace may contain the
 * value in several parts. Returns NULL if the call has no such argument.
 */
const char *etrace_value(struct etrace *etrace, const struct event *event, const char *name);

/*
 * Returns the value of an argument that is a number in C notation, or `otherwise` if the event has
 * no such argument.
 */
int64_t etrace_number(const struct event *event, const char *name, int64_t otherwise);

/*
 * Converts the end of a process. how: the argument of the ~end note. Each thread of the process
 * gets the exit status of the process. Does nothing if the status is unknown or a signal killed the
 * process.
 */
void etrace_end_process(struct etrace *etrace, const struct etrace_call *call, const char *how,
			uint64_t time_ns);

#endif
