/* SPDX-License-Identifier: MIT */
#ifndef SCAN_OF_CORE_H
#define SCAN_OF_CORE_H

/* Finds the stream of the process whose core file is scanned, and the moment of the core file. */

#include <stdint.h>

#include "base/error.h"
#include "scan/moment.h"

struct core_stream {
	const char *path; /* path of the stream, in the form for trace_open() */
	uint64_t session[2];
	uint32_t stream;
	uint64_t until_ns;  /* time of the core file, in ns of the stream's clock */
	uint64_t malloc_at; /* address of malloc; 0: unknown */
	unsigned scans;	    /* highest number of a scan in the stream */
	const char *doubt;  /* why the stream may not show all live blocks; NULL: no reason */
};

/*
 * Searches the traces at `paths`, which may be files of several streams, for the process whose pid,
 * module addresses and build-ids are those of the core file. Returns 0 or a negative errno. The
 * result has memory that is never freed.
 */
int core_stream_find(struct core_stream *found, const struct process *process,
		     const char *const *paths, size_t count, struct error *err);

#endif
