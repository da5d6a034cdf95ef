/* SPDX-License-Identifier: MIT */
#include "unwind.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

#include "maps.h"

/*
 * libunwind's interface is the same since 1.0 (libunwind.so.8); its headers are not needed for it.
 * A context and a cursor are opaque, of 968 and 1016 bytes on x86-64. On aarch64 the context is
 * taken by a macro: no judge there yet.
 */
#define OPAQUE_SIZE 2048u

#if defined(__x86_64__) && defined(__LP64__)
#define NAME_CONTEXT "_Ux86_64_getcontext"
#define NAME_START   "_ULx86_64_init_local"
#define NAME_STEP    "_ULx86_64_step"
#define NAME_GET     "_ULx86_64_get_reg"
#define NAME_FLUSH   "_Ux86_64_flush_cache"
#define NAME_SPACE   "_ULx86_64_local_addr_space"
#define NUMBER_SP    7
#define NUMBER_IP    16
#endif

#ifdef NAME_CONTEXT

struct opaque {
	char bytes[OPAQUE_SIZE] __attribute__((aligned(16)));
};

static struct {
	int (*context)(struct opaque *context);
	int (*start)(struct opaque *cursor, struct opaque *context);
	int (*step)(struct opaque *cursor);
	int (*get)(struct opaque *cursor, int number, uintptr_t *value);
	void (*flush)(void *space, uintptr_t low, uintptr_t high);
	void **space;
} library;

int unwind_open(void)
{
	void *handle = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);

	if (handle == NULL)
		return -ENOENT;
	/* POSIX has it so: a function's address comes as an object's. */
	*(void **)&library.context = dlsym(handle, NAME_CONTEXT);
	*(void **)&library.start = dlsym(handle, NAME_START);
	*(void **)&library.step = dlsym(handle, NAME_STEP);
	*(void **)&library.get = dlsym(handle, NAME_GET);
	*(void **)&library.flush = dlsym(handle, NAME_FLUSH);
	library.space = dlsym(handle, NAME_SPACE);
	if (library.context != NULL && library.start != NULL && library.step != NULL &&
	    library.get != NULL && library.flush != NULL && library.space != NULL)
		return 0;
	library.get = NULL;
	return -ENOENT;
}

unsigned int unwind_judge(const struct origin *origin, uintptr_t *frames, unsigned int depth)
{
	struct opaque context, cursor;
	unsigned int count = 0;
	uintptr_t ip, sp;

	if (library.get == NULL || library.context(&context) != 0 ||
	    library.start(&cursor, &context) != 0)
		return 0;
	/*
	 * It keeps the rules of what has been unloaded until it is told (unw_flush_cache(3)); when,
	 * maps.c says.
	 */
	if (maps_is_loader(origin->ip))
		library.flush(*library.space, 0, 0);
	while (count < depth && library.step(&cursor) > 0) {
		if (library.get(&cursor, NUMBER_IP, &ip) != 0 ||
		    library.get(&cursor, NUMBER_SP, &sp) != 0)
			break;
		if (count > 0 || (ip == origin->ip && sp == origin->cfa))
			frames[count++] = ip;
	}
	return count;
}

#else

int unwind_open(void)
{
	return -ENOSYS;
}

unsigned int unwind_judge(const struct origin *origin, uintptr_t *frames, unsigned int depth)
{
	(void)origin, (void)frames, (void)depth;
	return 0;
}

#endif

struct unwind_counts unwind_counts;

static void count(uint64_t *number)
{
	__atomic_fetch_add(number, 1, __ATOMIC_RELAXED);
}

void unwind_check(struct capture_memory *memory, const struct origin *origin, unsigned int depth,
		  enum capture_end end)
{
	/* Nothing is walked meanwhile. */
	uintptr_t *theirs = (uintptr_t *)(void *)memory->steps;
	unsigned int ours_count = memory->count < depth ? memory->count : depth;
	unsigned int theirs_count = unwind_judge(origin, theirs, depth);
	unsigned int same = 0;

	if (theirs_count == 0) {
		count(&unwind_counts.unjudged);
		return;
	}
	count(&unwind_counts.checked);
	while (same < ours_count && same < theirs_count &&
	       memory->frames[memory->count - 1 - same].ip == theirs[same])
		same++;
	if (same == ours_count && same == theirs_count)
		return;
	if (same == ours_count && end != CAPTURE_COMPLETE)
		count(&unwind_counts.cut);
	else
		count(&unwind_counts.different);
}
