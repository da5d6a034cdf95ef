/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_MERGE_PARTS_H
#define COLLECT_MERGE_PARTS_H

/*
 * The merge's internals, shared by its files: merge_take.c copies records from a ring and makes
 * entries of them; merge.c brings the entries of all rings into one order and hands them out.
 *
 * The traced program can write anything into a ring and its slot, at any time. So each byte of them
 * is read once, and everything later reads our own copy.
 */

#include <stdbool.h>
#include <stdint.h>

#include "arena.h"
#include "collect/merge.h"

/*
 * Our own memory, to which records are copied one after another. It is reused when the last entry
 * with a record in it is gone.
 */
struct batch {
	struct batch *next; /* in the list of unused batches */
	struct process *process;
	uint32_t used;	  /* bytes */
	uint32_t entries; /* that have their records here */
	uint64_t records[];
};

#define BATCH_SIZE (64u << 10)
#define BATCH_ROOM (BATCH_SIZE - (uint32_t)sizeof(struct batch))

_Static_assert(BATCH_ROOM >= ARENA_RECORD_MAX, "any record fits");

/*
 * The order at equal times, in different threads: first releases, then records that acquire one
 * object and release another, then acquisitions. Within a thread the ring's order stays.
 */
enum rank { RANK_LOSES, RANK_GAINS_FIRST, RANK_GAINS };

/* A record that waits until its order is certain. */
struct entry {
	uint64_t time;
	const struct record *record; /* in the batch */
	struct batch *batch;
	uint64_t *frames; /* its backtrace, count first; NULL: it follows from the entry before */
	uint32_t thread;  /* index into its process's threads */
	uint8_t rank;	  /* enum rank */
	bool is_moved_part;
	bool is_clamped; /* its own time was later than now */
};

#define NO_THREAD UINT32_MAX
#define NOTHING	  UINT64_MAX

/*
 * The records of one slot, in the order of time. Entries without frames are the last ones and in
 * the order of the ring, so handing them out in turn also updates the remembered backtrace. Frames
 * are at the end of stack, the innermost first.
 */
struct reader {
	uint32_t number;    /* index in its process */
	struct slot *place; /* memory that only its thread and we should write */
	const char *ring;
	uint64_t ring_most; /* bytes that it can grow to */
	uint64_t ring_size; /* bytes that it has now */
	struct process *process;
	uint32_t thread; /* NO_THREAD: not known yet */
	bool is_closed;	 /* its records do not make sense: events are only counted */
	uint64_t head;	 /* in this round, without the ring's level */
	uint64_t seen;	 /* likewise, whether or not it makes sense */
	/* position at which this round stops: the head, or a record that has to wait */
	uint64_t until;
	uint64_t time;	   /* of its next record, in ticks; NOTHING */
	uint8_t rank;	   /* of its next record: enum rank */
	uint64_t scanned;  /* position up to which records were taken */
	uint64_t released; /* the tail that the producer knows */
	uint64_t latest;   /* ticks: no record in the ring is later */
	uint64_t tidied;   /* position at the last merge_tidy() */
	uint64_t watermark;
	uint64_t watermark_since;
	/* when we asked whether its thread starves, and for how long it had run */
	uint64_t asked_ns, ran_ns;
	bool is_starving;
	struct batch *batch; /* being filled; NULL: none */
	struct entry *entries;
	uint32_t begin, end, room;
	/* first in the chain of earlier threads whose entries may still wait; NO_THREAD: none */
	uint32_t retired;
	uint32_t told; /* frames that are remembered after all records that were taken */
	uint32_t frame_count;
	uint64_t turn;		   /* how often the stack was updated */
	struct record_model model; /* for short records */
	uint64_t lost[LOSS_COUNT];
	struct reader *next; /* in the list of this round, of the same process */
	uint64_t stack[ARENA_MEMORY_MAX];
};

/* A chunk of a process with the readers of its slots. */
struct piece {
	const struct chunk *chunk;
	struct reader **readers;
	bool is_counted; /* the loss of its memory was counted */
};

struct process {
	struct process *next, **at; /* in the list of all processes; the pointer that points here */
	void *owner;
	struct piece *pieces;
	uint32_t piece_count, reader_count;
	struct merge_counts counts;
	uint64_t last_time;
	uint64_t limit;
	/* since when it has had memory that we do not have yet; 0: we have all */
	uint64_t growth_ns; /* when memory that is missing was last looked for */
	uint64_t missing_since;
	struct merge_thread *threads;
	uint32_t *thread_next; /* chains of threads that are retired or free */
	uint32_t thread_count, thread_room, thread_free;
	uint32_t batches; /* in use */
	struct merge_user *user;
	struct reader *first; /* in the list of this round */
	bool ended;
	bool has_more;	   /* its user's time ran out before all was handed out that could be */
	bool is_stopped;   /* this round waits for no low watermark of it */
	bool is_overruled; /* likewise, because it holds too much memory */
	uint64_t cut_time; /* time of the last event before a cut; 0: there was no cut */
};

struct merge {
	struct control_page *control;
	struct merge_handler handler;
	enum control_clock clock;
	bool barrier;
	uint64_t clock_ns; /* our own active time, which does not pass while we are stopped */
	uint64_t round_ns;
	uint64_t horizon; /* of the round */
	uint64_t held;	  /* entries that wait */
	/* in this round, records that cannot be handed out yet stay in their ring */
	bool leaves;
	struct batch *spare; /* unused batches */
	uint32_t spare_count;
	/*
	 * Limit of a user's batches, and of those of all bounded users together: beyond it, the
	 * merge stops waiting for their low watermarks.
	 */
	uint32_t batches_most;
	uint32_t batches_of_others, processes_of_others;
	uint64_t ended_waits; /* waits that this ended, since merge_ended_waits() */
	uint64_t round;
	uint64_t spent_ns;    /* in this round, by bounded users */
	bool hurries;	      /* merge_hurry() */
	uint64_t deadline_ns; /* of the process that is being processed; UINT64_MAX: none */
	struct process *processes;
	struct reader **heap;
	uint32_t heap_room;
};

/*
 * Frees the entries in the table of threads of those that have ended and whose records are all
 * handed out.
 */
void merge_retire(struct reader *reader);

/* Begins a round for the reader, whose ring has no record later than `latest`, in ticks. */
void merge_begin(struct merge *merge, struct reader *reader, uint64_t latest);

/*
 * Finds the reader's next record: its first entry, or, if it has none, the short record at its
 * position in the ring, if no later one in the ring is earlier in time. Makes entries of all
 * records before that one. Stops at a record that is still being written, unless its thread
 * cannot finish it any more, and where all that follows has to wait while the ring has room.
 */
void merge_find_next(struct merge *merge, struct reader *reader);

static inline bool has_entries(const struct reader *reader)
{
	return reader->begin != reader->end;
}

/* Sets the reader's next record to its first entry. */
static inline void merge_look_at_entry(struct reader *reader)
{
	reader->time = reader->entries[reader->begin].time;
	reader->rank = reader->entries[reader->begin].rank;
}

/* Makes an entry of the record at the reader's position in the ring. */
void merge_take(struct merge *merge, struct reader *reader);

/*
 * For a reader whose next record is in its ring: hands it out, and those after it as long as they
 * are in order and before a time, at most the process's limit. Makes an entry of a record that has
 * changed since it was found. Then finds the reader's next record.
 */
void merge_hand_out_in_place(struct merge *merge, struct reader *reader, uint64_t before);

/* Hands out a record that is next in the order of time. It does not have to be an entry. */
void merge_hand_out(struct merge *merge, struct reader *reader, const struct entry *entry);

/*
 * The ring's contents do not make sense, for example after a wild store of the traced program.
 * Nothing that this thread writes from now on is used; its events are counted as dropped.
 */
void merge_close(struct reader *reader);

/* Returns the space of taken records to the producer, and wakes it if it waits for space. */
void merge_release(struct reader *reader);

/* Moves the heartbeat: a thread may wait for space, and we are at work. */
void merge_beat(const struct merge *merge);

/* Puts a batch on the list of unused ones. batch may be NULL. */
void merge_give_back(struct merge *merge, struct batch *batch);

/* Releases the record of an entry. */
static inline void merge_drop(struct merge *merge, struct reader *reader, struct batch *batch)
{
	if (__builtin_expect(--batch->entries != 0, 1))
		return;
	if (batch == reader->batch)
		batch->used = 0;
	else
		merge_give_back(merge, batch);
}

/* Adds the events that the slot dropped since the last call to its present thread. */
void merge_collect_lost(struct reader *reader);

/* ---- the remembered backtrace ---- */

/* Whether the call's frames go into the remembered backtrace. */
static inline bool changes_backtrace(const struct record_call *call)
{
	return !(call->flags & (RECORD_ASIDE | CALL_NO_BACKTRACE));
}

/*
 * Updates the reader's backtrace by one record, in the order of the ring. The record was checked.
 * The backtrace ends at the end of the array.
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

/* The number of frames of the record's backtrace, which may be fewer than are remembered. */
static inline uint32_t shown_frames(const struct reader *reader, const struct record_call *call)
{
	return call->cut && call->cut < reader->frame_count ? call->cut : reader->frame_count;
}

#endif
