/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_SHARED_H
#define COLLECT_SHARED_H

/*
 * The collector's access to the control page: maps, verifies and seals it, sets its state, and
 * finds out by a lock on the memfd whether a process is still attached.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "arena.h"
#include "base/error.h"

struct shared {
	struct control_page *control;
	int fd;	      /* the inherited memfd; other processes know its number */
	int lock;     /* the same memfd opened again, for flock, while the lock is held */
	dev_t device; /* of the memfd, to find its mappings in /proc/PID/maps */
	ino_t inode;
	char session[33]; /* the id as 32 hexadecimal digits */
};

/*
 * Maps the control page of fd, checks that it is one and was made by this build, and seals it:
 * after that no process can map it for writing. A control page of another build gets the error
 * text, too.
 */
int shared_open(struct shared *shared, int fd, struct error *err);

/* Sets the state on the control page and wakes the processes that wait for it. */
void shared_state(struct shared *shared, enum control_state state);

/* Puts an error text on the control page, in place of an earlier one. */
void shared_fail(struct shared *shared, const char *sentence);

/* Opens the control page again, read-only. Returns -1 and sets errno; ENOENT without /proc. */
int shared_description(const struct shared *shared);

/*
 * Whether no process has the control page mapped any more. Without /proc this cannot be found out,
 * and the caller must rely on the processes that are known to have ended. keep: keep the lock if
 * so, so that no process can attach from now on; otherwise the lock is released again.
 */
bool shared_deserted(struct shared *shared, bool keep);

/* Releases the lock that shared_deserted() kept. */
void shared_release(struct shared *shared);

/* Wakes the collector if it sleeps: control page.sleeping. */
void shared_wake(uint32_t *sleeping);

/* The futex system call on a word that other processes map. Waiting may end early. */
void shared_futex_wake(uint32_t *word);
void shared_futex_wait(uint32_t *word, uint32_t expected, uint64_t timeout_ns);

/* The word of a 64-bit counter that a futex compares: its lower half. */
static inline uint32_t *shared_low_word(uint64_t *counter)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	return (uint32_t *)counter + 1;
#else
	return (uint32_t *)counter;
#endif
}

#endif
