/* SPDX-License-Identifier: MIT */
/*
 * The report on limits. Other reports have the values that limits are checked against: reporting.c
 * fills the table.
 */
#include <errno.h>

#include "postproc/report/report.h"

static int check_begin(void *user, struct report_run *run, struct error *err)
{
	(void)user;
	if (run->options->has_limits)
		return 0;
	return error_set(err, EINVAL, "check needs limits: --fail-on='leak>0,fd>0'");
}

const struct report report_check = {
	.begin = check_begin,
};
