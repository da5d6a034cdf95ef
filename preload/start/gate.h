/* SPDX-License-Identifier: MIT */
#ifndef GATE_H
#define GATE_H

/*
 * Processes that the library never traces, even if it is preloaded into all (/etc/ld.so.preload):
 * programs that got privileges by exec, and holdtrace's own, which would trace themselves
 * endlessly.
 */

#include <stdbool.h>

/* Called once, before anything else. */
bool gate_is_closed(void);

/*
 * Whether --follow chooses this program. choice: "all", "no", or comma-separated globs of programs;
 * is_first: the run began with this program.
 */
bool gate_follows(const char *choice, bool is_first);

#endif
