/* SPDX-License-Identifier: MIT */
/*
 * Hooked by hand: functions that free memory. Effects of moving a block, and of calls that change
 * mappings or the program break. Blocks of the pool (real.h) were allocated before the real
 * allocator was known, and are never passed to that allocator.
 */
#include "hand.h"
#include "preload/record/sampling.h"

/* free(NULL) frees nothing and does not fail: it is recorded as a use without an object. */
static void end_free(struct call *call, void *block)
{
	call_returned_early(call);
	CALL_EVENT(call, .resource = (enum resource)CLASS_OF_free,
		   .operation = block ? OPERATION_FREE : OPERATION_USE, .moment = MOMENT_ENTER,
		   .object = WORD(block));
	call_end(call);
}

/* Functions that free a block. real_free: calls the real function or, if libc lacks it, free(). */
#define FREE_BY_HAND(name, parameters, real_free)                                               \
	_Static_assert((int)DOES_##name == OPERATION_FREE && AT_OF(name) == WHEN_ENTRY &&       \
			       (int)BLOCKS_OF_##name == (int)BLOCKS_OF_free &&                  \
			       (int)CLASS_OF_##name == (int)CLASS_OF_free && !VALUES_OF_##name, \
		       #name " differs from free in hooks.def");                                \
	EXPORT void name parameters                                                             \
	{                                                                                       \
		if (sampling_passes_free(life_armed[HOOK_##name], block)) {                     \
			if (likely(!pool_owns(block)))                                          \
				real_free;                                                      \
			return;                                                                 \
		}                                                                               \
                                                                                                \
		const struct origin origin = CAPTURE_ORIGIN();                                  \
		struct call call;                                                               \
		bool is_recorded = BEGIN_CALL(&call, name, &origin, block, 0);                  \
                                                                                                \
		if (!is_recorded)                                                               \
			real_ready();                                                           \
		if (!pool_owns(block))                                                          \
			real_free;                                                              \
		if (is_recorded)                                                                \
			end_free(&call, block);                                                 \
	}

FREE_BY_HAND(free, (void *block), real.free(block))
FREE_BY_HAND(cfree, (void *block), real.cfree ? real.cfree(block) : real.free(block))
FREE_BY_HAND(free_sized, (void *block, size_t size),
	     real.free_sized ? real.free_sized(block, size) : real.free(block))
FREE_BY_HAND(free_aligned_sized, (void *block, size_t alignment, size_t size),
	     real.free_aligned_sized ? real.free_aligned_sized(block, alignment, size)
				     : real.free(block))

EXPORT size_t malloc_usable_size(void *block)
{
	if (pool_owns(block))
		return pool_size(block);
	real_ready();
	return real.malloc_usable_size(block);
}

/* Moves a block of the pool to the real allocator; calls the real realloc for other blocks. */
void *resize(void *block, size_t size)
{
	void *moved;

	if (!pool_owns(block))
		return real.realloc(block, size);
	moved = real.malloc(size);
	for (size_t i = 0; moved && i < size && pool_owns((char *)block + i); i++)
		((char *)moved)[i] = ((char *)block)[i];
	return moved;
}

void *resize_array(void *block, size_t count, size_t size)
{
	size_t bytes;

	if (!pool_owns(block) || __builtin_mul_overflow(count, size, &bytes))
		return real.reallocarray(block, count, size);
	return resize(block, bytes);
}

/*
 * If a block moves, the old block is freed at entry and the new one allocated at return. Both
 * events are published after the return; the free has the time of the entry, so it precedes the
 * next allocation of the old address by another thread. glibc's realloc(p, 0) is a free.
 */
void block_moved(struct call *call, struct call_event *event, void *old)
{
	event->related = WORD(old);
	if (old && event->object) {
		event->moment = MOMENT_SPLIT;
	} else if (old && !event->size) {
		CALL_EVENT(call, .resource = RESOURCE_MEMORY, .operation = OPERATION_FREE,
			   .moment = MOMENT_ENTER, .part = RECORD_MOVED_PART, .object = WORD(old));
		event->operation = OPERATION_USE;
		event->failed = false;
	}
}

/* ---- mappings and the program break ---- */

/* Records that the call unmapped the mappings in this range. */
static void mapping_lost(struct call *call, uint8_t part, uint64_t address, size_t length)
{
	CALL_EVENT(call, .resource = RESOURCE_MAPPING, .operation = OPERATION_FREE,
		   .moment = MOMENT_ENTER, .part = part, .object = address, .size = length);
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
