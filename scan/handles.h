/* SPDX-License-Identifier: MIT */
#ifndef SCAN_HANDLES_H
#define SCAN_HANDLES_H

/*
 * Unreachable streams, directories and threads: nothing can close or join them any more. A stream
 * is in libc's list of all streams, which does not make it reachable; a thread's own stack and
 * descriptor contain its id, which does not either.
 */

#include "scan/graph.h"
#include "scan/blocks.h"
#include "scan/moment.h"
#include "scan/roots.h"

/* After graph_mark(): sets is_lost of the handles of live. In doubt a handle is reachable. */
void handles_judge(struct live *live, const struct graph *graph, const struct process *process,
		   const struct roots *roots);

#endif
