/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_MERGE_H
#define COLLECT_MERGE_H

/*
 * Merges all rings of a process into one sequence in the order of time (ARCHITECTURE.md: "Order").
 * Takes records out of the rings, rebuilds each thread's backtrace from the changes that records
 * have, and hands out an event when no earlier one can follow.
 */

#include <stdbool.h>
#include <stdint.h>

#include "arena.h"
#include "collect/fast_path.h"
#include "collect/chunk.h"

/* A thread that wrote records, and its dropped events. */
struct merge_thread {
	int32_t id;
	uint64_t pthread;
	uint64_t lost[LOSS_COUNT];
};

/* A record at its position in the sequence. All pointers are valid during the call only. */
struct merge_event {
	const struct record *record; /* checked: fits its own length */
	uint64_t time;		     /* ticks; never less than that of the event before */
	bool late;		     /* its time was changed to keep the order */
	/* of a record with MOMENT_SPLIT: the event that released `related` */
	bool is_moved_part;
	const struct merge_thread *thread;
	const uint64_t *frames; /* of a RECORD_CALL: innermost first */
	uint32_t frame_count;
};

/*
 * Receives the events: RECORD_CALL, NOTE, HEAP, MODULE, CONTEXT and CLASS. Each thread reports its
 * modules itself, just before the event that needs them, so a module may be reported several times.
 */
struct merge_handler {
	void (*event)(void *context, void *owner, const struct merge_event *event);
	/*
	 * The fast path, for a call that does not have to wait. False: nothing was done, and the
	 * merge calls event() instead. NULL: all calls come by event().
	 */
	bool (*fast)(void *context, void *owner, const struct fast_call *fast);
	/* A process has made memory that merge_add_chunk() does not know yet. */
	void (*grown)(void *context, void *owner);
	/*
	 * Whether a thread waits for a processor or for a page, and so cannot publish the record
	 * that it is about to write. *ran_ns: for how long it has run in its life. NULL: not known.
	 */
	bool (*starves)(void *context, void *owner, int32_t thread, uint64_t *ran_ns);
	void *context;
};

struct merge_counts {
	uint64_t events; /* RECORD_CALL events handed out */
	uint64_t late;	 /* of these, with a changed time */
	/*
	 * times that a ring did not make sense and was skipped to its head, or that memory could
	 * not be read
	 */
	uint64_t damaged;
};

struct merge;
struct process;

/* Returns NULL if there is no memory. */
struct merge *merge_create(struct control_page *control, const struct merge_handler *handler);
void merge_destroy(struct merge *merge);

/*
 * What the processes of a user take here: blocks of memory for their records, and, if is_bounded,
 * processor time in a round. Both have a limit for the user, and one for all bounded users
 * together.
 */
struct merge_user {
	bool is_bounded;
	uint32_t batches;
	uint64_t round, spent_ns; /* in this round */
};

/* Adds a process of the run; owner is passed to the handler. NULL if there is no memory. */
struct process *merge_add(struct merge *merge, void *owner, struct merge_user *user);

/* Adds a chunk of its memory, which must stay mapped until merge_remove(). False: no memory. */
bool merge_add_chunk(struct process *process, const struct chunk *chunk);

/* Forgets a process that has ended and whose records were all handed out. */
void merge_remove(struct merge *merge, struct process *process);

/*
 * One round: takes records from the rings and hands out those whose order is certain. Moves the
 * heartbeat. Returns the bytes taken.
 */
uint64_t merge_round(struct merge *merge);

/*
 * For a stopped process: a round that waits for none of its low watermarks and hands out all that
 * it has published. A record that a thread was about to publish, though older, follows with the
 * same time. Neither can be the cause of the other: a release is published before it happens, and
 * no other thread knows an object yet whose acquisition is not published.
 */
void merge_cut(struct merge *merge, struct process *process);

/* Whether any ring has records that merge_round() has not seen: for the check before sleeping. */
bool merge_is_behind(const struct merge *merge);

/*
 * How often, since the last call, the merge stopped waiting for a process of a bounded user,
 * because the records of bounded users took too much memory. Records that its threads were about to
 * publish may then come late.
 */
uint64_t merge_ended_waits(struct merge *merge);

/* From now on a round hands out all that there is, for users with bounds, too. */
void merge_hurry(struct merge *merge);

/* Whether the last round ended before it had handed out all that it could of this process. */
bool merge_has_more(const struct process *process);

/* Whether records are held back until time passes. */
bool merge_is_holding(const struct merge *merge);

/* Frees resources that threads which have ended no longer need. To be called now and then. */
void merge_tidy(struct merge *merge);

/*
 * The process has certainly ended: the next round hands out all its remaining records, and counts
 * those that will never be finished.
 */
void merge_end(struct process *process);

const struct merge_counts *merge_counts(struct process *process);

/* All threads of a process that live or dropped events, with their counts up to now. */
const struct merge_thread *merge_threads(struct process *process, uint32_t *count);

/* The thread that last wrote to a slot of a chunk; NULL: none did. */
const struct merge_thread *merge_slot_thread(const struct process *process,
					     const struct chunk *chunk, uint32_t slot);

/*
 * A time, in ticks, that is after all events of the process that were handed out, and not after any
 * that will follow. A note with this time is in order. 0: records wait, and none was handed out
 * yet.
 */
uint64_t merge_limit(const struct merge *merge, const struct process *process);

#endif
