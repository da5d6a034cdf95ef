/* SPDX-License-Identifier: MIT */
#include "postproc/options.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/suggest.h"
#include "base/usage.h"

/* Every option has a number behind all letters; getopt gives it for the letter and the word. */
enum option_value {
	OPTION_FIRST = 256,
#define OPTION(kind, name, word, letter, argument, description) OPTION_##name,
#define ALIAS(name, word)
#include "postproc/options.def"
#undef OPTION
#undef ALIAS
	OPTION_LAST
};

static const struct option long_options[] = {
#define OPTION(kind, name, word, letter, argument, description) \
	{ word, sizeof(#argument) > 2 ? required_argument : no_argument, NULL, OPTION_##name },
#define ALIAS(name, word)
#include "postproc/options.def"
#undef OPTION
#undef ALIAS
	{ 0 },
};

static const struct alias {
	const char *word;
	int value;
} aliases[] = {
#define OPTION(kind, name, word, letter, argument, description)
#define ALIAS(name, word) { word, OPTION_##name },
#include "postproc/options.def"
#undef OPTION
#undef ALIAS
};

static const struct row {
	const char *word, *argument, *description;
	int letter;
} rows[] = {
#define OPTION(kind, name, word, letter, argument, description) \
	{ word, argument, description, letter },
#define ALIAS(name, word)
#include "postproc/options.def"
#undef OPTION
#undef ALIAS
};

static int set_flag(option_flag *flag, const struct row *row, const char *text, struct error *err)
{
	(void)row;
	(void)text;
	(void)err;
	*flag = true;
	return 0;
}

static int set_text(option_text *option, const struct row *row, const char *text, struct error *err)
{
	(void)row;
	(void)err;
	*option = text;
	return 0;
}

/* "one, two or three" of "one|two|three". */
static void say_words(char *text, size_t size, const char *words)
{
	size_t used = 0;

	while (*words && used < size) {
		size_t length = strcspn(words, "|");
		const char *rest = words + length + (words[length] == '|');
		const char *gap = !*rest ? "" : strchr(rest, '|') ? ", " : " or ";

		used += (size_t)snprintf(text + used, size - used, "%.*s%s", (int)length, words,
					 gap);
		words = rest;
	}
}

static int set_word(option_word *option, const struct row *row, const char *text, struct error *err)
{
	const char *words = row->argument;
	char expected[80] = "";
	unsigned value = 0;

	for (; *words; value++) {
		size_t length = strcspn(words, "|");

		if (strlen(text) == length && !memcmp(text, words, length)) {
			*option = (option_word){ text, value };
			return 0;
		}
		words += length + (words[length] == '|');
	}
	say_words(expected, sizeof(expected), row->argument);
	return error_set(err, EINVAL, "--%s=%s: expected %s", row->word, text, expected);
}

static int set_list(option_list *list, const struct row *row, const char *text, struct error *err)
{
	const char **place = ARRAY_ADD(list);

	(void)row;
	if (!place)
		return error_system(err, ENOMEM, "options");
	*place = text;
	return 0;
}

static int set_digits(option_number *option, const struct row *row, const char *text, int base,
		      struct error *err)
{
	char *end;

	errno = 0;
	option->value = strtoull(text, &end, base);
	option->is_set = true;
	if (errno || end == text || *end || *text == '-')
		return error_set(err, EINVAL, "--%s=%s: %s is not a %s number", row->word, text,
				 *text ? text : "nothing", base == 16 ? "hexadecimal" : "decimal");
	return 0;
}

static int set_number(option_number *option, const struct row *row, const char *text,
		      struct error *err)
{
	return set_digits(option, row, text, 10, err);
}

static int set_mask(option_mask *option, const struct row *row, const char *text, struct error *err)
{
	return set_digits(option, row, text, 16, err);
}

static int set_option(struct options *options, int value, const char *text, struct error *err)
{
	switch (value) {
#define OPTION(kind, name, word, letter, argument, description) \
	case OPTION_##name:                                     \
		return set_##kind(&options->name, &rows[value - OPTION_FIRST - 1], text, err);
#define ALIAS(name, word)
#include "postproc/options.def"
#undef OPTION
#undef ALIAS
	default:
		return error_set(err, EINVAL, "unknown option");
	}
}

/* "i:o:tl..." for getopt; a colon first makes it tell a missing argument from a wrong option. */
static void make_letters(char *letters)
{
	*letters++ = ':';
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		if (!rows[i].letter)
			continue;
		*letters++ = (char)rows[i].letter;
		if (rows[i].argument)
			*letters++ = ':';
	}
	*letters = '\0';
}

#define LONG_COUNT  (sizeof(long_options) / sizeof(*long_options) - 1)
#define ALIAS_COUNT (sizeof(aliases) / sizeof(*aliases))

static void make_words(struct option *words)
{
	memcpy(words, long_options, LONG_COUNT * sizeof(*words));
	for (size_t i = 0; i < ALIAS_COUNT; i++) {
		struct option *word = &words[LONG_COUNT + i];

		*word = long_options[aliases[i].value - OPTION_FIRST - 1];
		word->name = aliases[i].word;
	}
	memset(&words[LONG_COUNT + ALIAS_COUNT], 0, sizeof(*words));
}

static int value_of_letter(int letter)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (rows[i].letter == letter)
			return OPTION_FIRST + 1 + (int)i;
	return letter;
}

/* A letter that is none, a word that is none or the beginning of several. */
static int refuse(const struct option *words, const char *typed, struct error *err)
{
	struct suggest suggest;

	if (typed[0] != '-' || typed[1] != '-')
		return error_set(err, EINVAL, "unknown option -%c",
				 optopt > 0 && optopt < 128 ? optopt : '?');
	suggest_begin(&suggest, typed + 2, strcspn(typed + 2, "="));
	for (; words->name; words++)
		suggest_try(&suggest, words->name);
	return error_set(err, EINVAL, "unknown or ambiguous option %s%s", typed,
			 suggest_text(&suggest));
}

int options_parse(struct options *options, int argc, char **argv, struct error *err)
{
	char letters[3 * sizeof(rows) / sizeof(*rows) + 2];
	struct option words[LONG_COUNT + ALIAS_COUNT + 1];
	int value, rc = 0;

	memset(options, 0, sizeof(*options));
	make_letters(letters);
	make_words(words);
	opterr = 0;
	optind = 1;
	while (rc == 0) {
		int place = optind;

		value = getopt_long(argc, argv, letters, words, NULL);
		if (value == -1)
			break;
		if (value == ':')
			return error_set(err, EINVAL, "option %s needs an argument", argv[place]);
		if (value == '?')
			return refuse(words, argv[place], err);
		rc = set_option(options, value < OPTION_FIRST ? value_of_letter(value) : value,
				optarg, err);
	}
	for (; rc == 0 && optind < argc; optind++)
		rc = set_list(&options->inputs, NULL, argv[optind], err);
	return rc;
}

void options_print_help(FILE *file)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct row *row = &rows[i];

		usage_option(file, row->letter, row->word, row->argument, row->description);
	}
}

void options_free(struct options *options)
{
	free(options->inputs.items);
	free(options->suppress.items);
	free(options->maps.items);
}
