/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_COLLECT_H
#define COLLECT_COLLECT_H

/*
 * The collector, from the control page of a run to complete streams. It knows the processes of the
 * run and their streams, and writes what remains to be written when a process has ended.
 */

#include "base/error.h"

struct collector;

/* The descriptors that a collector inherits; -1: none. */
struct collect_fds {
	int control;
	int sink;    /* for stdout and fd:N; -1: as settings.out says */
	int reports; /* gets a line "STREAM PID PATH\n" for each stream that begins */
};

/*
 * Takes over the control page, opens the first output and the socket, leaves the terminal, closes
 * every descriptor that it does not need, and sets the state to running. Returns NULL on failure;
 * the control page then has the error text, too.
 */
struct collector *collect_start(const struct collect_fds *fds, struct error *err);

/*
 * Why a stream is incomplete. "" if all are complete, or incomplete only because the reader of a
 * pipe stopped reading.
 */
const char *collect_failure(const struct collector *collector);

/* Collects until the last process of the run has ended and everything is written. */
void collect_run(struct collector *collector);

#endif
