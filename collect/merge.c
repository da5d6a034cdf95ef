/* SPDX-License-Identifier: MIT */
#include "collect/merge.h"

#include "collect/merge_parts.h"
#include "collect/shared.h"
#include "collect/ticks.h"

#include <linux/membarrier.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define STUCK_NS 200000000u /* a floor that stays longer than this is not waited for */
#define ROUND_NS_MAX \
	20000000u /* of a round's time, what counts for that: we may have been stopped */
#define RELEASE_STEP	 (64u << 10)  /* give the ring's room back in such portions */
#define SAVED_MAX	 (256u << 20) /* bytes held back before floors are overruled */
#define BARRIER_SLACK_NS 200000u      /* without membarrier: no store stays unseen for so long */

struct merge *merge_create(struct arena *arena, const struct merge_handler *handler)
{
	struct merge *merge = calloc(1, sizeof(*merge));

	if (!merge)
		return NULL;
	merge->arena = arena;
	merge->handler = *handler;
	merge->barrier = syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0) == 0;
	merge->round_ns = ticks_clock_ns();
	return merge;
}

static void free_entry(struct merge *merge, struct entry *entry)
{
	if (entry->saved) {
		merge->saved -= entry->record->length;
		free((void *)(uintptr_t)entry->record);
	}
	free(entry->frames);
}

static void free_reader(struct merge *merge, struct reader *reader)
{
	if (!reader)
		return;
	for (uint32_t i = reader->begin; i < reader->end; i++)
		free_entry(merge, &reader->entries[i]);
	free(reader->entries);
	free(reader);
}

void merge_destroy(struct merge *merge)
{
	if (!merge)
		return;
	for (uint32_t i = 0; i < ARENA_SLOTS; i++)
		free_reader(merge, merge->readers[i]);
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

static struct reader *reader_get(struct merge *merge, uint32_t slot)
{
	struct reader *reader = merge->readers[slot];

	if (reader)
		return reader;
	reader = calloc(1, sizeof(*reader));
	if (!reader)
		return NULL;
	reader->slot = slot;
	reader->process = MERGE_NO_PROCESS;
	reader->released = arena_slot(merge->arena, slot)->tail;
	reader->scanned = reader->done = reader->released;
	merge->readers[slot] = reader;
	return reader;
}

static const struct merge_thread *entry_thread(const struct process *process, uint32_t index)
{
	static const struct merge_thread nobody;

	return index < process->thread_count ? &process->threads[index] : &nobody;
}

/* ---- entries to the handler ---- */

/* Gives the producer its room back, and wakes it if it waits for it. */
static void release(struct merge *merge, struct reader *reader)
{
	struct slot *slot = arena_slot(merge->arena, reader->slot);

	if (reader->released == reader->done)
		return;
	reader->released = reader->done;
	__atomic_store_n(&slot->tail, reader->done, __ATOMIC_RELEASE);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (__atomic_load_n(&slot->waiting, __ATOMIC_RELAXED))
		shared_futex_wake(shared_low_word(&slot->tail));
}

/* The backtrace of the entry that is next; walks the remembered one on if need be. */
static void event_frames(struct reader *reader, const struct entry *entry,
			 struct merge_event *event)
{
	const struct record_call *call = (const struct record_call *)entry->record;

	if (entry->frames) {
		event->frames = entry->frames + 1;
		event->frame_count = (uint32_t)entry->frames[0];
	} else if (call->flags & (RECORD_ASIDE | CALL_NO_BACKTRACE)) {
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
	event.late = entry->time < process->last_time;
	event.is_moved_part = entry->is_moved_part;
	event.frame_count = 0;
	event.thread = entry_thread(process, entry->thread);
	if (event.late)
		event.time = process->last_time;
	process->last_time = event.time;
	if (entry->record->kind == RECORD_CALL) {
		event_frames(reader, entry, &event);
		process->counts.events++;
		process->counts.late += event.late;
	}
	merge->handler.event(merge->handler.context, reader->process, &event);
	if (!entry->saved) {
		reader->done = entry->end;
		reader->resident--;
	}
	if (entry->saved || entry->frames)
		free_entry(merge, entry);
	reader->begin++;
	merge->held--;
	if (reader->done - reader->released >= RELEASE_STEP)
		release(merge, reader);
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

/* What must wait leaves the ring once it fills a quarter of it. */
static void make_way(struct merge *merge, struct reader *reader)
{
	if (reader->begin == reader->end)
		reader->begin = reader->end = 0;
	if (reader->scanned - reader->done > merge->arena->ring_size / 4)
		for (uint32_t i = reader->begin; i < reader->end; i++)
			if (!merge_save(merge, reader, &reader->entries[i]))
				break;
	if (!reader->resident)
		reader->done = reader->scanned;
	release(merge, reader);
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
	uint64_t now = ticks_now(merge->arena->clock);

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
	if (!floor || process->ended || merge->saved > SAVED_MAX ||
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

/*
 * One slot: its floor, then its head, then its records, in this order, so that whatever the
 * floor no longer covers is seen.
 */
static uint64_t visit(struct merge *merge, uint32_t index, uint64_t now)
{
	struct arena_owner *place = &merge->arena->owners[index];
	struct slot *slot = arena_slot(merge->arena, index);
	struct process *process;
	struct reader *reader;
	uint64_t floor, head, before;
	uint32_t owner;

	if (!__atomic_load_n(&place->ready, __ATOMIC_ACQUIRE))
		return 0;
	floor = __atomic_load_n(&slot->floor, __ATOMIC_ACQUIRE);
	head = __atomic_load_n(&slot->head, __ATOMIC_ACQUIRE);
	owner = __atomic_load_n(&place->process, __ATOMIC_RELAXED);
	if (owner >= ARENA_PROCESSES)
		return 0;
	process = list_process(merge, owner, now);
	reader = reader_get(merge, index);
	if (!process || !reader)
		return 0;
	note_floor(merge, reader, process, floor);
	before = reader->scanned;
	merge_take(merge, reader, head, process->ended);
	if (reader->process != MERGE_NO_PROCESS)
		process = list_process(merge, reader->process, now);
	reader->next = process->first;
	process->first = reader;
	return reader->scanned - before;
}

uint64_t merge_round(struct merge *merge)
{
	uint32_t used = __atomic_load_n(&merge->arena->slots_used, __ATOMIC_ACQUIRE);
	uint64_t taken = 0;
	uint64_t now;

	if (used > merge->arena->slots)
		used = merge->arena->slots;
	advance_clock(merge);
	now = horizon(merge);
	merge->horizon = now;
	merge->round++;
	for (uint32_t i = 0; i < used; i++)
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

bool merge_is_behind(const struct merge *merge)
{
	uint32_t used = __atomic_load_n(&merge->arena->slots_used, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; i < used && i < merge->arena->slots; i++) {
		struct slot *slot = arena_slot(merge->arena, i);
		uint64_t head;

		if (!__atomic_load_n(&merge->arena->owners[i].ready, __ATOMIC_ACQUIRE))
			continue;
		head = __atomic_load_n(&slot->head, __ATOMIC_ACQUIRE);
		if (head - (merge->readers[i] ? merge->readers[i]->scanned : slot->tail) >=
		    ARENA_WAKE_STEP / 2)
			return true;
	}
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
	for (uint32_t i = 0; i < merge->arena->slots; i++)
		if (merge->readers[i] && merge->readers[i]->process == index)
			merge_collect_lost(merge, merge->readers[i]);
	*count = process->thread_count;
	return process->threads;
}

const struct merge_thread *merge_slot_thread(const struct merge *merge, uint32_t index)
{
	const struct reader *reader = merge->readers[index];

	if (!reader || reader->process == MERGE_NO_PROCESS)
		return NULL;
	return entry_thread(merge->processes[reader->process], reader->thread);
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
	struct slot *slot = arena_slot(merge->arena, index);
	struct reader *reader = merge->readers[index];
	uint64_t head = slot->head;

	if (reader) {
		merge->held -= reader->end - reader->begin;
		free_reader(merge, reader);
		merge->readers[index] = NULL;
	}
	slot->floor = 0;
	slot->open_count = 0;
	slot->stack_count = 0;
	slot->waiting = 0;
	memset(slot->lost, 0, sizeof(slot->lost));
	slot->tail = head;
	owner->thread = 0;
	owner->process = MERGE_NO_PROCESS;
	owner->ready = 0;
	__atomic_store_n(&owner->state, SLOT_FREE, __ATOMIC_RELEASE);
}

void merge_free_slots(struct merge *merge, uint32_t index)
{
	uint32_t used = merge->arena->slots_used;
	struct process *process = merge->processes[index];

	for (uint32_t i = 0; i < used && i < merge->arena->slots; i++) {
		struct arena_owner *owner = &merge->arena->owners[i];

		if (owner->state != SLOT_FREE && owner->process == index)
			free_slot(merge, i);
	}
	if (process) {
		free(process->threads);
		process->threads = NULL;
		process->thread_count = process->thread_room = 0;
	}
}
