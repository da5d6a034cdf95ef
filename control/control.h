/* SPDX-License-Identifier: MIT */
#ifndef CONTROL_H
#define CONTROL_H

/* Requests to the collector of a run that goes on. The run is found by one of its processes. */

#include <stdbool.h>
#include <stdint.h>

#include "arena.h"
#include "base/error.h"

/* Whether the word is a number that may be a pid. A file with such a name is given as ./4711. */
bool ctl_is_process(const char *word);

/*
 * Makes the run write its events up to now, and returns the paths of its traces in *paths, each
 * followed by a newline. The caller frees *paths. Returns 0 or a negative errno.
 */
int ctl_snapshot(int pid, char **paths, struct error *err);

/* A run, found by one of its processes. Later requests do not need this process. */
struct ctl_run;

/* Finds the run of pid. The caller frees *run by free(). Returns 0 or a negative errno. */
int ctl_find(int pid, struct ctl_run **run, struct error *err);

/*
 * The process of a stream, as the kernel identified it to the collector: its pid here, and a pidfd
 * that the caller closes. Leaves both unchanged if the process has ended. Fails if its identity is
 * not certain.
 */
int ctl_process(const struct ctl_run *run, uint32_t stream, int *pid, int *handle,
		struct error *err);

/*
 * As ctl_snapshot(), with the trace of pid first; "" if no file is being written. A last line "+N"
 * means that the names of N files did not fit.
 */
int ctl_paths(const struct ctl_run *run, int pid, char **paths, struct error *err);

/* Removes that last line. Returns 0 if paths had no such line, else -E2BIG with an error text. */
int ctl_cut(char *paths, struct error *err);

/*
 * Prints paths, one a line: unchanged, but with control characters escaped on a terminal, since the
 * run may be another user's.
 */
void ctl_print(const char *paths);

/* Sends a request. *answer: lines, which the caller frees. Returns 0 or a negative errno. */
int ctl_ask(const struct ctl_run *run, int pid, enum control_command command, const char *text,
	    char **answer, struct error *err);

/*
 * Copies the files of the run in their present state, and prints the names of the copies. to: the
 * name for a single file; NULL: names in the same directory.
 */
int ctl_keep(const struct ctl_run *run, int pid, const char *to, struct error *err);

/*
 * Has the memory of this process scanned, and waits for the end of the scan. Returns 0 or a
 * negative errno.
 */
int ctl_scan(int pid, struct error *err);

#endif
