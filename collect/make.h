/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_MAKE_H
#define COLLECT_MAKE_H

/*
 * Makes the control page of a run that the launcher starts (the library alone makes its own, by raw
 * system calls).
 */

#include "arena.h"
#include "base/error.h"

/*
 * Makes a new control page in *fd (close-on-exec), mapped for writing, with default settings and a
 * random session. The caller still fills in the settings, and starts a collector with it.
 */
int make_control(struct control_page **control, int *fd, struct error *err);

#endif
