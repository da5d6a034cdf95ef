/* SPDX-License-Identifier: MIT */
#ifndef SCAN_RESULTS_H
#define SCAN_RESULTS_H

/*
 * What a scan found, as the notes that the collector writes into the stream: one behind the other,
 * a name and pairs of names and values, each with its NUL, and an empty one at the end of each.
 */

#include "base/error.h"
#include "base/out.h"
#include "scan/graph.h"
#include "scan/blocks.h"
#include "scan/moment.h"
#include "scan/roots.h"

struct report {
	unsigned number; /* of the scan */
	const struct graph *graph;
	const struct roots *roots;
	const struct process *process;
	const struct live *live;
	uint64_t pause_ns, whole_ns;
};

/* Writes it. Returns 0 or a negative errno. */
int report_write(const struct report *report, int fd, struct error *err);

#endif
