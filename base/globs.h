/* SPDX-License-Identifier: MIT */
#ifndef BASE_GLOBS_H
#define BASE_GLOBS_H

/*
 * A list of shell patterns such as "malloc,c?lloc,*memalign". A text matches if any pattern does.
 */

#include <stdbool.h>
#include <stddef.h>

struct globs {
	char **items;
	size_t count, capacity;
};

/* Splits `text` at commas; if it is NULL, the list is empty. Returns 0 or -ENOMEM. */
int globs_parse(struct globs *globs, const char *text);

bool globs_match(const struct globs *globs, const char *text);

void globs_free(struct globs *globs);

#endif
