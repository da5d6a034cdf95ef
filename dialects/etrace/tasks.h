/* SPDX-License-Identifier: MIT */
#ifndef TASKS_H
#define TASKS_H

/*
 * The kernel's tasks of a run: who made whom. A process is a stream; its tasks are its threads, the
 * first of which has the process's number. A task goes on over exec, where the stream does not.
 * Numbers of tasks and thread handles are used again, so both mean their last user. What made a
 * task may be told before the task's first breath or after it, or never: each birth is told once.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/error.h"
#include "base/pool.h"
#include "base/table.h"
#include "dialects/places.h"
#include "trace/event.h"

#define TASK_NONE UINT32_MAX

struct task_process;

struct task {
	uint32_t number;  /* from 0, in order of discovery */
	uint32_t tid;	  /* the kernel's; 0 while it is not known (vfork's child) */
	uint32_t same_as; /* number of the task that it turned out to be, or TASK_NONE */
	bool is_born;	  /* its birth was told */
	bool is_leader;	  /* the first of its process */
	bool has_ended;
	bool has_exit;		    /* what it ended with is known */
	uint64_t first_ns, last_ns; /* when it is first and last heard of */
	uint64_t end_ns;	    /* when it said that it ends; 0: it has not */
	uint64_t exit_ns, status;   /* of the exit: the best that is known */
	uint32_t exit_cpu;
	uint64_t pthread;	    /* its handle; 0: not known */
	struct task *parent;	    /* who made it if nobody says; NULL: not in this trace */
	struct task *vfork_child;   /* runs in its memory and has no name yet, or NULL */
	struct task *next;	    /* of the same process */
	struct task_process *owner; /* whose image it runs; NULL: made and not yet heard of */
};

struct task_process {
	const struct trace_process *facts;
	struct task *leader;
	struct task *tasks;   /* all, the newest first */
	struct places places; /* its directory and descriptors */
	bool has_status;      /* it said how it wants to end */
	uint64_t status;
	struct task_process *next;
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

struct tasks {
	struct pool pool;
	struct table handles; /* struct task_handle, by process and pthread_t */
	struct table leaders; /* struct task_leader, by pid */
	struct table by_tid;  /* struct task, by process and tid: those that have not ended */
	struct table streams; /* struct task_process, by the trace's process */
	struct table numbers; /* the same, by session and number of the stream */
	struct task_process *processes; /* the newest first */
	ARRAY_OF(struct task *) list;	/* by number */
	ARRAY_OF(struct task_birth) births;
	ARRAY_OF(struct task_exit) exits;
	struct task_process *last_process; /* of the last event */
	struct task *last_task;
};

void tasks_init(struct tasks *tasks);
void tasks_free(struct tasks *tasks);

/* The process of an event, which begins with its first one. */
struct task_process *tasks_process(struct tasks *tasks, const struct event *event);

/* The task that made a call. vfork's child in its parent's memory is a task, too. */
struct task *tasks_of(struct tasks *tasks, struct task_process *process, const struct event *event);

/*
 * fork, vfork, posix_spawn, clone: parent made the child with that pid, or failed. flags: of clone;
 * -1: it was no clone.
 */
void tasks_forked(struct tasks *tasks, struct task *parent, const struct event *event,
		  int64_t flags);

/* pthread_create: parent made the thread with the handle event->object, or failed. */
void tasks_cloned(struct tasks *tasks, struct task *parent, const struct event *event);

/* The last thread of the process with that handle, or NULL. */
struct task *tasks_by_handle(const struct tasks *tasks, const struct task_process *process,
			     uint64_t pthread);

/* Somebody joined the thread with that handle: it has ended. NULL: it was never heard of. */
struct task *tasks_joined(struct tasks *tasks, struct task_process *process, uint64_t pthread);

/* The task will not be heard of again: its numbers are free for others. */
void tasks_end(struct tasks *tasks, struct task *task);

/* What a task ended with, and when at the latest; it may itself have said when. */
void task_exits(struct task *task, uint64_t time_ns, uint64_t status, uint32_t cpu);

/*
 * Somebody has waited for the child with that pid: it ended before. Returns the child if nothing
 * else was ever heard of it, since it was not traced; else NULL.
 */
struct task *tasks_waited(struct tasks *tasks, uint32_t pid, uint64_t time_ns);

/*
 * At the end of all events: births that nobody told are told by the parent at the child's first
 * breath, and these and the exits are brought into the order of their times.
 */
void tasks_finish(struct tasks *tasks);

/* The task that this one is in the end. */
struct task *tasks_true(const struct tasks *tasks, uint32_t number);

#endif
