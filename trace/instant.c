/* SPDX-License-Identifier: MIT */
#include "trace/instant.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>

#include "base/human.h"

#define SECOND 1000000000ull

int instant_parse_length(uint64_t *ns, const char *text, struct error *err)
{
	if (human_duration(ns, text))
		return 0;
	return error_set(err, EINVAL,
			 "%s: expected a duration: seconds, or 250ms, 10us, 5ns, 2min, 1h, 7d",
			 text);
}

/* Parses a time of day, "19:20", "19:20:31" or "19:20:31.5", as ns since midnight. */
static bool parse_clock(uint64_t *ns, const char *text)
{
	uint64_t hours, minutes, seconds = 0;

	text = human_decimal(text, 1, &hours);
	if (!text || *text++ != ':' || hours > 23)
		return false;
	text = human_decimal(text, 1, &minutes);
	if (!text || minutes > 59)
		return false;
	if (*text == ':')
		text = human_decimal(text + 1, SECOND, &seconds);
	*ns = (hours * 60 + minutes) * 60 * SECOND + seconds;
	return text && !*text && seconds < 61 * SECOND;
}

/* Parses "2026-11-21", optionally followed by a blank or T and a time of day. */
static bool parse_date(uint64_t *ns, const char *text)
{
	struct tm day = { .tm_isdst = -1 };
	uint64_t clock = 0;
	int length = 0;
	time_t midnight;

	if (sscanf(text, "%4d-%2d-%2d%n", &day.tm_year, &day.tm_mon, &day.tm_mday, &length) < 3)
		return false;
	text += length;
	if (*text && ((*text != ' ' && *text != 'T') || !parse_clock(&clock, text + 1)))
		return false;
	day.tm_year -= 1900;
	day.tm_mon--;
	/* mktime() must convert the time of day, too, because a day can have 23 or 25 hours. */
	day.tm_hour = (int)(clock / SECOND / 3600);
	day.tm_min = (int)(clock / SECOND / 60 % 60);
	day.tm_sec = (int)(clock / SECOND % 60);
	midnight = mktime(&day);
	*ns = (uint64_t)midnight * SECOND + clock % SECOND;
	return midnight >= 0;
}

int instant_parse(struct instant *instant, const char *text, struct error *err)
{
	const char *end;

	instant->kind = INSTANT_OF_TIME;
	if (*text == '@') {
		end = human_decimal(text + 1, SECOND, &instant->ns);
		if (end && !*end)
			return 0;
	} else if (parse_date(&instant->ns, text)) {
		return 0;
	}
	instant->kind = INSTANT_OF_DAY;
	if (parse_clock(&instant->ns, text))
		return 0;
	instant->kind = INSTANT_OF_RUN;
	if (human_duration(&instant->ns, text))
		return 0;
	return error_set(err, EINVAL,
			 "%s: expected seconds or 250ms since the start, @SECONDS since 1970, "
			 "19:20:31 or \"2026-11-21 19:20:31\"",
			 text);
}

uint64_t instant_at(const struct instant *instant, const struct instant_base *base)
{
	uint64_t at = instant->ns;

	if (instant->kind == INSTANT_OF_RUN)
		return __builtin_add_overflow(at, base->start_ns, &at) ? UINT64_MAX : at;
	if (instant->kind == INSTANT_OF_DAY) {
		/* adds local midnight of the day on which the run started */
		time_t start = (time_t)((base->start_ns + base->realtime_ns) / SECOND);
		struct tm tm;

		if (localtime_r(&start, &tm)) {
			tm.tm_hour = tm.tm_min = tm.tm_sec = 0;
			tm.tm_isdst = -1;
			at += (uint64_t)mktime(&tm) * SECOND;
		}
	}
	return at > base->realtime_ns ? at - base->realtime_ns : 0;
}
