/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_MERGE_H
#define COLLECT_MERGE_H

/*
 * Merges all rings of a process into one sequence in the order of time (ARCHITECTURE.md: "Order").
 * Takes records out of the rings, and rebuilds each thread's backtrace from the changes in the
 * records. Hands out an event (passes it to the handler) when no earlier event can follow.
 */

#include <stdbool.h>
#include <stdint.h>

#include "arena.h"
#include "collect/fast_path.h"
#include "collect/chunk.h"

/* A thread that wrote records, and the number of its dropped events for each reason. */
struct merge_thread {
	int32_t id;
	uint64_t pthread;
	uint64_t lost[LOSS_COUNT];
};

/* A record at its position in the sequence. Its pointers are valid only while the handler runs. */
struct merge_event {
	const struct record *record; /* a checked record: its parts fit its length */
	/* time of the event, in ticks; never less than the time of the previous event */
	uint64_t time;
	/* whether the merge changed the time of the event to keep the order */
	bool late;
	/* if the record has MOMENT_SPLIT: whether this is the event that released `related` */
	bool is_moved_part;
	const struct merge_thread *thread;
	/* backtrace of a RECORD_CALL, innermost frame first */
	const uint64_t *frames;
	uint32_t frame_count;
};

/*
 * Receives the events: RECORD_CALL, NOTE, HEAP, MODULE, CONTEXT, CLASS and FUNCTIONS. Each thread
 * reports a module just before the event that needs it, so a module may be reported several times.
 */
struct merge_handler {
	void (*event)(void *context, void *owner, const struct merge_event *event);
	/*
	 * The fast path, for a call that does not have to wait. If it returns false, it has done
	 * nothing, and the merge calls event() instead. NULL: all calls are passed to event().
	 */
	bool (*fast)(void *context, void *owner, const struct fast_call *fast);
	/* Called when a process has created memory that was not yet passed to merge_add_chunk(). */
	void (*grown)(void *context, void *owner);
	/*
	 * Whether a thread is waiting for a processor or for a page, and so cannot publish the
	 * record that it is writing. *ran_ns: for how long the thread has run since its start.
	 * If the function is NULL, no thread counts as waiting.
	 */
	bool (*starves)(void *context, void *owner, int32_t thread, uint64_t *ran_ns);
	void *context;
};

struct merge_counts {
	/* number of RECORD_CALL events that were handed out */
	uint64_t events;
	/* number of these events whose time was changed */
	uint64_t late;
	/* how often the contents of a ring were invalid and skipped, or a page could not be read */
	uint64_t damaged;
	/* dropped events of ended threads that merge_threads() no longer returns */
	uint64_t lost[LOSS_COUNT];
};

struct merge;
struct process;

/* Returns NULL if there is no memory. */
struct merge *merge_create(struct control_page *control, const struct merge_handler *handler);
void merge_destroy(struct merge *merge);

/*
 * The resources of the merge that the processes of a user have in use: batches for their records,
 * and, if is_bounded, processor time in a round. Each resource has a limit for the user, and
 * another limit for all bounded users together.
 */
struct merge_user {
	bool is_bounded;
	uint32_t batches;
	/*
	 * round: the last round in which spent_ns was updated; paid_ns: when that round began;
	 * spent_ns: used processor time that later rounds have not paid back yet
	 */
	uint64_t round, paid_ns, spent_ns;
};

/* Adds a process of the run. The handler gets `owner`. Returns NULL if there is no memory. */
struct process *merge_add(struct merge *merge, void *owner, struct merge_user *user);

/* Adds a chunk, which stays mapped until merge_remove(). Returns false if there is no memory. */
bool merge_add_chunk(struct process *process, const struct chunk *chunk);

/* Removes a process that has ended, after all its records were handed out. */
void merge_remove(struct merge *merge, struct process *process);

/* Runs a round: takes records, hands out those whose order is certain. Returns the bytes taken. */
uint64_t merge_round(struct merge *merge);

/*
 * Runs a round for a stopped process. The round ignores the process's low watermarks and hands out
 * all records that the process has published. A record that a thread was about to publish follows
 * later with the same time, although it may be older. Such a record and the records before the cut
 * cannot depend on each other. A release is published before it happens, and no other thread knows
 * an object whose acquisition is not yet published.
 */
void merge_cut(struct merge *merge, struct process *process);

/* Whether any ring has enough new records to keep the collector awake. */
bool merge_is_behind(struct merge *merge);

/*
 * Returns how often since the last call the merge stopped waiting for a process of a bounded user,
 * because the records of such users took too much memory. Records that the threads of this process
 * were about to publish may then be handed out too late, with a changed time.
 */
uint64_t merge_ended_waits(struct merge *merge);

/* From now on, each round hands out all records in the rings, whatever time it takes. */
void merge_hurry(struct merge *merge);

/*
 * Charges a user for time that the collector has spent on the user's processes outside of rounds:
 * the next rounds have less time for the user. merge_has_time(): whether the user has time left for
 * such work. Users without bounds always have time.
 */
void merge_charge(struct merge *merge, struct merge_user *user, uint64_t ns);
bool merge_has_time(const struct merge *merge, struct merge_user *user);

/* Whether the last round ended before it had handed out all ready records of this process. */
bool merge_has_more(const struct process *process);

/* Frees resources that ended threads no longer need; to be called from time to time. */
void merge_tidy(struct merge *merge);

/*
 * Tells the merge that the process has certainly ended. The next round hands out all its remaining
 * records, and counts the records that will never be finished as dropped events.
 */
void merge_end(struct process *process);

const struct merge_counts *merge_counts(struct process *process);

/*
 * Returns the threads of a process that still run, and the first THREADS_KEPT ended threads that
 * have dropped events. Their counts are up to date. The dropped events of all other threads are in
 * merge_counts().
 */
#define THREADS_KEPT 1024u
const struct merge_thread *merge_threads(struct process *process, uint32_t *count);

/* Returns the thread that last wrote to a slot of a chunk, or NULL if no thread has. */
const struct merge_thread *merge_slot_thread(const struct process *process,
					     const struct chunk *chunk, uint32_t slot);

/*
 * Returns a time, in ticks, that suits a note: no event of the process that was handed out is
 * later, and no event that will follow is earlier. Returns 0 if records are waiting and none was
 * handed out yet.
 */
uint64_t merge_limit(const struct merge *merge, const struct process *process);

#endif
