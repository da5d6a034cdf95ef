/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_BRIEF_H
#define COLLECT_BRIEF_H

/*
 * A call that a short record stands for (arena.h), in its place in time: what merge hands to the
 * stream where nothing has to wait, encode to htr. It says what a whole record would, and most
 * calls go this way, without becoming one.
 */

#include <stdbool.h>
#include <stdint.h>

#include "arena.h"

struct brief {
	const struct record_short *record; /* a copy of our own, checked */
	const struct record_model *model;  /* what it leaves out; call and frame are its own */
	uint64_t pthread;
	int32_t thread;
	uint64_t related;
	uint8_t part;
	const struct short_more *more; /* NULL: all of it is 0 */
	const uint64_t *values;	       /* then its arguments, a copy of our own */
	const uint64_t *frames;	       /* innermost first */
	uint32_t frame_count;
	/*
	 * The outer ones of these that are as in the one before, if that was the turn before of the
	 * same memory of backtraces. NULL: nothing is known.
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

/* errno, or another word for why it failed; 0: it did not */
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
