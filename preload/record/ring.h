/* SPDX-License-Identifier: MIT */
#ifndef RING_H
#define RING_H

/*
 * The producer's side of a ring: one thread writes, and the collector reads. A signal handler that
 * runs in this thread may interrupt the writer between any two instructions and write records, too.
 * The code takes no lock and allocates nothing; it makes a system call only to wait while the ring
 * is full or to wake a sleeping collector.
 */

#include <stdbool.h>
#include <stdint.h>

#include "arena.h"

struct thread;

/*
 * Reserves `length` bytes (a multiple of 8, at most ARENA_RECORD_MAX) and writes the record's
 * header with state RECORD_FILLING. Waits while the ring is full and the collector makes progress.
 * Returns NULL if there is no space; the event is then counted as dropped.
 */
struct record *ring_reserve(struct thread *thread, enum record_kind kind, uint32_t length);

/* Publishes a complete record: the collector may now read it. */
static inline void ring_publish(struct record *record)
{
	__atomic_store_n(&record->state, RECORD_DONE, __ATOMIC_RELEASE);
}

/*
 * Abandons every record that will never be completed, because a jump (longjmp) left its writer, or
 * the thread ended. The collector would wait for such a record forever. Counts the records as
 * dropped and returns their number. No function on the stack may be writing to this ring.
 */
uint32_t ring_settle(struct thread *thread);

/*
 * Makes the library stop using system calls, because a seccomp filter that the program installs may
 * kill the program for a system call. From then on, a thread waits for space in a full ring in a
 * busy loop.
 */
void ring_be_quiet(void);
bool ring_is_quiet(void);

/* Wakes the collector if it sleeps, because the arena has new data. */
void ring_wake(void);

/* Counts a dropped event. Safe in signal handlers. */
void ring_drop(struct thread *thread, enum loss reason);

#endif
