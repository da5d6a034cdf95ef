/* SPDX-License-Identifier: MIT */
#ifndef MEMORY_H
#define MEMORY_H

/*
 * The memory of this process image: chunks that the collector sees, with slots and rings, and for
 * each slot a private block that nobody else does. The first is handed to the collector by a
 * message that nobody waits for, the others are made behind it as threads need them. A fork's child
 * leaves all of it to its parent and makes its own; where it may not, it takes spares that its
 * family has ready.
 */

#include <stdbool.h>
#include <stdint.h>

#include "arena.h"

struct thread;

/* Whose a block is. Private to this process: nothing of it is in shared memory. */
struct owner {
	uint32_t state; /* enum owner_state */
	int32_t thread; /* kernel's thread id */
};

enum owner_state {
	OWNER_NONE,
	OWNER_TAKING, /* being prepared by its new thread */
	OWNER_TAKEN,
	OWNER_LEFT, /* its thread said that it is about to end; taken over once that is dead */
};

/* How a new process image is to be called. parent: fork's; NULL: it began by exec. */
struct memory_image {
	const char *name;
	bool is_forked;
	bool is_attached; /* it had run before */
};

/* The first chunk. False where the process can be given no memory: it stays untraced. */
bool memory_begin(const struct memory_image *image);

/*
 * A block for the thread, with slot, ring and owner in it; the rest is as it was left. *fresh: its
 * ring is as new. NULL where there is none: the event is to be counted as lost.
 */
struct thread *memory_take(int32_t tid, bool *fresh);

/* The block that the thread had when the library was detached, with a ring as new; or NULL. */
struct thread *memory_take_again(struct thread *thread, int32_t tid);

/* The calling thread is about to end. */
void memory_leave(struct thread *thread);

/*
 * Whether a thread's ring may have as many bytes as to instead of from, which then count: no more
 * than its share of the budget, and what is left of that.
 */
bool memory_grant(uint64_t from, uint64_t to);

/* It has from after all. */
void memory_refund(uint64_t from, uint64_t to);

/*
 * Before the process takes system calls from itself: makes what threads and children are likely
 * to need then.
 */
void memory_prepare(void);

/*
 * In a fork's child, before it runs anything: its parent's memory is no longer there. thread: that
 * forked; what it was in the middle of goes on without effect.
 */
void memory_forsake(const struct thread *thread);

/*
 * The library is being detached. memory_hold(): no thread makes memory until memory_detach() has
 * put private pages in the place of all that is shared: calls that are under way write there.
 * False: a thread makes some now. Memory that no call is in any more is used again by
 * memory_begin().
 */
bool memory_hold(void);
void memory_detach(void);

/* Head of the first chunk, NULL before there is one: what belongs to the whole process. */
struct arena *memory_head(void);

/* The name under which this image, or the one that it was forked from, began. */
const char *memory_name(void);

#endif
