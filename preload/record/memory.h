/* SPDX-License-Identifier: MIT */
#ifndef MEMORY_H
#define MEMORY_H

/*
 * The memory of this process image. Chunks of shared memory, which the collector maps, too, have a
 * slot and a ring for each thread; each slot has a block of private memory. The library sends the
 * first chunk to the collector at the start, and others when threads need them, without waiting for
 * an answer. A child of fork stops using its parent's memory and maps new memory. If the child may
 * not map memory, it uses spares (small slots that an ancestor created in advance).
 */

#include <stdbool.h>
#include <stdint.h>

#include "arena.h"

struct thread;

/* The thread that owns a block. This struct is in private, not in shared memory. */
struct owner {
	uint32_t state; /* enum owner_state */
	int32_t thread; /* the kernel's thread id */
};

enum owner_state {
	OWNER_NONE,
	OWNER_TAKING, /* the new thread is preparing the block */
	OWNER_TAKEN,
	/* the thread is about to end; another thread may take the block once the thread is dead */
	OWNER_LEFT,
};

/* Facts about a process image that begins to record. */
struct memory_image {
	const char *name;
	bool is_forked;
	bool is_attached; /* the process was running before the library was attached */
};

/* Creates the first chunk. If that fails, returns false, and the process is not traced. */
bool memory_begin(const struct memory_image *image);

/*
 * Takes a block for the thread `tid` and sets its slot, ring and owner; the other members are as
 * the block's last thread left them. *fresh: set to true if no thread has used the block's ring.
 * Returns NULL if all blocks are in use: the caller counts the event as dropped.
 */
struct thread *memory_take(int32_t tid, bool *fresh);

/* At a later attach: takes the thread's old block again, with an unused ring, or returns NULL. */
struct thread *memory_take_again(struct thread *thread, int32_t tid);

/* Whether the collector has declared that it does not read this thread's ring. */
bool memory_is_refused(const struct thread *thread);

/* Announces that the calling thread is about to end. */
void memory_leave(struct thread *thread);

/*
 * Whether a thread's ring may grow from `from` to `to` bytes. The new size must be within the
 * thread's share of the budget, and the growth within the rest of the budget. If so, charges the
 * growth to the budget (control_page.rings_budget).
 */
bool memory_grant(uint64_t from, uint64_t to);

/* Undoes memory_grant(), because the ring did not grow. */
void memory_refund(uint64_t from, uint64_t to);

/* Called before the program forbids system calls: maps memory for more threads and children. */
void memory_prepare(void);

/*
 * Called in a child of fork before anything else: stops using the parent's memory. thread: the
 * thread that forked, if it was writing a record (the rest goes to private memory); else NULL.
 */
void memory_forsake(const struct thread *thread);

/*
 * For a detach: memory_hold() prevents other threads from mapping memory until memory_detach(),
 * which replaces all shared memory by private pages. Unfinished calls then write to these pages.
 * memory_hold() returns false if another thread keeps mapping memory. A later memory_begin() reuses
 * that memory.
 */
bool memory_hold(void);
void memory_detach(void);

/* Returns the first chunk's head, which describes the whole process; NULL: no chunk exists yet. */
struct arena *memory_head(void);

/* The name of this process image; in a child of fork, that of its parent. */
const char *memory_name(void);

#endif
