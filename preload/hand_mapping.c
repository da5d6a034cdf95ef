/* SPDX-License-Identifier: MIT */
/* Hooked by hand: mappings, and the break. */
#include "hand.h"

#include <stdarg.h>
#include <sys/mman.h>

/* What was mapped in the range is given back. */
static void lost(struct call *call, uint8_t part, const void *address, size_t length)
{
	call_event(call, &(struct call_event){ .resource = RESOURCE_MAPPING,
					       .operation = OPERATION_FREE,
					       .moment = MOMENT_ENTER,
					       .part = part,
					       .object = WORD(address),
					       .size = length });
}

static void *gained(struct call *call, void *result, size_t length, const void *old,
		    const struct call_argument *arguments)
{
	call_event(call, &(struct call_event){ .resource = RESOURCE_MAPPING,
					       .operation = OPERATION_ALLOC,
					       .moment = MOMENT_LEAVE,
					       .failed = result == MAP_FAILED,
					       .object = WORD(result),
					       .related = WORD(old),
					       .size = length,
					       .result = WORD(result),
					       .arguments = arguments });
	call_end(call);
	return result;
}

/* MAP_FIXED_NOREPLACE is a bit of its own and replaces nothing. */
#define MOMENT_IF_LOST(loses) ((loses) ? MOMENT_ENTER : MOMENT_LEAVE)

EXPORT void *mmap(void *address, size_t length, int prot, int flags, int fd, off_t offset)
{
	void *result;

	BEGIN(mmap, MOMENT_IF_LOST(flags & MAP_FIXED), address, 0,
	      real.mmap(address, length, prot, flags, fd, offset))
	result = real.mmap(address, length, prot, flags, fd, offset);
	call_returned(&call);
	if (flags & MAP_FIXED && result != MAP_FAILED)
		lost(&call, 1, result, length);
	return gained(&call, result, length, NULL,
		      ARGUMENTS(DECIMAL(length), HEX(prot), HEX(flags), DECIMAL(fd), HEX(offset),
				HEX(address)));
}

EXPORT void *mmap64(void *address, size_t length, int prot, int flags, int fd, off64_t offset)
{
	void *result;

	BEGIN(mmap64, MOMENT_IF_LOST(flags & MAP_FIXED), address, 0,
	      real.mmap64(address, length, prot, flags, fd, offset))
	result = real.mmap64(address, length, prot, flags, fd, offset);
	call_returned(&call);
	if (flags & MAP_FIXED && result != MAP_FAILED)
		lost(&call, 1, result, length);
	return gained(&call, result, length, NULL,
		      ARGUMENTS(DECIMAL(length), HEX(prot), HEX(flags), DECIMAL(fd), HEX(offset),
				HEX(address)));
}

/* The old range stays if it was copied (length 0: a second mapping) or is to be left. */
EXPORT void *mremap(void *old, size_t length, size_t new_length, int flags, ...)
{
	void *result, *new_address = NULL;

	if (flags & (MREMAP_FIXED | MREMAP_DONTUNMAP)) {
		va_list list;

		va_start(list, flags);
		new_address = va_arg(list, void *);
		va_end(list);
	}
	BEGIN(mremap, MOMENT_ENTER, old, new_address,
	      real.mremap(old, length, new_length, flags, new_address))
	result = real.mremap(old, length, new_length, flags, new_address);
	call_returned(&call);
	if (flags & MREMAP_FIXED && result != MAP_FAILED)
		lost(&call, 2, result, new_length);
	if (length && !(flags & MREMAP_DONTUNMAP) && result != MAP_FAILED)
		lost(&call, 1, old, length);
	return gained(&call, result, new_length, old,
		      ARGUMENTS(DECIMAL(length), DECIMAL(new_length), HEX(flags),
				HEX(new_address)));
}

/* The break has moved by so much from where it was, or should have. */
static void break_event(struct call *call, uint64_t old, int64_t growth, bool failed,
			uint64_t result, const struct call_argument *arguments)
{
	struct call_event event = { .resource = RESOURCE_MAPPING,
				    .operation = OPERATION_USE,
				    .moment = MOMENT_LEAVE,
				    .failed = failed,
				    .object = old,
				    .result = result,
				    .arguments = arguments };

	if (growth > 0) {
		event.operation = OPERATION_ALLOC;
		event.size = (uint64_t)growth;
	} else if (growth < 0) {
		event.operation = OPERATION_FREE;
		event.moment = MOMENT_ENTER;
		event.object = old + (uint64_t)growth;
		event.size = 0 - (uint64_t)growth;
	}
	call_event(call, &event);
	call_end(call);
}

EXPORT int brk(void *address)
{
	uint64_t old;
	int result;

	BEGIN(brk, MOMENT_ENTER, address, 0, real.brk(address))
	old = WORD(real.sbrk(0));
	result = real.brk(address);
	call_returned(&call);
	break_event(&call, old, (int64_t)(WORD(address) - old), result != 0, WORD(result),
		    ARGUMENTS(HEX(address)));
	return result;
}

EXPORT void *sbrk(intptr_t increment)
{
	void *result;
	bool failed;

	BEGIN(sbrk, MOMENT_IF_LOST(increment < 0), 0, 0, real.sbrk(increment))
	result = real.sbrk(increment);
	call_returned(&call);
	failed = result == (void *)-1;
	break_event(&call, failed ? 0 : WORD(result), increment, failed, WORD(result),
		    ARGUMENTS(DECIMAL(increment)));
	return result;
}
