/* SPDX-License-Identifier: MIT */
#ifndef COMMAND_H
#define COMMAND_H

/* The sub-commands, as main() calls them. Each returns the exit status of holdtrace. */

#include <stdbool.h>

#include <stdint.h>

#include "base/error.h"

/* As env(1) and timeout(1): our own failure, a program that cannot be run, one that is not there.
 */
enum {
	STATUS_USAGE = 2,
	STATUS_UNKNOWN = 3, /* limits cannot be judged */
	STATUS_OWN_FAILURE = 125,
	STATUS_NOT_RUNNABLE = 126,
	STATUS_NOT_FOUND = 127,
};

#define COMMAND(name, function, arguments, text) \
	int function(int argc, char **argv, struct error *err);
#include "launch/commands.def"
#undef COMMAND

/* Whether the first argument of `report` says what is asked: "leaks", "leaks,peak". */
bool report_has_what(int argc, char **argv);

/* Whether words of the post-processor say where its output goes (-o FILE). */
bool report_has_output(int argc, char **argv);

/* Whether they say a format (--format=NAME). */
bool report_has_format(int argc, char **argv);

/*
 * Has the run of this process written up to now, and takes the paths of its traces, each with a
 * newline, to be freed. Returns 0 or a negative errno.
 */
int ctl_snapshot(int pid, char **paths, struct error *err);

/* A run, found by one of its processes: what is asked of it later does not need that one. */
struct ctl_run;

/* To be freed by free(). Returns 0 or a negative errno. */
int ctl_find(int pid, struct ctl_run **run, struct error *err);

/*
 * The process of a stream as the kernel named it to the collector: its number here, and a pidfd
 * that is the caller's. Both stay as they are where it has ended. Fails where it is not certain
 * which one it is.
 */
int ctl_process(const struct ctl_run *run, uint32_t stream, int *pid, int *handle,
		struct error *err);

/*
 * As ctl_snapshot(), that of pid first; "" if no file is being written. A last line "+N" stands for
 * N files whose names had no room.
 */
int ctl_paths(const struct ctl_run *run, int pid, char **paths, struct error *err);

/* Takes that line away. Returns 0 if there was none, -E2BIG with a sentence if there was. */
int ctl_cut(char *paths, struct error *err);

/* Copies the files of the run as they are by now, to stay, and prints the names of the copies; to:
 * of one; NULL: beside them. */
int ctl_keep(const struct ctl_run *run, int pid, const char *to, struct error *err);

/* Nothing is recorded from now on. */
int ctl_stop(const struct ctl_run *run, struct error *err);

/* Has the memory of this process scanned, and waits for it. Returns 0 or a negative errno. */
int ctl_scan(int pid, struct error *err);

/*
 * Ends as the post-processor does that prints what a report is and its options, or of "list" all
 * reports; returns if it cannot.
 */
int report_print_help(const char *what, struct error *err);

/* One line on standard error, begun with the program's name; main.c alone writes it. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
