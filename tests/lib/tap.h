/* SPDX-License-Identifier: MIT */
#ifndef TAP_H
#define TAP_H

/*
 * TAP for unit tests: ok() prints the result of one test; tap_end() prints the plan and returns the
 * exit status.
 */

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static int tap_number, tap_failures;

/* Returns is_right, so that the caller can print details of a failure. */
static inline bool ok(bool is_right, const char *sentence)
{
	printf("%sok %d - %s\n", is_right ? "" : "not ", ++tap_number, sentence);
	tap_failures += !is_right;
	return is_right;
}

static inline void ok_text(const char *found, const char *expected, const char *sentence)
{
	if (!ok(!strcmp(found, expected), sentence))
		printf("# found    %s\n# expected %s\n", found, expected);
}

static inline int tap_end(void)
{
	printf("1..%d\n", tap_number);
	return tap_failures > 0;
}

#endif
