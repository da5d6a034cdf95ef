/* SPDX-License-Identifier: MIT */
/* Hooked by hand: memory. */
#include "hand.h"

/* Memory. Blocks of the pool were handed out before the real allocator was known. */

static void free_event(struct call *call, void *ptr)
{
	call_returned_early(call);
	call_event(call, &(struct call_event){ .resource = RESOURCE_MEMORY,
					       .operation = OPERATION_FREE,
					       .moment = MOMENT_ENTER,
					       .failed = !ptr,
					       .object = WORD(ptr) });
	call_end(call);
}

/* real_free: an expression that gives the block back, which is never one of the pool. */
#define FREE_BODY(name, ptr, real_free)                                                     \
	{                                                                                   \
		const struct origin origin = CAPTURE_ORIGIN();                              \
		struct call call;                                                           \
		bool ours = pool_owns(ptr);                                                 \
                                                                                            \
		if (!call_begin(&call, HOOK_##name, MOMENT_ENTER, &origin, WORD(ptr), 0)) { \
			real_ready();                                                       \
			if (!ours)                                                          \
				real_free;                                                  \
			return;                                                             \
		}                                                                           \
		if (!ours)                                                                  \
			real_free;                                                          \
		free_event(&call, ptr);                                                     \
	}

EXPORT void free(void *ptr) FREE_BODY(free, ptr, real.free(ptr))

	/* These are free where the allocator does not have them. */
	EXPORT
	void cfree(void *ptr) FREE_BODY(cfree, ptr, real.cfree ? real.cfree(ptr) : real.free(ptr))

		EXPORT void free_sized(void *ptr, size_t size)
			FREE_BODY(free_sized, ptr,
				  real.free_sized ? real.free_sized(ptr, size) : real.free(ptr))

				EXPORT
	void free_aligned_sized(void *ptr, size_t alignment, size_t size)
		FREE_BODY(free_aligned_sized, ptr,
			  real.free_aligned_sized ? real.free_aligned_sized(ptr, alignment, size)
						  : real.free(ptr))

			EXPORT size_t malloc_usable_size(void *ptr)
{
	if (pool_owns(ptr))
		return pool_size(ptr);
	real_ready();
	return real.malloc_usable_size(ptr);
}

/* Moves a block out of the pool, or asks the real one. */
static void *resize(void *ptr, size_t size)
{
	void *moved;

	if (!pool_owns(ptr))
		return real.realloc(ptr, size);
	moved = real.malloc(size);
	for (size_t i = 0; moved && i < size && pool_owns((char *)ptr + i); i++)
		((char *)moved)[i] = ((char *)ptr)[i];
	return moved;
}

/*
 * A block that was moved was lost at entry and gained at return; both are published after it, and
 * nobody can have had the old address in between but through a later event.
 */
static void *realloc_event(struct call *call, void *old, size_t size, void *result,
			   const struct call_argument *arguments)
{
	bool is_free = old && !size && !result; /* glibc's realloc(p, 0) */

	if (is_free)
		call_event(call, &(struct call_event){ .resource = RESOURCE_MEMORY,
						       .operation = OPERATION_FREE,
						       .moment = MOMENT_ENTER,
						       .part = RECORD_MOVED_PART,
						       .object = WORD(old) });
	call_event(call,
		   &(struct call_event){ .resource = RESOURCE_MEMORY,
					 .operation = is_free ? OPERATION_USE : OPERATION_ALLOC,
					 .moment = old && result ? MOMENT_SPLIT : MOMENT_LEAVE,
					 .failed = !result && !is_free,
					 .object = WORD(result),
					 .related = WORD(old),
					 .size = size,
					 .result = WORD(result),
					 .arguments = arguments });
	call_end(call);
	return result;
}

EXPORT void *realloc(void *ptr, size_t size)
{
	void *result;

	BEGIN(realloc, MOMENT_ENTER, ptr, 0, resize(ptr, size))
	result = resize(ptr, size);
	call_returned(&call);
	return realloc_event(&call, ptr, size, result, NO_ARGUMENTS);
}

static void *resize_array(void *ptr, size_t count, size_t size)
{
	size_t bytes;

	if (!pool_owns(ptr) || __builtin_mul_overflow(count, size, &bytes))
		return real.reallocarray(ptr, count, size);
	return resize(ptr, bytes);
}

EXPORT void *reallocarray(void *ptr, size_t count, size_t size)
{
	void *result;

	BEGIN(reallocarray, MOMENT_ENTER, ptr, 0, resize_array(ptr, count, size))
	result = resize_array(ptr, count, size);
	call_returned(&call);
	return realloc_event(&call, ptr, count * size, result,
			     ARGUMENTS(DECIMAL(count), DECIMAL(size)));
}

EXPORT int posix_memalign(void **where, size_t alignment, size_t size)
{
	int result;

	BEGIN(posix_memalign, MOMENT_LEAVE, 0, 0, real.posix_memalign(where, alignment, size))
	result = real.posix_memalign(where, alignment, size);
	call_returned(&call);
	call.error = result;
	EVENT(.resource = RESOURCE_MEMORY, .operation = OPERATION_ALLOC, .moment = MOMENT_LEAVE,
	      .failed = result != 0, .object = result ? 0 : WORD(*where), .size = size,
	      .result = WORD(result), .arguments = ARGUMENTS(DECIMAL(alignment), HEX(where)));
	call_end(&call);
	return result;
}
