/* SPDX-License-Identifier: MIT */
#include "collect/merge_parts.h"
#include "collect/records.h"
#include "collect/shared.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* ring space is released in steps of RELEASE_STEP bytes, or 1/RELEASE_PART of a smaller ring */
#define RELEASE_STEP (64u << 10)
#define RELEASE_PART 8u
/* records that cannot be handed out yet stay in the ring unless more than 3/4 of it is in use */
#define STAY_PARTS 4u

/*
 * For objects that are written by vector stores and read field by field soon afterwards. If a store
 * crosses a cache line, its data can be read only after the store has reached the cache. This delay
 * would be as long as all other work on the record.
 */
#define ONE_LINE __attribute__((aligned(64)))

/* ---- batches ---- */

#define SPARE_MOST 16u /* maximum number of unused batches that are kept */

void merge_count_batches(struct process *process, int32_t more)
{
	process->batches += (uint32_t)more;
	process->user->batches += (uint32_t)more;
	if (process->user->is_bounded)
		process->merge->batches_of_others += (uint32_t)more;
}

void merge_give_back(struct merge *merge, struct batch *batch)
{
	if (!batch)
		return;
	merge_count_batches(batch->process, -1);
	if (merge->spare_count == SPARE_MOST) {
		free(batch);
		return;
	}
	batch->next = merge->spare;
	merge->spare = batch;
	merge->spare_count++;
}

/* Takes an unused batch for the reader, or allocates one. Returns NULL if there is no memory. */
static struct batch *next_batch(struct merge *merge, struct reader *reader)
{
	struct batch *batch = merge->spare;

	if (batch) {
		merge->spare = batch->next;
		merge->spare_count--;
	} else {
		batch = malloc(BATCH_SIZE);
		if (!batch)
			return NULL;
	}
	batch->process = reader->process;
	merge_count_batches(batch->process, 1);
	batch->used = batch->entries = 0;
	reader->batch = batch;
	return batch;
}

/* Returns memory for the copy of a record of this length, or NULL if there is no memory. */
static inline struct record *next_place(struct merge *merge, struct reader *reader, uint32_t length)
{
	struct batch *batch = reader->batch;

	if (__builtin_expect(!batch || BATCH_ROOM - batch->used < length, 0))
		batch = next_batch(merge, reader);
	return batch ? (struct record *)((char *)batch->records + batch->used) : NULL;
}

/* ---- entries ---- */

/* Gives each waiting entry its own copy of its backtrace, so that entries can be reordered. */
static bool settle_frames(struct reader *reader)
{
	for (uint32_t i = reader->begin; i < reader->end; i++) {
		struct entry *entry = &reader->entries[i];
		const struct record_call *call = (const struct record_call *)entry->record;
		const uint64_t *frames = NULL;
		uint32_t count = 0;

		if (entry->frames)
			continue;
		if (entry->record->kind == RECORD_CALL) {
			frames = call_fresh(call);
			count = call->fresh;
		}
		if (entry->record->kind == RECORD_CALL && changes_backtrace(call)) {
			apply_frames(reader, call, frames);
			count = shown_frames(reader, call);
			frames = reader->stack + ARENA_MEMORY_MAX - reader->frame_count;
		}
		entry->frames = malloc((count + 1) * sizeof(uint64_t));
		if (!entry->frames)
			return false;
		entry->frames[0] = count;
		if (count)
			memcpy(entry->frames + 1, frames, count * sizeof(uint64_t));
	}
	return true;
}

/* Makes room for two entries: a record becomes at most two. Returns false if there is no memory. */
static bool make_room(struct reader *reader)
{
	uint32_t count = reader->end - reader->begin;
	uint32_t room = reader->room ? reader->room * 2 : 256;
	struct entry *entries;

	if (reader->begin > reader->room / 2) {
		memmove(reader->entries, reader->entries + reader->begin,
			count * sizeof(struct entry));
		reader->begin = 0;
		reader->end = count;
		return true;
	}
	entries = reallocarray(reader->entries, room, sizeof(struct entry));
	if (!entries)
		return false;
	reader->entries = entries;
	reader->room = room;
	return true;
}

static inline bool has_room(struct reader *reader)
{
	return __builtin_expect(reader->end + 2 <= reader->room, 1) || make_room(reader);
}

/*
 * If the entry at index `at` releases an object, another thread may acquire this object at the same
 * time. So the entry must precede acquisitions of other threads at that time. Acquisitions of this
 * thread that precede the entry and have the same time must then precede those of other threads,
 * too. Therefore this function sets the rank of this thread's acquisitions to RANK_GAINS_FIRST.
 */
static void hurry_gains(struct reader *reader, uint32_t at)
{
	uint64_t time = reader->entries[at].time;

	if (reader->entries[at].rank == RANK_GAINS)
		return;
	while (at-- > reader->begin && reader->entries[at].time == time &&
	       reader->entries[at].rank == RANK_GAINS)
		reader->entries[at].rank = RANK_GAINS_FIRST;
}

/* Moves the last entry forward to its position in the order of time. */
static void bring_forward(struct reader *reader)
{
	uint32_t at = reader->end - 1;
	struct entry moved;

	if (!settle_frames(reader))
		/* no memory: the entry stays last, and gets a later time */
		return;
	moved = reader->entries[at];
	for (; at > reader->begin && reader->entries[at - 1].time > moved.time; at--)
		reader->entries[at] = reader->entries[at - 1];
	reader->entries[at] = moved;
	hurry_gains(reader, at);
}

/*
 * Adds an entry for a record in the order of time, after entries of the same time. This is nearly
 * always the last position. The caller has made room. Processors' clocks may differ a little, so a
 * record may have a time in the future. Such a record gets the time reader->latest, so that it does
 * not have to wait.
 */
static inline void insert(struct reader *reader, const struct record *record, uint64_t time,
			  enum rank rank, bool is_moved_part)
{
	uint32_t at = reader->end++;
	struct entry *entry = &reader->entries[at];
	bool is_clamped = time > reader->latest;

	if (__builtin_expect(is_clamped, 0))
		time = reader->latest;
	*entry = (struct entry){ .time = time,
				 .record = record,
				 .batch = reader->batch,
				 .thread = reader->thread,
				 .rank = (uint8_t)rank,
				 .is_moved_part = is_moved_part,
				 .is_clamped = is_clamped };
	reader->batch->entries++;
	if (at == reader->begin || entry[-1].time < time)
		return;
	if (entry[-1].time == time)
		hurry_gains(reader, at);
	else
		bring_forward(reader);
}

/* ---- threads ---- */

static bool grow_threads(struct process *process)
{
	uint32_t room = process->thread_room ? process->thread_room * 2 : 8;
	struct merge_thread *threads = reallocarray(process->threads, room, sizeof(*threads));
	uint32_t *next;

	if (!threads)
		return false;
	process->threads = threads;
	next = reallocarray(process->thread_next, room, sizeof(*next));
	if (!next)
		return false;
	process->thread_next = next;
	merge_count_batches(process, (int32_t)((room - process->thread_room) *
					       (sizeof(*threads) + sizeof(*next)) / BATCH_SIZE));
	process->thread_room = room;
	return true;
}

/* Returns the index of the new thread, or NO_THREAD if there is no memory. */
static uint32_t add_thread(struct process *process, int32_t thread, uint64_t pthread)
{
	uint32_t place = process->thread_free;

	if (place != NO_THREAD) {
		process->thread_free = process->thread_next[place];
	} else {
		if (process->thread_count == process->thread_room && !grow_threads(process))
			return NO_THREAD;
		place = process->thread_count++;
	}
	process->threads[place] = (struct merge_thread){ .id = thread, .pthread = pthread };
	return place;
}

void merge_retire(struct reader *reader)
{
	struct process *process = reader->process;

	while (reader->retired != NO_THREAD) {
		uint32_t place = reader->retired;
		uint64_t *lost = process->threads[place].lost;
		bool has_lost = false;

		reader->retired = process->thread_next[place];
		for (int i = 0; i < LOSS_COUNT; i++)
			has_lost |= lost[i] != 0;
		if (has_lost && process->threads_kept < THREADS_KEPT) {
			process->threads_kept++;
			continue;
		}
		for (int i = 0; i < LOSS_COUNT; i++) {
			process->counts.lost[i] += lost[i];
			lost[i] = 0;
		}
		process->thread_next[place] = process->thread_free;
		process->thread_free = place;
	}
}

/* Returns the counts of dropped events of the slot's thread, or NULL if the thread is unknown. */
static uint64_t *lost_of(const struct reader *reader)
{
	const struct process *process = reader->process;

	return reader->thread < process->thread_count ? process->threads[reader->thread].lost
						      : NULL;
}

void merge_collect_lost(struct reader *reader)
{
	uint64_t *lost = lost_of(reader);

	for (int i = 0; lost && i < LOSS_COUNT; i++) {
		uint64_t said = __atomic_load_n(&reader->place->lost[i], __ATOMIC_RELAXED);

		/* the library's counts only grow; a smaller number shows damage */
		if (said > reader->lost[i])
			lost[i] += said - reader->lost[i];
		reader->lost[i] = said;
	}
}

/*
 * Handles a record which says that another thread has taken over the slot. First gives each waiting
 * entry of the previous thread its own copy of its backtrace.
 */
static bool take_thread(struct reader *reader, const struct record_thread *record)
{
	if (!settle_frames(reader))
		return false;
	merge_collect_lost(reader);
	if (reader->thread != NO_THREAD) {
		reader->process->thread_next[reader->thread] = reader->retired;
		reader->retired = reader->thread;
	}
	reader->thread = add_thread(reader->process, record->thread, record->pthread);
	reader->frame_count = reader->told = 0;
	reader->model.is_known = false;
	reader->is_closed = false;
	return true;
}

/*
 * Whether the reader's thread is known or could be added. Records before the first RECORD_THREAD in
 * the ring belong to the thread that the slot names.
 */
static inline bool has_thread(struct reader *reader)
{
	if (__builtin_expect(reader->thread != NO_THREAD, 1))
		return true;
	reader->thread = add_thread(reader->process,
				    __atomic_load_n(&reader->place->thread, __ATOMIC_RELAXED),
				    __atomic_load_n(&reader->place->pthread, __ATOMIC_RELAXED));
	return reader->thread != NO_THREAD;
}

static void count_lost(struct reader *reader, enum loss reason)
{
	uint64_t *lost = has_thread(reader) ? lost_of(reader) : NULL;

	if (lost)
		lost[reason]++;
}

void merge_close(struct reader *reader)
{
	if (reader->is_closed)
		return;
	count_lost(reader, LOSS_DAMAGED);
	reader->process->counts.damaged++;
	reader->is_closed = true;
}

/* ---- records ---- */

/*
 * Converts a record to one or two entries. A record with two events updates the remembered
 * backtrace twice, with the same result.
 */
static inline void enter_record(struct reader *reader, const struct record *record)
{
	const struct record_call *call = (const struct record_call *)record;

	reader->batch->used += record->length;
	if (record->kind == RECORD_CALL && __builtin_expect(call->moment == MOMENT_SPLIT, 0))
		insert(reader, record, call->enter, RANK_LOSES, true);
	insert(reader, record, record->time,
	       record->kind == RECORD_CALL &&
			       (call->moment == MOMENT_LEAVE || call->moment == MOMENT_SPLIT)
		       ? RANK_GAINS
		       : RANK_LOSES,
	       false);
}

/* The header of a record, copied by one read. */
union header {
	uint64_t whole;
	struct {
		uint32_t length;
		uint8_t state, kind;
		uint16_t more;
	};
};

_Static_assert(sizeof(union header) == 8 && offsetof(struct record, time) == 8,
	       "the header differs from struct record");

/* Takes a finished record. If there is no memory, returns false; the record stays in the ring. */
static bool take_record(struct merge *merge, struct reader *reader, union header header,
			const char *from)
{
	const struct record_call *call;
	struct record *record;
	bool is_sound, updates;

	if (reader->is_closed && header.kind != RECORD_THREAD) {
		if (header.kind == RECORD_CALL)
			count_lost(reader, LOSS_DAMAGED);
		return true;
	}
	if (header.kind != RECORD_THREAD && !has_thread(reader))
		return false;
	if (!has_room(reader))
		return false;
	record = next_place(merge, reader, header.length);
	if (!record)
		return false;
	memcpy(record, from, header.length);
	memcpy(record, &header, sizeof(header));
	call = (const struct record_call *)record;
	/* only a sound record is certainly long enough to have the members of a call */
	is_sound = record_is_sound(record);
	updates = is_sound && header.kind == RECORD_CALL && changes_backtrace(call);
	/* a call cannot keep more frames than the backtrace of the previous call has */
	if (!is_sound || (updates && call->kept > reader->told)) {
		merge_close(reader);
		return true;
	}
	if (header.kind == RECORD_THREAD)
		return take_thread(reader, (const struct record_thread *)record);
	if (updates)
		reader->told = call->kept + call->fresh;
	/* remembers those values of this call that later short records omit */
	if (header.kind == RECORD_CALL && !(call->flags & RECORD_ASIDE))
		expand_note(&reader->model, call);
	enter_record(reader, record);
	return true;
}

/* ---- short records ---- */

/* Whether the record's backtrace can be rebuilt from the remembered backtrace. */
static inline bool follows_short(struct reader *reader, const struct record_short *record)
{
	if (!expand_has_backtrace(record))
		return true;
	if (record->kept > reader->told)
		return false;
	reader->told = record->kept + (uint32_t)record->fresh;
	return true;
}

/* Makes an entry of a short record, which stays in the ring if there is no memory (false). */
static inline bool take_short(struct merge *merge, struct reader *reader, union header header,
			      const char *from)
{
	struct record_short record;
	struct expand_more more;
	struct record_call *call;

	if (__builtin_expect(reader->is_closed, 0)) {
		count_lost(reader, LOSS_DAMAGED);
		return true;
	}
	if (header.length < sizeof(record)) {
		merge_close(reader);
		return true;
	}
	memcpy(&record, from, sizeof(record));
	memcpy(&record, &header, sizeof(header));
	if (!has_thread(reader) || !has_room(reader))
		return false;
	if (!expand_read(&record, from + sizeof(record), &more) ||
	    !expand_is_sound(&record, &more, &reader->model) || !follows_short(reader, &record)) {
		merge_close(reader);
		return true;
	}
	call = (struct record_call *)next_place(merge, reader, expand_size(&record, &more));
	if (!call)
		return false;
	expand(&record, &more, from + sizeof(record) + more.size, &reader->model, call);
	enter_record(reader, &call->record);
	return true;
}

/* Whether a header is sound. left: contiguous bytes up to the head or the end of the ring. */
static bool header_is_sound(union header header, uint64_t left)
{
	if (header.length % 8 || header.length > left)
		return false;
	if (__builtin_expect(header.kind == RECORD_PAD, 0))
		return header.length != 0;
	return header.length >= sizeof(struct record) && header.length <= ARENA_RECORD_MAX &&
	       header.state >= RECORD_FILLING && header.state <= RECORD_ABANDONED;
}

void merge_release(struct reader *reader)
{
	struct slot *slot = reader->place;

	if (reader->released == reader->scanned)
		return;
	reader->released = reader->scanned;
	/*
	 * SEQ_CST on both sides: the producer sets `waiting` and then checks the tail once more. So
	 * either the producer sees the new tail, or the collector sees `waiting`.
	 */
	__atomic_store_n(&slot->tail, reader->scanned, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&slot->waiting, __ATOMIC_SEQ_CST))
		shared_futex_wake(shared_low_word(&slot->tail));
}

/* Takes the next record in the ring. Returns false if none can be taken, or the ring is damaged. */
static bool take_next(struct merge *merge, struct reader *reader)
{
	uint64_t offset = reader->scanned & (reader->ring_size - 1);
	uint64_t left = reader->head - reader->scanned, room = reader->ring_size - offset;
	const char *from = reader->ring + offset;
	union header header = { .whole = __atomic_load_n((const uint64_t *)(const void *)from,
							 __ATOMIC_ACQUIRE) };

	if (!header_is_sound(header, left < room ? left : room)) {
		merge_close(reader);
		reader->scanned += left;
		return false;
	}
	if (header.kind == RECORD_PAD || header.state == RECORD_ABANDONED)
		/* the thread itself has counted the abandoned record */
		;
	else if (header.state == RECORD_FILLING && reader->process->ended)
		count_lost(reader, LOSS_ABANDONED);
	else if (header.state == RECORD_FILLING)
		return false;
	else if (header.kind == RECORD_SHORT ? !take_short(merge, reader, header, from)
					     : !take_record(merge, reader, header, from))
		return false;
	reader->scanned += header.length;
	return true;
}

/*
 * Returns the size of the portions in which the ring's space is released, in bytes. Space is
 * released during a round, so that a thread does not have to wait for space until the round ends.
 */
static inline uint64_t release_bytes(const struct reader *reader)
{
	uint64_t part = reader->ring_size / RELEASE_PART;

	return part < RELEASE_STEP ? part : RELEASE_STEP;
}

static inline void release_part(struct merge *merge, struct reader *reader)
{
	if (reader->scanned - reader->released < release_bytes(reader))
		return;
	merge_release(reader);
	merge_beat(merge);
}

/* ---- records handed out directly from the ring ---- */

/* Reads the header at `from`. Returns whether it is that of a finished, contiguous short record. */
static inline bool see_short(const struct reader *reader, const char *from, uint64_t offset,
			     union header *header)
{
	header->whole = __atomic_load_n((const uint64_t *)(const void *)from, __ATOMIC_ACQUIRE);
	return header->kind == RECORD_SHORT && header->state == RECORD_DONE &&
	       header->length >= sizeof(struct record_short) &&
	       header->length <= reader->head - reader->scanned &&
	       header->length <= reader->ring_size - offset;
}

/* Whether the record is in order and its time not in the future (insert() corrects such times). */
static inline bool is_in_place(const struct reader *reader, const struct record_short *record)
{
	return record->form & SHORT_CLOSES && record->record.time <= reader->latest;
}

/* Makes a record in the ring the reader's next record. Returns whether it is before the limit. */
static inline bool note_next(struct reader *reader, const struct record_short *record)
{
	reader->time = record->record.time;
	reader->rank = record->form & SHORT_LEAVES ? RANK_GAINS : RANK_LOSES;
	return reader->time < reader->process->limit;
}

/*
 * Tries to make the next record in the ring the reader's next record, without a copy. This is
 * possible if no later record in the ring has an earlier time, and all entries of the reader have
 * earlier times. Otherwise returns false, and the caller converts the record to an entry. Also
 * returns false for a record with the same time as an entry, since insert() must decide their
 * order. If the record's time is not before the limit of this round, the reader stops at the record
 * as long as the ring has room. So no record is copied only because another thread was preempted in
 * the middle of a call.
 */
static bool finds_place(struct reader *reader)
{
	uint64_t offset = reader->scanned & (reader->ring_size - 1);
	const char *from = reader->ring + offset;
	union header header;
	struct record_short record;

	if (reader->is_closed || reader->thread == NO_THREAD ||
	    !see_short(reader, from, offset, &header))
		return false;
	memcpy(&record, from, sizeof(record));
	if (!is_in_place(reader, &record) ||
	    (has_entries(reader) && record.record.time <= reader->entries[reader->end - 1].time))
		return false;
	if (__builtin_expect(note_next(reader, &record), 1))
		return true;
	if (reader->head - reader->scanned > reader->ring_size / STAY_PARTS * (STAY_PARTS - 1))
		return false;
	reader->until = reader->scanned;
	return true;
}

/* Hands out a sound record by the fast path. Returns false if the handler does not take it. */
static inline __attribute__((always_inline)) bool
hand_out_fast(struct merge *merge, struct reader *reader, struct fast_call *fast,
	      const struct record_short *record, const struct expand_more *more, const char *frames)
{
	uint32_t count = (uint32_t)record->kept + record->fresh;
	char *to = (char *)(reader->stack + ARENA_MEMORY_MAX - count);
	struct process *process = reader->process;
	struct record_model *model = &reader->model;

	for (uint32_t i = 0; i < record->fresh; i++)
		memcpy(to + 8 * i, frames + 8 * i, 8);
	reader->frame_count = reader->told = count;
	reader->turn++;
	fast->record = record;
	fast->related = more->related;
	fast->part = more->part;
	fast->more = more_is_nothing(&more->more) ? NULL : &more->more;
	fast->values = more->values;
	fast->kept = record->kept;
	fast->frames = reader->stack + ARENA_MEMORY_MAX - reader->frame_count;
	fast->frame_count = reader->frame_count;
	fast->memory = reader;
	if (__builtin_expect(model->cut && model->cut < reader->frame_count, 0)) {
		fast->memory = NULL;
		fast->frame_count = model->cut;
	}
	fast->turn = reader->turn;
	model->call += record->call;
	model->frame += (uint64_t)(int64_t)record->frame;
	if (__builtin_expect(!merge->handler.fast(merge->handler.context, process->owner, fast),
			     0)) {
		model->call -= record->call;
		model->frame -= (uint64_t)(int64_t)record->frame;
		return false;
	}
	process->last_time = record->record.time;
	process->counts.events++;
	return true;
}

/* Expands and hands out a record. Returns false if it is unsound, or there is no memory. */
static bool hand_out_whole(struct merge *merge, struct reader *reader,
			   const struct record_short *record, const struct expand_more *more,
			   const char *frames)
{
	struct record_call *call =
		(struct record_call *)next_place(merge, reader, expand_size(record, more));

	if (!call || !follows_short(reader, record))
		return false;
	expand(record, more, frames, &reader->model, call);
	merge_hand_out(merge, reader,
		       &(struct entry){ .time = record->record.time,
					.record = &call->record,
					.thread = reader->thread });
	return true;
}

/*
 * Hands out one event. Uses the fast path if the handler has one, the record is not late, and its
 * whole backtrace fits. Returns false for the same reasons as hand_out_whole().
 */
static inline __attribute__((always_inline)) bool
hand_out_one(struct merge *merge, struct reader *reader, struct fast_call *fast,
	     const struct record_short *record, const struct expand_more *more, const char *frames)
{
	bool is_fast = merge->handler.fast && record->record.time >= reader->process->last_time &&
		       record->kept <= reader->told &&
		       record->kept + (uint32_t)record->fresh <= ARENA_FRAMES_MAX;

	return (is_fast && hand_out_fast(merge, reader, fast, record, more, frames)) ||
	       hand_out_whole(merge, reader, record, more, frames);
}

/* Hands out the first of a record's two events: `related` was freed when the call began. */
static bool hand_out_loss(struct merge *merge, struct reader *reader, struct fast_call *fast,
			  const struct record_short *record, struct expand_more *more,
			  const char *frames)
{
	struct record_short loss = *record;
	bool is_done;

	loss.object = more->related;
	loss.size = 0;
	loss.form = OPERATION_FREE;
	more->related = 0;
	more->is_split = false;
	more->part = RECORD_MOVED_PART;
	is_done = hand_out_one(merge, reader, fast, &loss, more, frames);
	more->related = loss.object;
	more->part = 0;
	return is_done;
}

/*
 * Hands out both events of a record. If an event of another thread may come between them, the
 * second event becomes an entry. Returns false if neither was handed out: the record's time is in
 * the future (which insert() corrects), or hand_out_one() returned false.
 */
static bool hand_out_split(struct merge *merge, struct reader *reader, struct fast_call *fast,
			   struct record_short *record, struct expand_more *more,
			   const char *frames, uint64_t before)
{
	uint32_t size = expand_size(record, more);
	struct record_call *call;

	/* checks that there is memory for the second event before the first event is handed out */
	if (record->record.time + more->more.lasted > reader->latest || !has_room(reader) ||
	    !next_place(merge, reader, size) ||
	    !hand_out_loss(merge, reader, fast, record, more, frames))
		return false;
	/* reduces the record to the second event */
	record->record.time += more->more.lasted;
	record->form |= SHORT_LEAVES;
	record->call = 0;
	record->frame = 0;
	if (expand_has_backtrace(record)) {
		record->kept += record->fresh;
		record->fresh = 0;
	}
	if (__builtin_expect(record->record.time < before, 1))
		return hand_out_one(merge, reader, fast, record, more, frames);
	call = (struct record_call *)next_place(merge, reader, size);
	expand(record, more, frames, &reader->model, call);
	enter_record(reader, &call->record);
	return true;
}

/* Hands out a record with parts other than frames. Returns false if it was not handed out. */
static __attribute__((noinline)) bool hand_out_more(struct merge *merge, struct reader *reader,
						    struct fast_call *fast,
						    struct record_short *record, const char *from,
						    uint64_t before)
{
	struct expand_more more;

	if (!expand_read(record, from, &more) || !expand_is_sound(record, &more, &reader->model))
		return false;
	from += more.size;
	return more.is_split ? hand_out_split(merge, reader, fast, record, &more, from, before)
			     : hand_out_one(merge, reader, fast, record, &more, from);
}

/*
 * Hands out records from the ring, up to the position `stop`. Stops earlier at a record that is out
 * of order, is not before the time `before`, or becomes an entry. Returns true if it stopped at a
 * record that is in order and was made the reader's next record.
 */
static bool hand_out_part(struct merge *merge, struct reader *reader, uint64_t before,
			  uint64_t stop)
{
	static const struct expand_more nothing;
	uint64_t mask = reader->ring_size - 1;
	const struct merge_thread *thread = &reader->process->threads[reader->thread];
	struct fast_call ONE_LINE fast = { .model = &reader->model,
					   .thread = thread->id,
					   .pthread = thread->pthread };

	while (reader->scanned < stop && !has_entries(reader)) {
		uint64_t offset = reader->scanned & mask;
		const char *from = reader->ring + offset;
		struct record_short ONE_LINE record;
		union header header;

		if (!see_short(reader, from, offset, &header))
			return false;
		memcpy(&record, from, sizeof(record));
		memcpy(&record, &header, sizeof(header));
		if (!is_in_place(reader, &record))
			return false;
		if (record.record.time >= before)
			return note_next(reader, &record);
		from += sizeof(record);
		if (__builtin_expect(expand_has_more(&record), 0)
			    ? !hand_out_more(merge, reader, &fast, &record, from, before)
			    : !expand_is_sound(&record, &nothing, &reader->model) ||
				      !hand_out_one(merge, reader, &fast, &record, &nothing, from))
			return false;
		reader->scanned += header.length;
	}
	return false;
}

void merge_hand_out_in_place(struct merge *merge, struct reader *reader, uint64_t before)
{
	uint64_t began = reader->scanned, stop;

	do {
		stop = reader->released + release_bytes(reader);
		if (stop > reader->until)
			stop = reader->until;
		if (hand_out_part(merge, reader, before, stop) && reader->scanned != began)
			return;
		release_part(merge, reader);
	} while (reader->scanned >= stop && reader->scanned != reader->until);
	if (__builtin_expect(reader->scanned == began, 0))
		merge_take(merge, reader);
	merge_find_next(merge, reader);
}

void merge_take(struct merge *merge, struct reader *reader)
{
	if (!take_next(merge, reader))
		reader->until = reader->scanned;
	release_part(merge, reader);
}

void merge_find_next(struct merge *merge, struct reader *reader)
{
	reader->time = NOTHING;
	while (reader->scanned != reader->until && !finds_place(reader))
		merge_take(merge, reader);
	if (has_entries(reader))
		merge_look_at_entry(reader);
}

void merge_begin(struct merge *merge, struct reader *reader, uint64_t latest)
{
	reader->latest = latest;
	reader->until = reader->head;
	if (reader->head != reader->scanned &&
	    (reader->head % 8 || reader->head - reader->scanned > reader->ring_size)) {
		merge_close(reader);
		reader->until = reader->scanned;
	}
	merge_find_next(merge, reader);
}
