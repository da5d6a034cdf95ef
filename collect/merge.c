/* SPDX-License-Identifier: MIT */
#include "collect/merge.h"

#include "collect/merge_parts.h"
#include "collect/sound.h"
#include "collect/ticks.h"

#include <linux/membarrier.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define STUCK_NS 200000000u /* a floor that stays longer than this is not waited for */
#define ROUND_NS_MAX \
	20000000u /* of a round's time, what counts for that: we may have been stopped */
#define BATCHES_MAX	 4096u	 /* of a process, 256 MiB: then its floors are overruled */
#define CLOCK_SLACK	 (1u << 22)   /* ticks, about 1 ms: processors' clocks differ by less */
#define BARRIER_SLACK_NS 200000u      /* without membarrier: no store stays unseen for so long */

struct merge *merge_create(struct arena *arena, const struct merge_handler *handler)
{
	struct merge *merge = calloc(1, sizeof(*merge));

	if (!merge)
		return NULL;
	merge->arena = arena;
	merge->slots = arena->slots;
	merge->slot_size = arena->slot_size;
	merge->ring_size = arena->ring_size;
	merge->first_slot = (char *)arena + arena->slots_offset;
	merge->first_ring = (char *)arena + arena->rings_offset;
	merge->clock = arena->clock;
	merge->handler = *handler;
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

static void free_reader(struct merge *merge, struct reader *reader)
{
	if (!reader)
		return;
	for (uint32_t i = reader->begin; i < reader->end; i++)
		free_entry(merge, reader, &reader->entries[i]);
	merge_give_back(merge, reader->batch);
	free(reader->entries);
	free(reader);
}

void merge_destroy(struct merge *merge)
{
	if (!merge)
		return;
	for (uint32_t i = 0; i < ARENA_SLOTS; i++)
		free_reader(merge, merge->readers[i]);
	while (merge->spare) {
		struct batch *batch = merge->spare;

		merge->spare = batch->next;
		free(batch);
	}
	for (uint32_t i = 0; i < ARENA_PROCESSES; i++) {
		if (merge->processes[i])
			free(merge->processes[i]->threads);
		free(merge->processes[i]);
	}
	free(merge);
}

void merge_forget(struct merge *merge, uint32_t index)
{
	if (merge->processes[index])
		free(merge->processes[index]->threads);
	free(merge->processes[index]);
	merge->processes[index] = NULL;
}

static struct slot *slot_place(const struct merge *merge, uint32_t slot)
{
	return (struct slot *)(void *)(merge->first_slot + (uint64_t)slot * merge->slot_size);
}

static struct reader *reader_get(struct merge *merge, uint32_t slot, uint32_t owner)
{
	struct reader *reader = merge->readers[slot];

	if (reader)
		return reader;
	reader = calloc(1, sizeof(*reader));
	if (!reader)
		return NULL;
	reader->slot = slot;
	reader->place = slot_place(merge, slot);
	reader->ring = merge->first_ring + (uint64_t)slot * merge->ring_size;
	reader->ring_size = merge->ring_size;
	reader->owner = owner;
	reader->process = merge->processes[owner];
	reader->thread = NO_THREAD;
	reader->scanned = reader->released = merge->positions[slot];
	merge->readers[slot] = reader;
	return reader;
}

static const struct merge_thread *entry_thread(const struct process *process, uint32_t index)
{
	static const struct merge_thread nobody;

	return index < process->thread_count ? &process->threads[index] : &nobody;
}

/* ---- entries to the handler ---- */

/* The backtrace of the entry that is next; walks the remembered one on if need be. */
static void event_frames(struct reader *reader, const struct entry *entry,
			 struct merge_event *event)
{
	const struct record_call *call = (const struct record_call *)entry->record;

	if (entry->frames) {
		event->frames = entry->frames + 1;
		event->frame_count = (uint32_t)entry->frames[0];
	} else if (!changes_backtrace(call)) {
		event->frames = call_fresh(call);
		event->frame_count = call->fresh;
	} else {
		apply_frames(reader, call, call_fresh(call));
		event->frames = reader->stack + ARENA_MEMORY_MAX - reader->frame_count;
		event->frame_count = shown_frames(reader, call);
	}
	if (event->frame_count > ARENA_FRAMES_MAX)
		event->frame_count = ARENA_FRAMES_MAX;
}

static void hand_out(struct merge *merge, struct process *process, struct reader *reader)
{
	struct entry *entry = &reader->entries[reader->begin];
	struct merge_event event;

	event.record = entry->record;
	event.time = entry->time;
	event.late = entry->is_clamped || entry->time < process->last_time;
	event.is_moved_part = entry->is_moved_part;
	event.frame_count = 0;
	event.thread = entry_thread(process, entry->thread);
	if (entry->time < process->last_time)
		event.time = process->last_time;
	process->last_time = event.time;
	if (entry->record->kind == RECORD_CALL) {
		event_frames(reader, entry, &event);
		process->counts.events++;
		process->counts.late += event.late;
	}
	merge->handler.event(merge->handler.context, reader->owner, &event);
	free_entry(merge, reader, entry);
	reader->begin++;
	merge->held--;
}

static bool reader_is_before(const struct reader *a, const struct reader *b)
{
	const struct entry *x = &a->entries[a->begin];
	const struct entry *y = &b->entries[b->begin];

	if (x->time != y->time)
		return x->time < y->time;
	if (x->rank != y->rank)
		return x->rank < y->rank;
	return a->slot < b->slot;
}

static void sift_down(struct reader **heap, uint32_t count, uint32_t at)
{
	struct reader *reader = heap[at];

	for (;;) {
		uint32_t child = 2 * at + 1;

		if (child >= count)
			break;
		if (child + 1 < count && reader_is_before(heap[child + 1], heap[child]))
			child++;
		if (!reader_is_before(heap[child], reader))
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = reader;
}

/* The reader that comes after the first one. NULL: there is none. */
static const struct reader *heap_second(struct reader **heap, uint32_t count)
{
	if (count < 2)
		return NULL;
	if (count > 2 && reader_is_before(heap[2], heap[1]))
		return heap[2];
	return heap[1];
}

static bool reader_is_ready(const struct reader *reader, uint64_t limit)
{
	return reader->begin < reader->end && reader->entries[reader->begin].time < limit;
}

/* Hands out what is earlier than the process's limit, a run of one reader at a time. */
static void drain(struct merge *merge, struct process *process)
{
	struct reader **heap = merge->heap;
	uint64_t limit = process->limit;
	uint32_t count = 0;

	for (struct reader *reader = process->first; reader; reader = reader->next)
		if (reader_is_ready(reader, limit))
			heap[count++] = reader;
	for (uint32_t i = count / 2; i-- > 0;)
		sift_down(heap, count, i);
	while (count) {
		struct reader *first = heap[0];
		const struct reader *second = heap_second(heap, count);

		do
			hand_out(merge, process, first);
		while (reader_is_ready(first, limit) &&
		       (!second || reader_is_before(first, second)));
		if (!reader_is_ready(first, limit))
			heap[0] = heap[--count];
		if (count)
			sift_down(heap, count, 0);
	}
}

/* All that could be taken is: what waits on lies in our own memory. */
static void make_way(struct merge *merge, struct reader *reader)
{
	merge_release(reader);
	if (reader->begin != reader->end)
		return;
	reader->begin = reader->end = 0;
	merge_give_back(merge, reader->batch);
	reader->batch = NULL;
}

/* ---- a round ---- */

/*
 * Time is counted only while we run: a floor must not look stuck because we were stopped, when
 * its thread may have been waiting for us.
 */
static void advance_clock(struct merge *merge)
{
	uint64_t now = ticks_clock_ns();
	uint64_t step = now - merge->round_ns;

	merge->clock_ns += step < ROUND_NS_MAX ? step : ROUND_NS_MAX;
	merge->round_ns = now;
}

/* A time before which nothing more can be published by threads that had no floor afterwards. */
static uint64_t horizon(struct merge *merge)
{
	uint64_t now = ticks_now(merge->clock);

	if (merge->barrier && syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0) == 0)
		return now;
	/* a tick is never longer than a ns on a machine without membarrier that we know of */
	return now - BARRIER_SLACK_NS * 4;
}

static void note_floor(struct merge *merge, struct reader *reader, struct process *process,
		       uint64_t floor)
{
	if (floor != reader->floor) {
		reader->floor = floor;
		reader->floor_since = merge->clock_ns;
	}
	if (!floor || process->ended || process->batches > BATCHES_MAX ||
	    merge->clock_ns - reader->floor_since > STUCK_NS)
		return;
	if (floor < process->limit)
		process->limit = floor;
}

static struct process *list_process(struct merge *merge, uint32_t index, uint64_t now)
{
	struct process *process = merge_process(merge, index);

	if (process && !process->listed) {
		process->listed = true;
		process->first = NULL;
		process->limit = process->ended ? UINT64_MAX : now;
		process->round = merge->round;
		merge->active[merge->active_count++] = index;
	}
	return process;
}

/* The reader of a slot that may be read. NULL: it may not, or there is no memory. */
static struct reader *open_reader(struct merge *merge, uint32_t index, uint64_t now)
{
	const struct arena_owner *place = &merge->arena->owners[index];
	uint32_t owner;

	if (!__atomic_load_n(&place->ready, __ATOMIC_ACQUIRE))
		return NULL;
	if (merge->readers[index])
		owner = merge->readers[index]->owner;
	else
		owner = __atomic_load_n(&place->process, __ATOMIC_RELAXED);
	if (owner >= ARENA_PROCESSES || !list_process(merge, owner, now))
		return NULL;
	return reader_get(merge, index, owner);
}

/*
 * One slot: its floor, then its head, then its records, in this order, so that whatever the
 * floor no longer covers is seen.
 */
static uint64_t visit(struct merge *merge, uint32_t index, uint64_t now)
{
	struct reader *reader = open_reader(merge, index, now);
	uint64_t floor, head, before;

	if (!reader)
		return 0;
	floor = __atomic_load_n(&reader->place->floor, __ATOMIC_ACQUIRE);
	head = __atomic_load_n(&reader->place->head, __ATOMIC_ACQUIRE);
	note_floor(merge, reader, reader->process, floor);
	before = reader->scanned;
	if (head != before) {
		reader->latest = ticks_now(merge->clock) + CLOCK_SLACK;
		merge_take(merge, reader, head, reader->process->ended);
	}
	reader->next = reader->process->first;
	reader->process->first = reader;
	return reader->scanned - before;
}

uint64_t merge_round(struct merge *merge)
{
	uint64_t taken = 0;
	uint64_t now;
	uint32_t used;

	advance_clock(merge);
	now = horizon(merge);
	merge->horizon = now;
	merge->round++;
	/* after the clock: a slot that is not seen here has no event yet that is older */
	used = __atomic_load_n(&merge->arena->slots_used, __ATOMIC_ACQUIRE);
	for (uint32_t i = 0; i < used && i < merge->slots; i++)
		taken += visit(merge, i, now);
	for (uint32_t i = 0; i < merge->active_count; i++) {
		struct process *process = merge->processes[merge->active[i]];

		drain(merge, process);
		for (struct reader *reader = process->first; reader; reader = reader->next)
			make_way(merge, reader);
		process->listed = false;
	}
	merge->active_count = 0;
	__atomic_add_fetch(&merge->arena->heartbeat, 1, __ATOMIC_RELAXED);
	return taken;
}

/* What stands in a slot's ring and was not taken yet. */
static uint64_t slot_waiting(const struct merge *merge, uint32_t index)
{
	const struct reader *reader = merge->readers[index];
	struct reader fresh;

	if (!__atomic_load_n(&merge->arena->owners[index].ready, __ATOMIC_ACQUIRE))
		return 0;
	if (!reader) {
		fresh.scanned = merge->positions[index];
		fresh.ring_size = merge->ring_size;
		reader = &fresh;
	}
	return merge_waiting(reader, __atomic_load_n(&slot_place(merge, index)->head, __ATOMIC_ACQUIRE));
}

bool merge_is_behind(const struct merge *merge)
{
	uint32_t used = __atomic_load_n(&merge->arena->slots_used, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; i < used && i < merge->slots; i++)
		if (slot_waiting(merge, i) >= ARENA_WAKE_STEP / 2)
			return true;
	return false;
}

bool merge_is_holding(const struct merge *merge)
{
	return merge->held != 0;
}

/* ---- ends ---- */

void merge_end(struct merge *merge, uint32_t index)
{
	struct process *process = merge_process(merge, index);

	if (process)
		process->ended = true;
}

const struct merge_counts *merge_counts(const struct merge *merge, uint32_t process)
{
	return merge->processes[process] ? &merge->processes[process]->counts : &merge->nobody;
}

const struct merge_thread *merge_threads(struct merge *merge, uint32_t index, uint32_t *count)
{
	struct process *process = merge->processes[index];

	*count = 0;
	if (!process)
		return NULL;
	for (uint32_t i = 0; i < merge->slots; i++)
		if (merge->readers[i] && merge->readers[i]->owner == index)
			merge_collect_lost(merge->readers[i]);
	*count = process->thread_count;
	return process->threads;
}

const struct merge_thread *merge_slot_thread(const struct merge *merge, uint32_t index)
{
	const struct reader *reader = merge->readers[index];

	if (!reader || reader->thread == NO_THREAD)
		return NULL;
	return entry_thread(reader->process, reader->thread);
}

uint64_t merge_limit(const struct merge *merge, uint32_t index)
{
	const struct process *process = merge->processes[index];
	uint64_t limit = merge->horizon;

	if (process && !process->ended && process->round == merge->round)
		limit = process->limit;
	return process && process->last_time > limit ? process->last_time : limit;
}

static void free_slot(struct merge *merge, uint32_t index)
{
	struct arena_owner *owner = &merge->arena->owners[index];
	struct reader *reader = merge->readers[index];
	struct slot *slot = slot_place(merge, index);

	if (reader) {
		merge->held -= reader->end - reader->begin;
		merge->positions[index] = reader->scanned;
		free_reader(merge, reader);
		merge->readers[index] = NULL;
	}
	slot->floor = 0;
	slot->open_count = 0;
	slot->stack_count = 0;
	slot->waiting = 0;
	memset(slot->lost, 0, sizeof(slot->lost));
	slot->head = slot->tail = merge->positions[index];
	owner->thread = 0;
	owner->process = MERGE_NO_PROCESS;
	owner->ready = 0;
	__atomic_store_n(&owner->state, SLOT_FREE, __ATOMIC_RELEASE);
}

/* Whether the slot is the process's, as we know, or as it says if we have not read it. */
static bool is_slot_of(const struct merge *merge, uint32_t slot, uint32_t process)
{
	const struct arena_owner *owner = &merge->arena->owners[slot];

	if (merge->readers[slot])
		return merge->readers[slot]->owner == process;
	return owner->state != SLOT_FREE && owner->process == process;
}

void merge_free_slots(struct merge *merge, uint32_t index)
{
	struct process *process = merge->processes[index];

	for (uint32_t i = 0; i < merge->slots; i++)
		if (is_slot_of(merge, i, index))
			free_slot(merge, i);
	if (process) {
		free(process->threads);
		process->threads = NULL;
		process->thread_count = process->thread_room = 0;
	}
}
