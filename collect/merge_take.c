/* SPDX-License-Identifier: MIT */
#include "collect/merge_parts.h"

#include <stdlib.h>
#include <string.h>

struct process *merge_process(struct merge *merge, uint32_t index)
{
	if (!merge->processes[index])
		merge->processes[index] = calloc(1, sizeof(struct process));
	return merge->processes[index];
}

static bool call_is_sound(const struct record_call *call)
{
	uint32_t length = call->record.length;

	return length >= sizeof(*call) &&
	       sizeof(*call) + call_values_size(call) + call->fresh * 8u <= length;
}

static bool record_is_sound(const struct record *record)
{
	const struct record_module *module = (const struct record_module *)record;
	const struct record_note *note = (const struct record_note *)record;
	const struct record_name *name = (const struct record_name *)record;

	switch ((enum record_kind)record->kind) {
	case RECORD_CALL:
		return call_is_sound((const struct record_call *)record);
	case RECORD_THREAD:
		return record->length >= sizeof(struct record_thread);
	case RECORD_MODULE:
		return record->length >= sizeof(*module) &&
		       sizeof(*module) + module->path_size + module->build_id_size <=
			       record->length;
	case RECORD_NOTE:
		return record->length >= sizeof(*note) && note->text <= record->length &&
		       sizeof(*note) + note->text <= record->length;
	case RECORD_HEAP:
		return record->length >= sizeof(struct record_heap);
	case RECORD_CONTEXT:
	case RECORD_CLASS:
		return record->length >= sizeof(*name) &&
		       sizeof(*name) + name->name_size + name->description_size <= record->length;
	case RECORD_PAD:
		break;
	}
	return false;
}

bool merge_save(struct merge *merge, struct reader *reader, struct entry *entry)
{
	uint32_t length = entry->record->length;
	struct record *copy;

	if (entry->saved)
		return true;
	copy = malloc(length);
	if (!copy)
		return false;
	memcpy(copy, entry->record, length);
	copy->length = length;
	merge->saved += length;
	entry->record = copy;
	entry->saved = true;
	reader->resident--;
	return true;
}

static bool save_frames(struct reader *reader, struct entry *entry)
{
	const struct record_call *call = (const struct record_call *)entry->record;
	const uint64_t *frames = call_fresh(call);
	uint32_t count = call->fresh;

	if (call->record.kind != RECORD_CALL) {
		count = 0;
	} else if (!(call->flags & (RECORD_ASIDE | CALL_NO_BACKTRACE))) {
		apply_frames(reader, call, frames);
		count = shown_frames(reader, call);
		frames = reader->stack + ARENA_MEMORY_MAX - reader->frame_count;
	}
	entry->frames = malloc((count + 1) * sizeof(uint64_t));
	if (!entry->frames)
		return false;
	entry->frames[0] = count;
	memcpy(entry->frames + 1, frames, count * sizeof(uint64_t));
	return true;
}

/* Gives every waiting entry its own record and backtrace, so that their order is free. */
static bool settle(struct merge *merge, struct reader *reader)
{
	for (uint32_t i = reader->begin; i < reader->end; i++) {
		struct entry *entry = &reader->entries[i];

		if (entry->frames)
			continue;
		if (!merge_save(merge, reader, entry) || !save_frames(reader, entry))
			return false;
	}
	return true;
}

static uint64_t record_rank(const struct record *record)
{
	const struct record_call *call = (const struct record_call *)record;

	return record->kind == RECORD_CALL &&
	       (call->moment == MOMENT_LEAVE || call->moment == MOMENT_SPLIT);
}

static inline bool is_before(const struct entry *a, uint64_t time, uint64_t rank)
{
	return a->time < time || (a->time == time && a->rank <= rank);
}

/* For two entries: no record has more. False if there is no memory. */
static bool make_room(struct reader *reader)
{
	uint32_t count = reader->end - reader->begin;
	uint32_t room = reader->room ? reader->room * 2 : 256;
	struct entry *entries;

	if (reader->end + 2 <= reader->room)
		return true;
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

/* Puts an entry where its time belongs: nearly always last. There is room for it. */
static void insert(struct merge *merge, struct reader *reader, const struct entry *entry)
{
	uint32_t at = reader->end++;
	struct entry moved;

	reader->entries[at] = *entry;
	reader->resident++;
	merge->held++;
	if (at == reader->begin || is_before(&reader->entries[at - 1], entry->time, entry->rank))
		return;
	if (!settle(merge, reader))
		return; /* no memory: it stays behind, and is handed out late */
	moved = reader->entries[at];
	for (; at > reader->begin && !is_before(&reader->entries[at - 1], moved.time, moved.rank);
	     at--)
		reader->entries[at] = reader->entries[at - 1];
	reader->entries[at] = moved;
}

static uint32_t add_thread(struct merge *merge, uint32_t index, int32_t thread, uint64_t pthread)
{
	struct process *process = merge_process(merge, index);

	if (!process)
		return 0;
	if (process->thread_count == process->thread_room) {
		uint32_t room = process->thread_room ? process->thread_room * 2 : 8;
		struct merge_thread *threads =
			reallocarray(process->threads, room, sizeof(*threads));

		if (!threads)
			return 0;
		process->threads = threads;
		process->thread_room = room;
	}
	process->threads[process->thread_count] =
		(struct merge_thread){ .id = thread, .pthread = pthread };
	return process->thread_count++;
}

void merge_collect_lost(struct merge *merge, struct reader *reader)
{
	const uint64_t *lost = arena_slot(merge->arena, reader->slot)->lost;
	struct process *process;

	if (reader->process == MERGE_NO_PROCESS)
		return;
	process = merge->processes[reader->process];
	if (!process || reader->thread >= process->thread_count)
		return;
	for (int i = 0; i < LOSS_COUNT; i++) {
		process->threads[reader->thread].lost[i] += lost[i] - reader->lost[i];
		reader->lost[i] = lost[i];
	}
}

/* The slot changes hands. What the thread before left waiting keeps its own backtraces. */
static bool take_thread(struct merge *merge, struct reader *reader,
			const struct record_thread *record)
{
	if (record->process >= ARENA_PROCESSES)
		return true;
	if (!settle(merge, reader))
		return false;
	merge_collect_lost(merge, reader);
	reader->process = record->process;
	reader->thread = add_thread(merge, record->process, record->thread, record->pthread);
	reader->frame_count = 0;
	return true;
}

/* A slot speaks before it said for whom: it must be the one who holds it. */
static bool adopt(struct merge *merge, struct reader *reader)
{
	const struct arena_owner *owner = &merge->arena->owners[reader->slot];

	if (owner->process >= ARENA_PROCESSES)
		return false;
	reader->process = owner->process;
	reader->thread = add_thread(merge, owner->process, owner->thread,
				    arena_slot(merge->arena, reader->slot)->pthread);
	return true;
}

/* Where to count what befell a reader; what came before any process is nobody's. */
static struct merge_counts *counts_of(struct merge *merge, const struct reader *reader)
{
	if (reader->process == MERGE_NO_PROCESS || !merge->processes[reader->process])
		return &merge->nobody;
	return &merge->processes[reader->process]->counts;
}

/* The first event of a record with two. Its frames are walked on twice, to the same ones. */
static void take_moved_part(struct merge *merge, struct reader *reader, const struct record *record)
{
	const struct record_call *call = (const struct record_call *)record;

	if (record->kind == RECORD_CALL && call->moment == MOMENT_SPLIT)
		insert(merge, reader,
		       &(struct entry){ .time = call->enter,
					.record = record,
					.end = reader->scanned,
					.thread = reader->thread,
					.is_moved_part = true });
}

/* One finished record. False if there is no memory to take it: it stays in the ring. */
static bool take_record(struct merge *merge, struct reader *reader, const struct record *record,
			uint64_t end)
{
	if (!record_is_sound(record)) {
		counts_of(merge, reader)->damaged++;
		return true;
	}
	if (record->kind == RECORD_THREAD)
		return take_thread(merge, reader, (const struct record_thread *)record);
	if (reader->process == MERGE_NO_PROCESS && !adopt(merge, reader))
		return true;
	if (!merge_process(merge, reader->process) || !make_room(reader))
		return false;
	take_moved_part(merge, reader, record);
	insert(merge, reader,
	       &(struct entry){ .time = record->time,
				.rank = record_rank(record),
				.record = record,
				.end = end,
				.thread = reader->thread });
	return true;
}

static void count_abandoned(struct merge *merge, struct reader *reader)
{
	struct process *process;

	if (reader->process == MERGE_NO_PROCESS && !adopt(merge, reader))
		return;
	process = merge->processes[reader->process];
	if (process && reader->thread < process->thread_count)
		process->threads[reader->thread].lost[LOSS_ABANDONED]++;
}

/* Whether a header can be believed: the host's wild stores may have hit the ring. */
static bool header_is_sound(const struct record *record, uint32_t length, uint64_t left)
{
	if (length < 8 || length % 8 || length > left)
		return false;
	if (record->kind == RECORD_PAD)
		return true;
	return length >= sizeof(*record) && length <= ARENA_RECORD_MAX && record->state &&
	       record->state <= RECORD_ABANDONED;
}

void merge_take(struct merge *merge, struct reader *reader, uint64_t head, bool ended)
{
	const char *ring = arena_ring(merge->arena, reader->slot);
	uint64_t size = merge->arena->ring_size;

	while (reader->scanned < head) {
		uint64_t offset = reader->scanned & (size - 1);
		const struct record *record = (const struct record *)(ring + offset);
		uint8_t state = __atomic_load_n(&record->state, __ATOMIC_ACQUIRE);
		uint64_t left = head - reader->scanned;
		uint32_t length = record->length;

		if (left > size - offset)
			left = size - offset;
		if (!header_is_sound(record, length, left)) {
			counts_of(merge, reader)->damaged++;
			reader->scanned = head;
			return;
		}
		if (record->kind == RECORD_PAD || state == RECORD_ABANDONED)
			; /* its own thread has counted it */
		else if (state == RECORD_FILLING && ended)
			count_abandoned(merge, reader);
		else if (state == RECORD_FILLING ||
			 !take_record(merge, reader, record, reader->scanned + length))
			return;
		reader->scanned += length;
	}
}
