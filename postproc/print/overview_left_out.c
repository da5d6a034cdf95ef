/* SPDX-License-Identifier: MIT */
/* The screen lists all that is held; the report leaks and --fail-on do not. */
#include "postproc/print/overview_parts.h"

bool overview_is_left_out(struct overview *overview, const struct summary_site *site)
{
	return suppress_find(&overview->suppress, overview->naming, site->backtrace) != NULL;
}

void overview_left_out(struct overview *overview)
{
	const struct summary *summary = overview->summary;
	uint64_t sites = 0, bytes = 0, all = 0;
	struct line line;

	for (size_t i = 0; i < summary->sites.count; i++) {
		const struct summary_site *site = &summary->sites.items[i];

		if (site->is_part)
			continue;
		all++;
		if (!overview_is_left_out(overview, site))
			continue;
		sites++;
		if (summary_has_bytes(&summary->classes[site->class]))
			bytes += site->bytes;
	}
	overview->has_no_leaks = sites == all;
	if (!sites)
		return;
	line_begin(&line);
	line_add(&line, "suppressed in report leaks: %s site%s", COUNT(sites), PLURAL(sites));
	if (bytes)
		line_add(&line, " with %s", BYTES(bytes));
	line_add(&line, " (--no-suppress shows %s)", sites == 1 ? "it" : "them");
	screen_wrap(&overview->screen, &line, 2, 2);
}
