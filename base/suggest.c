/* SPDX-License-Identifier: MIT */
#include "base/suggest.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/*
 * The edit distance of two words: the number of letters that are missing, extra, wrong or swapped
 * with their neighbour (optimal string alignment). Both words have at most SUGGEST_WORD_MAX
 * letters.
 */
static size_t count_mistakes(const char *a, size_t a_length, const char *b, size_t b_length)
{
	size_t rows[3][SUGGEST_WORD_MAX + 1];
	size_t *older = rows[0], *old = rows[1], *row = rows[2];

	for (size_t j = 0; j <= b_length; j++)
		row[j] = j;
	for (size_t i = 1; i <= a_length; i++) {
		size_t *next = older;

		older = old;
		old = row;
		row = next;
		row[0] = i;
		for (size_t j = 1; j <= b_length; j++) {
			bool is_wrong = a[i - 1] != b[j - 1];

			row[j] = least(least(old[j], row[j - 1]) + 1, old[j - 1] + is_wrong);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				row[j] = least(row[j], older[j - 2] + 1);
		}
	}
	return row[b_length];
}

void suggest_begin(struct suggest *suggest, const char *typed, size_t length)
{
	*suggest = (struct suggest){
		.typed = typed,
		.length = length,
		/*
		 * only one letter of a short word may differ, since any two short words are only a
		 * few edits apart; of a longer word, a third of the letters may differ
		 */
		.distance = (length < 6 ? 1 : length / 3) + 1,
	};
}

void suggest_try(struct suggest *suggest, const char *word)
{
	size_t length = strlen(word), distance;

	if (length < 2 || length > SUGGEST_WORD_MAX || suggest->length > SUGGEST_WORD_MAX)
		return;
	distance = count_mistakes(suggest->typed, suggest->length, word, length);
	if (distance >= suggest->distance)
		return;
	suggest->distance = distance;
	memcpy(suggest->word, word, length + 1);
	snprintf(suggest->text, sizeof(suggest->text), " (did you mean %s?)", word);
}

const char *suggest_text(const struct suggest *suggest)
{
	return suggest->text;
}
