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

/*
 * Whether all that the copy of a record says of itself lies within its length and its tables: sizes,
 * texts, numbers of frames, hook, operation, class. Texts are ended with NUL where they are not.
 * record->length bytes must be there.
 */
bool record_is_sound(struct record *record);

/* Bytes of the arguments behind a call. */
static inline uint32_t call_values_size(const struct record_call *call)
{
	return call->numbers * 8u + ((call->text + 7u) & ~7u);
}

/* The fresh frames of a call. */
static inline const uint64_t *call_fresh(const struct record_call *call)
{
	return (const uint64_t *)((const char *)(call + 1) + call_values_size(call));
}

#endif
