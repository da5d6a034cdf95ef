/* SPDX-License-Identifier: MIT */
#ifndef TASKS_H
#define TASKS_H

/*
 * The tasks of a run (threads, as the kernel counts them) and their parents. Each stream is a
 * task_process, whose tasks are its threads; the id of the first thread is the id of the process.
 * When a task calls exec, the task continues, but its stream ends. Ids and thread handles are
 * reused; an id or handle refers to the last task that got it. In the trace, the call that created
 * a task may come before or after the task's first event, or be missing. Each birth is recorded
 * once.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/error.h"
#include "base/pool.h"
#include "base/map.h"
#include "dialects/places.h"
#include "trace/event.h"

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

#endif
