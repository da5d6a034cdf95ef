/* SPDX-License-Identifier: MIT */
#ifndef GATE_H
#define GATE_H

/*
 * Processes that the library never traces, even if it is preloaded into all processes
 * (/etc/ld.so.preload): programs that acquired privileges by exec, and holdtrace's own programs,
 * which would trace themselves endlessly.
 */

#include <stdbool.h>

/* Whether the library must not trace this process. Called once, before anything else. */
bool gate_is_closed(void);

/*
 * Whether --follow chooses this program. choice: "all", "no", or comma-separated globs of programs;
 * is_first: the run began with this program.
 */
bool gate_follows(const char *choice, bool is_first);

#endif
