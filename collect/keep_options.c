/* SPDX-License-Identifier: MIT */
#include "collect/keep.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/human.h"

#define LEAST_NS 1000000000u
/* low enough that sums of such times do not overflow */
#define MOST_NS	    (UINT64_MAX / 4)
#define LEAST_BYTES 10000000u

int keep_parse(struct keep_options *options, const char *text, struct error *err)
{
	char *unit;
	double number = strtod(text, &unit);

	*options = (struct keep_options){ 0 };
	if (!*text)
		return 0;
	if (unit != text && number > 0 && number < 1e12 && human_unit(unit, strlen(unit)))
		options->bytes = (uint64_t)(number * (double)human_unit(unit, strlen(unit)));
	/* a number without a unit could be a time or a size, so it is an error */
	else if (!*unit || !human_duration(&options->ns, text))
		options->ns = 0;
	else if (options->ns > MOST_NS)
		options->ns = MOST_NS;
	if (options->ns >= LEAST_NS || options->bytes >= LEAST_BYTES)
		return 0;
	return error_set(
		err, EINVAL,
		"--keep=%s: expected a time of at least 1s (60s, 5min, 1h, 7d) or a size of "
		"at least 10MB (200MB, 1GiB)",
		text);
}
