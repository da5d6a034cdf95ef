/* SPDX-License-Identifier: MIT */
#ifndef TOTALS_CAUSES_H
#define TOTALS_CAUSES_H

/*
 * The causes behind the sums: the call sites at the peak of memory, those of temporary blocks, and
 * the misuses of descriptors. For the screen that a run ends with; the reports peak, temp and fds
 * have the details.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "naming/naming.h"
#include "descriptors.h"
#include "peaks.h"
#include "tallies.h"

/* All backtraces with the same call site. */
struct causes_place {
	const struct trace_node *backtrace; /* of the largest sum */
	uint64_t count, bytes;		    /* bytes: at the peak */
	uint64_t sites;			    /* number of backtraces */
};

struct causes_top {
	ARRAY_OF(struct causes_place) places; /* the largest first */
};

struct causes {
	const struct ledger *ledger;
	struct tallies *tallies;
	struct peaks peaks;
	struct tally *temporary;
	struct descriptors descriptors;
	/* set by causes_run(): */
	struct misuses misuses; /* the most frequent first */
	struct causes_top peak, temp;
};

/* Before the first event. */
void causes_create(struct causes **causes, struct ledger *ledger, struct tallies *tallies);
void causes_destroy(struct causes *causes);

/* A call, or a note. */
void causes_event(struct causes *causes, const struct event *event);
void causes_note(struct causes *causes, const struct event *event);

/* The process has ended; call it before the process's tallies are closed. */
void causes_process(struct causes *causes, uint32_t pid, const char *program);

/* All processes have ended. */
void causes_run(struct causes *causes);

/* Joins entries with the same call site. */
void causes_fold(struct causes *causes, struct naming *naming);

#endif
