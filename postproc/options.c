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
#define OPTION(kind, name, word, letter, argument, with, description) OPTION_##name,
#define ALIAS(name, word)
#include "postproc/options.def"
#undef OPTION
#undef ALIAS
	OPTION_LAST
};

static const struct option long_options[] = {
#define OPTION(kind, name, word, letter, argument, with, description) \
	{ word,                                                       \
	  sizeof(#argument) <= 2  ? no_argument                       \
	  : (#argument)[1] == '[' ? optional_argument                 \
				  : required_argument,                \
	  NULL, OPTION_##name },
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
#define OPTION(kind, name, word, letter, argument, with, description)
#define ALIAS(name, word) { word, OPTION_##name },
#include "postproc/options.def"
#undef OPTION
#undef ALIAS
};

static const struct row {
	const char *word, *argument, *with, *description;
	int letter;
	bool is_filter;
} rows[] = {
#define OPTION(kind, name, word, letter, argument, with, description) \
	{ word, argument, with, description, letter, false },
#define FILTER(kind, name, word, letter, argument, with, description) \
	{ word, argument, with, description, letter, true },
#define ALIAS(name, word)
#include "postproc/options.def"
#undef OPTION
#undef ALIAS
};

#define ROWS (sizeof(rows) / sizeof(*rows))

_Static_assert(ROWS <= OPTIONS_MAX, "given[] has a place for each row");

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

/* "one, two or three" of "one|two|three", each with the prefix. */
static void say_words(char *text, size_t size, const char *prefix, const char *words)
{
	size_t used = 0;

	while (*words && used < size) {
		size_t length = strcspn(words, "|");
		const char *rest = words + length + (words[length] == '|');
		const char *gap = !*rest ? "" : strchr(rest, '|') ? ", " : " or ";

		used += (size_t)snprintf(text + used, size - used, "%s%.*s%s", prefix, (int)length,
					 words, gap);
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
	say_words(expected, sizeof(expected), "", row->argument);
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

static int set_count(option_count *option, const struct row *row, const char *text,
		     struct error *err)
{
	int rc = set_number(option, row, text, err);

	return rc || option->value
		       ? rc
		       : error_set(err, EINVAL, "--%s=%s: expected 1 or more", row->word, text);
}

static int set_maybe(option_maybe *option, const struct row *row, const char *text,
		     struct error *err)
{
	option_number number = { 0 };
	int rc = text ? set_number(&number, row, text, err) : 0;

	*option = (option_maybe){ true, text != NULL, number.value };
	return rc;
}

static int set_mask(option_mask *option, const struct row *row, const char *text, struct error *err)
{
	return set_digits(option, row, text, 16, err);
}

static int set_option(struct options *options, int value, const char *text, struct error *err)
{
	if (value > OPTION_FIRST && value < OPTION_LAST)
		options->given[value - OPTION_FIRST - 1] = text ? text : "";
	switch (value) {
#define OPTION(kind, name, word, letter, argument, with, description) \
	case OPTION_##name:                                           \
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
	for (size_t i = 0; i < ROWS; i++) {
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
	for (size_t i = 0; i < ROWS; i++)
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

/* ---- what goes with what ---- */

static bool is_word(const char *word, const char *text, size_t length)
{
	return strlen(word) == length && !memcmp(word, text, length);
}

/* The argument of the option with that word; NULL: it was not given. */
static const char *given(const struct options *options, const char *word, size_t length)
{
	if (is_word("format", word, length) && !options->format && !options->report)
		return "text";
	/* A report's format is no stream's. */
	if (is_word("format", word, length) && options->report)
		return NULL;
	for (size_t i = 0; i < ROWS; i++)
		if (is_word(rows[i].word, word, length))
			return options->given[i];
	return NULL;
}

/* need: "report" or "report=tree", up to a bar. The argument may be a list. */
static bool is_met(const struct options *options, const char *need)
{
	size_t length = strcspn(need, "|"), word = strcspn(need, "=|");
	const char *list = given(options, need, word);

	if (word == length)
		return list != NULL;
	while (list && *list) {
		size_t item = strcspn(list, ",");

		if (item == length - word - 1 && !memcmp(list, need + word + 1, item))
			return true;
		list += item + (list[item] == ',');
	}
	return false;
}

static bool is_of_use(const struct options *options, const char *with)
{
	if (*with == '!')
		return !is_met(options, with + 1);
	while (*with) {
		size_t length = strcspn(with, "|");

		if (is_met(options, with))
			return true;
		with += length + (with[length] == '|');
	}
	return false;
}

static int refuse_use(const struct row *row, struct error *err)
{
	char name[32], with[120] = "";
	bool is_not = *row->with == '!';

	if (row->letter)
		snprintf(name, sizeof(name), "-%c", row->letter);
	else
		snprintf(name, sizeof(name), "--%s", row->word);
	say_words(with, sizeof(with), "--", row->with + is_not);
	return error_set(err, EINVAL, "%s %s %s", name, is_not ? "does not go with" : "goes with",
			 with);
}

static int check_use(const struct options *options, struct error *err)
{
	for (size_t i = 0; i < ROWS && !options->help && !options->version; i++)
		if (options->given[i] && rows[i].with && !is_of_use(options, rows[i].with))
			return refuse_use(&rows[i], err);
	return 0;
}

static void say_filters(struct options *options)
{
	size_t used = 0, size = sizeof(options->filters);

	for (size_t i = 0; i < ROWS && used < size; i++)
		if (options->given[i] && rows[i].is_filter)
			used += (size_t)snprintf(options->filters + used, size - used, "%s--%s=%s",
						 used ? " " : "", rows[i].word, options->given[i]);
}

/* ---- the command line ---- */

int options_parse(struct options *options, int argc, char **argv, struct error *err)
{
	char letters[3 * ROWS + 2];
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
	say_filters(options);
	return rc ? rc : check_use(options, err);
}

void options_print_help(FILE *file)
{
	for (size_t i = 0; i < ROWS; i++) {
		const struct row *row = &rows[i];
		char with[120] = "", text[600];

		if (row->with && *row->with != '!')
			say_words(with, sizeof(with), "--", row->with);
		snprintf(text, sizeof(text), "%s%s%s%s", *with ? "with " : "", with,
			 *with ? ": " : "", row->description);
		usage_option(file, row->letter, row->word, row->argument, text);
	}
}

/* Whether what an option goes with has that report: "report", "report=leaks|fail-on". */
static bool has_report(const char *with, const char *report)
{
	for (size_t length; *with; with += length + (with[length] == '|')) {
		length = strcspn(with, "|");
		if (is_word("report", with, length) ||
		    (is_word("fail-on", with, length) && !strcmp(report, "check")) ||
		    (!strncmp(with, "report=", 7) && is_word(report, with + 7, length - 7)))
			return true;
	}
	return false;
}

/* Whether a row is for this report, or is one of the others that are told of with reports. */
static bool is_of_report(const struct row *row, const char *report)
{
	static const char choices[] =
		" func module thread pid program since until size format output-dir force "
		"now strict quiet ";
	const char *with = row->with ? row->with : "";
	char word[32];

	snprintf(word, sizeof(word), " %s ", row->word);
	if (strstr(choices, word))
		return *with != '!' || !has_report(with + 1, report);
	return has_report(with, report);
}

void options_print_report_help(FILE *file, const char *report)
{
	for (size_t i = 0; i < ROWS; i++)
		if (is_of_report(&rows[i], report))
			usage_option(file, rows[i].letter, rows[i].word, rows[i].argument,
				     rows[i].description);
}

void options_free(struct options *options)
{
	free(options->inputs.items);
	free(options->suppress.items);
	free(options->maps.items);
}
