/* SPDX-License-Identifier: MIT */
#ifndef INSTANT_H
#define INSTANT_H

/*
 * An instant as the user writes it (time since the start of the run, time since 1970, or time of
 * day), and its conversion to the time of a stream.
 */

#include <stdint.h>

#include "base/error.h"

enum instant_kind {
	INSTANT_NONE,
	INSTANT_OF_RUN,	 /* ns since the start of the run */
	INSTANT_OF_TIME, /* ns since 1970 */
	INSTANT_OF_DAY,	 /* ns since local midnight of the day on which the run began */
};

struct instant {
	enum instant_kind kind;
	uint64_t ns;
};

/*
 * start_ns: the start of a run, in the time of the run's streams. realtime_ns: add it to a time of
 * these streams to get ns since 1970.
 */
struct instant_base {
	uint64_t start_ns, realtime_ns;
};

/*
 * Parses an instant: "1.5" or "250ms" since the start of the run, "@1700000000.25" since 1970, or
 * "19:20:31.5" or "2026-11-21 19:20:31" in local time. Returns 0 or -EINVAL.
 */
int instant_parse(struct instant *instant, const char *text, struct error *err);

/*
 * Parses a duration: "1.5" or "1.5s", "250ms", "10us", "5ns", "2min", "1h". Returns 0 or -EINVAL.
 */
int instant_parse_length(uint64_t *ns, const char *text, struct error *err);

/* Converts the instant to the time of the streams. Returns 0 if that time would be negative. */
uint64_t instant_at(const struct instant *instant, const struct instant_base *base);

#endif
