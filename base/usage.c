/* SPDX-License-Identifier: MIT */
#include "base/usage.h"

#include <string.h>

#define COLUMN 28
#define WIDTH  79

/* Prints the words from the column on; the line stands at it already. */
static void print_wrapped(FILE *to, int start, const char *words)
{
	int column = start;

	while (*words) {
		int length = (int)strcspn(words, " ");

		if (column > start && column + 1 + length > WIDTH) {
			fprintf(to, "\n%*s", start, "");
			column = start;
		} else if (column > start) {
			fputc(' ', to);
			column++;
		}
		fprintf(to, "%.*s", length, words);
		column += length;
		words += length;
		words += strspn(words, " ");
	}
	fputc('\n', to);
}

void usage_option(FILE *to, int letter, const char *word, const char *metavar, const char *text)
{
	char left[128], short_form[8] = "    ";
	int length;

	if (letter)
		snprintf(short_form, sizeof(short_form), "-%c, ", letter);
	length =
		snprintf(left, sizeof(left), "  %s--%s%s%s", short_form, word,
			 metavar && *metavar && *metavar != '[' ? "=" : "", metavar ? metavar : "");
	fprintf(to, "%-*s", COLUMN, left);
	if (length >= COLUMN)
		fprintf(to, "\n%*s", COLUMN, "");
	print_wrapped(to, COLUMN, text);
}

void usage_word(FILE *to, const char *word, int column, const char *text)
{
	fprintf(to, "  %-*s", column - 2, word);
	print_wrapped(to, column, text);
}
