/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_KEEP_H
#define COLLECT_KEEP_H

/*
 * The flight recorder keeps the last part of a trace (a length of time or a number of bytes), and
 * the objects that were live when that part began. Streams are written as sections that are
 * readable without those before. When the file is too long, the program holdtrace-keep (keep/)
 * writes another one, with the last sections and with what the older ones left live, and it
 * replaces the file. So the file's name always leads to a complete trace.
 */

#include <stdint.h>

#include "base/error.h"

/* How much to keep. One of them is 0. */
struct keep_options {
	uint64_t ns, bytes;
};

/* Parses "60s", "5min", "1h" or "200MB"; "": nothing. Returns 0 or -EINVAL. */
int keep_parse(struct keep_options *options, const char *text, struct error *err);

#endif
