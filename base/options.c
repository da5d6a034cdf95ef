/* SPDX-License-Identifier: MIT */
#include "base/options.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/human.h"
#include "base/memory.h"
#include "base/suggest.h"

static bool is_word(const char *word, const char *text, size_t length)
{
	return !strncmp(word, text, length) && !word[length];
}

#ifndef PACKAGE_VERSION
#define PACKAGE_VERSION "unknown" /* for unit tests, which are built without config.h */
#endif

/* Writes "one, two or three" for "one|two|three", with the prefix before each word. */
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

/* ---- values ---- */

static int take_word(option_word *word, const struct option_row *row, const char *text,
		     struct error *err)
{
	char expected[160] = "";
	unsigned value = 0;

	for (const char *at = row->argument; *at; value++) {
		size_t length = strcspn(at, "|");

		if (is_word(text, at, length)) {
			*word = (option_word){ text, value };
			return 0;
		}
		at += length + (at[length] == '|');
	}
	say_words(expected, sizeof(expected), "", row->argument);
	return error_set(err, EINVAL, "--%s=%s: expected %s", row->option, text, expected);
}

static int take_number(uint64_t *value, const struct option_row *row, const char *text, int base,
		       struct error *err)
{
	char *end;

	errno = 0;
	*value = strtoull(text, &end, base);
	if (errno || end == text || *end || *text == '-')
		return error_set(err, EINVAL, "--%s=%s: expected a %s number", row->option, text,
				 base == 16 ? "hexadecimal" : "decimal");
	if (row->kind == OPTION_count && !*value)
		return error_set(err, EINVAL, "--%s=%s: expected 1 or more", row->option, text);
	return 0;
}

/*
 * Adds an item to a list. If the row's argument is "OLD=NEW", the item must contain "=" after OLD;
 * if the row's argument is "[OLD=]NEW", the item may also be NEW alone.
 */
static int take_item(option_list *list, const struct option_row *row, const char *text,
		     struct error *err)
{
	bool is_pair = strchr(row->argument, '=') != NULL;
	bool is_half = *row->argument == '['; /* the argument is "[OLD=]NEW" */

	if (is_pair && (!*text || *text == '=' || (!is_half && !strchr(text, '='))))
		return error_set(err, EINVAL, "--%s=%s: expected %s", row->option, text,
				 row->argument);
	*ARRAY_ADD(list) = text;
	return 0;
}

/* text: the argument; NULL if the option takes none or its optional argument was omitted. */
static int take_option(const struct option_table *table, void *values, const struct option_row *row,
		       const char *text, struct error *err)
{
	struct option_values *options = values;
	void *member = (char *)values + row->offset;
	option_number *number = member;
	option_maybe *maybe = member;

	options->given[row - table->rows] = text ? text : "";
	switch (row->kind) {
	case OPTION_flag:
		*(option_flag *)member = true;
		return 0;
	case OPTION_text:
		*(option_text *)member = text ? text : "";
		return 0;
	case OPTION_word:
		return take_word(member, row, text, err);
	case OPTION_number:
	case OPTION_count:
	case OPTION_mask:
		number->is_set = true;
		return take_number(&number->value, row, text, row->kind == OPTION_mask ? 16 : 10,
				   err);
	case OPTION_maybe:
		*maybe = (option_maybe){ .is_set = true, .has_value = text != NULL };
		return text ? take_number(&maybe->value, row, text, 10, err) : 0;
	case OPTION_size:
		*number = (option_number){ true, human_size(text) };
		return number->value
			       ? 0
			       : error_set(err, EINVAL,
					   "--%s=%s: expected a size such as 500KB, 2MiB or 500000",
					   row->option, text);
	case OPTION_time:
		number->is_set = true;
		return human_duration(&number->value, text)
			       ? 0
			       : error_set(err, EINVAL,
					   "--%s=%s: expected a time such as 30s, 5m or 500ms",
					   row->option, text);
	case OPTION_list:
		return take_item(member, row, text, err);
	case OPTION_other:
	case OPTION_renamed:
	default:
		return table->take(values, row, text, err);
	}
}

/* ---- words of the command line ---- */

static int refuse_unknown(const struct option_table *table, const char *word, size_t length,
			  struct error *err)
{
	struct suggest suggest;

	suggest_begin(&suggest, word, length);
	for (size_t i = 0; i < table->count; i++)
		if (table->rows[i].kind != OPTION_renamed)
			suggest_try(&suggest, table->rows[i].option);
	if (*suggest.word)
		return error_set(err, EINVAL, "unknown option '--%.*s'; did you mean '--%s'?",
				 (int)length, word, suggest.word);
	return error_set(err, EINVAL, "unknown option '--%.*s'%s%s%s", (int)length, word,
			 table->help ? "; `" : "", table->help ? table->help : "",
			 table->help ? "` lists the options" : "");
}

static int refuse_ambiguous(const struct option_table *table, const char *word, size_t length,
			    struct error *err)
{
	char words[400] = "", list[400] = "";
	size_t used = 0;

	for (size_t i = 0; i < table->count && used < sizeof(words); i++)
		if (table->rows[i].kind != OPTION_renamed &&
		    !strncmp(table->rows[i].option, word, length))
			used += (size_t)snprintf(words + used, sizeof(words) - used, "%s%s",
						 used ? "|" : "", table->rows[i].option);
	say_words(list, sizeof(list), "--", words);
	return error_set(err, EINVAL, "option '--%.*s' is ambiguous: %s", (int)length, word, list);
}

/*
 * The row of an option with this name or unique prefix. Returns NULL and sets *err if the word is
 * unknown, ambiguous or a former name.
 */
static const struct option_row *find_word(const struct option_table *table, const char *word,
					  size_t length, struct error *err)
{
	const struct option_row *found = NULL;
	bool is_ambiguous = false;

	for (size_t i = 0; i < table->count; i++) {
		const struct option_row *row = &table->rows[i];
		bool is_whole = length && is_word(row->option, word, length);

		if (is_whole && row->kind == OPTION_renamed) {
			error_set(err, EINVAL, "option '--%s' was renamed: write %s", row->option,
				  row->text);
			return NULL;
		}
		if (is_whole)
			return row;
		if (!*row->option || row->kind == OPTION_renamed ||
		    strncmp(row->option, word, length) != 0)
			continue;
		is_ambiguous |= found != NULL;
		found = row;
	}
	if (table->passes_others)
		return NULL;
	if (is_ambiguous)
		refuse_ambiguous(table, word, length, err);
	else if (!found)
		refuse_unknown(table, word, length, err);
	return is_ambiguous ? NULL : found;
}

/* True if the option's argument is optional; such an argument must be attached with "=". */
static bool is_optional(const struct option_row *row)
{
	return row->argument && !strncmp(row->argument, "[=", 2);
}

static int refuse_missing(const struct option_row *row, struct error *err)
{
	return error_set(err, EINVAL, "option '--%s' needs an argument: --%s=%s", row->option,
			 row->option, row->argument);
}

/* Parses "--word" or "--word=argument". Returns the number of words used in argv. */
static int take_long(const struct option_table *table, void *values, char **argv,
		     const struct option_row **row, struct error *err)
{
	const char *word = argv[0] + 2, *equals = strchr(word, '=');
	const char *text = equals ? equals + 1 : NULL;
	int used = 1;

	*row = find_word(table, word, strcspn(word, "="), err);
	if (!*row)
		return -ENOENT;
	if (!(*row)->argument && text)
		return error_set(err, EINVAL, "option '--%s' takes no argument", (*row)->option);
	if ((*row)->argument && !is_optional(*row) && !text) {
		text = argv[1];
		used = 2;
		if (!text)
			return refuse_missing(*row, err);
	}
	return take_option(table, values, *row, text, err) ? -EINVAL : used;
}

/*
 * Parses "-v", "-vb3", or "-vb" and its argument in the next word. Returns the number of words used
 * in argv.
 */
static int take_letters(const struct option_table *table, void *values, char **argv,
			const struct option_row **row, struct error *err)
{
	for (const char *letter = argv[0] + 1; *letter; letter++) {
		const char *text = letter[1] ? letter + 1 : argv[1];
		size_t i = 0;

		while (i < table->count && table->rows[i].letter != *letter)
			i++;
		if (i == table->count && !table->passes_others)
			error_set(err, EINVAL, "unknown option '-%c'", *letter);
		if (i == table->count)
			return -ENOENT;
		*row = &table->rows[i];
		if ((*row)->argument && !is_optional(*row)) {
			if (!text)
				return refuse_missing(*row, err);
			return take_option(table, values, *row, text, err) ? -EINVAL
									   : 1 + !letter[1];
		}
		if (take_option(table, values, *row, NULL, err))
			return -EINVAL;
	}
	return 1;
}

int options_read(const struct option_table *table, void *values, int argc, char **argv,
		 struct error *err)
{
	cleanup_free char **names = memory_zalloc((size_t)argc, sizeof(*names));
	int at = 1, kept = 1, count = 0;

	while (at < argc && strcmp(argv[at], "--") != 0) {
		bool is_name = argv[at][0] != '-' || !argv[at][1];
		const struct option_row *row = NULL;
		int used = 1;

		if (is_name && table->ends_at_name)
			break;
		if (is_name && !table->passes_others) {
			names[count++] = argv[at++];
			continue;
		}
		if (!is_name)
			used = (argv[at][1] == '-' ? take_long : take_letters)(
				table, values, argv + at, &row, err);
		if (used == -ENOENT && table->passes_others)
			used = 1;
		if (used < 0)
			return -EINVAL;
		if (!row || !row->is_own) {
			memmove(argv + kept, argv + at, (size_t)used * sizeof(*argv));
			kept += used;
		}
		at += used;
	}
	at += at < argc && !table->passes_others && !strcmp(argv[at], "--");
	while (at < argc)
		names[count++] = argv[at++];
	memcpy(argv + kept, names, (size_t)count * sizeof(*argv));
	argv[kept + count] = NULL;
	return kept;
}

size_t options_count(char *const *words)
{
	size_t count = 0;

	while (words[count])
		count++;
	return count;
}

/* ---- required and excluded options ---- */

const char **options_given(const struct option_table *table, void *values, const char *word,
			   size_t length)
{
	struct option_values *options = values;

	for (size_t i = 0; i < table->count; i++)
		if (is_word(table->rows[i].option, word, length))
			return &options->given[i];
	return NULL;
}

/*
 * True if the option that `need` names was given. `need` is "report" or "report=tree", ended by "|"
 * or NUL. The given argument may be a list of words, one of which must be the word in `need`.
 */
static bool is_met(const struct option_table *table, void *values, const char *need)
{
	size_t length = strcspn(need, "|"), word = strcspn(need, "=|");
	const char **place = options_given(table, values, need, word);
	const char *list = place ? *place : NULL;

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

bool options_is_of_use(const struct option_table *table, void *values, const struct option_row *row)
{
	const char *with = row->with;

	if (!with)
		return true;
	if (*with == '!')
		return !is_met(table, values, with + 1);
	while (*with) {
		size_t length = strcspn(with, "|");

		if (is_met(table, values, with))
			return true;
		with += length + (with[length] == '|');
	}
	return false;
}

int options_check(const struct option_table *table, void *values, struct error *err)
{
	const struct option_values *options = values;

	for (size_t i = 0; i < table->count; i++) {
		const struct option_row *row = &table->rows[i];
		char with[160] = "";
		bool is_not;

		if (!options->given[i] || options_is_of_use(table, values, row))
			continue;
		is_not = *row->with == '!';
		say_words(with, sizeof(with), "--", row->with + is_not);
		return error_set(err, EINVAL, "-%s%.*s %s %s", *row->option ? "-" : "",
				 *row->option ? INT_MAX : 1,
				 *row->option ? row->option : (char[]){ (char)row->letter },
				 is_not ? "cannot be used with" : "requires", with);
	}
	return 0;
}

/* ---- help ---- */

#define COLUMN 28
#define WIDTH  79

/*
 * Prints `words`, wrapped, in the columns from `start` on. The cursor must be at this column
 * already.
 */
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

void options_print_word(FILE *to, const char *word, int column, const char *text)
{
	fprintf(to, "  %-*s", column - 2, word);
	print_wrapped(to, column, text);
}

void options_print_row(FILE *to, const struct option_row *row, enum option_form form)
{
	bool has_with = form == OPTION_FULL && row->with && *row->with != '!';
	bool has_default = form == OPTION_FULL && row->argument && row->value && *row->value &&
			   !strstr(row->text, "default");
	bool has_variable = form == OPTION_FULL && row->environment;
	size_t length = form == OPTION_SHORT ? strcspn(row->text, ";(") : strlen(row->text);
	const char *argument = row->argument ? row->argument : "";
	char with[160] = "", text[900], letter[8] = "    ", left[128];

	if (has_with)
		say_words(with, sizeof(with), "--", row->with);
	snprintf(text, sizeof(text), "%s%s%s%.*s%s%s%s%s%s%s", has_with ? "with " : "", with,
		 has_with ? ": " : "", (int)length, row->text, has_default ? " (default: " : "",
		 has_default ? row->value : "", has_default ? ")" : "", has_variable ? " [" : "",
		 has_variable ? row->environment : "", has_variable ? "]" : "");
	if (row->letter)
		snprintf(letter, sizeof(letter), "-%c%s", row->letter, *row->option ? ", " : "");
	snprintf(left, sizeof(left), "%s%s%s%s%s", letter, *row->option ? "--" : "", row->option,
		 *argument && !is_optional(row) ? "=" : "", argument);
	if (strlen(left) + 2 < COLUMN) {
		options_print_word(to, left, COLUMN, text);
		return;
	}
	fprintf(to, "  %s\n%*s", left, COLUMN, "");
	print_wrapped(to, COLUMN, text);
}

void options_print(FILE *to, const struct option_table *table, enum option_form form)
{
	for (size_t i = 0; i < table->count; i++)
		if (table->rows[i].text && table->rows[i].kind != OPTION_renamed)
			options_print_row(to, &table->rows[i], form);
}

int options_about(int argc, char **argv, const char *usage)
{
	const char *name = usage + strlen("Usage: ");

	if (argc == 2 && !strcmp(argv[1], "--help"))
		fputs(usage, stdout);
	else if (argc == 2 && !strcmp(argv[1], "--version"))
		printf("%.*s (holdtrace) %s\n", (int)strcspn(name, " "), name, PACKAGE_VERSION);
	else
		return -1;
	return fflush(stdout) ? 1 : 0;
}
