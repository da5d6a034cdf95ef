/* SPDX-License-Identifier: MIT */
#ifndef CONTROL_H
#define CONTROL_H

/*
 * Requests to the collector of a run that is in progress. The caller names the run by the pid of
 * one of its processes.
 */

#include <stdbool.h>
#include <stdint.h>

#include "arena.h"
#include "base/error.h"

/* Whether the word can be a pid: a positive number. Users write a file of that name as ./4711. */
bool ctl_is_process(const char *word);

/*
 * Makes the collector of process `pid` write all events up to now to the traces of the run. *paths:
 * the paths of these traces, each followed by a newline; the caller frees them. Returns 0 or a
 * negative errno.
 */
int ctl_snapshot(int pid, char **paths, struct error *err);

/* A run, found by one of its processes. Later requests do not need this process. */
struct ctl_run;

/* Finds the run of process `pid`. free() frees *run. Returns 0 or a negative errno. */
int ctl_find(int pid, struct ctl_run **run, struct error *err);

/*
 * Finds the process of a stream, as the kernel identified it to the collector. *pid: the pid in the
 * collector's namespace; *handle: a pidfd, which the caller closes, or -1 if the process has ended.
 * Fails if the identity of the process is uncertain. Returns 0 or a negative errno.
 */
int ctl_process(const struct ctl_run *run, uint32_t stream, int *pid, int *handle,
		struct error *err);

/*
 * Like ctl_snapshot(), for a run that was found by ctl_find(). The trace of process `pid` is the
 * first path; *paths is "" if no file is being written. A last line "+N" means that N further paths
 * did not fit.
 */
int ctl_paths(const struct ctl_run *run, int pid, char **paths, struct error *err);

/* Removes the line "+N" of ctl_paths(). Returns 0 if there is none, or -E2BIG and an error text. */
int ctl_cut(char *paths, struct error *err);

/* Prints paths, one per line. On a terminal, escapes control characters, which may be hostile. */
void ctl_print(const char *paths);

/* Sends a request. *answer: lines of text; the caller frees it. Returns 0 or a negative errno. */
int ctl_ask(const struct ctl_run *run, int pid, enum control_command command, const char *text,
	    char **answer, struct error *err);

/*
 * Copies the files of the run in their current state, and prints the names of the copies. to: name
 * of the copy, if the run has a single file; NULL: generated names in the same directory. Returns 0
 * or a negative errno.
 */
int ctl_keep(const struct ctl_run *run, int pid, const char *to, struct error *err);

/*
 * Requests a scan of the memory of process `pid`, and waits until the scan has ended. is_light: the
 * scan only finds out which memory is resident. Returns 0 or a negative errno.
 */
int ctl_scan(int pid, bool is_light, struct error *err);

#endif
