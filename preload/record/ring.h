/* SPDX-License-Identifier: MIT */
#ifndef RING_H
#define RING_H

/*
 * The producer's side of a ring: one thread writes, the collector reads, and a signal handler of
 * the same thread may come between any two instructions of it. No lock, no allocation; a system
 * call only to wait for a full ring or to wake a sleeping collector.
 */

#include <stdbool.h>
#include <stdint.h>

#include "arena.h"

struct thread;

/*
 * Reserves length bytes (a multiple of 8, at most ARENA_RECORD_MAX) and writes the record's
 * header, state RECORD_FILLING. Waits while the ring is full and the collector makes progress.
 * Returns NULL where the event must be counted as lost, which it has then done.
 */
struct record *ring_reserve(struct thread *thread, enum record_kind kind, uint32_t length);

/* The record is whole; the collector may have it. */
static inline void ring_publish(struct record *record)
{
	__atomic_store_n(&record->state, RECORD_DONE, __ATOMIC_RELEASE);
}

/*
 * Gives up every record that will never be whole, because a jump or the end of its thread came in
 * the middle of it: the collector would wait for it for ever. Counts them as lost and returns how
 * many they were. Only where no writer of this ring is below on the stack.
 */
uint32_t ring_settle(struct thread *thread);

/*
 * From now on without system calls of our own: a filter that the program put on itself may kill it
 * for one. A full ring is then waited for in a loop.
 */
void ring_be_quiet(void);
bool ring_is_quiet(void);

/* Wakes the collector if it sleeps: something new may be seen in the arena. */
void ring_wake(void);

/* Counts an event that is not recorded. Safe in signal handlers. */
void ring_lose(struct thread *thread, enum loss reason);

#endif
