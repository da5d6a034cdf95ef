/* SPDX-License-Identifier: MIT */
#ifndef BASE_OPTIONS_H
#define BASE_OPTIONS_H

/*
 * The one parser of command lines. The options of a program or command are rows of a table (*.def):
 *
 *   OPTION(kind, name, "word", letter, "ARGUMENT", "with", "text")
 *   RENAMED("word", "what to write instead")    an option that is refused by this sentence
 *
 * "word": "" where there is a letter alone. kind: a member of enum option_kind. name: a member, of
 * the type option_KIND, of the program's own struct, whose first member is a struct option_values.
 * letter: 0 where the option has none. "ARGUMENT": 0 for none; "[=N]": it may be left out; of the
 * kind word the words themselves, "one|two". "with": the options that it is of use with, "report"
 * or "report=tree|compress"; or
 * "!report", what it does not go with; 0: it goes with everything. "text": for --help; what is
 * before the first ";" or "(" is its short form.
 *
 * Options and names (words that are no options) come in any order, "--" ends the options, a word
 * may be abbreviated while only one option begins so, letters may be joined (-vb 3).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"

enum option_kind {
	OPTION_flag,
	OPTION_text,
	OPTION_word,	/* one of the words of its argument */
	OPTION_number,	/* decimal */
	OPTION_count,	/* a number that is not 0 */
	OPTION_mask,	/* hexadecimal */
	OPTION_maybe,	/* a number, or nothing */
	OPTION_size,	/* 500KB, 2MiB, in bytes */
	OPTION_time,	/* 30s, 250ms, in ns */
	OPTION_list,	/* texts, or pairs "OLD=NEW": the option may be given several times */
	OPTION_other,	/* its table's function takes it */
	OPTION_renamed, /* is refused; text: what to write instead */
};

typedef bool option_flag;
typedef const char *option_text; /* NULL: not given */

typedef struct {
	const char *word; /* NULL: not given */
	unsigned value;	  /* its place among the words; 0 where it was not given */
} option_word;

typedef struct {
	bool is_set;
	uint64_t value;
} option_number, option_count, option_mask, option_size, option_time;

typedef struct {
	bool is_set, has_value;
	uint64_t value;
} option_maybe;

/* items: to be freed. */
typedef struct {
	const char **items;
	size_t count, capacity;
} option_list;

/* The columns of a row. Those of settings.def have the same names. */
struct option_row {
	const char *option, *argument, *with, *text;
	const char *value, *words, *environment; /* of settings.def alone */
	int letter;
	enum option_kind kind;
	size_t offset;	/* of the option's member */
	bool is_filter; /* decides which events are kept */
	bool is_own;	/* is taken out of argv, since argv is another program's then */
};

#define OPTION_FIELDS(type, kind_, name, word_, letter_, argument_, with_, text_)     \
	.option = (word_), .argument = (argument_), .with = (with_), .text = (text_), \
	.letter = (letter_), .kind = OPTION_##kind_, .offset = offsetof(type, name)

#define OPTION_RENAMED_FIELDS(word_, instead) \
	.option = (word_), .text = (instead), .kind = OPTION_renamed

#define OPTIONS_MAX 96

/* By row: its last argument, "" without one; NULL: the option was not given. */
struct option_values {
	const char *given[OPTIONS_MAX];
};

struct option_table {
	const struct option_row *rows;
	size_t count;
	bool ends_at_name; /* the first name ends the options: it is a program, and the rest its own
			    */
	bool passes_others; /* argv is another program's: what is no option here stays as it is */
	const char *help;   /* the command that lists the options; NULL: the caller names it */
	/* Takes an option of the kind other; text: its argument, NULL: none. */
	int (*take)(void *values, const struct option_row *row, const char *text,
		    struct error *err);
};

/*
 * Reads argv, whose last pointer is NULL, into values, which are set to what holds without options.
 * Puts the options in front of the names in argv. Returns the index of the first name in argv, or
 * -EINVAL. Texts are those of argv.
 */
int options_read(const struct option_table *table, void *values, int argc, char **argv,
		 struct error *err);

/* Words up to a NULL, as the names are. */
size_t options_count(char *const *words);

/* -EINVAL: an option was given with what it does not go with, or without what it goes with. */
int options_check(const struct option_table *table, void *values, struct error *err);

/* Whether the option goes with those that were given. */
bool options_is_of_use(const struct option_table *table, void *values,
		       const struct option_row *row);

/* The place in values of what was given to the option with this word of length letters, or NULL. */
const char **options_given(const struct option_table *table, void *values, const char *word,
			   size_t length);

enum option_form {
	OPTION_SHORT, /* the text up to the first ";" or "(" */
	OPTION_PLAIN,
	OPTION_FULL, /* with what it goes with, its default and its variable */
};

void options_print_row(FILE *to, const struct option_row *row, enum option_form form);

/* Every option. */
void options_print(FILE *to, const struct option_table *table, enum option_form form);

/* A word and its text, wrapped from that column on. */
void options_print_word(FILE *to, const char *word, int column, const char *text);

/*
 * For a program that another one starts: answers --help (by usage, "Usage: PROGRAM ...") and
 * --version. Returns 0, 1 if that cannot be written, or -1: neither is asked for.
 */
int options_about(int argc, char **argv, const char *usage);

#endif
