/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_SOUND_H
#define COLLECT_SOUND_H

/*
 * Whether a record can be believed. The host may write into a ring whatever it likes, so a record
 * is copied once and then asked here; what is sound needs no look at its own limits any more.
 */

#include <stdbool.h>
#include <stdint.h>

#include "arena.h"
#include "hooks.h"

/* Bytes of the arguments behind a call. */
static inline uint32_t call_values_size(const struct record_call *call)
{
	return values_size(call->numbers, call->text);
}

/* The fresh frames of a call. */
static inline const uint64_t *call_fresh(const struct record_call *call)
{
	return (const uint64_t *)((const char *)(call + 1) + call_values_size(call));
}

/*
 * Calls, of which there are most. Adding up cannot overflow: all that is added has 16 bits or less.
 */
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

/* Any other kind. */
bool other_is_sound(struct record *record);

/*
 * Whether all that the copy of a record says of itself lies within its length and its tables:
 * sizes, texts, numbers of frames, hook, operation, class. Texts are ended with NUL where they are
 * not. record->length bytes must be there.
 */
static inline bool record_is_sound(struct record *record)
{
	if (__builtin_expect(record->kind == RECORD_CALL, 1))
		return call_is_sound((struct record_call *)record);
	return other_is_sound(record);
}

#endif
