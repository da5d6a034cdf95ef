/* SPDX-License-Identifier: MIT */
#ifndef LABELS_H
#define LABELS_H

/*
 * Facts by which a run can be distinguished from many others: its host, job and rank, and the
 * user's labels.
 */

#include "base/error.h"
#include "settings.h"

/* Returns the run's rank in a parallel job, as digits; NULL: it has no rank. */
const char *labels_rank(void);

/* Returns the parallel job, as its launcher names it; "": unknown. */
const char *labels_job(void);

/*
 * Adds labels, NAME=VALUE,NAME=VALUE, to the setting. A label replaces an earlier label of the same
 * name. Returns 0 or -EINVAL. err NULL: leaves out labels that are invalid or exceed the limits.
 */
int labels_add(struct settings *settings, const char *list, struct error *err);

/*
 * Adds the host, job and rank, if the run has a label or a rank. Does not replace labels of the
 * user. is_node: the run has several ranks, which the collector finds out; the label node says so.
 */
void labels_finish(struct settings *settings, bool is_node);

/*
 * Replaces %h, %j and %r in the path of the output by host, job and rank, each by "none" if it is
 * unknown. The collector replaces %e and %p, the program and its pid. Returns 0 or -ENAMETOOLONG.
 */
int labels_expand(struct settings *settings, struct error *err);

/* Returns 1 if the list ("0,7,100-107") contains the rank, 0 if it does not, or -EINVAL. */
int labels_has_rank(const char *list, const char *rank, struct error *err);

#endif
