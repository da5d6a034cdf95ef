/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_MAKE_H
#define COLLECT_MAKE_H

/* The board of a run that the launcher begins (the bare library makes its own, by raw calls). */

#include "arena.h"
#include "base/error.h"

/*
 * A new board in *fd (close-on-exec), mapped to write, with default settings and a random session:
 * the maker still fills in the settings, and starts a collector on it.
 */
int make_board(struct board **board, int *fd, struct error *err);

#endif
