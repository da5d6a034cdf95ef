/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_MAKE_H
#define COLLECT_MAKE_H

/* The arena of a run that the launcher begins (the bare library makes its own, by raw calls). */

#include "arena.h"
#include "base/error.h"

/*
 * A new arena in *fd (close-on-exec), mapped whole, with default settings and a random session:
 * the maker still fills in the settings, and starts a collector on it.
 */
int make_arena(struct arena **arena, int *fd, struct error *err);

#endif
