/* SPDX-License-Identifier: MIT */
#ifndef SCAN_HANDLES_H
#define SCAN_HANDLES_H

/*
 * Unreachable streams, directories and threads: the program can no longer close or join them. A
 * stream is in libc's list of all streams, and a thread's own stack and descriptor contain its id;
 * neither makes the handle reachable.
 */

#include "scan/graph.h"
#include "scan/blocks.h"
#include "scan/moment.h"
#include "scan/roots.h"

/*
 * Sets is_lost of the handles of `live`, after graph_mark(). In case of doubt, a handle is
 * reachable.
 */
void handles_judge(struct live *live, const struct graph *graph, const struct process *process,
		   const struct roots *roots);

#endif
