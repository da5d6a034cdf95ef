/* SPDX-License-Identifier: MIT */
#ifndef CONTENDED_H
#define CONTENDED_H

/*
 * Records only locks for which a thread waits (--locks=contended). A lock call that does not wait
 * increments a counter of its thread. A lock call that waits is recorded, and so is the release of
 * its lock. The thread's private block lists the recorded locks that the thread holds; once the
 * thread holds more of them than the list has room for, all its releases are recorded.
 */

#include <pthread.h>

#include "call.h"
#include "preload/ground/plain.h"

/* Bits of pthread_mutex_t's kind: robust, and two priority protocols. */
#define MUTEX_IS_SPECIAL 0x70

static inline void contended_count(void)
{
	struct thread *thread = thread_self;

	if (likely(thread && !call_is_forked()))
		thread->slot->uncontended++;
}

/*
 * Whether this unlock releases an inner lock of a recursive mutex. Inner locks never wait, so they
 * are not recorded. Mutexes of the special kinds are never tried (try_mutex()), so all their locks
 * are recorded. Inner read locks cannot be recognised like this.
 */
static inline bool contended_is_inner(enum hook_number hook, uint64_t lock)
{
	const pthread_mutex_t *mutex = (const pthread_mutex_t *)(uintptr_t)lock;

	return (hook == HOOK_pthread_mutex_unlock || hook == HOOK___pthread_mutex_unlock ||
		hook == HOOK_mtx_unlock) &&
	       (mutex->__data.__kind & (3 | MUTEX_IS_SPECIAL)) == PTHREAD_MUTEX_RECURSIVE_NP &&
	       mutex->__data.__count > 1;
}

/* Removes the lock from the list. Returns whether its release must be recorded. */
static inline bool contended_forget(enum hook_number hook, uint64_t lock)
{
	struct thread *thread = thread_self;

	if (likely(!thread || !thread->taken_count))
		return false;
	if (contended_is_inner(hook, lock))
		return false;
	if (thread->taken_count > THREAD_TAKEN_MAX)
		return true;
	for (uint32_t i = 0; i < thread->taken_count; i++)
		if (thread->taken[i] == lock) {
			thread->taken[i] = thread->taken[--thread->taken_count];
			return true;
		}
	return false;
}

/* Adds a lock to the list. A recorded call has acquired the lock. */
static inline void contended_note(struct thread *thread, uint64_t lock)
{
	if (thread->taken_count < THREAD_TAKEN_MAX)
		thread->taken[thread->taken_count] = lock;
	if (thread->taken_count <= THREAD_TAKEN_MAX)
		thread->taken_count++;
}

static inline bool contended_is_mutex(enum hook_number hook)
{
	return hook == HOOK_pthread_mutex_lock || hook == HOOK___pthread_mutex_lock ||
	       hook == HOOK_mtx_lock || hook == HOOK_pthread_mutex_timedlock ||
	       hook == HOOK_pthread_mutex_clocklock || hook == HOOK_mtx_timedlock;
}

/*
 * The member `related` in the record of a call that is about to wait: the kernel's id of the thread
 * that owns the mutex (0: unknown), and whether a trylock found the lock busy.
 */
static inline uint64_t contended_by(enum hook_number hook, uint64_t lock, bool is_busy)
{
	const pthread_mutex_t *mutex = (const pthread_mutex_t *)(uintptr_t)lock;

	if (!contended_is_mutex(hook))
		return is_busy ? RELATED_BUSY : 0;
	/* mutexes of these kinds are never tried (try_mutex()) */
	if (mutex->__data.__kind & MUTEX_IS_SPECIAL)
		is_busy = false;
	return (uint32_t)__atomic_load_n(&mutex->__data.__owner, __ATOMIC_RELAXED) |
	       (is_busy ? RELATED_BUSY : 0);
}

#endif
