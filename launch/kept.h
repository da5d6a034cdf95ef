/* SPDX-License-Identifier: MIT */
#ifndef LAUNCH_KEPT_H
#define LAUNCH_KEPT_H

#include "base/error.h"

/*
 * Copies a trace as it is by now, so that it stays when its writer goes on: what a flight recorder
 * has of the time up to here. to: its path; NULL: one that is free, beside the trace. *name: the
 * path, to be freed. Returns 0 or a negative errno.
 */
int kept_copy(const char *path, const char *to, char **name, struct error *err);

#endif
