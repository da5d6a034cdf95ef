/* SPDX-License-Identifier: MIT */
#ifndef SCAN_HANDLES_H
#define SCAN_HANDLES_H

/*
 * Streams, directories and threads that nobody has any more: what is not closed or joined by now
 * never will be. A stream hangs on libc's list of all streams, which is no reason to think that the
 * program still has it; a thread's own stack and descriptor have its number as a matter of course.
 */

#include "scan/graph.h"
#include "scan/blocks.h"
#include "scan/moment.h"
#include "scan/roots.h"

/*
 * After graph_mark(): says of each of live's handles whether it is lost. Where it is not known it
 * is not.
 */
void handles_judge(struct live *live, const struct graph *graph, const struct process *process,
		   const struct roots *roots);

#endif
