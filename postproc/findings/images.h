/* SPDX-License-Identifier: MIT */
#ifndef FINDINGS_IMAGES_H
#define FINDINGS_IMAGES_H

/* Chooses the most important process images of a run, if there is no space for all. */

#include "postproc/totals/summary.h"

/* The last image of the run's first process. */
const struct summary_process *images_last(const struct summary *summary);

/* The image that followed by exec, if it was traced; or NULL. */
const struct summary_process *images_next(const struct summary *summary,
					  const struct summary_process *process);

/*
 * Marks up to room processes by index: the first one, those that hold most, those that did not end
 * well, and others.
 */
void images_choose(const struct summary *summary, size_t room, bool *is_chosen);

/*
 * How often the program that an image executed was left untraced, for the same reason; 0: it was
 * traced, or an earlier image reports it already.
 */
uint64_t images_untraced(const struct summary *summary, size_t index);

#endif
