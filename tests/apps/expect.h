/* SPDX-License-Identifier: MIT */
#ifndef EXPECT_H
#define EXPECT_H

/*
 * The programs of this folder print the events that their trace must hold, in order, as
 * holdtrace-postproc writes them without index and time; run-traced has the notation. Expectations
 * are printed late, since printing allocates.
 */

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char expected[1 << 16];
static size_t expected_used;

__attribute__((format(printf, 1, 2), unused)) static void expect(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	expected_used += (size_t)vsnprintf(expected + expected_used,
					   sizeof(expected) - expected_used, format, args);
	va_end(args);
	expected[expected_used++] = '\n';
}

/* Prints what was expected so far: each line is an event or an argument that must come. */
__attribute__((unused)) static void expect_print(void)
{
	char *rest = expected;

	for (char *line; (line = strsep(&rest, "\n")) && rest <= expected + expected_used;)
		printf("+ %s\n", line);
	fflush(stdout);
	expected_used = 0;
}

#endif
