/* SPDX-License-Identifier: MIT */
#ifndef OPTIONS_H
#define OPTIONS_H

/* The command line of holdtrace-postproc, made from options.def. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"

typedef bool option_flag;
typedef const char *option_text;

typedef struct {
	const char *word; /* NULL: not given */
	unsigned value;	  /* its place among the words; 0 where it was not given */
} option_word;

typedef struct {
	bool is_set;
	uint64_t value;
} option_number, option_count, option_mask;

typedef struct {
	bool is_set, has_value;
	uint64_t value;
} option_maybe;

typedef struct {
	const char **items;
	size_t count, capacity;
} option_list;

#define OPTIONS_MAX 64

struct options {
	/* By row: its last argument, "" of a flag; NULL: not given. */
	const char *given[OPTIONS_MAX];
	char filters[240]; /* those that were given, "--func=f --since=1", perhaps cut */
#define OPTION(kind, name, word, letter, argument, with, description) option_##kind name;
#define ALIAS(name, word)
#include "postproc/options.def"
#undef OPTION
#undef ALIAS
};

/*
 * Fills options from the command line; what is left over are inputs, too. Returns 0, -EINVAL
 * (wrong usage, also of an option that is of no use with the others) or -ENOMEM. Texts are argv's.
 */
int options_parse(struct options *options, int argc, char **argv, struct error *err);

/* The list of options, as --help prints it. */
void options_print_help(FILE *file);

/* Those that concern a report, of this name or in general ("list"). */
void options_print_report_help(FILE *file, const char *report);

void options_free(struct options *options);

#endif
