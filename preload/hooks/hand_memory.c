/* SPDX-License-Identifier: MIT */
/*
 * Hooked by hand: what gives memory back. Blocks of the pool were handed out before the real
 * allocator was known, and nobody gives them back. And the effects of moving a block.
 */
#include "hand.h"
#include "preload/record/sampling.h"

/* All four say the same of themselves as free. */
#define AS_FREE(name)                                                                           \
	_Static_assert((int)DOES_##name == (int)DOES_free && AT_OF(name) == AT_OF(free) &&      \
			       (int)BLOCKS_OF_##name == (int)BLOCKS_OF_free &&                  \
			       (int)CLASS_OF_##name == (int)CLASS_OF_free && !VALUES_OF_##name, \
		       #name " is another row than free")
AS_FREE(cfree);
AS_FREE(free_sized);
AS_FREE(free_aligned_sized);
_Static_assert(AT_OF(free) == WHEN_ENTRY, "what is given back is gone before the real call");

static inline __attribute__((always_inline)) bool
begin_free(struct call *call, enum hook_number hook, const struct origin *origin, void *block)
{
	return stub_begin(call, hook, AT_OF(free), (enum hook_blocks)BLOCKS_OF_free, origin,
			  WORD(block), 0);
}

/* free(NULL) gives nothing back, which is no failure: it is a use of nothing. */
static void end_free(struct call *call, void *block)
{
	call_returned_early(call);
	call_event(call, &(struct call_event){ .resource = (enum resource)CLASS_OF_free,
					       .operation = block ? (enum operation)DOES_free
								  : OPERATION_USE,
					       .moment = MOMENT_ENTER,
					       .object = WORD(block) });
	call_end(call);
}

EXPORT void free(void *block)
{
	if (sampling_passes_free(life_armed[HOOK_free], block)) {
		if (likely(!pool_owns(block)))
			real.free(block);
		return;
	}

	const struct origin origin = CAPTURE_ORIGIN();
	struct call call;
	bool is_recorded = begin_free(&call, HOOK_free, &origin, block);

	if (!is_recorded)
		real_ready();
	if (!pool_owns(block))
		real.free(block);
	if (is_recorded)
		end_free(&call, block);
}

/* The others are free where the allocator does not have them. */

static void release(void *block)
{
	if (real.cfree)
		real.cfree(block);
	else
		real.free(block);
}

EXPORT void cfree(void *block)
{
	if (sampling_passes_free(life_armed[HOOK_cfree], block)) {
		if (likely(!pool_owns(block)))
			release(block);
		return;
	}

	const struct origin origin = CAPTURE_ORIGIN();
	struct call call;
	bool is_recorded = begin_free(&call, HOOK_cfree, &origin, block);

	if (!is_recorded)
		real_ready();
	if (!pool_owns(block))
		release(block);
	if (is_recorded)
		end_free(&call, block);
}

static void release_sized(void *block, size_t size)
{
	if (real.free_sized)
		real.free_sized(block, size);
	else
		real.free(block);
}

EXPORT void free_sized(void *block, size_t size)
{
	if (sampling_passes_free(life_armed[HOOK_free_sized], block)) {
		if (likely(!pool_owns(block)))
			release_sized(block, size);
		return;
	}

	const struct origin origin = CAPTURE_ORIGIN();
	struct call call;
	bool is_recorded = begin_free(&call, HOOK_free_sized, &origin, block);

	if (!is_recorded)
		real_ready();
	if (!pool_owns(block))
		release_sized(block, size);
	if (is_recorded)
		end_free(&call, block);
}

static void release_aligned(void *block, size_t alignment, size_t size)
{
	if (real.free_aligned_sized)
		real.free_aligned_sized(block, alignment, size);
	else
		real.free(block);
}

EXPORT void free_aligned_sized(void *block, size_t alignment, size_t size)
{
	if (sampling_passes_free(life_armed[HOOK_free_aligned_sized], block)) {
		if (likely(!pool_owns(block)))
			release_aligned(block, alignment, size);
		return;
	}

	const struct origin origin = CAPTURE_ORIGIN();
	struct call call;
	bool is_recorded = begin_free(&call, HOOK_free_aligned_sized, &origin, block);

	if (!is_recorded)
		real_ready();
	if (!pool_owns(block))
		release_aligned(block, alignment, size);
	if (is_recorded)
		end_free(&call, block);
}

EXPORT size_t malloc_usable_size(void *block)
{
	if (pool_owns(block))
		return pool_size(block);
	real_ready();
	return real.malloc_usable_size(block);
}

/* Moves a block out of the pool, or asks the real one. */
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
 * A block that was moved was lost at entry and gained at return; both are published after it, and
 * nobody can have had the old address in between but through a later event. glibc's realloc(p, 0)
 * is a free.
 */
void block_moved(struct call *call, struct call_event *event, void *old)
{
	event->related = WORD(old);
	if (old && event->object) {
		event->moment = MOMENT_SPLIT;
	} else if (old && !event->size) {
		call_event(call, &(struct call_event){ .resource = RESOURCE_MEMORY,
						       .operation = OPERATION_FREE,
						       .moment = MOMENT_ENTER,
						       .part = RECORD_MOVED_PART,
						       .object = WORD(old) });
		event->operation = OPERATION_USE;
		event->failed = false;
	}
}
