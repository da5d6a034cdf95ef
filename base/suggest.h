/* SPDX-License-Identifier: MIT */
#ifndef SUGGEST_H
#define SUGGEST_H

/* Suggests the closest word of a list for a misspelt one. */

#include <stddef.h>

#define SUGGEST_WORD_MAX 32

struct suggest {
	const char *typed;
	size_t length;			 /* of what was typed */
	size_t distance;		 /* letters that the best word so far differs in */
	char word[SUGGEST_WORD_MAX + 1]; /* the best so far; "": no word is near */
	char text[SUGGEST_WORD_MAX + 24];
};

/* typed outlives it. */
void suggest_begin(struct suggest *suggest, const char *typed, size_t length);

/* One of the words that would have been right. */
void suggest_try(struct suggest *suggest, const char *word);

/* " (did you mean WORD?)", to be put behind a message; "" if no word is near. */
const char *suggest_text(const struct suggest *suggest);

#endif
