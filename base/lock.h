/* SPDX-License-Identifier: MIT */
#ifndef BASE_LOCK_H
#define BASE_LOCK_H

/*
 * A mutex that is unlocked at the end of the block:
 *
 *   cleanup_unlock pthread_mutex_t *lock = lock_mutex(&output->lock);
 */

#include <pthread.h>

static inline pthread_mutex_t *lock_mutex(pthread_mutex_t *mutex)
{
	pthread_mutex_lock(mutex);
	return mutex;
}

static inline void lock_release(pthread_mutex_t **mutex)
{
	pthread_mutex_unlock(*mutex);
}

#define cleanup_unlock __attribute__((cleanup(lock_release), unused))

#endif
