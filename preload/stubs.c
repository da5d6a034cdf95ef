/* SPDX-License-Identifier: MIT */
/*
 * The public functions, one for every row of hooks.def that is not by hand. They hand down their
 * own frame, so that no sibling-call optimisation can lose the caller; everything with behaviour
 * is a function in call.c.
 */
#include "stub.h"

#include "each.h"

/* What a row may say behind its arguments. */
struct row {
	enum moment moment;
	uint64_t related;
};

#define RELATED(value) .related = WORD(value)

enum {
#define OPERATION(name, effect, moment, description) MOMENT_OF_##name = MOMENT_##moment,
#include "operations.def"
#undef OPERATION
};

#define BEGINS(name, with) (__builtin_strncmp(name, with, sizeof(with) - 1) == 0)

/* The functions of pthread return their error and leave errno alone (POSIX); C11's a word for it.
 */
#define RETURNS_ERROR(name) (BEGINS(name, "pthread_") || BEGINS(name, "__pthread_"))
#define RETURNS_WORD(name)  (BEGINS(name, "mtx_") || BEGINS(name, "cnd_") || BEGINS(name, "thrd_"))

#define STUB_BODY(name, type, params, res, op, held, amount, ok, args, ...)                        \
	{                                                                                          \
		const struct row row = { __VA_ARGS__ };                                            \
		const enum moment moment = row.moment ? row.moment : (enum moment)MOMENT_OF_##op;  \
		const struct origin origin = CAPTURE_ORIGIN();                                     \
		type result = (type)0; /* what a row holds may be its result */                    \
		struct call call;                                                                  \
                                                                                                   \
		if (!call_begin(&call, HOOK_##name, moment, &origin, WORD(held), 0)) {             \
			real_ready();                                                              \
			return real.name(EACH_NAME(params));                                       \
		}                                                                                  \
		if (moment == MOMENT_WAITS)                                                        \
			call_sleeps(&call);                                                        \
		result = real.name(EACH_NAME(params));                                             \
		if (moment == MOMENT_ENTER)                                                        \
			call_returned_early(&call);                                                \
		else                                                                               \
			call_returned(&call);                                                      \
		if (RETURNS_ERROR(#name))                                                          \
			call.error = (int)WORD(result);                                            \
		else if (RETURNS_WORD(#name))                                                      \
			call.error = c11_error((int)WORD(result));                                 \
		call_event(&call,                                                                  \
			   &(struct call_event){                                                   \
				   .resource = RESOURCE_##res,                                     \
				   .operation = OPERATION_##op,                                    \
				   .moment = moment == MOMENT_ENTER ? MOMENT_ENTER : MOMENT_LEAVE, \
				   .failed = !(ok),                                                \
				   .object = WORD(held),                                           \
				   .size = WORD(amount),                                           \
				   .related = row.related,                                         \
				   .result = WORD(result),                                         \
				   .arguments = args,                                              \
			   });                                                                     \
		call_end(&call);                                                                   \
		return result;                                                                     \
	}

/* The same without a result. */
#define STUB_VOID_BODY(name, params, res, op, held, amount, ok, args, ...)                         \
	{                                                                                          \
		const struct row row = { __VA_ARGS__ };                                            \
		const enum moment moment = row.moment ? row.moment : (enum moment)MOMENT_OF_##op;  \
		const struct origin origin = CAPTURE_ORIGIN();                                     \
		struct call call;                                                                  \
                                                                                                   \
		if (!call_begin(&call, HOOK_##name, moment, &origin, WORD(held), 0)) {             \
			real_ready();                                                              \
			real.name(EACH_NAME(params));                                              \
			return;                                                                    \
		}                                                                                  \
		if (moment == MOMENT_WAITS)                                                        \
			call_sleeps(&call);                                                        \
		real.name(EACH_NAME(params));                                                      \
		if (moment == MOMENT_ENTER)                                                        \
			call_returned_early(&call);                                                \
		else                                                                               \
			call_returned(&call);                                                      \
		call_event(&call,                                                                  \
			   &(struct call_event){                                                   \
				   .resource = RESOURCE_##res,                                     \
				   .operation = OPERATION_##op,                                    \
				   .moment = moment == MOMENT_ENTER ? MOMENT_ENTER : MOMENT_LEAVE, \
				   .failed = !(ok),                                                \
				   .object = WORD(held),                                           \
				   .size = WORD(amount),                                           \
				   .related = row.related,                                         \
				   .arguments = args,                                              \
			   });                                                                     \
		call_end(&call);                                                                   \
	}

#define HOOK(name, type, params, ...) \
	EXPORT type name(EACH_PARAMETER(params)) STUB_BODY(name, type, params, __VA_ARGS__)
#define HOOK_VOID(name, params, ...) \
	EXPORT void name(EACH_PARAMETER(params)) STUB_VOID_BODY(name, params, __VA_ARGS__)
#define HOOK_BY_HAND(...)
#include "hooks.def"
#undef HOOK
#undef HOOK_VOID
#undef HOOK_BY_HAND
