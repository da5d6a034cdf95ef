/* SPDX-License-Identifier: MIT */
#include "collect/keep.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/human.h"

#define LEAST_NS    1000000000u
#define LEAST_BYTES 10000000u

static const struct {
	const char *word;
	double seconds;
} times[] = { { "s", 1 }, { "min", 60 }, { "h", 3600 }, { "d", 86400 } };

int keep_parse(struct keep_wish *wish, const char *text, struct error *err)
{
	char *unit;
	double number = strtod(text, &unit);

	*wish = (struct keep_wish){ 0 };
	if (!*text)
		return 0;
	if (unit != text && number > 0 && number < 1e12 && human_unit(unit, strlen(unit)))
		wish->bytes = (uint64_t)(number * (double)human_unit(unit, strlen(unit)));
	for (size_t i = 0; unit != text && i < sizeof(times) / sizeof(*times); i++)
		if (!strcmp(times[i].word, unit) && number > 0 && number < 1e6)
			wish->ns = (uint64_t)(number * times[i].seconds * 1e9);
	if (wish->ns >= LEAST_NS || wish->bytes >= LEAST_BYTES)
		return 0;
	return error_set(
		err, EINVAL,
		"--keep=%s: expected a time of at least 1s (60s, 5min, 1h, 7d) or a size of "
		"at least 10MB (200MB, 1GiB)",
		text);
}
