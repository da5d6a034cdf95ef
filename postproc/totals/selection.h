/* SPDX-License-Identifier: MIT */
#ifndef TOTALS_SELECTION_H
#define TOTALS_SELECTION_H

/* How many calls of a run the filters selected (postproc/engine/select.h). */

#include <stdbool.h>
#include <stdint.h>

/* Numbers of calls of one or several streams, before and after the filters. */
struct select_tally {
	const char *filters; /* the filters, as the user wrote them; NULL: none */
	uint64_t seen, kept;
};

/* Whether filters have removed every call. tally NULL: there are no filters. */
static inline bool select_is_empty(const struct select_tally *tally)
{
	return tally && tally->filters && !tally->kept;
}

#endif
