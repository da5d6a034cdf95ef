/* SPDX-License-Identifier: MIT */
#include "account/passed.h"

size_t passed_to(const struct passed_stream *streams, size_t count, size_t i, uint64_t fd)
{
	while (fd > 2 && i < count && ledger_is_replaced(streams[i].ledger)) {
		const struct trace_process *before = streams[i].process;
		size_t next = count;

		for (size_t j = 0; j < count; j++) {
			const struct trace_process *process = streams[j].process;

			if (process->pid == before->pid && process->start_ns > before->start_ns &&
			    (next == count || process->start_ns < streams[next].process->start_ns))
				next = j;
		}
		i = next;
		if (i < count && !ledger_has_inherited(streams[i].ledger, fd))
			return count;
	}
	return fd > 2 ? i : count;
}
