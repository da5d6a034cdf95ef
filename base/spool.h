/* SPDX-License-Identifier: MIT */
#ifndef BASE_SPOOL_H
#define BASE_SPOOL_H

/*
 * A spill file: a temporary file for data that does not fit into memory. Writes append, reads may
 * be anywhere. The file has no name and vanishes with the process; the first write creates it.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct spool {
	int directory; /* where it is created; the caller closes it */
	int fd;	       /* -1: not created yet */
	uint64_t size;
};

/*
 * Opens the directory for temporary files: $TMPDIR, or /tmp. Returns 0 and sets *directory, or a
 * negative errno.
 */
int spool_directory(int *directory, struct error *err);

/* directory: a descriptor that stays open as long as the spill file. Creates nothing yet. */
void spool_init(struct spool *spool, int directory);

/* Appends size bytes and sets *offset to their start. Returns 0 or a negative errno. */
int spool_append(struct spool *spool, const void *bytes, size_t size, uint64_t *offset,
		 struct error *err);

/* Reads size bytes, all of which were written before. Returns 0 or a negative errno. */
int spool_read(const struct spool *spool, uint64_t offset, void *bytes, size_t size,
	       struct error *err);

/* Empties the file and releases its disk space. */
void spool_clear(struct spool *spool);

void spool_close(struct spool *spool);

#endif
