/* SPDX-License-Identifier: MIT */
/* The functions of holdtrace.h and of sp-rtrace's library. None of them changes errno. */
#define HOLDTRACE_LIBRARY
#include "holdtrace.h"

#include "preload/record/names.h"
#include "stub.h"

/* Returns the calling thread; NULL: not recorded. This may be the first call that we see. */
static struct thread *program_thread(void)
{
	start_wake(HOOK_holdtrace_acquired);
	return life.control ? call_thread() : NULL;
}

/* ---- contexts ---- */

EXPORT unsigned int holdtrace_lib_context_create(const char *name)
{
	struct thread *thread = program_thread();
	uint32_t bit = names_context(name ? name : "");

	names_tell(thread);
	return bit;
}

EXPORT void holdtrace_lib_context_enter(unsigned int bits)
{
	names_tell(program_thread());
	names_own_contexts |= bits;
}

EXPORT void holdtrace_lib_context_exit(unsigned int bits)
{
	names_own_contexts &= ~bits;
}

EXPORT void holdtrace_lib_context_enter_all(unsigned int bits)
{
	names_tell(program_thread());
	__atomic_fetch_or(&names_all_contexts, bits, __ATOMIC_RELAXED);
}

EXPORT void holdtrace_lib_context_exit_all(unsigned int bits)
{
	__atomic_fetch_and(&names_all_contexts, ~bits, __ATOMIC_RELAXED);
}

/* ---- marks ---- */

EXPORT void holdtrace_lib_mark(const char *text)
{
	names_mark(program_thread(), text ? text : "");
}

/* ---- the program's own resources ---- */

EXPORT unsigned int holdtrace_lib_class_create(const char *name, const char *description,
					       int counted)
{
	struct thread *thread = program_thread();
	uint32_t ordinal = names_class(name ? name : "", description ? description : "", counted);

	names_tell(thread);
	return ordinal;
}

static void own_event(unsigned int kind, const void *object, size_t size, enum operation operation,
		      const struct origin *origin)
{
	bool gains = operation == OPERATION_ALLOC;
	struct call call;

	if (!names_class_is_listed(kind) ||
	    !stub_begin(&call, gains ? HOOK_holdtrace_acquired : HOOK_holdtrace_released,
			gains ? WHEN_RETURN : WHEN_ENTRY, BLOCKS_NO, origin, WORD(object), 0))
		return;
	call_returned(&call);
	CALL_EVENT(&call, .resource = (enum resource)kind, .operation = operation,
		   .moment = gains ? MOMENT_LEAVE : MOMENT_ENTER, .object = WORD(object),
		   .size = size);
	call_end(&call);
}

EXPORT void holdtrace_lib_acquired(unsigned int kind, const void *object, size_t size)
{
	const struct origin origin = CAPTURE_ORIGIN();

	own_event(kind, object, size, OPERATION_ALLOC, &origin);
}

EXPORT void holdtrace_lib_released(unsigned int kind, const void *object)
{
	const struct origin origin = CAPTURE_ORIGIN();

	own_event(kind, object, 0, OPERATION_FREE, &origin);
}

/* ---- sp-rtrace's library: one mask for the whole process ---- */

EXPORT unsigned int sp_context_create(const char *name)
	__attribute__((alias("holdtrace_lib_context_create")));
EXPORT void sp_context_enter(unsigned int context)
	__attribute__((alias("holdtrace_lib_context_enter_all")));
EXPORT void sp_context_exit(unsigned int context)
	__attribute__((alias("holdtrace_lib_context_exit_all")));
unsigned int sp_context_get_mask(void);
unsigned int sp_context_get_count(void);

EXPORT unsigned int sp_context_get_mask(void)
{
	return __atomic_load_n(&names_all_contexts, __ATOMIC_RELAXED);
}

EXPORT unsigned int sp_context_get_count(void)
{
	return names_context_count();
}
