/* SPDX-License-Identifier: MIT */
#ifndef ETRACE_H
#define ETRACE_H

/*
 * Declarations that the files of the etrace writer share: etrace.c processes the events,
 * etrace_calls.c converts calls to lines, etrace_lines.c collects the lines, and tasks.c finds out
 * which tasks there are.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/error.h"
#include "base/map.h"
#include "base/out.h"
#include "base/pool.h"
#include "base/spill_file.h"
#include "dialects/places.h"
#include "trace/event.h"

/* ---- tasks ---- */

/*
 * The tasks of a run (threads, as the kernel counts them) and their parents. Each stream is a
 * task_process, whose tasks are its threads; the id of the first thread is the id of the process.
 * When a task calls exec, the task continues, but its stream ends. Ids and thread handles are
 * reused; an id or handle refers to the last task that got it. In the trace, the call that created
 * a task may come before or after the task's first event, or be missing. Each birth is recorded
 * once.
 */

#define TASK_NONE UINT32_MAX

struct task_process;

struct task {
	uint32_t number; /* number in the order of discovery, from 0 */
	uint32_t tid;	 /* the kernel's id; 0: unknown (a child of vfork) */
	/* number of the task with which this task was merged, or TASK_NONE */
	uint32_t same_as;
	bool is_born;	/* whether tasks.births contains its birth */
	bool is_leader; /* whether it is the first task of its process */
	bool has_ended;
	bool has_exit;		    /* whether its exit status is known */
	uint64_t first_ns, last_ns; /* times of its first and last event */
	/* latest possible time of its end, from a note or a wait for it; 0: unknown */
	uint64_t end_ns;
	uint64_t exit_ns, status; /* time and status of the exit, if known */
	uint32_t exit_cpu;
	uint64_t pthread; /* its thread handle; 0: unknown */
	/*
	 * the task that probably created it, used if no call shows its birth; NULL: that task is
	 * not in the trace
	 */
	struct task *parent;
	struct task *vfork_child; /* child of vfork that runs in this task's memory and whose pid is
				     unknown; or NULL */
	struct task *next;	  /* next task of the same process */
	/* the process to which it belongs; NULL: it has had no events */
	struct task_process *owner;
};

struct task_process {
	const struct trace_process *facts;
	struct task *leader;
	struct task *tasks;   /* list of the process's tasks, newest first */
	struct places places; /* the working directory and the open descriptors */
	bool has_status;      /* whether the process announced its exit status */
	uint64_t status;
	uint32_t number; /* number of the process, from 1 */
};

struct task_birth {
	uint64_t time_ns;
	uint32_t parent, child; /* numbers of tasks */
	uint32_t cpu;
	uint32_t flags; /* flags of clone, if has_flags */
	bool has_flags;
	bool has_failed; /* whether the call failed, so that there is no child */
};

struct task_exit {
	uint64_t time_ns, status;
	uint32_t task, cpu;
};

/* State of a thread handle, which several threads may have had one after the other. */
struct task_handle {
	struct task *last;
	struct task *unborn;	  /* a thread whose events came before the call that created it */
	struct task_birth create; /* the creation of a thread that has had no events yet */
	bool has_create;
};

struct tasks {
	struct pool pool;
	/* key: see tasks.c; value: number of a task, process or handle */
	struct map index;
	ARRAY_OF(struct task_process *) processes; /* indexed by the number of the process - 1 */
	ARRAY_OF(struct task_handle) handles;	   /* index 0 is unused */
	ARRAY_OF(struct task *) list;		   /* indexed by the number of the task */
	ARRAY_OF(struct task_birth) births;
	ARRAY_OF(struct task_exit) exits;
	struct task_process *last_process; /* process of the last event */
	struct task *last_task;
};

void tasks_init(struct tasks *tasks);
void tasks_free(struct tasks *tasks);

/* Returns the process of an event, and adds the process at its first event. */
struct task_process *tasks_process(struct tasks *tasks, const struct event *event);

/*
 * Returns the task that made a call. Calls that a child of vfork makes in its parent's memory
 * belong to a task of their own.
 */
struct task *tasks_of(struct tasks *tasks, struct task_process *process, const struct event *event);

/*
 * Processes a call of fork, vfork, posix_spawn or clone, by which the parent created the child with
 * pid event->object, or failed to create a child. flags: the flags of clone; -1: another call.
 */
void tasks_forked(struct tasks *tasks, struct task *parent, const struct event *event,
		  int64_t flags);

/*
 * Processes a call of pthread_create, by which the parent created the thread with handle
 * event->object, or failed to create a thread.
 */
void tasks_cloned(struct tasks *tasks, struct task *parent, const struct event *event);

/* Returns the latest thread of the process that had this handle, or NULL. */
struct task *tasks_by_handle(const struct tasks *tasks, const struct task_process *process,
			     uint64_t pthread);

/* Ends a thread that was joined. Returns its task; NULL: the thread had no events. */
struct task *tasks_joined(struct tasks *tasks, struct task_process *process, uint64_t pthread);

/* Ends a task, whose tid and handle may then be reused. */
void tasks_end(struct tasks *tasks, struct task *task);

/*
 * Stores an exit status. time_ns: the latest possible time of the exit; if the task announced its
 * end earlier, that time is used.
 */
void task_exits(struct task *task, uint64_t time_ns, uint64_t status, uint32_t cpu);

/*
 * Handles a wait that has reaped a child: the child ended at time_ns at the latest. Returns the
 * child's task if the child was not traced and has no exit status yet; else NULL.
 */
struct task *tasks_waited(struct tasks *tasks, uint32_t pid, uint64_t time_ns);

/*
 * Must be called after the last event. For each task whose creating call is missing, adds a birth
 * by the probable parent at the time of the child's first event. Sorts births and exits by time.
 */
void tasks_finish(struct tasks *tasks);

/* Returns the task with this number or, if it was merged with another task (same_as), that task. */
struct task *tasks_true(const struct tasks *tasks, uint32_t number);

/* ---- lines ---- */

/*
 * Collects the lines of an etrace text until they can be printed. Each line starts with the name of
 * its task. Names are numbered in the order of the tasks' births, and some births become known only
 * at the end. The lines of one call form a block and stay together. Blocks are written to a
 * temporary file, so memory does not grow with the number of blocks.
 */

struct etrace_block {
	uint64_t time_ns;
	uint32_t task, cpu;
	uint32_t length, pad; /* length: bytes of the lines that follow, with their newlines */
};

struct etrace_lines {
	struct spill_file spill;
	ARRAY_OF(char) buffer;
	size_t block; /* offset of the current block in `buffer` */
};

void etrace_lines_init(struct etrace_lines *lines);
void etrace_lines_free(struct etrace_lines *lines);

/* Ends the previous block, and begins a block of lines of one task. */
void etrace_block(struct etrace_lines *lines, const struct task *task, uint64_t time_ns,
		  uint32_t cpu);

/* Adds a line to the block, without its newline. */
void etrace_line(struct etrace_lines *lines, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Adds a text as a line with a tag. A text that is long or contains newlines is split into several
 * lines.
 */
void etrace_text(struct etrace_lines *lines, const char *tag, const char *text, size_t length);

/* Adds an argument of a program. Splits it like etrace_text(), but writes no end marker. */
void etrace_argument(struct etrace_lines *lines, unsigned number, const char *text, size_t length);

/*
 * Prints all blocks, births and exits of tasks in order of time. Times increase by at least 1 ns
 * from line to line. prefix: printed at the start of each line. Returns 0 or a negative errno.
 */
int etrace_lines_print(struct etrace_lines *lines, struct tasks *tasks, struct out *out,
		       const char *prefix, struct error *err);

/* ---- the writer ---- */

/*
 * Declarations that the files of the etrace writer share: etrace.c processes the events, and
 * etrace_calls.c converts calls to lines.
 */

struct etrace;

/* An event, its process, the task that made the call, and the row of the called function. */
struct etrace_call {
	const struct event *event;
	struct task_process *process;
	struct task *task;
	const struct etrace_row *row;
};

/* How calls of a hooked function are converted to lines. */
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
	} file;		     /* the file that the task's next call opens; path: from the kernel */
};

/*
 * Returns the row of a function, or NULL if calls to the function are not converted. If a call
 * without a row closes a descriptor, etrace_close() converts it.
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
