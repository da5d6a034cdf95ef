/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_SHARED_H
#define COLLECT_SHARED_H

/*
 * Functions for the control page (shared memory with the settings and the state of a run). The
 * launcher creates this page; without the launcher, the library creates it by raw system calls. The
 * collector maps, checks and seals the page, sets its state, and finds out whether any process is
 * still attached.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "arena.h"
#include "base/error.h"

struct shared {
	struct control_page *control;
	/* the inherited memfd; other processes know the number of this descriptor */
	int fd;
	/* a second descriptor of the memfd, open only while the collector holds the flock */
	int lock;
	dev_t device; /* device and inode of the memfd, to find its mappings in /proc/PID/maps */
	ino_t inode;
	char session[33]; /* the session's id as 32 hexadecimal digits */
};

/*
 * Maps the control page of `fd`, checks that this build made the page, and seals it. After that, no
 * process can create a new writable mapping of the page. If another build made the page, also
 * writes the error text to the page.
 */
int shared_open(struct shared *shared, int fd, struct error *err);

/* Sets the state on the control page and wakes the processes that wait for it. */
void shared_state(struct shared *shared, enum control_state state);

/* Writes an error text to the control page, over any earlier text. */
void shared_fail(struct shared *shared, const char *sentence);

/* Opens the control page again, read-only. Returns -1 with errno; ENOENT: there is no /proc. */
int shared_description(const struct shared *shared);

/*
 * Whether no process has the control page mapped any more, as its lock shows. Without /proc,
 * returns true without a check; the caller must then know from elsewhere that all processes have
 * ended. keep: keep the lock if the result is true, so that no process can attach from now on. In
 * all other cases, the function releases the lock.
 */
bool shared_deserted(struct shared *shared, bool keep);

/* Releases the lock that shared_deserted() kept. */
void shared_release(struct shared *shared);

/* Wakes the collector if it sleeps. sleeping: address of control_page.sleeping. */
void shared_wake(uint32_t *sleeping);

/* Wake and wait with futex(2) on a word in shared memory. A wait may end early. */
void shared_futex_wake(uint32_t *word);
void shared_futex_wait(uint32_t *word, uint32_t expected, uint64_t timeout_ns);

/* Returns the lower half of a 64-bit counter, the word that a futex compares. */
static inline uint32_t *shared_low_word(uint64_t *counter)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	return (uint32_t *)counter + 1;
#else
	return (uint32_t *)counter;
#endif
}

/*
 * Creates the control page of a run that the launcher starts, with default settings and a random
 * session. *control: the page, mapped for writing; *fd: its descriptor (close-on-exec). The caller
 * then changes the settings and starts a collector.
 */
int make_control(struct control_page **control, int *fd, struct error *err);

#endif
