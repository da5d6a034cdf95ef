/* SPDX-License-Identifier: MIT */
#ifndef RUN_H
#define RUN_H

/* The commands run and record: a program under the tracer, with or without the screen at its end.
 */

#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"
#include "launch/session.h"

/* A run as its options want it. */
struct run {
	const char *command; /* its name, for help */
	bool takes_process;  /* the run is of a process that is there already */
	struct session session;
	bool is_quiet;		  /* nothing of ours on standard error but errors */
	bool is_shown;		  /* the screen at the end */
	const char *page;	  /* file of --html, or NULL */
	const char *page_size;	  /* of --max-bytes; NULL: not said */
	const char *screen;	  /* file that it goes to; NULL: standard error */
	bool is_strict;		  /* what cannot be traced is not run */
	bool is_untraced;	  /* what is run cannot be traced; its children perhaps */
	const char *fail_on;	  /* limits, or NULL */
	const char *time, *until; /* takes_process: --for and --until, or NULL */
};

/*
 * Reads the options. Returns the index of what follows them, 0 when all was said (--help), or a
 * negative errno. The session is there already.
 */
int run_read_options(struct run *run, int argc, char **argv, struct error *err);

/* Waits for the traces and shows them or names them. program: its name. Returns a status. */
int run_tell(struct run *run, const char *program);

/* Runs a part of holdtrace with its output to a descriptor of ours; -1: nowhere. Its status. */
int run_part(const char *path, char **argv, int to);

/* 0: there are such limits. */
int run_check_limits(const char *limits, struct error *err);

/* is_all: each with its whole text; else the usual ones, in a line or two. */
void run_print_options(FILE *to, bool is_all);

#endif
