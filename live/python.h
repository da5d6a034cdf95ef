/* SPDX-License-Identifier: MIT */
#ifndef LIVE_PYTHON_H
#define LIVE_PYTHON_H

/*
 * Reads, from the memory of a running process with CPython 3.9 or later, which thread holds a GIL
 * (global interpreter lock), which threads wait for it, and the Python functions and lines that the
 * threads are at. The frames of a thread that runs may change while they are read; its lines are
 * then those of different moments.
 */

#include "live/await.h"
#include "naming/address_space.h"

#define LIVE_PYTHON_FRAMES_MAX 64

/*
 * Adds the functions to the address map as modules, as a trace does. indexed by thread: awaits,
 * which get the holder of a GIL; frames, which get the lines, NULL: none; holds, whether the thread
 * holds a GIL.
 */
void live_python_read(const struct live_process *process, struct address_space *space,
		      struct await *awaits, const struct trace_node **frames, bool *holds);

#endif
