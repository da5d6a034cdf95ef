/* SPDX-License-Identifier: MIT */
#ifndef FINDINGS_IMAGES_H
#define FINDINGS_IMAGES_H

/* Which processes of a run, and images of them, matter: for who has no room for all. */

#include "postproc/totals/summary.h"

/* The image that the run's first process ended as. */
const struct summary_process *images_last(const struct summary *summary);

/* What a process became by exec, if that was traced; or NULL. */
const struct summary_process *images_next(const struct summary *summary,
					  const struct summary_process *process);

/*
 * Marks room of them, by index: the first process, those that hold most, those that did not end
 * well, and others.
 */
void images_choose(const struct summary *summary, size_t room, bool *is_chosen);

/*
 * How often the program that an image ran was run untraced, for the same reason; 0: it was traced,
 * or an image before it says so already.
 */
uint64_t images_untraced(const struct summary *summary, size_t index);

#endif
