/* SPDX-License-Identifier: MIT */
#include "base/human.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECOND 1000000000ull

const char *human_count(struct human *human, uint64_t number)
{
	char digits[24];
	size_t length = (size_t)snprintf(digits, sizeof(digits), "%" PRIu64, number);
	char *at = human->text;

	for (size_t i = 0; i < length; i++) {
		if (i && (length - i) % 3 == 0)
			*at++ = ',';
		*at++ = digits[i];
	}
	*at = '\0';
	return human->text;
}

const char *human_bytes(struct human *human, uint64_t bytes)
{
	static const char units[][3] = { "KB", "MB", "GB", "TB", "PB", "EB" };
	double amount = (double)bytes / 1000;
	unsigned unit = 0;

	if (bytes < 1000) {
		snprintf(human->text, sizeof(human->text), "%" PRIu64 " B", bytes);
		return human->text;
	}
	/* from 999.95 on, "%.1f" would print 1000.0 */
	for (; amount >= 999.95 && unit < 5; unit++)
		amount /= 1000;
	snprintf(human->text, sizeof(human->text), "%.1f %s", amount, units[unit]);
	return human->text;
}

const char *human_exact_bytes(struct human *human, uint64_t bytes)
{
	if (bytes >= 1000000)
		return human_bytes(human, bytes);
	human_count(human, bytes);
	strcat(human->text, " B");
	return human->text;
}

const char *human_time(struct human *human, uint64_t ns)
{
	static const struct {
		uint64_t below;
		uint64_t unit;
		const char *word;
	} steps[] = {
		{ 100000, 1000, "us" },
		{ 1000000000, 1000000, "ms" },
		{ 120000000000, 1000000000, "s" },
	};

	if (ns < 1000) {
		snprintf(human->text, sizeof(human->text), "%" PRIu64 " ns", ns);
		return human->text;
	}
	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		uint64_t tenths = (ns + steps[i].unit / 20) / (steps[i].unit / 10);

		if (ns >= steps[i].below)
			continue;
		snprintf(human->text, sizeof(human->text), "%.*f %s",
			 tenths < 1000 && tenths % 10 ? 1 : 0, (double)tenths / 10, steps[i].word);
		return human->text;
	}

	uint64_t seconds = ns / 1000000000;
	uint64_t minutes = seconds / 60;

	if (minutes < 60)
		snprintf(human->text, sizeof(human->text), "%" PRIu64 " min %" PRIu64 " s", minutes,
			 seconds % 60);
	else
		snprintf(human->text, sizeof(human->text), "%" PRIu64 " h %" PRIu64 " min",
			 minutes / 60, minutes % 60);
	return human->text;
}

const char *human_moment(struct human *human, uint64_t ns)
{
	double seconds = (double)ns / 1e9;

	/* "%.3f" would print 0.000. */
	if (ns && ns < 1000000)
		return human_time(human, ns);
	snprintf(human->text, sizeof(human->text), "%.*f s", seconds < 99.9995 ? 3 : 1, seconds);
	return human->text;
}

uint64_t human_unit(const char *unit, size_t length)
{
	static const struct {
		const char *word;
		uint64_t bytes;
	} units[] = {
		{ "B", 1 },	      { "kB", 1000 },	   { "KB", 1000 },	{ "MB", 1000000 },
		{ "GB", 1000000000 }, { "KiB", 1u << 10 }, { "MiB", 1u << 20 }, { "GiB", 1u << 30 },
	};

	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (strlen(units[i].word) == length && !strncmp(units[i].word, unit, length))
			return units[i].bytes;
	return 0;
}

uint64_t human_size(const char *text)
{
	uint64_t number, unit, bytes;
	char *end;

	errno = 0;
	number = strtoull(text, &end, 10);
	unit = *end ? human_unit(end, strlen(end)) : 1;
	if (errno || end == text || *text == '-' || __builtin_mul_overflow(number, unit, &bytes))
		return 0;
	return bytes;
}

const char *human_decimal(const char *text, uint64_t unit, uint64_t *value)
{
	const char *start = text;
	uint64_t whole = 0, part = 0, weight = unit;

	for (; *text >= '0' && *text <= '9'; text++)
		if (__builtin_mul_overflow(whole, 10ull, &whole) ||
		    __builtin_add_overflow(whole, (uint64_t)(*text - '0'), &whole))
			return NULL;
	if (text == start)
		return NULL;
	if (*text == '.')
		for (text++; *text >= '0' && *text <= '9'; text++) {
			weight /= 10;
			part += (uint64_t)(*text - '0') * weight;
		}
	if (__builtin_mul_overflow(whole, unit, value) ||
	    __builtin_add_overflow(*value, part, value))
		return NULL;
	return text;
}

bool human_duration(uint64_t *ns, const char *text)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {
		{ "", SECOND },
		{ "s", SECOND },
		{ "ms", 1000000 },
		{ "us", 1000 },
		{ "ns", 1 },
		{ "m", 60 * SECOND },
		{ "min", 60 * SECOND },
		{ "h", 3600 * SECOND },
		{ "d", 86400 * SECOND },
	};
	const char *unit = text + strspn(text, "0123456789.");

	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (!strcmp(unit, units[i].name))
			return human_decimal(text, units[i].ns, ns) == unit;
	return false;
}
