/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_BRIEF_H
#define COLLECT_BRIEF_H

/*
 * A call of the fast path: a short record (arena.h) in its order of time. The merge hands it to the
 * stream where nothing has to wait, and the encoder to htr.c. It has all facts of a whole record;
 * most calls are written this way and never become a record, an event or a packet.
 */

#include <stdbool.h>
#include <stdint.h>

#include "arena.h"

struct brief {
	const struct record_short *record; /* the values that the record leaves out, but for call
					      and frame, which it has */
	const struct record_model *model;  /* what it leaves out; call and frame are its own */
	uint64_t pthread;
	int32_t thread;
	uint64_t related;
	uint8_t part;
	const struct short_more *more; /* NULL: all its values are 0 */
	const uint64_t *values;	       /* the arguments, a copy of our own */
	const uint64_t *frames;	       /* innermost first */
	uint32_t frame_count;
	/*
	 * How many outer frames are the same as in the previous call, if that was the previous turn
	 * of the same memory of backtraces. memory NULL: not known.
	 */
	uint32_t kept;
	const void *memory;
	uint64_t turn;
};

static inline uint8_t brief_operation(const struct brief *brief)
{
	return brief->record->form & SHORT_OPERATION;
}

static inline bool brief_has_arguments(const struct brief *brief)
{
	return brief->more && (brief->more->numbers | brief->more->text);
}

/* errno or another reason of the failure; 0: it did not fail */
static inline uint8_t brief_error(const struct brief *brief)
{
	return brief->more ? brief->more->error : 0;
}

/* enum call_flag */
static inline uint8_t brief_flags(const struct brief *brief)
{
	return brief->model->flags | (brief_error(brief) ? CALL_FAILED : 0);
}

static inline uint8_t brief_moment(const struct brief *brief)
{
	return brief->record->form & SHORT_LEAVES ? MOMENT_LEAVE : MOMENT_ENTER;
}

#endif
