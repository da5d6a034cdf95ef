/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_MAKE_H
#define COLLECT_MAKE_H

/*
 * Creates the control page of a run that the launcher starts. Without the launcher, the library
 * creates the control page itself, by raw system calls.
 */

#include "arena.h"
#include "base/error.h"

/*
 * Creates a control page with default settings and a random session, maps it for writing to
 * *control, and opens it as *fd (close-on-exec). The caller then changes the settings and starts a
 * collector.
 */
int make_control(struct control_page **control, int *fd, struct error *err);

#endif
