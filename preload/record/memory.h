/* SPDX-License-Identifier: MIT */
#ifndef MEMORY_H
#define MEMORY_H

/*
 * The memory of this process image: chunks with slots and rings, which the collector maps, too; and
 * for each slot a block of private memory. A message hands the first chunk to the collector,
 * without waiting for an answer; the others follow as threads need them. A child of fork leaves all
 * of it to its parent and makes its own. Where it may not, it takes spares that an ancestor made.
 */

#include <stdbool.h>
#include <stdint.h>

#include "arena.h"

struct thread;

/* The owner of a block. Private to this process, not in shared memory. */
struct owner {
	uint32_t state; /* enum owner_state */
	int32_t thread; /* kernel's thread id */
};

enum owner_state {
	OWNER_NONE,
	OWNER_TAKING, /* being prepared by its new thread */
	OWNER_TAKEN,
	OWNER_LEFT, /* its thread is about to end; the block is reused once the thread is dead */
};

/* Facts about a new process image. */
struct memory_image {
	const char *name;
	bool is_forked;
	bool is_attached; /* it ran before the library came */
};

/* Makes the first chunk. Returns false if the process can have no memory: it is not traced. */
bool memory_begin(const struct memory_image *image);

/*
 * Takes a block for the thread and sets its slot, ring and owner; the rest is as the last thread
 * left it. *fresh: the ring is empty and unused. Returns NULL if all are in use: the event is to be
 * counted as dropped.
 */
struct thread *memory_take(int32_t tid, bool *fresh);

/*
 * Takes the block that the thread had when the library was detached, with an unused ring. Returns
 * NULL if that is not possible.
 */
struct thread *memory_take_again(struct thread *thread, int32_t tid);

/* Whether the collector has declared that it does not read the thread's ring. */
bool memory_is_refused(const struct thread *thread);

/* The calling thread is about to end. */
void memory_leave(struct thread *thread);

/*
 * Whether a thread's ring may grow from `from` to `to` bytes, within the thread's share of the
 * budget and the rest of the budget. If so the bytes are charged.
 */
bool memory_grant(uint64_t from, uint64_t to);

/* The ring did not grow after all. */
void memory_refund(uint64_t from, uint64_t to);

/*
 * Before the process forbids itself system calls: makes what its threads and children will probably
 * need.
 */
void memory_prepare(void);

/*
 * Called in a child of fork before anything else: leaves the parent's memory. thread: the one that
 * forked; what it was in the middle of continues without effect.
 */
void memory_forsake(const struct thread *thread);

/*
 * Detach. memory_hold() makes sure that no thread makes memory until memory_detach() has replaced
 * all shared memory by private pages, to which open calls then write; it returns false if a thread
 * makes memory at this moment. memory_begin() reuses memory that no call uses any more.
 */
bool memory_hold(void);
void memory_detach(void);

/* Head of the first chunk, which counts for the whole process; NULL before there is one. */
struct arena *memory_head(void);

/* The name with which this image, or the one that it was forked from, began. */
const char *memory_name(void);

#endif
