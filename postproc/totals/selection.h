/* SPDX-License-Identifier: MIT */
#ifndef TOTALS_SELECTION_H
#define TOTALS_SELECTION_H

/* What filters left of the calls of a run (postproc/engine/select.h), for reports on the rest. */

#include <stdbool.h>
#include <stdint.h>

/* How many calls of one or several streams the filters kept. */
struct select_tally {
	const char *filters; /* as the user wrote them; NULL: none */
	uint64_t seen, kept;
};

/* Whether filters removed every call. tally may be NULL. */
static inline bool select_is_empty(const struct select_tally *tally)
{
	return tally && tally->filters && !tally->kept;
}

#endif
