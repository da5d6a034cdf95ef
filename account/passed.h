/* SPDX-License-Identifier: MIT */
#ifndef ACCOUNT_PASSED_H
#define ACCOUNT_PASSED_H

/*
 * Descriptors without FD_CLOEXEC stay open when a process executes another program. Each program of
 * a process has a stream and a ledger of its own; where the ledgers of a whole run are kept,
 * passed_to() follows a descriptor from one to the next.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "account/ledger.h"

struct passed_stream {
	const struct trace_process *process;
	struct ledger *ledger;
};

/*
 * Stream i passed a descriptor on (ledger_passed()). Returns the index of the stream in which it is
 * still open at the end, or count if it is not open. Descriptors 0 to 2 are not followed: a process
 * sets them up for its next program.
 */
size_t passed_to(const struct passed_stream *streams, size_t count, size_t i, uint64_t fd);

#endif
