/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_COLLECT_H
#define COLLECT_COLLECT_H

/*
 * The collector: from a board that somebody made to streams that are complete. Knows the
 * processes of the run, their streams, and what is still to be said when one has ended.
 */

#include "base/error.h"

struct collector;

/* The descriptors that a collector is born with; -1: none. */
struct collect_fds {
	int board;
	int sink;    /* for stdout and fd:N; none: as out says */
	int reports; /* where "STREAM PID PATH\n" is said of every stream that begins */
};

/*
 * Takes the board, opens the first output and the socket, leaves the terminal, closes every
 * descriptor that it does not need, and says that it runs. On failure the sentence stands on the
 * board, too. NULL then.
 */
struct collector *collect_start(const struct collect_fds *fds, struct error *err);

/* Why a stream is not complete; "" if all are, or only because nobody read on. */
const char *collect_failure(const struct collector *collector);

/* Collects until the last process of the run has gone and everything is written. */
void collect_run(struct collector *collector);

#endif
