/* SPDX-License-Identifier: MIT */
#include "collect/merge_parts.h"

#include "base/array.h"
#include "collect/bounds.h"
#include "collect/records.h"
#include "collect/ticks.h"

#include <linux/membarrier.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* a low watermark older than this (ns) delays no events, unless its thread starves (starves()) */
#define STUCK_NS 200000000u
/* after this time, the low watermark delays no events even if its thread gets no processor */
#define STARVED_NS 10000000000u
/* time between two checks whether a thread starves */
#define ASK_NS 50000000u
/* a thread that is still in the call would publish its record within this run time, in ns */
#define RAN_NS 2000000u
/* a round that lasts longer counts as this many ns: the collector was stopped */
#define ROUND_NS_MAX 20000000u
/* maximum of merge.batches_most: 256 MiB */
#define BATCHES_MAX 4096u
/* the records of a user may use 1/8 of the memory budget */
#define BATCHES_PART 8u
/* in ticks, about 1 ms: the counters of two processors differ by less than this */
#define CLOCK_SLACK (1u << 22)
/* without membarrier: every store is visible to the collector after this time */
#define BARRIER_SLACK_NS 200000u
/* processor time, in ns, that a round may spend on a bounded user (one who does not own the run) */
#define USER_NS 5000000u
/* processor time, in ns, that a round may spend on all bounded users together */
#define OTHERS_NS 20000000u
/* how long the merge waits for memory that a process has created but not yet sent */
#define MISSING_NS 50000000u
/* the heartbeat is incremented once in this many calls to hand_out_run() */
#define RUNS_BEAT 256u

struct merge *merge_create(struct control_page *control, const struct merge_handler *handler)
{
	uint64_t most = budget_memory() / BATCHES_PART / BATCH_SIZE;
	struct merge *merge = calloc(1, sizeof(*merge));

	if (!merge)
		return NULL;
	merge->control = control;
	merge->clock = control->clock;
	merge->handler = *handler;
	merge->batches_most = most < 16 ? 16 : most < BATCHES_MAX ? (uint32_t)most : BATCHES_MAX;
	merge->barrier = syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0) == 0;
	merge->round_ns = ticks_clock_ns();
	return merge;
}

static void free_entry(struct merge *merge, struct reader *reader, struct entry *entry)
{
	merge_drop(merge, reader, entry->batch);
	if (__builtin_expect(entry->frames != NULL, 0))
		free(entry->frames);
}

static void free_process(struct merge *merge, struct process *process)
{
	for (uint32_t i = 0; i < process->piece_count; i++) {
		struct piece *piece = &process->pieces[i];

		for (uint32_t k = 0; k < piece->chunk->slots; k++) {
			struct reader *reader = piece->readers[k];

			if (!reader)
				continue;
			while (has_entries(reader))
				free_entry(merge, reader, &reader->entries[reader->begin++]);
			merge_give_back(merge, reader->batch);
			free(reader->entries);
			free(reader);
		}
		free(piece->readers);
	}
	/* the batches that are still counted are the tables of threads (grow_threads()) */
	merge_count_batches(process, -(int32_t)process->batches);
	free(process->pieces);
	free(process->threads);
	free(process->thread_next);
	free(process);
}

void merge_destroy(struct merge *merge)
{
	if (!merge)
		return;
	while (merge->processes) {
		struct process *process = merge->processes;

		merge->processes = process->next;
		free_process(merge, process);
	}
	while (merge->spare) {
		struct batch *batch = merge->spare;

		merge->spare = batch->next;
		free(batch);
	}
	free(merge->heap);
	free(merge);
}

struct process *merge_add(struct merge *merge, void *owner, struct merge_user *user)
{
	struct process *process = calloc(1, sizeof(*process));

	if (!process)
		return NULL;
	process->merge = merge;
	process->owner = owner;
	process->user = user;
	merge->processes_of_others += user->is_bounded;
	process->thread_free = NO_THREAD;
	process->next = merge->processes;
	process->at = &merge->processes;
	if (process->next)
		process->next->at = &process->next;
	merge->processes = process;
	return process;
}

bool merge_add_chunk(struct process *process, const struct chunk *chunk)
{
	struct piece *pieces =
		reallocarray(process->pieces, process->piece_count + 1, sizeof(*pieces));
	struct reader **readers;

	if (!pieces)
		return false;
	process->pieces = pieces;
	readers = calloc(chunk->slots, sizeof(*readers));
	if (!readers)
		return false;
	pieces[process->piece_count++] = (struct piece){ .chunk = chunk, .readers = readers };
	process->missing_since = 0;
	return true;
}

void merge_remove(struct merge *merge, struct process *process)
{
	*process->at = process->next;
	if (process->next)
		process->next->at = process->at;
	merge->processes_of_others -= process->user->is_bounded;
	free_process(merge, process);
}

static const struct merge_thread *entry_thread(const struct process *process, uint32_t index)
{
	static const struct merge_thread nobody;

	return index < process->thread_count ? &process->threads[index] : &nobody;
}

/* ---- entries to the handler ---- */

void merge_hand_out(struct merge *merge, struct reader *reader, const struct entry *entry)
{
	const struct record_call *call = (const struct record_call *)entry->record;
	struct process *process = reader->process;
	struct merge_event event;

	event.record = entry->record;
	event.time = entry->time;
	event.late = entry->is_clamped ||
		     (entry->time < process->last_time && process->last_time != process->cut_time);
	event.is_moved_part = entry->is_moved_part;
	event.frame_count = 0;
	event.thread = entry_thread(process, entry->thread);
	if (entry->time < process->last_time)
		event.time = process->last_time;
	process->last_time = event.time;
	if (entry->record->kind == RECORD_CALL) {
		if (entry->frames) {
			event.frames = entry->frames + 1;
			event.frame_count = (uint32_t)entry->frames[0];
		} else if (!changes_backtrace(call)) {
			event.frames = call_fresh(call);
			event.frame_count = call->fresh;
		} else {
			apply_frames(reader, call, call_fresh(call));
			event.frames = reader->stack + ARENA_MEMORY_MAX - reader->frame_count;
			event.frame_count = shown_frames(reader, call);
		}
		if (event.frame_count > ARENA_FRAMES_MAX)
			event.frame_count = ARENA_FRAMES_MAX;
		process->counts.events++;
		process->counts.late += event.late;
	}
	merge->handler.event(merge->handler.context, process->owner, &event);
}

static bool reader_is_before(const struct reader *a, const struct reader *b)
{
	if (a->time != b->time)
		return a->time < b->time;
	if (a->rank != b->rank)
		return a->rank < b->rank;
	return a->number < b->number;
}

/*
 * Restores the heap after the reader at `top` has changed. First the gap moves down to a leaf, then
 * the reader moves up from there: usually not far, since its next record is later than most others.
 */
static void sift_down(struct reader **heap, uint32_t count, uint32_t top)
{
	struct reader *reader = heap[top];
	uint32_t at = top, child = 2 * at + 1;

	while (child + 1 < count) {
		child += reader_is_before(heap[child + 1], heap[child]);
		heap[at] = heap[child];
		at = child;
		child = 2 * at + 1;
	}
	if (child < count) {
		heap[at] = heap[child];
		at = child;
	}
	while (at > top && reader_is_before(reader, heap[(at - 1) / 2])) {
		heap[at] = heap[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	heap[at] = reader;
}

/* Builds a heap from the readers whose next record is before `limit`. Returns their number. */
static uint32_t make_heap(struct reader **heap, uint32_t count, uint64_t limit)
{
	uint32_t ready = 0;

	for (uint32_t i = 0; i < count; i++)
		if (heap[i]->time < limit)
			heap[ready++] = heap[i];
	for (uint32_t i = ready / 2; i-- > 0;)
		sift_down(heap, ready, i);
	return ready;
}

/*
 * Called if the next records of several readers have the same time. Those that are still in a ring
 * become entries, since the order of entries with equal times is defined. Returns false if all of
 * them are entries already.
 */
static bool part_ties(struct merge *merge, uint32_t count)
{
	uint64_t time = merge->heap[0]->time;
	bool found = false;

	for (uint32_t i = 0; i < count; i++) {
		struct reader *reader = merge->heap[i];

		if (reader->time != time || has_entries(reader))
			continue;
		merge_take(merge, reader);
		merge_find_next(merge, reader);
		found = true;
	}
	return found;
}

/* Hands out the records of `first` that precede those of `second` (NULL: the process's limit). */
static void hand_out_run(struct merge *merge, struct reader *first, const struct reader *second)
{
	uint64_t limit = first->process->limit;

	if (!has_entries(first)) {
		merge_hand_out_in_place(merge, first, second ? second->time : limit);
		return;
	}
	do {
		struct entry *entry = &first->entries[first->begin];

		merge_hand_out(merge, first, entry);
		free_entry(merge, first, entry);
		first->begin++;
		if (has_entries(first))
			merge_look_at_entry(first);
		else
			merge_find_next(merge, first);
	} while (has_entries(first) && first->time < (second ? second->time : limit));
}

static bool is_over(const struct merge *merge)
{
	return __builtin_expect(merge->deadline_ns != UINT64_MAX, 0) &&
	       ticks_clock_ns() >= merge->deadline_ns;
}

/*
 * Leaves the remaining records for a later round. Sets the process's limit to the time of the last
 * event that was handed out, so that notes that are written now precede these records.
 */
static void leave_rest(struct process *process)
{
	process->has_more = true;
	process->limit = process->last_time;
}

/* Hands out all records before the process's limit, directly from the rings if possible. */
static void pass_on(struct merge *merge, struct process *process)
{
	struct reader **heap = merge->heap;
	uint64_t limit = process->limit;
	uint32_t count = 0;

	for (struct reader *reader = process->first; reader; reader = reader->next)
		heap[count++] = reader;
	count = make_heap(heap, count, limit);
	for (uint32_t runs = 1; count; runs++) {
		const struct reader *second = count < 2 ? NULL : heap[1];

		if (count > 2 && reader_is_before(heap[2], heap[1]))
			second = heap[2];
		if (__builtin_expect(second && second->time == heap[0]->time, 0) &&
		    part_ties(merge, count)) {
			count = make_heap(heap, count, limit);
			continue;
		}
		hand_out_run(merge, heap[0], second);
		if (heap[0]->time >= limit)
			heap[0] = heap[--count];
		if (count)
			sift_down(heap, count, 0);
		if (runs % RUNS_BEAT == 0)
			merge_beat(merge);
		if (count && is_over(merge)) {
			leave_rest(process);
			return;
		}
	}
}

/* ---- a round ---- */

/*
 * Returns the current time, or a time shortly before it. A thread whose slot is read after this
 * call and has no low watermark cannot publish a record with an earlier time any more.
 */
static uint64_t horizon(struct merge *merge)
{
	uint64_t now = ticks_now(merge->clock);

	if (merge->barrier && syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0) == 0)
		return now;
	/* 1 ns has at most 4 ticks on every known machine without membarrier */
	return now - BARRIER_SLACK_NS * 4;
}

/*
 * Whether a thread with an old low watermark gets no processor. If the thread does not run, it was
 * preempted while it wrote a record, and the merge must wait for the record. If the thread runs,
 * but does not publish the record, it has left the call by longjmp().
 */
static bool starves(struct merge *merge, struct reader *reader, const struct process *process)
{
	bool is_first = reader->asked_ns < reader->watermark_since;
	uint64_t ran = 0;

	if (!merge->handler.starves || reader->thread == NO_THREAD)
		return false;
	if ((!is_first && merge->clock_ns - reader->asked_ns < ASK_NS) || is_over(merge))
		return reader->is_starving;
	reader->asked_ns = merge->clock_ns;
	reader->is_starving = (is_first || reader->is_starving) &&
			      merge->handler.starves(merge->handler.context, process->owner,
						     process->threads[reader->thread].id, &ran);
	if (is_first)
		reader->ran_ns = ran;
	reader->is_starving &= ran - reader->ran_ns < RAN_NS;
	return reader->is_starving;
}

/*
 * Whether the process holds too many batches (of copied records), so that its low watermarks are
 * ignored. For an owner, batches_most is the limit of each process; if all processes of the owner
 * together hold more, each may hold only a sixteenth of batches_most. All other users together may
 * hold batches_most; if they hold more, each of their processes may hold only an equal part of it.
 */
static bool overrules(struct merge *merge, struct process *process)
{
	uint32_t most = merge->batches_most;
	bool is_overruled;

	if (process->user->is_bounded)
		is_overruled = merge->batches_of_others > most &&
			       process->batches > most / merge->processes_of_others;
	else
		is_overruled = process->batches > most ||
			       (process->user->batches > most && process->batches > most / 16);
	if (is_overruled && !process->is_overruled && process->user->is_bounded)
		merge->ended_waits++;
	process->is_overruled = is_overruled;
	return is_overruled;
}

/* Makes the reader of a slot. Returns NULL if the slot is unused or there is no memory. */
static struct reader *open_reader(struct merge *merge, struct process *process,
				  const struct piece *piece, uint32_t i)
{
	const struct chunk *chunk = piece->chunk;
	struct reader *reader;

	if (!__atomic_load_n(&chunk_slot_at(chunk, i)->state, __ATOMIC_ACQUIRE))
		return NULL;
	if (process->reader_count == merge->heap_room &&
	    array_grow(&merge->heap, &merge->heap_room, sizeof(*merge->heap)))
		return NULL;
	reader = calloc(1, sizeof(*reader));
	if (!reader)
		return NULL;
	reader->number = process->reader_count++;
	reader->place = chunk_slot_at(chunk, i);
	reader->ring = chunk_ring_at(chunk, i);
	reader->ring_most = chunk->ring_size;
	reader->ring_size = ARENA_RING_LEAST;
	reader->process = process;
	reader->thread = reader->retired = NO_THREAD;
	piece->readers[i] = reader;
	return reader;
}

/*
 * Reads a slot: first its low watermark, then its head. Because of this order, the head includes
 * all records that the low watermark no longer covers. The caller takes records only when it knows
 * all low watermarks.
 */
static void look_at_slot(struct merge *merge, struct process *process, struct reader *reader)
{
	uint64_t watermark = __atomic_load_n(&reader->place->watermark, __ATOMIC_ACQUIRE);
	uint64_t head = __atomic_load_n(&reader->place->head, __ATOMIC_ACQUIRE);
	uint64_t size = ring_bytes(head), age;

	if (watermark != reader->watermark) {
		reader->watermark = watermark;
		reader->watermark_since = merge->clock_ns;
	}
	age = merge->clock_ns - reader->watermark_since;
	if (watermark && !process->ended && !process->is_stopped && !overrules(merge, process) &&
	    (age <= STUCK_NS || (age <= STARVED_NS && starves(merge, reader, process))) &&
	    watermark < process->limit)
		process->limit = watermark;
	reader->head = reader->scanned;
	reader->seen = head & ~RING_LEVEL;
	if (reader->seen != reader->scanned) {
		/* a ring can only grow */
		if (__builtin_expect(size < reader->ring_size || size > reader->ring_most, 0)) {
			merge_close(reader);
		} else {
			reader->ring_size = size;
			reader->head = reader->seen;
		}
	}
	reader->next = process->first;
	process->first = reader;
}

/*
 * Looks for memory that the process has created and the merge does not have yet. A thread that uses
 * this memory may have begun a record before now, so later events of other threads must wait for up
 * to MISSING_NS. If the memory has not arrived by then, the merge looks for it only every
 * MISSING_NS.
 */
static void note_missing(struct merge *merge, struct process *process)
{
	const struct arena *head = process->pieces[0].chunk->head;

	if (__atomic_load_n(&head->chunks, __ATOMIC_ACQUIRE) <= process->piece_count)
		return;
	if (process->missing_since && merge->clock_ns - process->missing_since >= MISSING_NS &&
	    merge->clock_ns - process->growth_ns < MISSING_NS)
		return;
	process->growth_ns = merge->clock_ns;
	merge->handler.grown(merge->handler.context, process->owner);
	if (__atomic_load_n(&head->chunks, __ATOMIC_ACQUIRE) <= process->piece_count)
		return;
	if (!process->missing_since)
		process->missing_since = merge->clock_ns;
	if (merge->clock_ns - process->missing_since < MISSING_NS && !process->ended &&
	    !process->is_stopped)
		process->limit = process->last_time;
}

static void look_into(struct merge *merge, struct process *process)
{
	process->first = NULL;
	process->limit = process->ended || process->is_stopped ? UINT64_MAX : merge->horizon;
	if (!process->piece_count)
		return;
	note_missing(merge, process);
	for (uint32_t i = 0; i < process->piece_count; i++) {
		const struct piece *piece = &process->pieces[i];
		uint32_t used = chunk_used(piece->chunk);

		for (uint32_t k = 0; k < used; k++) {
			struct reader *reader = piece->readers[k];

			if (__builtin_expect(!reader, 0))
				reader = open_reader(merge, process, piece, k);
			if (reader)
				look_at_slot(merge, process, reader);
		}
	}
}

void merge_beat(const struct merge *merge)
{
	__atomic_add_fetch(&merge->control->heartbeat, 1, __ATOMIC_RELAXED);
}

/*
 * Finds the next record of each reader. Records that must be copied for this become entries.
 * Returns false if the time ran out, since this work takes long with thousands of readers.
 */
static bool begin_all(struct merge *merge, struct process *process)
{
	uint64_t latest = ticks_now(merge->clock) + CLOCK_SLACK;

	for (struct reader *reader = process->first; reader; reader = reader->next) {
		uint64_t before = reader->scanned;

		merge_begin(merge, reader, latest);
		if (reader->scanned == before)
			continue;
		merge_beat(merge);
		if (is_over(merge))
			return false;
	}
	return true;
}

/* Runs a round for one process. Returns the number of bytes taken from its rings. */
static uint64_t pass_through(struct merge *merge, struct process *process)
{
	uint64_t taken = 0;

	for (struct reader *reader = process->first; reader; reader = reader->next)
		taken -= reader->scanned;
	if (begin_all(merge, process))
		pass_on(merge, process);
	else
		leave_rest(process);
	for (struct reader *reader = process->first; reader; reader = reader->next) {
		taken += reader->scanned;
		merge_release(reader);
		/* the records of waiting entries are in the reader's batches, not in the ring */
		if (has_entries(reader))
			continue;
		reader->begin = reader->end = 0;
		merge_give_back(merge, reader->batch);
		reader->batch = NULL;
		if (__builtin_expect(reader->retired != NO_THREAD, 0))
			merge_retire(reader);
	}
	return taken;
}

/*
 * Reduces the time spent for a user by USER_NS for each round that has begun since the last call,
 * but at most by the time that has passed. So after one long piece of work, a user must wait for as
 * long, however short the rounds are.
 */
static void pay_back(const struct merge *merge, struct merge_user *user)
{
	uint64_t rounds = merge->round - user->round, paid = merge->round_ns - user->paid_ns;

	if (!rounds)
		return;
	user->round = merge->round;
	user->paid_ns = merge->round_ns;
	if (rounds * USER_NS < paid)
		paid = rounds * USER_NS;
	user->spent_ns -= user->spent_ns < paid ? user->spent_ns : paid;
}

bool merge_has_time(const struct merge *merge, struct merge_user *user)
{
	pay_back(merge, user);
	return !user->is_bounded || (user->spent_ns < USER_NS && merge->spent_ns < OTHERS_NS);
}

void merge_charge(struct merge *merge, struct merge_user *user, uint64_t ns)
{
	if (!user->is_bounded)
		return;
	pay_back(merge, user);
	user->spent_ns += ns;
	merge->spent_ns += ns;
}

/*
 * Looks into the rings of one process, and runs a round for it, within the processor time of its
 * user. Must be called after horizon(): a slot that is still unused has no event before the
 * horizon. Returns the number of bytes taken from the rings. If no time is left and *late is NULL,
 * sets *late to the process.
 */
static uint64_t pass_in_time(struct merge *merge, struct process *process, struct process **late)
{
	struct merge_user *user = process->user;
	uint64_t begun, taken;

	process->has_more = false;
	merge->deadline_ns = UINT64_MAX;
	if (!user->is_bounded || process->is_stopped || merge->hurries) {
		look_into(merge, process);
		return pass_through(merge, process);
	}
	if (!merge_has_time(merge, user)) {
		*late = *late ? *late : process;
		leave_rest(process);
		return 0;
	}
	begun = ticks_clock_ns();
	merge->deadline_ns = begun + USER_NS - user->spent_ns;
	look_into(merge, process);
	taken = pass_through(merge, process);
	merge_charge(merge, user, ticks_clock_ns() - begun);
	return taken;
}

uint64_t merge_round(struct merge *merge)
{
	struct process *late = NULL, *last = NULL;
	uint64_t step = ticks_clock_ns() - merge->round_ns, taken = 0;
	uint64_t paid = step < OTHERS_NS ? step : OTHERS_NS; /* as in pay_back() */

	merge->round++;
	merge->spent_ns -= merge->spent_ns < paid ? merge->spent_ns : paid;
	/* counts only time in which the collector runs: threads may wait for a stopped collector */
	merge->clock_ns += step < ROUND_NS_MAX ? step : ROUND_NS_MAX;
	merge->round_ns += step;
	merge->horizon = horizon(merge);
	for (struct process *process = merge->processes; process; process = process->next) {
		taken += pass_in_time(merge, process, &late);
		last = process;
	}
	/* the next round begins with the first process for which no time was left */
	if (late && late != merge->processes) {
		last->next = merge->processes;
		last->next->at = &last->next;
		*late->at = NULL;
		merge->processes = late;
		late->at = &merge->processes;
	}
	merge_beat(merge);
	__atomic_add_fetch(&merge->control->rounds, 1, __ATOMIC_RELAXED);
	return taken;
}

void merge_cut(struct merge *merge, struct process *process)
{
	process->is_stopped = true;
	merge_round(merge);
	process->is_stopped = false;
	/* a note with this time follows the events before the cut, and precedes those after it */
	if (process->last_time < merge->horizon)
		process->last_time = merge->horizon;
	process->cut_time = process->limit = process->last_time;
}

/* Whether the ring of any slot has enough new data for a round. */
static bool has_much(const struct process *process)
{
	for (uint32_t i = 0; i < process->piece_count; i++) {
		const struct piece *piece = &process->pieces[i];
		uint32_t used = chunk_used(piece->chunk);

		for (uint32_t k = 0; k < used; k++) {
			const struct reader *reader = piece->readers[k];
			uint64_t head = __atomic_load_n(&chunk_slot_at(piece->chunk, k)->head,
							__ATOMIC_ACQUIRE);
			uint64_t waiting = (head & ~RING_LEVEL) - (reader ? reader->seen : 0);

			if (waiting <= ring_bytes(head) &&
			    waiting >= ring_step(ring_bytes(head)) / 2)
				return true;
		}
	}
	return false;
}

bool merge_is_behind(struct merge *merge)
{
	for (const struct process *process = merge->processes; process; process = process->next) {
		uint64_t begun = process->user->is_bounded ? ticks_clock_ns() : 0;
		bool is_behind = merge_has_time(merge, process->user) && has_much(process);

		if (begun)
			merge_charge(merge, process->user, ticks_clock_ns() - begun);
		if (is_behind)
			return true;
	}
	return false;
}

uint64_t merge_ended_waits(struct merge *merge)
{
	uint64_t count = merge->ended_waits;

	merge->ended_waits = 0;
	return count;
}

void merge_hurry(struct merge *merge)
{
	merge->hurries = true;
}

bool merge_has_more(const struct process *process)
{
	return process->has_more;
}

/* ---- resources no longer needed ---- */

/*
 * If no record was taken since the last call, cleans the ring of a thread that has ended or is
 * running its last destructors. A new thread must wait for the slot until this is done.
 */
static void tidy_slot(const struct piece *piece, uint32_t i)
{
	struct slot *slot = chunk_slot_at(piece->chunk, i);
	struct reader *reader = piece->readers[i];
	uint32_t expected = SLOT_LEFT;
	bool is_quiet;

	if (!reader || !reader->room || has_entries(reader))
		return;
	is_quiet = reader->tidied == reader->scanned;
	reader->tidied = reader->scanned;
	if (!is_quiet || !__atomic_compare_exchange_n(&slot->state, &expected, SLOT_CLEANING, false,
						      __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return;
	if ((__atomic_load_n(&slot->head, __ATOMIC_ACQUIRE) & ~RING_LEVEL) == reader->scanned)
		chunk_clean_ring(piece->chunk, i, reader->scanned);
	__atomic_store_n(&slot->state, SLOT_LEFT, __ATOMIC_RELEASE);
	free(reader->entries);
	reader->entries = NULL;
	reader->room = 0;
}

void merge_tidy(struct merge *merge)
{
	for (const struct process *process = merge->processes; process; process = process->next) {
		uint64_t begun = ticks_clock_ns();

		if (!merge_has_time(merge, process->user))
			continue;
		for (uint32_t i = 0; i < process->piece_count; i++)
			for (uint32_t k = 0; k < process->pieces[i].chunk->slots; k++)
				tidy_slot(&process->pieces[i], k);
		merge_charge(merge, process->user, ticks_clock_ns() - begun);
	}
}

/* ---- ends ---- */

void merge_end(struct process *process)
{
	process->ended = true;
}

const struct merge_counts *merge_counts(struct process *process)
{
	/* counts each lost chunk once: the empty memory in its place shows no damage */
	for (uint32_t i = 0; i < process->piece_count; i++) {
		struct piece *piece = &process->pieces[i];

		process->counts.damaged += piece->chunk->is_lost && !piece->is_counted;
		piece->is_counted = piece->chunk->is_lost;
	}
	return &process->counts;
}

const struct merge_thread *merge_threads(struct process *process, uint32_t *count)
{
	for (uint32_t i = 0; i < process->piece_count; i++)
		for (uint32_t k = 0; k < process->pieces[i].chunk->slots; k++)
			if (process->pieces[i].readers[k])
				merge_collect_lost(process->pieces[i].readers[k]);
	*count = process->thread_count;
	return process->threads;
}

const struct merge_thread *merge_slot_thread(const struct process *process,
					     const struct chunk *chunk, uint32_t slot)
{
	for (uint32_t i = 0; i < process->piece_count; i++) {
		const struct piece *piece = &process->pieces[i];
		const struct reader *reader = piece->chunk == chunk ? piece->readers[slot] : NULL;

		if (reader && reader->thread != NO_THREAD)
			return entry_thread(process, reader->thread);
	}
	return NULL;
}

uint64_t merge_limit(const struct merge *merge, const struct process *process)
{
	uint64_t limit = process->limit == UINT64_MAX ? merge->horizon : process->limit;

	return process->last_time > limit ? process->last_time : limit;
}
