/* SPDX-License-Identifier: MIT */
#ifndef TOTALS_CAUSES_H
#define TOTALS_CAUSES_H

/*
 * The causes of the sums on the screen at the end of a run: the call sites that held memory at its
 * peak, the call sites of temporary blocks, and the misuses of descriptors. The reports `peak`,
 * `allocations` and `fds` have the details.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "naming/naming.h"
#include "descriptors.h"
#include "peaks.h"
#include "tallies.h"

/* Sums of all backtraces that have the same call site. */
struct causes_place {
	const struct trace_node *backtrace; /* the backtrace with the largest sum */
	/* count: number of blocks; bytes: the bytes of these blocks at the peak */
	uint64_t count, bytes;
	uint64_t sites; /* number of backtraces */
};

struct causes_top {
	ARRAY_OF(struct causes_place) places; /* the largest first */
};

struct causes {
	const struct ledger *ledger;
	struct tallies *tallies;
	struct peaks peaks;	 /* the caller calls peaks_process() */
	struct tally *temporary; /* number of temporary blocks of each call site */
	/* the caller adds them; causes_run() sorts them, the most frequent first */
	struct misuses misuses;
	struct causes_top peak, temp; /* set by causes_run() */
};

/* Call it before the first event. */
void causes_create(struct causes **causes, struct ledger *ledger, struct tallies *tallies);
void causes_destroy(struct causes *causes);

/* Call it when all processes have ended: fills `peak` and `temp`, and sorts `misuses`. */
void causes_run(struct causes *causes);

/* Joins the entries of `peak`, and those of `temp`, that have the same call site. */
void causes_fold(struct causes *causes, struct naming *naming);

#endif
