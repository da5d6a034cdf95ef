/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_MERGE_H
#define COLLECT_MERGE_H

/*
 * All rings of the arena as one sequence in time order for each process (design: "Order"). Takes
 * records out of the rings, rebuilds every thread's backtrace from its changes, and hands out
 * events that nothing can precede any more.
 */

#include <stdbool.h>
#include <stdint.h>

#include "arena.h"

#define MERGE_NO_PROCESS 0xffffffffu

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
	void (*event)(void *context, uint32_t process, const struct merge_event *event);
	void *context;
};

struct merge_counts {
	uint64_t events;  /* RECORD_CALL handed out */
	uint64_t late;	  /* of these, with a clamped time */
	uint64_t damaged; /* times that a ring made no sense and was skipped to its head */
};

struct merge;

/* NULL if there is no memory. */
struct merge *merge_create(struct arena *arena, const struct merge_handler *handler);
void merge_destroy(struct merge *merge);

/*
 * One round: takes what the rings hold and hands out what is certain. Moves the heartbeat.
 * Returns the bytes taken.
 */
uint64_t merge_round(struct merge *merge);

/* Whether any ring holds something that merge_round() has not seen: for the look before sleep. */
bool merge_is_behind(const struct merge *merge);

/* Whether records are held back that only time will release. */
bool merge_is_holding(const struct merge *merge);

/*
 * The process is gone for certain: the next round hands out all that is left of it, and counts
 * what will never be finished.
 */
void merge_end(struct merge *merge, uint32_t process);

const struct merge_counts *merge_counts(const struct merge *merge, uint32_t process);

/* All threads of a process, with what was lost up to now. They stay until its slots are freed. */
const struct merge_thread *merge_threads(struct merge *merge, uint32_t process, uint32_t *count);

/* The thread that last spoke through a slot; NULL if none did. */
const struct merge_thread *merge_slot_thread(const struct merge *merge, uint32_t slot);

/*
 * A time, in ticks, that everything handed out of a process is before and that what is still to
 * come is not: what is said of the process at this time stands where it belongs.
 */
uint64_t merge_limit(const struct merge *merge, uint32_t process);

/* Gives back the slots of a process that has ended and been drained. */
void merge_free_slots(struct merge *merge, uint32_t process);

/* Its slots are free: nothing is known of the process any more, and its entry may be used again. */
void merge_forget(struct merge *merge, uint32_t process);

#endif
