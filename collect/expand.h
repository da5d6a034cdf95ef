/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_EXPAND_H
#define COLLECT_EXPAND_H

/*
 * Short records as the whole ones that they stand for. Both are copies of our own: what the short
 * one says was read once, and is checked here.
 */

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "arena.h"
#include "hooks.h"

/* Bytes of the whole record with its frames. */
static inline uint32_t expand_size(const struct record_short *record)
{
	return (uint32_t)sizeof(struct record_call) + record->fresh * 8u;
}

static inline bool expand_has_backtrace(const struct record_short *record)
{
	return record->kept != SHORT_NO_BACKTRACE;
}

/* Whether it lies within its length and its tables, and there is what it leaves out. */
static inline bool expand_is_sound(const struct record_short *record,
				   const struct record_model *model)
{
	uint32_t kept = expand_has_backtrace(record) ? record->kept : 0;

	return record->record.length == short_size(record->form) + record->fresh * 8u &&
	       model->is_known && record->record.more < HOOK_COUNT &&
	       (record->form & SHORT_OPERATION) < OPERATION_COUNT &&
	       record->resource <= RESOURCES_MAX && kept + record->fresh <= ARENA_MEMORY_MAX;
}

/* What a record of a call that is not ASIDE leaves for short ones behind it. */
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
 * A sound one. from: what stands behind it in the ring. The model becomes what it leaves behind;
 * the frames are behind the whole one then.
 */
static inline void expand(const struct record_short *record, const char *from,
			  struct record_model *model, struct record_call *call)
{
	/* every field by its name: to clear all of it first would cost more than the rest */
	bool is_related = record->form & SHORT_RELATED;

	model->call += record->call;
	model->frame += (uint64_t)(int64_t)record->frame;
	call->record.length = expand_size(record);
	call->record.state = RECORD_DONE;
	call->record.kind = RECORD_CALL;
	call->record.more = record->record.more;
	call->record.time = call->enter = call->leave = record->record.time;
	call->call = model->call;
	call->object = record->object;
	call->related = 0;
	call->size = record->size;
	call->result = record->form & SHORT_MADE ? record->object : 0;
	call->frame = model->frame;
	call->error = 0;
	call->depth = record->depth;
	call->kept = expand_has_backtrace(record) ? record->kept : 0;
	call->fresh = record->fresh;
	call->text = 0;
	call->operation = record->form & SHORT_OPERATION;
	call->moment = record->form & SHORT_LEAVES ? MOMENT_LEAVE : MOMENT_ENTER;
	call->part = 0;
	call->flags = model->flags;
	if (!expand_has_backtrace(record))
		call->flags |= CALL_NO_BACKTRACE;
	call->resource = record->resource;
	call->numbers = 0;
	call->cut = model->cut;
	call->cpu = model->cpu;
	call->context = model->context;
	if (is_related)
		memcpy(&call->related, from, sizeof(call->related));
	for (uint32_t i = 0; i < record->fresh; i++)
		memcpy((uint64_t *)(call + 1) + i, from + 8 * (i + is_related), 8);
}

#endif
