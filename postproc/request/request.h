/* SPDX-License-Identifier: MIT */
#ifndef REQUEST_REQUEST_H
#define REQUEST_REQUEST_H

/* What holdtrace-postproc is asked for on its command line, made from options.def. */

#include "base/options.h"

struct options {
	struct option_values values;
	const char *command;   /* of holdtrace, in whose place we are; NULL: none */
	char *paths;	       /* of a process's run */
	char reports[400];     /* of --table, where no report was named */
	bool are_tables_named; /* by --table, not by the command */
	bool newest;	       /* without a FILE: the newest trace here */
	bool is_screen;	       /* of a run that has ended: asked for by the launcher */
	char format_name[32];
	const char *words; /* behind its colon; NULL: none */
	char filters[240]; /* those that were given, "--function=f --since=1", perhaps cut */
#define OPTION(kind, name, word, letter, argument, with, text) option_##kind name;
#define RENAMED(word, instead)
#include "postproc/options.def"
#undef OPTION
#undef RENAMED
};

/*
 * Fills options, which are all 0, from the command line; names are inputs, too. Returns 0 or
 * -EINVAL (wrong usage, also of an option that is of no use with the others). Texts are argv's.
 */
int request_read(struct options *options, int argc, char **argv, struct error *err);

/* The list of options, as --help prints it. */
void request_print_help(FILE *file, enum option_form form);

/* Those that concern a report, of this name or in general ("list"). */
void request_print_report_help(FILE *file, const char *report, enum option_form form);

void request_free(struct options *options);

#endif
