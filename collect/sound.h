/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_SOUND_H
#define COLLECT_SOUND_H

/*
 * Checks records. The traced program can write anything into a ring, so each record is copied once,
 * and the functions here check the copy. Code that uses a sound record does not need to check the
 * record's sizes and numbers again.
 */

#include <stdbool.h>
#include <stdint.h>

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

/*
 * Whether a call, the most frequent kind of record, is sound. The sums cannot overflow, since all
 * terms have at most 16 bits.
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

#endif
