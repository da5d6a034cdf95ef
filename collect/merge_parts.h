/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_MERGE_PARTS_H
#define COLLECT_MERGE_PARTS_H

/*
 * The merge's insides, between its parts: merge_take.c makes entries of what stands in a ring,
 * merge.c brings the entries of all rings into one order and hands them out.
 */

#include <stdbool.h>
#include <stdint.h>

#include "arena.h"
#include "collect/merge.h"

/* A record that waits for its turn. */
struct entry {
	uint64_t time;
	uint64_t rank; /* at equal times what loses comes first */
	const struct record *record;
	uint64_t *frames; /* its backtrace, count first; NULL: follows from the entry before */
	uint64_t end;	  /* position in the ring behind it */
	uint32_t thread;  /* index into its process's threads */
	bool saved;	  /* record is a copy of our own */
	bool is_moved_part;
};

/*
 * One slot's records in time order. Those without frames are the last ones and stand in the
 * order of the ring, so that handing them out in turn also walks the remembered backtrace on.
 * Frames lie at the end of stack, innermost first.
 */
struct reader {
	uint32_t slot;
	uint32_t process;
	uint32_t thread;
	uint64_t scanned;  /* position up to which records became entries */
	uint64_t done;	   /* position up to which the ring is not needed any more */
	uint64_t released; /* tail as the producer knows it */
	uint64_t floor;
	uint64_t floor_since;
	struct entry *entries;
	uint32_t begin, end, room;
	uint32_t resident; /* entries whose records still lie in the ring */
	uint32_t frame_count;
	uint64_t lost[LOSS_COUNT];
	struct reader *next; /* of the same process, in this round */
	uint64_t stack[ARENA_MEMORY_MAX];
};

struct process {
	struct merge_counts counts;
	uint64_t last_time;
	uint64_t limit;
	uint64_t round; /* the last one that it was listed in */
	struct merge_thread *threads;
	uint32_t thread_count, thread_room;
	struct reader *first; /* in this round */
	bool ended;
	bool listed;
};

struct merge {
	struct arena *arena;
	struct merge_handler handler;
	bool barrier;
	uint64_t clock_ns; /* our own active time: stops while we are stopped */
	uint64_t round_ns;
	uint64_t round;	  /* number of the round */
	uint64_t horizon; /* of the round */
	uint64_t saved;	  /* bytes of copies */
	uint64_t held;	  /* entries that wait */
	struct merge_counts nobody;
	uint32_t active_count;
	uint32_t active[ARENA_PROCESSES]; /* processes with slots in this round */
	struct process *processes[ARENA_PROCESSES];
	struct reader *readers[ARENA_SLOTS];
	struct reader *heap[ARENA_SLOTS];
};

/* NULL if there is no memory. */
struct process *merge_process(struct merge *merge, uint32_t index);

/*
 * Turns all finished records up to head into entries. Stops at one that is being filled, unless
 * nobody is left to finish it.
 */
void merge_take(struct merge *merge, struct reader *reader, uint64_t head, bool ended);

/* Copies an entry's record out of the ring. False if there is no memory. */
bool merge_save(struct merge *merge, struct reader *reader, struct entry *entry);

/* What the slot lost since it was looked at last is its present thread's. */
void merge_collect_lost(struct merge *merge, struct reader *reader);

/* ---- the remembered backtrace ---- */

/* Walks the reader's backtrace on by one record in ring order. Its end is at the array's end. */
static inline void apply_frames(struct reader *reader, const struct record_call *call,
				const uint64_t *fresh)
{
	uint32_t kept = call->kept < reader->frame_count ? call->kept : reader->frame_count;
	uint32_t room = ARENA_MEMORY_MAX - kept;
	uint32_t count = call->fresh < room ? call->fresh : room;
	uint64_t *to = reader->stack + ARENA_MEMORY_MAX - kept - count;

	for (uint32_t i = 0; i < count; i++)
		to[i] = fresh[i];
	reader->frame_count = kept + count;
}

/* Frames of the record's backtrace, at the array's end less all that are remembered. */
static inline uint32_t shown_frames(const struct reader *reader, const struct record_call *call)
{
	return call->cut && call->cut < reader->frame_count ? call->cut : reader->frame_count;
}

static inline uint32_t call_values_size(const struct record_call *call)
{
	return call->numbers * 8u + ((call->text + 7u) & ~7u);
}

static inline const uint64_t *call_fresh(const struct record_call *call)
{
	return (const uint64_t *)((const char *)(call + 1) + call_values_size(call));
}

#endif
