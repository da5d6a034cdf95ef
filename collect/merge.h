/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_MERGE_H
#define COLLECT_MERGE_H

/*
 * All rings of a process as one sequence in time order (ARCHITECTURE.md: "Order"). Takes
 * records out of the rings, rebuilds every thread's backtrace from its changes, and hands out
 * events that nothing can precede any more.
 */

#include <stdbool.h>
#include <stdint.h>

#include "arena.h"
#include "collect/brief.h"
#include "collect/chunk.h"

/* A thread that spoke, and what it could not say. */
struct merge_thread {
	int32_t id;
	uint64_t pthread;
	uint64_t lost[LOSS_COUNT];
};

/* A record in its place. All pointers are good during the call only. */
struct merge_event {
	const struct record *record; /* checked: what it says of its own length holds */
	uint64_t time;		     /* ticks; never before the event handed out before it */
	bool late;		     /* was clamped */
	bool is_moved_part;	     /* of a record with MOMENT_SPLIT: that it gave related back */
	const struct merge_thread *thread;
	const uint64_t *frames; /* of a RECORD_CALL: innermost first */
	uint32_t frame_count;
};

/*
 * Where events go: RECORD_CALL, NOTE, HEAP, MODULE, CONTEXT and CLASS. Every thread tells its
 * modules itself, just before the event that needs them, so one module may come several times.
 */
struct merge_handler {
	void (*event)(void *context, void *owner, const struct merge_event *event);
	/*
	 * The short way of a call that need not wait. False: it is to come by event() instead, as
	 * if it had not been tried. NULL: all calls do.
	 */
	bool (*brief)(void *context, void *owner, const struct brief *brief);
	/* a process has made memory that merge_add_chunk() has not yet been told of */
	void (*grown)(void *context, void *owner);
	/*
	 * Whether a thread waits for a processor, or for a page: it cannot publish what it is about
	 * to. *ran_ns: for how long it has run in its life. NULL: nobody knows.
	 */
	bool (*starves)(void *context, void *owner, int32_t thread, uint64_t *ran_ns);
	void *context;
};

struct merge_counts {
	uint64_t events;  /* RECORD_CALL handed out */
	uint64_t late;	  /* of these, with a clamped time */
	uint64_t damaged; /* times that a ring made no sense and was skipped to its head, or memory
			     was lost */
};

struct merge;
struct process;

/* NULL if there is no memory. */
struct merge *merge_create(struct board *board, const struct merge_handler *handler);
void merge_destroy(struct merge *merge);

/*
 * What the processes of a user take here: blocks of memory for their records, and, where it is
 * bounded, time of a round. Both have a bound for them together, and for all bounded users.
 */
struct merge_user {
	bool is_bounded;
	uint32_t batches;
	uint64_t round, spent_ns; /* in this round */
};

/* A process of the run; owner is the handler's. NULL if there is no memory. */
struct process *merge_add(struct merge *merge, void *owner, struct merge_user *user);

/* One more piece of its memory, which must stay until merge_remove(). False: no memory. */
bool merge_add_chunk(struct process *process, const struct chunk *chunk);

/* A process that has ended and been drained: nothing is known of it any more. */
void merge_remove(struct merge *merge, struct process *process);

/*
 * One round: takes what the rings hold and hands out what is certain. Moves the heartbeat.
 * Returns the bytes taken.
 */
uint64_t merge_round(struct merge *merge);

/*
 * The process stands still: a round that waits for none of its floors and hands out all that it has
 * published. What a thread was about to publish, though it is older, comes behind that at the same
 * time. Neither can have been the cause of the other: what is given back is published before it is,
 * and what is gained is not known to anybody yet.
 */
void merge_cut(struct merge *merge, struct process *process);

/* Whether any ring holds something that merge_round() has not seen: for the look before sleep. */
bool merge_is_behind(const struct merge *merge);

/*
 * How often, since it was asked last, a process of a bounded user was no longer waited for, since
 * the records of such users took too much memory: what its threads were about to publish may come
 * late.
 */
uint64_t merge_ended_waits(struct merge *merge);

/* Whether the last round ended for this process before all that could be handed out was. */
bool merge_has_more(const struct process *process);

/* Whether records are held back that only time will release. */
bool merge_is_holding(const struct merge *merge);

/* Gives back what threads that have ended no longer need. Now and then. */
void merge_tidy(struct merge *merge);

/*
 * The process is gone for certain: the next round hands out all that is left of it, and counts
 * what will never be finished.
 */
void merge_end(struct process *process);

const struct merge_counts *merge_counts(struct process *process);

/* All threads of a process that live or lost something, with what was lost up to now. */
const struct merge_thread *merge_threads(struct process *process, uint32_t *count);

/* The thread that last spoke through a slot of a chunk; NULL if none did. */
const struct merge_thread *merge_slot_thread(const struct process *process,
					     const struct chunk *chunk, uint32_t slot);

/*
 * A time, in ticks, that everything handed out of a process is before and that what is still to
 * come is not: what is said of the process at this time stands where it belongs.
 */
uint64_t merge_limit(const struct merge *merge, const struct process *process);

#endif
