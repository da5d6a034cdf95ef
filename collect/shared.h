/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_SHARED_H
#define COLLECT_SHARED_H

/*
 * The collector's hold on the board: mapping, verifying and sealing it, saying what state it is in,
 * and knowing by a lock on the memfd whether anybody is still attached.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "arena.h"
#include "base/error.h"

struct shared {
	struct board *board;
	int fd;	      /* the memfd as it was inherited; its number is known to others */
	int lock;     /* the same memfd opened anew, for flock, while it is held */
	dev_t device; /* of the memfd, to find it in /proc/PID/maps */
	ino_t inode;
	char session[33]; /* the id as 32 hexadecimal digits */
};

/*
 * Maps the board behind fd, checks that it is one and that it was made by this build, and seals it:
 * nobody after us can write to it. If it is a board of another build, that is said there, too.
 */
int shared_open(struct shared *shared, int fd, struct error *err);

/* Sets the board's state and wakes whoever waits for it. */
void shared_state(struct shared *shared, enum board_state state);

/* Puts a sentence into the board's failure. A failure said before is replaced. */
void shared_fail(struct shared *shared, const char *sentence);

/* The board by a description of its own, only to be read; -1 and errno, ENOENT without a /proc. */
int shared_description(const struct shared *shared);

/*
 * Whether no process has the board mapped any more; without a /proc nobody can tell, and it is said
 * of those that are known to have ended. keep: hold the lock then, so that nobody
 * can attach from now on; otherwise it is released again at once.
 */
bool shared_deserted(struct shared *shared, bool keep);

/* Gives up the lock that shared_deserted() kept. */
void shared_release(struct shared *shared);

/* Wakes the collector where it sleeps: board.sleeping. */
void shared_wake(uint32_t *sleeping);

/* The futex system call on a word that other processes map. Waiting may end early. */
void shared_futex_wake(uint32_t *word);
void shared_futex_wait(uint32_t *word, uint32_t expected, uint64_t timeout_ns);

/* The word of a 64-bit counter that a futex looks at: its lower half. */
static inline uint32_t *shared_low_word(uint64_t *counter)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	return (uint32_t *)counter + 1;
#else
	return (uint32_t *)counter;
#endif
}

#endif
