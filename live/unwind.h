/* SPDX-License-Identifier: MIT */
#ifndef LIVE_UNWIND_H
#define LIVE_UNWIND_H

#include "live/process.h"

/*
 * Fills the frames of all threads whose stacks were read. The files that the process has mapped
 * tell how; they may be anybody's, so a child in a sandbox reads them, and a thread for which it
 * has no answer keeps its innermost frame. Returns 0 or a negative errno.
 */
int live_unwind(struct live_process *process, struct error *err);

#endif
