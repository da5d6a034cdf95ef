/* SPDX-License-Identifier: MIT */
#ifndef BASE_SPILL_FILE_H
#define BASE_SPILL_FILE_H

/*
 * A spill file: a temporary file for data that does not fit into memory. Data is appended at the
 * end, and read at any offset. The first write creates the file, which has no name and vanishes
 * with the process. After the first failed write, later writes do nothing, and spill_error()
 * returns the error of the failed write. So callers check once.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define SPILL_TMPDIR (-1) /* means $TMPDIR, or /tmp if it is unset */

struct spill_file {
	int directory; /* where the file is created: a descriptor of the caller, or SPILL_TMPDIR */
	int fd;	       /* descriptor of the file; -1: not created yet */
	uint64_t size;
	struct error failure; /* first failed write; number is 0 if none failed */
};

/* directory: must stay open as long as the spill file is used. Creates nothing yet. */
void spill_init(struct spill_file *spill, int directory);

/* Appends `size` bytes. Returns their offset. */
uint64_t spill_append(struct spill_file *spill, const void *bytes, size_t size);

/* Reads `size` bytes, all of which were written before. Returns 0 or a negative errno. */
int spill_read(const struct spill_file *spill, uint64_t offset, void *bytes, size_t size,
	       struct error *err);

/* Returns 0, or the negative errno of the first failure, which it copies to *err. */
int spill_error(const struct spill_file *spill, struct error *err);

/* Empties the file and releases its disk space. */
void spill_clear(struct spill_file *spill);

void spill_close(struct spill_file *spill);

#endif
