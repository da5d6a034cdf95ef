/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_MERGE_PARTS_H
#define COLLECT_MERGE_PARTS_H

/*
 * The merge's insides, between its parts: merge_take.c copies what stands in a ring and makes
 * entries of it, merge.c brings the entries of all rings into one order and hands them out.
 *
 * The host can write whatever it likes into a ring and its slot, at any time. So every
 * byte of them is read once, and nothing is looked at twice but in a copy of our own.
 */

#include <stdbool.h>
#include <stdint.h>

#include "arena.h"
#include "collect/merge.h"

/*
 * Memory of our own that records are copied to, one behind the other. It is used anew when the last
 * entry that has its record here is gone.
 */
struct batch {
	struct batch *next; /* of those that nobody uses */
	struct process *process;
	uint32_t used;	  /* bytes */
	uint32_t entries; /* whose records lie here */
	uint64_t records[];
};

#define BATCH_SIZE (64u << 10)
#define BATCH_ROOM (BATCH_SIZE - (uint32_t)sizeof(struct batch))

_Static_assert(BATCH_ROOM >= ARENA_RECORD_MAX, "any record fits");

/*
 * What comes first at equal times, in different threads: whoever loses something; then who gains,
 * and loses something at the same time; then who gains. In one thread the ring's order stays.
 */
enum rank { RANK_LOSES, RANK_GAINS_FIRST, RANK_GAINS };

/* A record that waits for its turn. */
struct entry {
	uint64_t time;
	const struct record *record; /* in the batch */
	struct batch *batch;
	uint64_t *frames; /* its backtrace, count first; NULL: follows from the entry before */
	uint32_t thread;  /* index into its process's threads */
	uint8_t rank;	  /* enum rank */
	bool is_moved_part;
	bool is_clamped; /* said that it happened later than now */
};

#define NO_THREAD UINT32_MAX
#define NOTHING	  UINT64_MAX

/*
 * One slot's records in time order. Those without frames are the last ones and stand in the
 * order of the ring, so that handing them out in turn also walks the remembered backtrace on.
 * Frames lie at the end of stack, innermost first.
 */
struct reader {
	uint32_t number;    /* of the reader in its process */
	struct slot *place; /* what only its thread and we should write */
	const char *ring;
	uint64_t ring_most; /* bytes that it has place for */
	uint64_t ring_size; /* bytes that it has now */
	struct process *process;
	uint32_t thread;   /* NO_THREAD: it has not said */
	bool is_closed;	   /* what its thread says makes no sense: it is only counted */
	uint64_t head;	   /* as it was in this round, without the ring's level */
	uint64_t seen;	   /* the same, whether or not it makes sense */
	uint64_t until;	   /* position where this round stops: the head, or what has to wait */
	uint64_t time;	   /* ticks of what it has next; NOTHING */
	uint8_t rank;	   /* of that: enum rank */
	uint64_t scanned;  /* position up to which records were taken */
	uint64_t released; /* tail as the producer knows it */
	uint64_t latest;   /* ticks: nothing in the ring can be later */
	uint64_t tidied;   /* where it stood when it was looked at last for what it does not need */
	uint64_t floor;
	uint64_t floor_since;
	uint64_t asked_ns, ran_ns; /* when we asked whether its thread starves; what it had run */
	bool is_starving;
	struct batch *batch; /* being filled; NULL: none */
	struct entry *entries;
	uint32_t begin, end, room;
	uint32_t
		retired; /* threads before this one whose entries may still wait; NO_THREAD: none */
	uint32_t told;	 /* frames that are remembered behind all that is taken */
	uint32_t frame_count;
	uint64_t turn;		   /* how often the stack was walked on */
	struct record_model model; /* for short records */
	uint64_t lost[LOSS_COUNT];
	struct reader *next; /* of the same process, in this round */
	uint64_t stack[ARENA_MEMORY_MAX];
};

/* A piece of a process's memory with the readers of its slots. */
struct piece {
	const struct chunk *chunk;
	struct reader **readers;
	bool is_counted; /* that its memory was lost */
};

struct process {
	struct process *next, **at; /* of all; where its address stands */
	void *owner;
	struct piece *pieces;
	uint32_t piece_count, reader_count;
	struct merge_counts counts;
	uint64_t last_time;
	uint64_t limit;
	uint64_t missing_since; /* when it had handed over what we have not; 0: we have all */
	struct merge_thread *threads;
	uint32_t *thread_next; /* chains of those that are retired or free */
	uint32_t thread_count, thread_room, thread_free;
	uint32_t batches; /* in use */
	struct merge_user *user;
	struct reader *first; /* in this round */
	bool ended;
	bool has_more;	   /* its user's time was over before it had handed out all that it could */
	bool is_stopped;   /* this round waits for no floor */
	bool is_overruled; /* nor does one of a process that holds too much */
	uint64_t cut_time; /* of the last thing before a cut; 0: there was none */
};

struct merge {
	struct board *board;
	struct merge_handler handler;
	enum board_clock clock;
	bool barrier;
	uint64_t clock_ns; /* our own active time: stops while we are stopped */
	uint64_t round_ns;
	uint64_t horizon;    /* of the round */
	uint64_t held;	     /* entries that wait */
	bool leaves;	     /* in this round: what cannot be handed out yet stays in its ring */
	struct batch *spare; /* batches that nobody uses */
	uint32_t spare_count;
	/* of an owner, and of all other users together: then their floors are overruled */
	uint32_t batches_most;
	uint32_t batches_of_others, processes_of_others;
	uint64_t ended_waits; /* of those, since it was asked for last */
	uint64_t round;
	uint64_t spent_ns;    /* in this round, by bounded users */
	uint64_t deadline_ns; /* of the process that is passed through; UINT64_MAX: none */
	struct process *processes;
	struct reader **heap;
	uint32_t heap_room;
};

/* Threads that ended and whose entries are all handed out leave their places to others. */
void merge_retire(struct reader *reader);

/* A round begins for the reader, whose ring has nothing later than so many ticks. */
void merge_begin(struct merge *merge, struct reader *reader, uint64_t latest);

/*
 * Finds out what the reader has next: the first entry, or, where none waits, the short record that
 * its ring goes on with, if nothing behind that is earlier. Makes entries of all in front of such a
 * one. Stops at a record that is being filled, unless nobody is left to finish it; and where all
 * that follows has to wait, while the ring has room.
 */
void merge_find_next(struct merge *merge, struct reader *reader);

static inline bool has_entries(const struct reader *reader)
{
	return reader->begin != reader->end;
}

/* What the reader has next is its first entry. */
static inline void merge_look_at_entry(struct reader *reader)
{
	reader->time = reader->entries[reader->begin].time;
	reader->rank = reader->entries[reader->begin].rank;
}

/* Makes an entry of what the ring goes on with. */
void merge_take(struct merge *merge, struct reader *reader);

/*
 * What the reader has next lies in its ring: hands it out, and what follows, as long as that is in
 * its place and before a time, at most the process's limit; makes an entry of what has changed
 * since it was found. Then finds out what the reader has next.
 */
void merge_hand_out_in_place(struct merge *merge, struct reader *reader, uint64_t before);

/* Hands a record out that is in its place in time; it need not be an entry. */
void merge_hand_out(struct merge *merge, struct reader *reader, const struct entry *entry);

/*
 * What stands in the ring makes no sense: a wild store of the host, or worse. Nothing that this
 * thread says from here on is believed; its events are counted as lost.
 */
void merge_close(struct reader *reader);

/* Gives the producer its room back, and wakes it if it waits for it. */
void merge_release(struct reader *reader);

/* Somebody may be waiting for room: we are at work. */
void merge_beat(const struct merge *merge);

/* Gives a batch back, if there is one. */
void merge_give_back(struct merge *merge, struct batch *batch);

/* An entry's record is not needed any more. */
static inline void merge_drop(struct merge *merge, struct reader *reader, struct batch *batch)
{
	if (__builtin_expect(--batch->entries != 0, 1))
		return;
	if (batch == reader->batch)
		batch->used = 0;
	else
		merge_give_back(merge, batch);
}

/* What the slot lost since it was looked at last is its present thread's. */
void merge_collect_lost(struct reader *reader);

/* ---- the remembered backtrace ---- */

/* Whether the call's frames go into the remembered backtrace. */
static inline bool changes_backtrace(const struct record_call *call)
{
	return !(call->flags & (RECORD_ASIDE | CALL_NO_BACKTRACE));
}

/*
 * Walks the reader's backtrace on by one record in ring order, which was found to follow and to
 * fit. Its end is at the array's end.
 */
static inline void apply_frames(struct reader *reader, const struct record_call *call,
				const uint64_t *fresh)
{
	uint32_t count = (uint32_t)call->kept + call->fresh;
	uint64_t *to = reader->stack + ARENA_MEMORY_MAX - count;

	for (uint32_t i = 0; i < call->fresh; i++)
		to[i] = fresh[i];
	reader->frame_count = count;
	reader->turn++;
}

/* Frames of the record's backtrace, at the array's end less all that are remembered. */
static inline uint32_t shown_frames(const struct reader *reader, const struct record_call *call)
{
	return call->cut && call->cut < reader->frame_count ? call->cut : reader->frame_count;
}

#endif
