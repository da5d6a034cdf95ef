/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_COLLECT_H
#define COLLECT_COLLECT_H

/*
 * The collector of a run, from the start until all streams are complete. It knows the processes of
 * the run and their streams, and writes the last notes of a process that has ended.
 */

#include "base/error.h"

struct collector;

/* The descriptors that a collector inherits. -1: no such descriptor. */
struct collect_fds {
	int control;
	int sink;    /* the output, if settings.out is stdout or fd:N; otherwise -1 */
	int reports; /* gets a line "STREAM PID PATH\n" for each stream that begins */
};

/*
 * Takes over the control page, opens the first output and the socket, leaves the terminal, closes
 * every other descriptor, and sets the state to running. Returns NULL on failure; the control page
 * then has the error text, too.
 */
struct collector *collect_start(const struct collect_fds *fds, struct error *err);

/*
 * Returns why a stream is incomplete, or "" if all are complete. A stream whose reader closed the
 * pipe does not count as incomplete.
 */
const char *collect_failure(const struct collector *collector);

/* Collects until the last process of the run has ended and everything is written. */
void collect_run(struct collector *collector);

#endif
