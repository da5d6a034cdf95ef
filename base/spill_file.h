/* SPDX-License-Identifier: MIT */
#ifndef BASE_SPILL_FILE_H
#define BASE_SPILL_FILE_H

/*
 * A spill file: a temporary file for data that does not fit into memory. Writes append, reads may
 * be anywhere. The file has no name and vanishes with the process; the first write creates it.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct spill_file {
	int directory; /* where it is created; the caller closes it */
	int fd;	       /* -1: not created yet */
	uint64_t size;
};

/*
 * Opens the directory for temporary files: $TMPDIR, or /tmp. Returns 0 and sets *directory, or a
 * negative errno.
 */
int spill_directory(int *directory, struct error *err);

/* directory: a descriptor that stays open as long as the spill file. Creates nothing yet. */
void spill_init(struct spill_file *spill, int directory);

/* Appends size bytes and sets *offset to their start. Returns 0 or a negative errno. */
int spill_append(struct spill_file *spill, const void *bytes, size_t size, uint64_t *offset,
		 struct error *err);

/* Reads size bytes, all of which were written before. Returns 0 or a negative errno. */
int spill_read(const struct spill_file *spill, uint64_t offset, void *bytes, size_t size,
	       struct error *err);

/* Empties the file and releases its disk space. */
void spill_clear(struct spill_file *spill);

void spill_close(struct spill_file *spill);

#endif
