/* SPDX-License-Identifier: MIT */
#ifndef TOTALS_CAUSES_H
#define TOTALS_CAUSES_H

/*
 * Whose fault it is what sums show: the places that made the peak of memory, those whose blocks are
 * freed at once, and what was done wrong with descriptors. For the screen that a run ends with;
 * the reports peak, temp and fds tell all of it.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "naming/naming.h"
#include "descriptors.h"
#include "misuses.h"
#include "peaks.h"
#include "tallies.h"

/* All backtraces with one call site. */
struct causes_place {
	const struct trace_node *backtrace; /* of the weightiest */
	uint64_t count, bytes;		    /* bytes: of the peak */
	uint64_t sites;			    /* backtraces */
};

struct causes_top {
	ARRAY_OF(struct causes_place) places; /* the weightiest first */
};

struct causes {
	const struct ledger *ledger;
	struct tallies *tallies;
	struct peaks peaks;
	struct tally *temporary;
	struct descriptors descriptors;
	/* after causes_run(): */
	struct misuses misuses; /* the most frequent first */
	struct causes_top peak, temp;
};

/* Before the first event. */
void causes_create(struct causes **causes, struct ledger *ledger, struct tallies *tallies);
void causes_destroy(struct causes *causes);

/* A call, a note. */
void causes_event(struct causes *causes, const struct event *event);
void causes_note(struct causes *causes, const struct event *event);

/* The process has no more events; before its tallies are closed. */
void causes_process(struct causes *causes, uint32_t pid, const char *program);

/* All processes have ended. */
void causes_run(struct causes *causes);

/* Puts places with the same call site together. */
void causes_fold(struct causes *causes, struct naming *naming);

#endif
