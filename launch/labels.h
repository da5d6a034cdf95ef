/* SPDX-License-Identifier: MIT */
#ifndef LABELS_H
#define LABELS_H

/* What tells one run of many from the others: its host, job and rank, and labels of the user. */

#include "base/error.h"
#include "settings.h"

/* Returns the rank in a parallel job, as digits; NULL: the run has none. */
const char *labels_rank(void);

/*
 * Adds labels, NAME=VALUE,NAME=VALUE, to the setting. A label replaces an earlier label of the same
 * name. Returns 0 or -EINVAL.
 */
int labels_add(struct settings *settings, const char *list, struct error *err);

/* Adds the labels of OTEL_RESOURCE_ATTRIBUTES, those that are valid and fit. */
void labels_add_attributes(struct settings *settings);

/* Adds the host, job and rank, if the run has a label or a rank. Given labels have precedence. */
void labels_finish(struct settings *settings);

/*
 * Replaces %h, %j and %r in the path of the output by host, job and rank ("none" if there is none).
 * The collector replaces %e and %p, the program and its pid. Returns 0 or -ENAMETOOLONG.
 */
int labels_expand(struct settings *settings, struct error *err);

/* Returns 1 if the list, 0,7,100-107, has the rank, 0 if it has not, or -EINVAL. */
int labels_has_rank(const char *list, const char *rank, struct error *err);

#endif
