/* SPDX-License-Identifier: MIT */
#ifndef BASE_OPTIONS_H
#define BASE_OPTIONS_H

/*
 * The parser of the command lines of all programs. The options of a program or command are rows of
 * a table (*.def):
 *
 *   OPTION(kind, name, "word", letter, "ARGUMENT", "with", "text")
 *   RENAMED("word", "what to write instead")    an old option, refused with this hint
 *
 * "word": "" if the option has only a letter. kind: a member of enum option_kind. name: a member of
 * the program's own struct. The type of the member is option_KIND; the first member of the struct
 * is a struct option_values. letter: 0 if the option has none. "ARGUMENT": 0 if the option takes
 * none; "[=N]" if it is optional; for the kind `word`, the accepted words: "one|two". "with":
 * options of which at least one must be given ("report" or "report=tree|compress"), or an option
 * that must not be given ("!report"); 0: no condition. "text": for --help; its short form ends
 * before the first ";" or "(".
 *
 * Options and names (arguments that are not options) may come in any order. "--" ends the options.
 * An option may be abbreviated to a unique prefix. Letters may be joined (-vb 3).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"

enum option_kind {
	OPTION_flag,
	OPTION_text,
	OPTION_word,	/* one of the words in "ARGUMENT" */
	OPTION_number,	/* a decimal number */
	OPTION_count,	/* a number of at least 1 */
	OPTION_mask,	/* a hexadecimal number */
	OPTION_maybe,	/* an optional number */
	OPTION_size,	/* a size in bytes: 500KB, 2MiB */
	OPTION_time,	/* a time in ns: 30s, 250ms */
	OPTION_list,	/* a list of texts, or of pairs "OLD=NEW"; the option may be repeated */
	OPTION_other,	/* parsed by take() of the table */
	OPTION_renamed, /* a former name: refused; text: what to write instead */
};

typedef bool option_flag;
typedef const char *option_text; /* NULL: the option was not given */

typedef struct {
	const char *word; /* NULL: the option was not given */
	unsigned value;	  /* index of the word; 0 if the option was not given */
} option_word;

typedef struct {
	bool is_set;
	uint64_t value;
} option_number, option_count, option_mask, option_size, option_time;

typedef struct {
	bool is_set, has_value;
	uint64_t value;
} option_maybe;

/* The values of an option that may be repeated. The caller frees items. */
typedef struct {
	const char **items;
	size_t count, capacity;
} option_list;

/* The columns of a row. The rows of settings.def use the same struct. */
struct option_row {
	const char *option, *argument, *with, *text;
	const char *value, *words, *environment; /* for rows of settings.def only */
	int letter;
	enum option_kind kind;
	size_t offset;	/* offset of the member in the program's struct */
	bool is_filter; /* the option selects events */
	bool is_own;	/* removed from argv before argv is passed to another program */
};

#define OPTION_FIELDS(type, kind_, name, word_, letter_, argument_, with_, text_)     \
	.option = (word_), .argument = (argument_), .with = (with_), .text = (text_), \
	.letter = (letter_), .kind = OPTION_##kind_, .offset = offsetof(type, name)

#define OPTION_RENAMED_FIELDS(word_, instead) \
	.option = (word_), .text = (instead), .kind = OPTION_renamed

#define OPTIONS_MAX 96

/*
 * For each row, the last argument of the option, or "" if the option takes none; NULL: the option
 * was not given.
 */
struct option_values {
	const char *given[OPTIONS_MAX];
};

struct option_table {
	const struct option_row *rows;
	size_t count;
	bool ends_at_name;  /* the first name is a program, which gets the words after it */
	bool passes_others; /* argv is passed to another program: unknown options stay in it */
	const char *help;   /* command that lists the options; NULL: errors do not name it */
	/* Parses an option of kind OPTION_other. text: the argument of the option, or NULL. */
	int (*take)(void *values, const struct option_row *row, const char *text,
		    struct error *err);
};

/*
 * Parses `argv`, which ends with NULL, into `values`, in which the caller has set the defaults.
 * Moves the options in `argv` before the names, except those with is_own, which it removes. Returns
 * the index of the first name in `argv`, or -EINVAL. Texts in `values` point into `argv`.
 */
int options_read(const struct option_table *table, void *values, int argc, char **argv,
		 struct error *err);

/* The number of words before the terminating NULL. */
size_t options_count(char *const *words);

/*
 * Returns 0, or -EINVAL if an option was given without an option that it requires, or together with
 * an option that excludes it.
 */
int options_check(const struct option_table *table, void *values, struct error *err);

/*
 * True if the row's option may be used with the options that were given: the row has no condition,
 * a required option was given, or the excluded option was not given.
 */
bool options_is_of_use(const struct option_table *table, void *values,
		       const struct option_row *row);

/* The entry in option_values of the option `word` (`length` letters); NULL: no such option. */
const char **options_given(const struct option_table *table, void *values, const char *word,
			   size_t length);

enum option_form {
	OPTION_SHORT, /* the text before the first ";" or "(" */
	OPTION_PLAIN,
	OPTION_FULL, /* text with its requirements, default and environment variable */
};

void options_print_row(FILE *to, const struct option_row *row, enum option_form form);

void options_print(FILE *to, const struct option_table *table, enum option_form form);

/* Prints a word, and after it the text, wrapped and indented to `column`. */
void options_print_word(FILE *to, const char *word, int column, const char *text);

/*
 * Handles --help, which prints `usage` ("Usage: PROGRAM ..."), and --version, for programs that
 * other programs start. Returns 0 if one of them was given, 1 if the output could not be written,
 * or -1 if neither was given.
 */
int options_about(int argc, char **argv, const char *usage);

#endif
