/* SPDX-License-Identifier: MIT */
#ifndef RUN_H
#define RUN_H

/* The commands run and record: a program under the tracer, with or without the screen at its end.
 */

#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"
#include "base/options.h"
#include "launch/place.h"
#include "launch/session.h"

/* A run as its options want it. */
struct run {
	struct option_values values;
#define OPTION(kind, name, ...) option_##kind name;
#define SETTING(kind, name, ...)
#define RENAMED(word, instead)
#include "launch/run.def"
#undef OPTION
#undef SETTING
#undef RENAMED
	const char *screen, *html; /* of the reports; NULL: there is none */
	const char *command;	   /* its name, for help */
	bool takes_process;	   /* the run is of a process that is there already */
	struct session session;
	bool is_shown;	  /* the screen at the end */
	bool is_untraced; /* what is run cannot be traced; its children perhaps */
};

/*
 * Reads the options. Returns the index of what follows them, 0 when all was said (--help), or a
 * negative errno. The session is there already.
 */
int run_read_options(struct run *run, int argc, char **argv, struct error *err);

/* Waits for the traces and shows them or names them. program: its name. Returns a status. */
int run_tell(struct run *run, const char *program);

/* Runs a part of holdtrace with its output to a descriptor of ours; -1: nowhere. Its status. */
int run_part(enum part part, char **argv, int to, struct error *err);

/* Becomes a part of holdtrace. Returns a status if that cannot be. */
int run_become(enum part part, char **argv, struct error *err);

/* 0: there are such limits. */
int run_check_limits(const char *limits, struct error *err);

/* The options of run and record; is_all: each with its whole text; else the usual ones. */
void run_print_options(FILE *to, bool is_all);

extern const struct option_table attach_options;

#endif
