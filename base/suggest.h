/* SPDX-License-Identifier: MIT */
#ifndef SUGGEST_H
#define SUGGEST_H

/* Suggests the closest word of a list for a misspelt word. */

#include <stddef.h>

#define SUGGEST_WORD_MAX 32

struct suggest {
	const char *typed;
	size_t length;			 /* number of letters of `typed` */
	size_t distance;		 /* edit distance of the best word so far */
	char word[SUGGEST_WORD_MAX + 1]; /* the best word so far; "": no word is close enough */
	char text[SUGGEST_WORD_MAX + 24];
};

/* Begins the search for the word closest to `typed`, which must outlive `suggest`. */
void suggest_begin(struct suggest *suggest, const char *typed, size_t length);

/* Considers a valid word as the suggestion. */
void suggest_try(struct suggest *suggest, const char *word);

/* Returns " (did you mean WORD?)", to append to a message; "" if no word is close enough. */
const char *suggest_text(const struct suggest *suggest);

#endif
