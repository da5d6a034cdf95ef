/* SPDX-License-Identifier: MIT */
#ifndef CORE_SCAN_H
#define CORE_SCAN_H

/*
 * Scans a core file (--core): holdtrace-scan reads the file in a sandbox. The result of the scan
 * becomes notes in the process's stream, so reports are the same as after the scan of a running
 * process.
 */

#include <stddef.h>

#include "base/array.h"
#include "base/error.h"
#include "trace/trace.h"

struct core_scan {
	struct trace_notes notes; /* the scan's result as notes */
	/* memory that `notes` points into */
	char *bytes;
	size_t size;
	ARRAY_OF(struct trace_note) items;
	ARRAY_OF(struct wire_value *) values;
};

/* Scans the core file of a process in the traces `paths`. Returns 0 or a negative errno. */
int core_scan(struct core_scan *scan, const char *core, const char *const *paths, size_t count,
	      struct error *err);
void core_scan_free(struct core_scan *scan);

#endif
