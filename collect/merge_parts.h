/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_MERGE_PARTS_H
#define COLLECT_MERGE_PARTS_H

/*
 * The merge's internals, shared by its files. merge_take.c copies records from a ring and converts
 * them to entries; merge.c puts the entries of all rings into one order and hands them out.
 *
 * The traced program can write anything into a ring and its slot at any time. So each byte there is
 * read once, and all later steps read the collector's copy.
 */

#include <stdbool.h>
#include <stdint.h>

#include "arena.h"
#include "collect/merge.h"

/*
 * Memory of the collector to which records are copied one after another. When the record of its
 * last entry has been released, the batch can be reused.
 */
struct batch {
	struct batch *next; /* next batch in the list of unused batches */
	struct process *process;
	uint32_t used;	  /* bytes of `records` in use */
	uint32_t entries; /* number of entries whose records are in this batch */
	uint64_t records[];
};

#define BATCH_SIZE (64u << 10)
#define BATCH_ROOM (BATCH_SIZE - (uint32_t)sizeof(struct batch))

_Static_assert(BATCH_ROOM >= ARENA_RECORD_MAX, "a batch must hold the largest record");

/*
 * The order of records of different threads at equal times: first releases, then records that
 * acquire one object and release another, then acquisitions. Records of one thread stay in the
 * order of the ring.
 */
enum rank { RANK_LOSES, RANK_GAINS_FIRST, RANK_GAINS };

/* A record that waits until its order is certain. */
struct entry {
	uint64_t time;
	const struct record *record; /* the copy in the batch */
	struct batch *batch;
	/*
	 * the entry's own copy of its backtrace; frames[0] is the number of frames that follow.
	 * NULL: there is no copy, and the record updates the remembered backtrace
	 */
	uint64_t *frames;
	uint32_t thread; /* index in the threads of the process */
	uint8_t rank;	 /* enum rank */
	bool is_moved_part;
	/* whether the record had a time in the future, which insert() replaced by reader->latest */
	bool is_clamped;
};

#define NO_THREAD UINT32_MAX
#define NOTHING	  UINT64_MAX

/*
 * The state of reading one slot (a thread's part of the shared memory). Entries are sorted by time.
 * The first entries may have copies of their frames. All later entries have no copy and are also in
 * the order of the ring, so each updates the remembered backtrace when it is handed out. This
 * backtrace is the last frame_count items of `stack`, innermost frame first.
 */
struct reader {
	uint32_t number; /* number of the reader in its process */
	/* the slot and its ring, in memory that the traced program can write */
	struct slot *place;
	const char *ring;
	uint64_t ring_most; /* size to which the ring can grow, in bytes */
	uint64_t ring_size; /* current size of the ring, in bytes */
	struct process *process;
	/* index in process->threads; NO_THREAD: not yet known */
	uint32_t thread;
	/* whether the ring was found unsound; the records of its current thread are then ignored */
	bool is_closed;
	/* end of the ring's records in this round; the bits of RING_LEVEL are removed */
	uint64_t head;
	/* like `head`, but set even if the slot's head is unsound */
	uint64_t seen;
	/* position at which this round stops: the head, or a record that has to wait */
	uint64_t until;
	uint64_t time;	   /* time of the next record, in ticks, or NOTHING */
	uint8_t rank;	   /* enum rank of the next record */
	uint64_t scanned;  /* position up to which records were taken from the ring */
	uint64_t released; /* the last tail that was written to the slot */
	/* latest possible time of a record, in ticks; a later time in the ring is wrong */
	uint64_t latest;
	uint64_t tidied; /* position in the ring at the last merge_tidy() */
	uint64_t watermark;
	uint64_t watermark_since;
	/*
	 * when starves() last read the thread's state, and how long the thread had run when its
	 * state was first read for this low watermark
	 */
	uint64_t asked_ns, ran_ns;
	bool is_starving;
	struct batch *batch; /* the batch that is being filled; NULL: none */
	struct entry *entries;
	uint32_t begin, end, room;
	/* list of the slot's earlier threads, which may have waiting entries; NO_THREAD: none */
	uint32_t retired;
	/* number of frames that are remembered once all records taken so far are handed out */
	uint32_t told;
	uint32_t frame_count;
	uint64_t turn;		   /* number of updates of `stack` */
	struct record_model model; /* values that short records omit */
	uint64_t lost[LOSS_COUNT];
	/* next reader of the process in this round */
	struct reader *next;
	uint64_t stack[ARENA_MEMORY_MAX];
};

/* A chunk of a process with the readers of its slots. */
struct piece {
	const struct chunk *chunk;
	struct reader **readers;
	bool is_counted; /* whether counts.damaged includes this chunk */
};

struct process {
	/* links of the list of all processes; *at points to this process */
	struct process *next, **at;
	struct merge *merge;
	void *owner;
	struct piece *pieces;
	uint32_t piece_count, reader_count;
	struct merge_counts counts;
	uint64_t last_time;
	uint64_t limit;
	/* when the merge last asked the collector for new chunks */
	uint64_t growth_ns;
	/* when the merge found that it lacks chunks of the process; 0: it has all chunks */
	uint64_t missing_since;
	struct merge_thread *threads;
	uint32_t *thread_next; /* links of the lists of retired and free threads */
	uint32_t thread_count, thread_room, thread_free;
	uint32_t threads_kept; /* ended threads whose dropped events are kept */
	/* batches in use, and the memory of `threads` as a number of batches */
	uint32_t batches;
	struct merge_user *user;
	/* first reader in the list of this round */
	struct reader *first;
	bool ended;
	/* whether the user's time ran out before all ready records were handed out */
	bool has_more;
	/* whether this round ignores the process's low watermarks */
	bool is_stopped;
	/* whether this round ignores the low watermarks: the process holds too much memory */
	bool is_overruled;
	uint64_t cut_time; /* time of the last merge_cut(), in ticks; 0: never called */
};

struct merge {
	struct control_page *control;
	struct merge_handler handler;
	enum control_clock clock;
	bool barrier;
	/* clock that advances only while the collector runs, not while it is stopped */
	uint64_t clock_ns;
	uint64_t round_ns;
	uint64_t horizon;    /* horizon() of this round, in ticks */
	struct batch *spare; /* list of unused batches */
	uint32_t spare_count;
	/* limit of the batches of a user, and of all bounded users (see overrules()) */
	uint32_t batches_most;
	uint32_t batches_of_others, processes_of_others;
	uint64_t ended_waits; /* how often the limit made the merge ignore low watermarks */
	uint64_t round;
	/* processor time charged to bounded users; each round deducts a fixed amount */
	uint64_t spent_ns;
	/* whether merge_hurry() was called */
	bool hurries;
	/* when the merge must stop working for the current process; UINT64_MAX: never */
	uint64_t deadline_ns;
	struct process *processes;
	struct reader **heap;
	size_t heap_room;
};

/* Adds to the batches that the process has in use. A negative number subtracts. */
void merge_count_batches(struct process *process, int32_t more);

/*
 * Frees the table entries of the reader's retired threads, except those with dropped events that
 * have not been reported yet, at most THREADS_KEPT. Must be called when the reader has no entries.
 */
void merge_retire(struct reader *reader);

/* Begins a round for the reader. latest: a record with a later time (in ticks) is in the future. */
void merge_begin(struct merge *merge, struct reader *reader, uint64_t latest);

/*
 * Finds the reader's next record. If the reader has entries, this is the first entry. Otherwise it
 * is the short record at the reader's position in the ring, if no later record in the ring has an
 * earlier time. Converts all records before that position to entries. Stops at a record that is
 * still being written, unless its thread can no longer finish it. Also stops at a record that must
 * wait for a later round, as long as the ring has room for further records.
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

/* Converts the record at the reader's position in the ring to an entry. */
void merge_take(struct merge *merge, struct reader *reader);

/*
 * Hands out the reader's next record, which is in the ring, and the records after it that are in
 * order and before the time `before`. A record that has changed since it was found becomes an entry
 * instead. Then finds the reader's next record. before: at most the process's limit.
 */
void merge_hand_out_in_place(struct merge *merge, struct reader *reader, uint64_t before);

/* Hands out an entry, which must be next in time. It may be outside of reader->entries. */
void merge_hand_out(struct merge *merge, struct reader *reader, const struct entry *entry);

/*
 * Closes the reader of a ring with unsound contents, for example after a wild store of the traced
 * program. From now on, the records of this thread are ignored, and its events are counted as
 * dropped.
 */
void merge_close(struct reader *reader);

/* Releases the space of taken records, and wakes the producer if it is waiting for space. */
void merge_release(struct reader *reader);

/* Increments the heartbeat, by which a thread that waits for space sees that the collector runs. */
void merge_beat(const struct merge *merge);

/* Puts a batch on the list of unused batches. `batch` may be NULL. */
void merge_give_back(struct merge *merge, struct batch *batch);

/* Releases the record of an entry. After its last entry, the batch can be reused. */
static inline void merge_drop(struct merge *merge, struct reader *reader, struct batch *batch)
{
	if (__builtin_expect(--batch->entries != 0, 1))
		return;
	if (batch == reader->batch)
		batch->used = 0;
	else
		merge_give_back(merge, batch);
}

/* Adds the events dropped since the last call to the counts of the slot's current thread. */
void merge_collect_lost(struct reader *reader);

/* ---- the remembered backtrace ---- */

/* Whether the call's frames update the remembered backtrace. */
static inline bool changes_backtrace(const struct record_call *call)
{
	return !(call->flags & (RECORD_ASIDE | CALL_NO_BACKTRACE));
}

/*
 * Updates the remembered backtrace, which ends at the end of the array `stack`, with one checked
 * record. Must be called in the order of the records in the ring.
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

/* Returns the number of frames in the record's backtrace, at most the remembered frames. */
static inline uint32_t shown_frames(const struct reader *reader, const struct record_call *call)
{
	return call->cut && call->cut < reader->frame_count ? call->cut : reader->frame_count;
}

#endif
