/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_FAST_PATH_H
#define COLLECT_FAST_PATH_H

/*
 * A call on the fast path: a short record (arena.h), at its place in the order of time. If no
 * record has to wait, the merge passes the call directly to the stream, and the encoder passes it
 * to htr.c. Most calls are written this way and never become a whole record, an event or a packet.
 */

#include <stdbool.h>
#include <stdint.h>

#include "arena.h"

struct fast_call {
	/* a checked copy, which the traced program cannot change */
	const struct record_short *record;
	/* the values that a short record omits, with the `call` and `frame` of this call */
	const struct record_model *model;
	uint64_t pthread;
	int32_t thread;
	uint64_t related;
	uint8_t part;
	const struct short_more *more; /* the optional part of the record; NULL: the part is
					  missing, and all its values are 0 */
	const uint64_t *values;	       /* a copy of the arguments */
	const uint64_t *frames;	       /* the backtrace, innermost frame first */
	uint32_t frame_count;
	/*
	 * kept: number of outer frames that are the same as in the previous call. memory:
	 * identifies the remembered backtrace; NULL: `kept` is unknown. turn: number of updates of
	 * this backtrace. `kept` is valid only if the previous call had the same `memory`, and its
	 * `turn` was lower by 1.
	 */
	uint32_t kept;
	const void *memory;
	uint64_t turn;
};

static inline uint8_t fast_operation(const struct fast_call *fast)
{
	return fast->record->form & SHORT_OPERATION;
}

static inline bool fast_has_arguments(const struct fast_call *fast)
{
	return fast->more && (fast->more->numbers | fast->more->text);
}

/* errno or another reason for the failure; 0: the call did not fail */
static inline uint8_t fast_error(const struct fast_call *fast)
{
	return fast->more ? fast->more->error : 0;
}

/* flags of enum call_flag */
static inline uint8_t fast_flags(const struct fast_call *fast)
{
	return fast->model->flags | (fast_error(fast) ? CALL_FAILED : 0);
}

static inline uint8_t fast_moment(const struct fast_call *fast)
{
	return fast->record->form & SHORT_LEAVES ? MOMENT_LEAVE : MOMENT_ENTER;
}

#endif
