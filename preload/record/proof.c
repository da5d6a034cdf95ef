/* SPDX-License-Identifier: MIT */
#include "proof.h"

#include "call.h"
#include "preload/ground/sys.h"
#include "ring.h"

#define PAGE 4096u

static bool is_on_stack(const struct call *call, uintptr_t from, uintptr_t to)
{
	return from >= call->origin->cfa && to <= call->thread->stack.high && from <= to;
}

/* The page of an address, which is not NULL's. The kernel reads eight bytes, which lie in it. */
static bool is_readable(uintptr_t address)
{
	return address >= PAGE && !ring_is_quiet() &&
	       sys_is_readable((const void *)(address & ~(uintptr_t)7));
}

bool proof_of(const struct call *call, const void *address, size_t size)
{
	uintptr_t from = (uintptr_t)address, to = from + size;

	if (is_on_stack(call, from, to))
		return true;
	if (to < from)
		return false;
	for (; from < to; from = (from | (PAGE - 1)) + 1)
		if (!is_readable(from))
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
