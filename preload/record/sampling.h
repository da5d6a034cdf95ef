/* SPDX-License-Identifier: MIT */
#ifndef SAMPLING_H
#define SAMPLING_H

/*
 * Memory by samples (--sample=BYTES): which blocks are recorded, and whose free is.
 *
 * Samples are a Poisson process over the bytes that a thread asks for, one in so many (life.sample)
 * in the mean: a block is recorded if one falls into it, so with probability 1 - exp(-size /
 * sample), whatever came before. Each thread has the bytes to its next sample; a call that stays
 * below them goes to the real function with nothing done but a subtraction. Addresses of recorded
 * blocks stand in a table of the process's own memory, which fork copies and exec empties.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "life.h"
#include "preload/ground/plain.h"

/* The bytes to this thread's next sample; 0 also before its first. */
extern __thread uint64_t sampling_left;

/* What is to become of a call that gains a block, or moves one. */
enum sampling_pick {
	SAMPLING_OFF = 0,	  /* all memory is recorded */
	SAMPLING_PASSES = 1 << 0, /* nothing of it is */
	SAMPLING_GAINS = 1 << 1,  /* the new block is */
	SAMPLING_LOSES = 1 << 2,  /* the old one was */
};

/* The next sample falls into this block of so many bytes, or it is the thread's first. */
bool sampling_hit(uint64_t bytes);

/* A fork's child samples elsewhere than its parent and its siblings. */
void sampling_forked(void);

/* Another recording begins, for which no block has been recorded yet. Hooks are not armed. */
void sampling_renew(void);

/* The block is recorded: its free will be. false: there is no room for it. */
bool sampling_put(uintptr_t block);

/*
 * Whether the block is recorded; then it no longer is. Its owner asks when it gives the block back:
 * nobody else can have the address until then.
 */
bool sampling_take(uintptr_t block);

/* An empty block is as one of a byte: somebody holds it. */
static inline bool sampling_wants(size_t size)
{
	uint64_t bytes = size + !size;

	if (likely(bytes <= sampling_left)) {
		sampling_left -= bytes;
		return false;
	}
	return sampling_hit(bytes);
}

/* At entry of a call that gains a block (old: 0) or moves one. armed: of its hook. */
static inline enum sampling_pick sampling_pick(uint8_t armed, uintptr_t old, size_t size)
{
	unsigned int pick = 0;

	if (likely(!(armed & LIFE_SAMPLES)))
		return SAMPLING_OFF;
	if (old && sampling_take(old))
		pick |= SAMPLING_LOSES;
	if (sampling_wants(size))
		pick |= SAMPLING_GAINS;
	return pick ? (enum sampling_pick)pick : SAMPLING_PASSES;
}

/* A free of a block that is not recorded. */
static inline bool sampling_passes_free(uint8_t armed, const void *block)
{
	return unlikely(armed & LIFE_SAMPLES) && !sampling_take((uintptr_t)block);
}

struct call;
struct call_event;

/*
 * At return, when all is known of the event: makes it that of the sampled part, and keeps the
 * block. Returns false if nothing is to be recorded: there is no room, which is counted.
 */
bool sampling_settle(struct call *call, struct call_event *event, enum sampling_pick pick,
		     uintptr_t old);

/*
 * Around a real function that may come by malloc or realloc once more: what these are called for is
 * decided. Returns what sampling_end_pass() is to be given.
 */
static inline uint64_t sampling_begin_pass(void)
{
	uint64_t left = sampling_left;

	sampling_left = UINT64_MAX;
	return left;
}

static inline void sampling_end_pass(uint64_t left)
{
	sampling_left = left;
}

#endif
