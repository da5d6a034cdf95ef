/* SPDX-License-Identifier: MIT */
/*
 * The functions of holdtrace.h, and those of sp-rtrace's library for programs that were built with
 * it. None of them changes errno.
 */
#define HOLDTRACE_LIBRARY
#include "holdtrace.h"

#include "preload/record/names.h"
#include "stub.h"

/*
 * The calling thread, or NULL if its calls are not recorded. This may be the first call of the
 * process.
 */
static struct thread *begin(void)
{
	start_wake(HOOK_holdtrace_gained);
	return life.control ? call_thread() : NULL;
}

/* ---- contexts ---- */

EXPORT unsigned int holdtrace_lib_context_create(const char *name)
{
	struct thread *thread = begin();
	uint32_t bit = names_context(name ? name : "");

	names_tell(thread);
	return bit;
}

EXPORT void holdtrace_lib_context_enter(unsigned int bits)
{
	names_tell(begin());
	names_own_contexts |= bits;
}

EXPORT void holdtrace_lib_context_exit(unsigned int bits)
{
	names_own_contexts &= ~bits;
}

EXPORT void holdtrace_lib_context_enter_all(unsigned int bits)
{
	names_tell(begin());
	__atomic_fetch_or(&names_all_contexts, bits, __ATOMIC_RELAXED);
}

EXPORT void holdtrace_lib_context_exit_all(unsigned int bits)
{
	__atomic_fetch_and(&names_all_contexts, ~bits, __ATOMIC_RELAXED);
}

/* ---- marks ---- */

EXPORT void holdtrace_lib_mark(const char *text)
{
	names_mark(begin(), text ? text : "");
}

/* ---- the program's own resources ---- */

EXPORT unsigned int holdtrace_lib_class_create(const char *name, const char *description,
					       int counted)
{
	struct thread *thread = begin();
	uint32_t ordinal = names_class(name ? name : "", description ? description : "", counted);

	names_tell(thread);
	return ordinal;
}

EXPORT void holdtrace_lib_gained(unsigned int kind, const void *object, size_t size)
{
	const struct origin origin = CAPTURE_ORIGIN();
	struct call call;

	if (!names_class_is_listed(kind) || !stub_begin(&call, HOOK_holdtrace_gained, WHEN_RETURN,
							BLOCKS_NO, &origin, WORD(object), 0))
		return;
	call_returned(&call);
	call_event(&call, &(struct call_event){ .resource = (enum resource)kind,
						.operation = OPERATION_ALLOC,
						.moment = MOMENT_LEAVE,
						.object = WORD(object),
						.size = size });
	call_end(&call);
}

EXPORT void holdtrace_lib_lost(unsigned int kind, const void *object)
{
	const struct origin origin = CAPTURE_ORIGIN();
	struct call call;

	if (!names_class_is_listed(kind) || !stub_begin(&call, HOOK_holdtrace_lost, WHEN_ENTRY,
							BLOCKS_NO, &origin, WORD(object), 0))
		return;
	call_returned(&call);
	call_event(&call, &(struct call_event){ .resource = (enum resource)kind,
						.operation = OPERATION_FREE,
						.moment = MOMENT_ENTER,
						.object = WORD(object) });
	call_end(&call);
}

/* ---- sp-rtrace's library: one mask for the whole process ---- */

unsigned int sp_context_create(const char *name);
void sp_context_enter(unsigned int context);
void sp_context_exit(unsigned int context);
unsigned int sp_context_get_mask(void);
unsigned int sp_context_get_count(void);

EXPORT unsigned int sp_context_create(const char *name)
{
	return holdtrace_lib_context_create(name);
}

EXPORT void sp_context_enter(unsigned int context)
{
	holdtrace_lib_context_enter_all(context);
}

EXPORT void sp_context_exit(unsigned int context)
{
	holdtrace_lib_context_exit_all(context);
}

EXPORT unsigned int sp_context_get_mask(void)
{
	return __atomic_load_n(&names_all_contexts, __ATOMIC_RELAXED);
}

EXPORT unsigned int sp_context_get_count(void)
{
	return names_context_count();
}
