/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_RECORDS_H
#define COLLECT_RECORDS_H

/*
 * Checks records, and expands short records to the whole records that they abbreviate. The traced
 * program can write anything into a ring, so each record is copied once, and the functions here
 * check the copy. Code that uses a sound record does not need to check the record's sizes and
 * numbers again.
 */

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "arena.h"
#include "hooks.h"

/* Size in bytes of the arguments, which follow a call's struct. */
static inline uint32_t call_values_size(const struct record_call *call)
{
	return values_size(call->numbers, call->text);
}

/* The call's new frames, which follow the arguments. */
static inline const uint64_t *call_fresh(const struct record_call *call)
{
	return (const uint64_t *)((const char *)(call + 1) + call_values_size(call));
}

/* Whether a call is sound. The sums cannot overflow, since all terms have at most 16 bits. */
static inline bool call_is_sound(struct record_call *call)
{
	uint32_t length = call->record.length;

	if (length < sizeof(*call) ||
	    length != sizeof(*call) + call_values_size(call) + call->fresh * 8u)
		return false;
	if (call->text)
		((char *)(call + 1))[call->numbers * 8u + call->text - 1] = 0;
	return call->record.more < HOOK_COUNT && call->operation < OPERATION_COUNT &&
	       call->moment <= MOMENT_HALF && call->resource <= RESOURCES_MAX &&
	       call->kept + call->fresh <= ARENA_MEMORY_MAX && call->cut <= ARENA_FRAMES_MAX;
}

/* Whether a record of any other kind is sound. */
bool other_is_sound(struct record *record);

/*
 * Whether the copy of a record is sound: its texts and frames fit its length, and its hook,
 * operation and class are within the tables. Adds a NUL to texts that have none. record->length
 * bytes must be readable.
 */
static inline bool record_is_sound(struct record *record)
{
	if (__builtin_expect(record->kind == RECORD_CALL, 1))
		return call_is_sound((struct record_call *)record);
	return other_is_sound(record);
}

/* ---- short records ---- */

/* A copy of those parts of a short record that are between struct record_short and the frames. */
struct expand_more {
	struct short_more more;
	uint64_t related;
	uint64_t values[SHORT_VALUES_MAX / 8]; /* the arguments; their size follows from `more` */
	/* size of all these parts in the ring, in bytes */
	uint32_t size;
	/* whether the record represents two events */
	bool is_split;
	/* RECORD_MOVED_PART for the first of two events, otherwise 0 */
	uint8_t part;
};

static inline bool more_is_nothing(const struct short_more *more)
{
	static const struct short_more nothing;

	return !memcmp(more, &nothing, sizeof(nothing));
}

static inline uint32_t more_values_size(const struct short_more *more)
{
	return values_size(more->numbers, more->text);
}

/*
 * Copies to *more the parts that are between the struct and the frames in the ring, beginning at
 * `from`. `record` is a copy of the struct; the function clears the flag bits of its member
 * `resource`. Returns false if the record is too short for its parts.
 */
static inline bool expand_read(struct record_short *record, const char *from,
			       struct expand_more *more)
{
	uint32_t left = record->record.length - (uint32_t)sizeof(*record), size;
	bool has_more = record->resource & SHORT_MORE;

	more->more = (struct short_more){ 0 };
	more->related = 0;
	more->size = 0;
	more->part = 0;
	more->is_split = record->resource & SHORT_SPLIT;
	record->resource &= (uint8_t) ~(SHORT_MORE | SHORT_SPLIT);
	if (__builtin_expect(record->form & SHORT_RELATED, 0)) {
		if (left < sizeof(more->related))
			return false;
		memcpy(&more->related, from, sizeof(more->related));
		more->size = sizeof(more->related);
	}
	if (!has_more)
		return true;
	if (left < more->size + sizeof(more->more))
		return false;
	memcpy(&more->more, from + more->size, sizeof(more->more));
	more->size += (uint32_t)sizeof(more->more);
	size = more_values_size(&more->more);
	if (size > SHORT_VALUES_MAX || left < more->size + size)
		return false;
	for (uint32_t i = 0; i < size; i += 8)
		memcpy(more->values + i / 8, from + more->size + i, 8);
	more->size += size;
	return true;
}

/* Whether the record has parts other than frames, or represents two events. */
static inline bool expand_has_more(const struct record_short *record)
{
	return (record->form & SHORT_RELATED) | (record->resource & (SHORT_MORE | SHORT_SPLIT));
}

/* Size of the expanded record in bytes, with its arguments and frames. */
static inline uint32_t expand_size(const struct record_short *record,
				   const struct expand_more *more)
{
	return (uint32_t)sizeof(struct record_call) + more_values_size(&more->more) +
	       record->fresh * 8u;
}

static inline bool expand_has_backtrace(const struct record_short *record)
{
	return record->kept != SHORT_NO_BACKTRACE;
}

/* Whether a record of two events is valid: releases one object at entry and acquires another. */
static inline bool expand_is_split_soundly(const struct record_short *record,
					   const struct expand_more *more)
{
	return (record->form & (SHORT_OPERATION | SHORT_LEAVES | SHORT_RELATED)) ==
		       (OPERATION_ALLOC | SHORT_RELATED) &&
	       !more->more.error;
}

/* Whether length and numbers are valid, and the model knows the values that the record omits. */
static inline bool expand_is_sound(const struct record_short *record,
				   const struct expand_more *more, const struct record_model *model)
{
	uint32_t kept = expand_has_backtrace(record) ? record->kept : 0;

	return record->record.length == sizeof(*record) + more->size + record->fresh * 8u &&
	       model->is_known && record->record.more < HOOK_COUNT &&
	       (record->form & SHORT_OPERATION) < OPERATION_COUNT &&
	       record->resource <= RESOURCES_MAX && kept + record->fresh <= ARENA_MEMORY_MAX &&
	       (!more->is_split || expand_is_split_soundly(record, more));
}

/* Stores those values of a whole record (not an ASIDE record) that later short records omit. */
static inline void expand_note(struct record_model *model, const struct record_call *call)
{
	model->call = call->call;
	model->frame = call->frame;
	model->cpu = call->cpu;
	model->context = call->context;
	model->cut = call->cut;
	model->flags = call->flags & CALL_CUT;
	model->is_known = true;
}

/*
 * Expands a sound record to *call; the arguments and frames follow the struct. frames: the frames
 * of the record in the ring. Updates the model for the next short record.
 */
static inline void expand(const struct record_short *record, const struct expand_more *more,
			  const char *frames, struct record_model *model, struct record_call *call)
{
	/* assigns each field: clearing the struct first would cost more than all other work */
	const struct short_more *said = &more->more;
	char *at = (char *)(call + 1);
	uint32_t size = more_values_size(said);

	model->call += record->call;
	model->frame += (uint64_t)(int64_t)record->frame;
	call->record.length = expand_size(record, more);
	call->record.state = RECORD_DONE;
	call->record.kind = RECORD_CALL;
	call->record.more = record->record.more;
	call->record.time = call->enter = call->leave = record->record.time;
	if (record->form & SHORT_LEAVES)
		call->enter -= said->lasted;
	else
		call->leave += said->lasted;
	if (more->is_split)
		call->record.time = call->leave;
	call->call = model->call;
	call->object = record->object;
	call->related = more->related;
	call->size = record->size;
	call->result = record->form & SHORT_MADE ? record->object : 0;
	call->frame = model->frame;
	call->error = said->error;
	call->depth = record->depth;
	call->kept = expand_has_backtrace(record) ? record->kept : 0;
	call->fresh = record->fresh;
	call->text = said->text;
	call->operation = record->form & SHORT_OPERATION;
	call->moment = more->is_split		     ? MOMENT_SPLIT
		       : record->form & SHORT_LEAVES ? MOMENT_LEAVE
						     : MOMENT_ENTER;
	call->part = more->part;
	call->flags = model->flags | (said->error ? CALL_FAILED : 0);
	if (!expand_has_backtrace(record))
		call->flags |= CALL_NO_BACKTRACE;
	call->resource = record->resource;
	call->numbers = said->numbers;
	call->cut = model->cut;
	call->cpu = model->cpu;
	call->context = model->context;
	memcpy(at, more->values, size);
	for (uint32_t i = 0; i < record->fresh; i++)
		memcpy(at + size + 8 * i, frames + 8 * i, 8);
}

#endif
