/* SPDX-License-Identifier: MIT */
#ifndef RUN_H
#define RUN_H

/*
 * The commands run and record. They run a program and record it; at its end, run prints the screen.
 */

#include <stdbool.h>
#include <stdio.h>

#include "base/array.h"
#include "base/error.h"
#include "base/options.h"
#include "launch/session.h"

/* The options and the state of a run. */
struct run {
	struct option_values values;
#define OPTION(kind, name, ...) option_##kind name;
#define SETTING(kind, name, ...)
#define RENAMED(word, instead)
#include "launch/run.def"
#undef OPTION
#undef SETTING
#undef RENAMED
	const char *screen, *html; /* paths from --report; NULL: not requested */
	const char *command;	   /* name of the command, for its help */
	/* for attach: the run records a process that is already running */
	bool takes_process;
	struct session session;
	bool is_shown;	  /* print the screen at the end */
	bool is_untraced; /* the program cannot be traced; perhaps its children can be */
};

/*
 * Reads the options into a run whose session was created. Returns the index of the first argument
 * after the options, 0 if it printed help and the caller must do nothing else, or a negative errno.
 */
int run_read_options(struct run *run, int argc, char **argv, struct error *err);

/*
 * Waits until the traces are complete, then prints the reports or the names of the traces. program:
 * name of the traced program. Returns an exit status.
 */
int run_tell(struct run *run, const char *program);

/*
 * Runs a part of holdtrace, which is a separate program, with its standard output on the descriptor
 * `to`, or on /dev/null if `to` is -1. Returns the exit status of the part.
 */
int run_part(enum part part, char **argv, int to, struct error *err);

/* Replaces this process by a part of holdtrace (exec). Returns an exit status only on failure. */
int run_become(enum part part, char **argv, struct error *err);

/* Checks the names and values of limits. Returns 0 if they are valid, else an exit status. */
int run_check_limits(const char *limits, struct error *err);

/*
 * Prints the options of run and record. is_all: every option with its complete description;
 * otherwise only the usual options.
 */
void run_print_options(FILE *to, bool is_all);

extern const struct option_table attach_options;

/* ---- allocators without a stub ---- */

/*
 * Plans how to record allocator functions for which the library has no stub (include/patches.h).
 * They may be in the program's file, in libraries that the loader loads with the program, or in
 * modules that the processes of the run load later (dlopen).
 */

/*
 * Fills in the plan for the program at `path`. hooks: arguments of --hook. Returns -EINVAL if one
 * of these is invalid, or names a function that neither the program nor its libraries define.
 */
int patches_plan(struct patches *plan, const char *path, const char *const *hooks, size_t count,
		 struct error *err);

/*
 * Starts the planner, a child that answers requests for plans until the launcher ends. Sets
 * control->has_planner if it succeeds. hooks: arguments of --hook that patches_plan() accepted.
 * Call it after signals_hold().
 */
void patches_serve(struct control_page *control, const char *const *hooks, size_t count);

#endif
