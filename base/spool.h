/* SPDX-License-Identifier: MIT */
#ifndef BASE_SPOOL_H
#define BASE_SPOOL_H

/*
 * A temporary file for what does not fit memory: written at its end, read anywhere. It has no name
 * and is gone when the program ends, however it ends; it is made at the first write.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct spool {
	int directory; /* where it is made; stays the caller's */
	int fd;	       /* -1: not made yet */
	uint64_t size;
};

/*
 * Opens the directory where temporary files are made: $TMPDIR, or /tmp. Returns 0 and *directory,
 * or a negative errno.
 */
int spool_directory(int *directory, struct error *err);

/* directory: a descriptor that outlives the spool. Makes nothing yet. */
void spool_init(struct spool *spool, int directory);

/* Writes size bytes behind the others; they begin at *offset. Returns 0 or a negative errno. */
int spool_append(struct spool *spool, const void *bytes, size_t size, uint64_t *offset,
		 struct error *err);

/* Reads size bytes, all of which were written. Returns 0 or a negative errno. */
int spool_read(const struct spool *spool, uint64_t offset, void *bytes, size_t size,
	       struct error *err);

/* Gives the disk space back; the spool is empty then. */
void spool_clear(struct spool *spool);

void spool_close(struct spool *spool);

#endif
