/* SPDX-License-Identifier: MIT */
/*
 * pictured: holds blocks of functions whose names are hard to draw: long, wide, with combining
 * characters, and with control sequences. Says "ready", and holds 100 blocks more for each line of
 * input.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void *volatile kept; /* the last one */

#define HOLDER(function, name)                                                          \
	__attribute__((noinline, used)) static void function(int blocks) __asm__(name); \
	static void function(int blocks)                                                \
	{                                                                               \
		for (int i = 0; i < blocks; i++)                                        \
			kept = malloc(1000);                                            \
		kept = NULL;                                                            \
	}

#define TEN(text) text text text text text text text text text text

HOLDER(hold_wide,
       "\"wide_" TEN("\346\274\242\345\255\227") TEN("\346\274\242\345\255\227") "_end\"")
HOLDER(hold_combined, "\"combined_" TEN("e\314\201") TEN("e\314\201") "_end\"")
HOLDER(hold_long, "\"long_" TEN("name_of_a_function_") "end\"")
HOLDER(hold_bad, "\"bad_\033[7m\033[2J\302\2331m\001\006\377_end\"")

int main(void)
{
	char byte;

	hold_wide(400);
	hold_combined(300);
	hold_long(200);
	hold_bad(100);
	for (int i = 0; i < 3; i++)
		kept = fopen("/dev/null", "r");
	puts("ready");
	fflush(stdout);
	while (read(0, &byte, 1) > 0)
		if (byte == '\n')
			hold_long(100);
	return 0;
}
