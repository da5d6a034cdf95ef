/* SPDX-License-Identifier: MIT */
/* The screen lists all live objects; report leaks and --fail-on leave out suppressed ones. */
#include "overview_parts.h"

bool overview_is_left_out(struct overview *overview, const struct summary_site *site)
{
	return suppress_find(&overview->suppress, overview->naming, site->backtrace) != NULL;
}

void overview_left_out(struct overview *overview)
{
	struct suppress_sums sums;
	struct line line;

	suppress_sum(&overview->suppress, overview->naming, overview->summary, &sums);
	overview->has_no_leaks = sums.is_all;
	if (!sums.sites)
		return;
	line_begin(&line);
	line_add(&line, "suppressed in report leaks: %s site%s", COUNT(sums.sites),
		 PLURAL(sums.sites));
	if (sums.bytes)
		line_add(&line, " with %s", BYTES(sums.bytes));
	line_add(&line, " (--suppress=none shows %s)", sums.sites == 1 ? "it" : "them");
	screen_wrap(&overview->screen, &line, 2);
}
