/* SPDX-License-Identifier: MIT */
#ifndef MADE_H
#define MADE_H

/*
 * The hosts of tests/hazards-* count what they do: a line "made 100 of 1237" says that so many
 * blocks of that size were allocated and freed. tests/lib/hazards.sh looks for each of them in the
 * streams.
 */

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Safe where stdio is not: in a child of vfork, with a damaged heap, without a single descriptor.
 */
__attribute__((unused)) static void say_made(unsigned long count, size_t size)
{
	char line[64];
	int length = snprintf(line, sizeof(line), "made %lu of %zu\n", count, size);

	if (write(STDOUT_FILENO, line, (size_t)length) != length)
		return;
}

__attribute__((unused)) static void make_silently(unsigned long count, size_t size)
{
	for (unsigned long i = 0; i < count; i++) {
		void *volatile block = malloc(size); /* nobody may leave both out */

		free(block);
	}
}

__attribute__((unused)) static void make(unsigned long count, size_t size)
{
	say_made(count, size);
	make_silently(count, size);
}

#endif
