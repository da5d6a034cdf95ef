/* SPDX-License-Identifier: MIT */
#include "proof.h"

#include "call.h"
#include "preload/ground/sys.h"
#include "ring.h"

#define PAGE 4096u

bool proof_of(const struct call *call, const void *address, size_t size)
{
	uintptr_t from = (uintptr_t)address, to = from + size;

	if (to < from)
		return false;
	if (from >= call->origin->cfa && to <= call->thread->stack.high)
		return true;
	/*
	 * The kernel reads eight bytes, which are aligned and so within one page. NULL's page
	 * counts as unreadable.
	 */
	for (; from < to; from = (from | (PAGE - 1)) + 1)
		if (from < PAGE || ring_is_quiet() ||
		    !sys_is_readable((const void *)(from & ~(uintptr_t)7)))
			return false;
	return true;
}

const char *proof_text(const struct call *call, const char *text)
{
	uintptr_t at = (uintptr_t)text, end = at + ARENA_TEXT_MAX;

	if (!text || end < at)
		return "";
	while (at < end) {
		uintptr_t next = (at | (PAGE - 1)) + 1;

		if (!proof_of(call, (const void *)at, (next < end ? next : end) - at))
			return "";
		for (; at < next && at < end; at++)
			if (!*(const char *)at)
				return text;
	}
	return text;
}
