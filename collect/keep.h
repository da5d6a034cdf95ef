/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_KEEP_H
#define COLLECT_KEEP_H

/*
 * The flight recorder: of a trace the last time, or so many bytes, and what was held when that
 * began. Streams are written as sections, each to be read without those before; when the file is
 * too long, a program of ours (keep/) makes another one of the last sections and of what the others
 * leave held, which takes its place. So there is a whole trace under the file's name at any time.
 */

#include <stdint.h>

#include "base/error.h"

/* One of them is 0. */
struct keep_wish {
	uint64_t ns, bytes;
};

/* "60s", "5min", "1h", "200MB"; "": nothing. Returns 0 or -EINVAL. */
int keep_parse(struct keep_wish *wish, const char *text, struct error *err);

#endif
