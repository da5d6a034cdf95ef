/* SPDX-License-Identifier: MIT */
#ifndef MEMORY_H
#define MEMORY_H

/*
 * The memory of this process image: chunks with slots and rings, which the collector maps, too, and
 * a block of private memory for each slot. A message hands the first chunk to the collector,
 * without waiting for an answer; the other chunks follow as threads need them. A child of fork
 * stops using this memory, which is its parent's, and maps new memory. If it may not map memory, it
 * uses spares that an ancestor created.
 */

#include <stdbool.h>
#include <stdint.h>

#include "arena.h"

struct thread;

/* The owner of a block. Private to this process, not in shared memory. */
struct owner {
	uint32_t state; /* enum owner_state */
	int32_t thread; /* the kernel's thread id */
};

enum owner_state {
	OWNER_NONE,
	OWNER_TAKING, /* the new thread is preparing the block */
	OWNER_TAKEN,
	OWNER_LEFT, /* the thread is about to end; another may take the block once the thread is
		       dead */
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
 * Takes a block for the thread and sets its slot, ring and owner; the other members are as the
 * block's last thread left them. *fresh: set to true if no thread has used the block's ring.
 * Returns NULL if all blocks are in use: the caller counts the event as dropped.
 */
struct thread *memory_take(int32_t tid, bool *fresh);

/* Takes the block that the thread had before a detach, with an unused ring, or returns NULL. */
struct thread *memory_take_again(struct thread *thread, int32_t tid);

/* Whether the collector has declared that it does not read this thread's ring. */
bool memory_is_refused(const struct thread *thread);

/* Announces that the calling thread is about to end. */
void memory_leave(struct thread *thread);

/*
 * Whether a thread's ring may grow from `from` to `to` bytes: the new size must be within the
 * thread's share of the budget, and the growth within the rest of the budget. If so, charges the
 * bytes to the budget.
 */
bool memory_grant(uint64_t from, uint64_t to);

/* Takes back the charge of memory_grant(), because the ring did not grow. */
void memory_refund(uint64_t from, uint64_t to);

/* Before the program forbids system calls: maps memory for more threads and children. */
void memory_prepare(void);

/*
 * Called in a child of fork before anything else: stops using the parent's memory. thread: the
 * thread that forked, if it was writing a record, else NULL; the rest of an interrupted record goes
 * to private memory.
 */
void memory_forsake(const struct thread *thread);

/*
 * For a detach: memory_hold() prevents other threads from mapping memory until memory_detach() has
 * replaced all shared memory by private pages, to which open calls then write. memory_hold()
 * returns false if another thread keeps mapping memory. A later memory_begin() reuses that memory.
 */
bool memory_hold(void);
void memory_detach(void);

/* The first chunk's head, whose members apply to the process; NULL: no chunk exists yet. */
struct arena *memory_head(void);

/* The name of this process image; in a child of fork, that of its parent. */
const char *memory_name(void);

#endif
