/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_KEEP_H
#define COLLECT_KEEP_H

/*
 * The flight recorder keeps the last part of a trace (a duration or a number of bytes), and the
 * objects that were live when that part began. Streams are written as sections, which are readable
 * without the sections before them. When the file is too long, the program holdtrace-keep (keep/)
 * writes another file. It has the last sections, and the objects that were live at the end of the
 * older sections. It then replaces the old file, so the name always leads to a complete trace.
 */

#include <stdint.h>

#include "base/error.h"

/* How much of the trace to keep: a time or a size. The unused member is 0. */
struct keep_options {
	uint64_t ns, bytes;
};

/* Parses "60s", "5min", "1h" or "200MB". Sets both members to 0 for "". Returns 0 or -EINVAL. */
int keep_parse(struct keep_options *options, const char *text, struct error *err);

#endif
