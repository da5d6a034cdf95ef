/* SPDX-License-Identifier: MIT */
/* Effects (effects.h) of calls that change mappings or the program break. */
#include "effects.h"

/* Records that the call unmapped the mappings in this range. */
static void mapping_lost(struct call *call, uint8_t part, uint64_t address, size_t length)
{
	call_event(call, &(struct call_event){ .resource = RESOURCE_MAPPING,
					       .operation = OPERATION_FREE,
					       .moment = MOMENT_ENTER,
					       .part = part,
					       .object = address,
					       .size = length });
}

/* Records the mappings that MAP_FIXED replaced. MAP_FIXED_NOREPLACE replaces nothing. */
void mapping_covered(struct call *call, struct call_event *event, bool is_fixed)
{
	if (is_fixed && !event->failed)
		mapping_lost(call, 1, event->object, event->size);
}

/*
 * Records the ranges that mremap unmapped. mremap leaves the old range mapped if the length is 0 (a
 * second mapping) or with MREMAP_DONTUNMAP.
 */
void mapping_moved(struct call *call, struct call_event *event, void *old, size_t length, int flags)
{
	event->related = WORD(old);
	if (event->failed)
		return;
	if (flags & MREMAP_FIXED)
		mapping_lost(call, 2, event->object, event->size);
	if (length && !(flags & MREMAP_DONTUNMAP))
		mapping_lost(call, 1, WORD(old), length);
}

void break_asked(struct call *call, struct call_event *event, struct spare *spare)
{
	(void)call;
	(void)event;
	spare->word = WORD(real.sbrk(0));
}

/* Records that the break moved, or that the call tried to move it, from `old` by `growth` bytes. */
void break_moved(struct call *call, struct call_event *event, uint64_t old, int64_t growth)
{
	(void)call;
	event->object = old;
	event->size = 0;
	if (growth > 0) {
		event->size = (uint64_t)growth;
	} else if (growth < 0) {
		event->operation = OPERATION_FREE;
		event->moment = MOMENT_ENTER;
		event->object = old + (uint64_t)growth;
		event->size = 0 - (uint64_t)growth;
	} else {
		event->operation = OPERATION_USE;
	}
}
