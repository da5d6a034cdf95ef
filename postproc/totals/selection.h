/* SPDX-License-Identifier: MIT */
#ifndef TOTALS_SELECTION_H
#define TOTALS_SELECTION_H

/* What filters left of the calls of a run (postproc/engine/select.h), for whoever shows the rest.
 */

#include <stdbool.h>
#include <stdint.h>

/* What became of the calls of one or several streams. */
struct select_tally {
	const char *filters; /* as the user said them, for whoever tells of the rest; NULL: none */
	uint64_t seen, kept;
};

/* Filters left nothing of what there was. tally may be NULL. */
static inline bool select_is_empty(const struct select_tally *tally)
{
	return tally && tally->filters && !tally->kept;
}

#endif
