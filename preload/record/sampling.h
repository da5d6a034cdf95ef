/* SPDX-License-Identifier: MIT */
#ifndef SAMPLING_H
#define SAMPLING_H

/*
 * Sampling of memory (--sample=BYTES): decides which blocks are recorded. The free of a recorded
 * block is recorded, too.
 *
 * Samples are a Poisson process over the bytes that a thread allocates: on average, one sample in
 * life.sample bytes. A block is recorded if it contains a sample: the probability is 1 - exp(-size
 * / sample), independent of other blocks. Each thread counts the bytes to its next sample. A call
 * that does not reach the sample only subtracts the size of its block from this count and calls the
 * real function. The addresses of recorded blocks are in a table in the process's private memory,
 * which fork copies and exec discards.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "life.h"
#include "preload/ground/plain.h"

/* The number of bytes to this thread's next sample; 0 before its first block. */
extern __thread uint64_t sampling_left;

/* Which part of a call is recorded. The last two values may be combined. */
enum sampling_pick {
	SAMPLING_OFF = 0,	  /* all memory is recorded */
	SAMPLING_PASSES = 1 << 0, /* nothing is recorded */
	SAMPLING_GAINS = 1 << 1,  /* the allocation of the new block */
	SAMPLING_LOSES = 1 << 2,  /* the free of the old block */
};

/* A new block reaches the next sample, or is the thread's first: returns whether it is recorded. */
bool sampling_hit(uint64_t bytes);

/* Called in a child of fork: makes its samples independent of those of its parent and siblings. */
void sampling_forked(void);

/* Called when a new recording begins: empties the table. All hooks must be disarmed. */
void sampling_renew(void);

/* Adds a recorded block, so that its free will be recorded. Returns false if the table is full. */
bool sampling_put(uintptr_t block);

/*
 * Whether the block is recorded; removes it from the table. Only the thread that frees the block
 * calls this, before it frees the block, so no other thread can have a block at that address.
 */
bool sampling_take(uintptr_t block);

/* Whether a new block contains a sample. A block of 0 bytes counts as 1: it can leak. */
static inline bool sampling_wants(size_t size)
{
	uint64_t bytes = size + !size;

	if (likely(bytes <= sampling_left)) {
		sampling_left -= bytes;
		return false;
	}
	return sampling_hit(bytes);
}

/*
 * Called at the entry of a call that allocates a block (old: 0) or moves a block: decides which
 * part of the call is recorded. armed: the hook's enum life_arm.
 */
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

/* Whether a call of free is not recorded, because its block is not recorded. */
static inline bool sampling_passes_free(uint8_t armed, const void *block)
{
	return unlikely(armed & LIFE_SAMPLES) && !sampling_take((uintptr_t)block);
}

struct call;
struct call_event;

/*
 * Called at return, when the event is complete: reduces the event to the part that is sampled, and
 * adds the new block to the table. Returns false if no part is recorded. Counts a dropped sample if
 * the table is full.
 */
bool sampling_settle(struct call *call, struct call_event *event, enum sampling_pick pick,
		     uintptr_t old);

/*
 * Called before a real function that may itself call malloc or realloc. These inner calls are not
 * sampled, because the outer call has decided whether the block is recorded. Pass the returned
 * value to sampling_end_pass() after the call.
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
