/* SPDX-License-Identifier: MIT */
#ifndef SCAN_RESULTS_H
#define SCAN_RESULTS_H

/*
 * The result of a scan, as notes that the collector writes into the stream. The notes follow one
 * another. Each consists of a name, pairs of name and value, and an empty string; each string ends
 * with a NUL.
 */

#include "base/error.h"
#include "base/out.h"
#include "scan/graph.h"
#include "scan/blocks.h"
#include "scan/moment.h"
#include "scan/roots.h"

struct report {
	unsigned number; /* number of the scan */
	const struct graph *graph;
	const struct roots *roots;
	const struct process *process;
	const struct live *live;
	uint64_t pause_ns, whole_ns;
};

/* Writes the notes. Returns 0 or a negative errno. */
int report_write(const struct report *report, int fd, struct error *err);

#endif
