/* SPDX-License-Identifier: MIT */
/*
 * The report on limits. It has no fold of its own: reporting.c fills its table from the tables of
 * other reports.
 */
#include <errno.h>

#include "postproc/report/report.h"

static int check_begin(void *user, struct report_run *run, struct error *err)
{
	(void)user;
	if (run->options->has_limits)
		return 0;
	return error_set(err, EINVAL, "check needs limits: add --fail-on='leak>0,fd>0'");
}

const struct report report_check = {
	.begin = check_begin,
};
