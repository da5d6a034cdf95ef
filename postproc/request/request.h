/* SPDX-License-Identifier: MIT */
#ifndef REQUEST_REQUEST_H
#define REQUEST_REQUEST_H

/* The command line of holdtrace-postproc. options.def defines the options. */

#include <glob.h>

#include "base/options.h"

struct options {
	struct option_values values;
	const char *command; /* the command of holdtrace that started this program, or NULL */
	/* paths of the traces of a running process, one per line; `inputs` points into it */
	char *paths;
	/* if only --table was given: names of the reports that have these tables */
	char reports[400];
	bool are_tables_named; /* `tables` comes from --table, not from the command */
	size_t old_count;      /* for diff: this many of the first `inputs` are of the old runs */
	glob_t found;	       /* files that match patterns; `inputs` points into it */
	bool newest;	       /* without a FILE, read the newest run in this directory */
	bool is_screen;	       /* the launcher requested the screen at the end of a run */
	char format_name[32];
	const char *words; /* words after the format's name and a colon; NULL: none */
	/* the filters of the command line, as "--function=f --since=1"; truncated if too long */
	char filters[240];
#define OPTION(kind, name, word, letter, argument, with, text) option_##kind name;
#define LETTER(kind, name, letter, with)		       option_##kind name;
#define RENAMED(word, instead)
#include "postproc/options.def"
#undef OPTION
#undef RENAMED
};

/*
 * Fills `options`, which must be all 0, from the command line. Texts point into argv. Returns 0,
 * -EINVAL (wrong usage, or options that cannot be combined), or the error of a request to a running
 * process.
 */
int request_read(struct options *options, int argc, char **argv, struct error *err);

/* Prints the list of options for --help. */
void request_print_help(FILE *file, enum option_form form);

/* Prints the options for the report with this name or, for "list", those for all reports. */
void request_print_report_help(FILE *file, const char *report, enum option_form form);

void request_free(struct options *options);

#endif
