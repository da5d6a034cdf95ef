/* SPDX-License-Identifier: MIT */
#ifndef REQUEST_REQUEST_H
#define REQUEST_REQUEST_H

/* The command line of holdtrace-postproc, parsed by the rows of options.def. */

#include "base/options.h"

struct options {
	struct option_values values;
	const char *command;   /* command of holdtrace that started this program; NULL: none */
	char *paths;	       /* of the run of a process */
	char reports[400];     /* of --table, if no report was named */
	bool are_tables_named; /* by --table, not by the command */
	bool newest;	       /* without a FILE: the newest trace in this directory */
	bool is_screen;	       /* the screen at the end of a run, requested by the launcher */
	char format_name[32];
	const char *words; /* of the format, after its colon; NULL: none */
	char filters[240]; /* the given filters, "--function=f --since=1", perhaps cut */
#define OPTION(kind, name, word, letter, argument, with, text) option_##kind name;
#define RENAMED(word, instead)
#include "postproc/options.def"
#undef OPTION
#undef RENAMED
};

/*
 * Fills options, which are all 0, from the command line; names are inputs, too. Returns 0 or
 * -EINVAL (wrong usage, also options that cannot be combined). Texts point into argv.
 */
int request_read(struct options *options, int argc, char **argv, struct error *err);

/* Prints the list of options for --help. */
void request_print_help(FILE *file, enum option_form form);

/* Prints the options that apply to a report of this name, or to all reports ("list"). */
void request_print_report_help(FILE *file, const char *report, enum option_form form);

void request_free(struct options *options);

#endif
