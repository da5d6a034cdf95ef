/* SPDX-License-Identifier: MIT */
#ifndef CONTROL_H
#define CONTROL_H

/* A run that goes on, found by one of its processes, and what its collector is asked. */

#include <stdbool.h>
#include <stdint.h>

#include "arena.h"
#include "base/error.h"

/* A number that may be a process's. A file of such a name is given as ./4711. */
bool ctl_is_process(const char *word);

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

/*
 * Prints paths, one a line: as they are, but for a terminal made safe, for the run may be another
 * user's.
 */
void ctl_print(const char *paths);

/* Sends a request; answer: lines, to be freed. Returns 0 or a negative errno. */
int ctl_ask(const struct ctl_run *run, int pid, enum control_command command, const char *text,
	    char **answer, struct error *err);

/* Copies the files of the run as they are by now, to stay, and prints the names of the copies; to:
 * of one; NULL: beside them. */
int ctl_keep(const struct ctl_run *run, int pid, const char *to, struct error *err);

/* Has the memory of this process scanned, and waits for it. Returns 0 or a negative errno. */
int ctl_scan(int pid, struct error *err);

#endif
