/* SPDX-License-Identifier: MIT */
#ifndef ACCOUNT_PASSED_H
#define ACCOUNT_PASSED_H

/*
 * Follows descriptors across exec: those without FD_CLOEXEC stay open when a process executes
 * another program. Each program of a process has its own stream and ledger.
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
 * Follows a descriptor that was open when the program of stream `i` executed the next program
 * (ledger_passed()). Returns the index of the stream at whose end the descriptor is still open, or
 * `count` if it was closed. Also returns `count` for descriptors 0 to 2: a process leaves them open
 * for its next program on purpose.
 */
size_t passed_to(const struct passed_stream *streams, size_t count, size_t i, uint64_t fd);

#endif
