/* SPDX-License-Identifier: MIT */
#ifndef ACCOUNT_PASSED_H
#define ACCOUNT_PASSED_H

/*
 * Descriptors without FD_CLOEXEC live on when a process executes another program. Each program of a
 * process has a stream and a ledger of its own; where the ledgers of a whole run are kept, this
 * follows a descriptor from one to the next.
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
 * Index of the stream in which a descriptor that stream i passed on (ledger_passed()) is still open
 * at the end; count: in none. Descriptors 0 to 2 are set up for the next program, which inherits
 * them.
 */
size_t passed_to(const struct passed_stream *streams, size_t count, size_t i, uint64_t fd);

#endif
