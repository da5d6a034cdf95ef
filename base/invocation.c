/* SPDX-License-Identifier: MIT */
#include "base/invocation.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define SUFFIX "-postproc"

bool invocation_is_launcher(void)
{
	return !strcmp(program_invocation_short_name, "holdtrace");
}

bool invocation_is_sp_rtrace(void)
{
	return !strcmp(program_invocation_short_name, "sp-rtrace-postproc");
}

void invocation_of_report(char *text, size_t size)
{
	size_t length = strlen(program_invocation_name), suffix = strlen(SUFFIX);
	bool is_ours =
		length > suffix && !strcmp(program_invocation_name + length - suffix, SUFFIX);

	if (is_ours || invocation_is_launcher())
		snprintf(text, size, "%.*s report ", (int)(is_ours ? length - suffix : length),
			 program_invocation_name);
	else
		snprintf(text, size, "%s --report=", program_invocation_name);
}
