/* SPDX-License-Identifier: MIT */
#ifndef TASKS_H
#define TASKS_H

/*
 * The tasks of a run in the kernel's sense, and their parents. A process is a stream; its tasks are
 * its threads, the first of which has the process's number. A task survives exec, the stream does
 * not. Task numbers and thread handles are reused, so a number means its latest user. The call that
 * created a task may come before or after the task's first event, or never; each birth is recorded
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
	uint32_t number;  /* from 0, in order of discovery */
	uint32_t tid;	  /* the kernel's; 0: unknown (vfork's child) */
	uint32_t same_as; /* number of the identical older task, or TASK_NONE */
	bool is_born;	  /* its birth was recorded */
	bool is_leader;	  /* the first of its process */
	bool has_ended;
	bool has_exit;		    /* its exit status is known */
	uint64_t first_ns, last_ns; /* times of its first and last event */
	uint64_t end_ns;	    /* when it announced its end; 0: it did not */
	uint64_t exit_ns, status;   /* of the exit, as far as known */
	uint32_t exit_cpu;
	uint64_t pthread;    /* its handle; 0: unknown */
	struct task *parent; /* the assumed creator if no call shows one; NULL: not in this trace */
	struct task *vfork_child;   /* runs in its memory and has no number yet, or NULL */
	struct task *next;	    /* of the same process */
	struct task_process *owner; /* runs its image; NULL: no events so far */
};

struct task_process {
	const struct trace_process *facts;
	struct task *leader;
	struct task *tasks;   /* newest first */
	struct places places; /* its directory and descriptors */
	bool has_status;      /* it announced its exit status */
	uint64_t status;
	uint32_t number; /* from 1 */
};

struct task_birth {
	uint64_t time_ns;
	uint32_t parent, child; /* numbers of tasks */
	uint32_t cpu;
	uint32_t flags; /* of clone, if has_flags */
	bool has_flags;
	bool has_failed; /* there is no child */
};

struct task_exit {
	uint64_t time_ns, status;
	uint32_t task, cpu;
};

/* The threads that had a handle in turn. */
struct task_handle {
	struct task *last;
	struct task *unborn;	  /* has events, but the call that created it has not come */
	struct task_birth create; /* a creation whose thread has no events yet */
	bool has_create;
};

struct tasks {
	struct pool pool;
	struct map index;			   /* numbers of tasks and handles, see tasks.c */
	ARRAY_OF(struct task_process *) processes; /* by number - 1 */
	ARRAY_OF(struct task_handle) handles;	   /* from 1 */
	ARRAY_OF(struct task *) list;		   /* by number */
	ARRAY_OF(struct task_birth) births;
	ARRAY_OF(struct task_exit) exits;
	struct task_process *last_process; /* of the last event */
	struct task *last_task;
};

void tasks_init(struct tasks *tasks);
void tasks_free(struct tasks *tasks);

/* The process of an event, created with its first event. */
struct task_process *tasks_process(struct tasks *tasks, const struct event *event);

/* The task that made a call. A child of vfork in its parent's memory is a task, too. */
struct task *tasks_of(struct tasks *tasks, struct task_process *process, const struct event *event);

/*
 * fork, vfork, posix_spawn, clone: parent created the child with pid event->object, or failed.
 * flags: of clone; -1: another call.
 */
void tasks_forked(struct tasks *tasks, struct task *parent, const struct event *event,
		  int64_t flags);

/* pthread_create: parent created the thread with handle event->object, or failed. */
void tasks_cloned(struct tasks *tasks, struct task *parent, const struct event *event);

/* The latest thread of the process with that handle, or NULL. */
struct task *tasks_by_handle(const struct tasks *tasks, const struct task_process *process,
			     uint64_t pthread);

/* A thread was joined, so it has ended. Returns it; NULL: it had no events. */
struct task *tasks_joined(struct tasks *tasks, struct task_process *process, uint64_t pthread);

/* Ends a task: its numbers may be reused. */
void tasks_end(struct tasks *tasks, struct task *task);

/*
 * Records an exit status, and the latest possible time of the exit. The task may have announced an
 * earlier one.
 */
void task_exits(struct task *task, uint64_t time_ns, uint64_t status, uint32_t cpu);

/*
 * A wait for the child with that pid returned, so it had ended. Returns the child if it had no
 * events, because it was not traced; else NULL.
 */
struct task *tasks_waited(struct tasks *tasks, uint32_t pid, uint64_t time_ns);

/*
 * After the last event: adds the missing births, by the parent, at the child's first event, and
 * sorts births and exits by time.
 */
void tasks_finish(struct tasks *tasks);

/* The task that this one finally is. */
struct task *tasks_true(const struct tasks *tasks, uint32_t number);

#endif
