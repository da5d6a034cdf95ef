/* SPDX-License-Identifier: MIT */
#ifndef HAND_H
#define HAND_H

/*
 * Macros for the bodies of functions with a HOOK_BY_HAND row in hooks.def. A row cannot describe
 * these functions, because they have a variable argument list, return twice or not at all, or start
 * a thread or a program. The bodies use the constants below, which come from the row.
 */

#include "each.h"
#include "terms.h"

/*
 * The columns of the rows as constants: CLASS_OF_name, DOES_name (the operation), VALUES_OF_name
 * (the number of values), AT_OF(name) and BLOCKS_OF_name. Each constant comes from a separate
 * expansion of hooks.def.
 */
#define HOOK(name, type, params, class, op, ...) \
	CLASS_OF_##name = RESOURCE_##class, DOES_##name = OPERATION_##op,
enum hand_row {
#include "hooks.def"
};

#define VALUES(...)					  +EACH_COUNT(__VA_ARGS__)
#define NAMED(kind, name, value)			  0
#define DECIMAL(name)					  0
#define HEX(name)					  0
#define OCTAL(name)					  0
#define TEXT(name)					  0
#define TIME(name)					  0
#define HOOK(name, type, params, class, op, returns, ...) VALUES_OF_##name = 0 __VA_ARGS__,
enum hand_values {
#include "hooks.def"
};
#undef NAMED
#undef DECIMAL
#undef HEX
#undef OCTAL
#undef TEXT
#undef TIME

/* The value of the row's column AT, or else the default time for the row's operation. */
#define AT(when) *0 + WHEN_##when
#define HOOK(name, type, params, class, op, returns, ...) \
	OWN_AT_OF_##name = WHEN_OF_##op __VA_ARGS__,
enum hand_at {
#include "hooks.def"
};
#define BLOCKS(how) *0 + BLOCKS_##how
#define HOOK(name, type, params, class, op, returns, ...) \
	BLOCKS_OF_##name = BLOCKS_OF_OPERATION_##op __VA_ARGS__,
enum hand_blocks {
#include "hooks.def"
};

/* The time that hook_at() returns for the row. */
#define AT_OF(name)                                                        \
	((int)BLOCKS_OF_##name == (int)BLOCKS_GIVES_BACK_FIRST ? WHEN_BOTH \
							       : (enum hook_when)OWN_AT_OF_##name)

#include "effects.h"

/*
 * Called before a dlopen: prepares to record the allocators of the modules that the dlopen loads
 * (hand_allocators.c). Needs a control page.
 */
#ifdef __x86_64__
void allocators_expect_loads(void);
#else
static inline void allocators_expect_loads(void)
{
}
#endif

/* Calls stub_begin() with the row's constants. */
#define BEGIN_CALL(call, name, origin, object, related)                                        \
	stub_begin(call, HOOK_##name, AT_OF(name), (enum hook_blocks)BLOCKS_OF_##name, origin, \
		   WORD(object), WORD(related))

/* Declares a body's `origin` and `call`. If the call is not recorded, returns the last argument. */
#define BEGIN(name, object, related, ...)                         \
	const struct origin origin = CAPTURE_ORIGIN();            \
	struct call call;                                         \
                                                                  \
	if (!BEGIN_CALL(&call, name, &origin, object, related)) { \
		real_ready();                                     \
		return __VA_ARGS__;                               \
	}

/* An event with the row's constants and the given members of struct call_event. */
#define EVENT_OF(name, ...)                                               \
	((struct call_event){ .resource = (enum resource)CLASS_OF_##name, \
			      .operation = (enum operation)DOES_##name,   \
			      __VA_ARGS__ })

/* The values of a row as an array; a wrong number of values does not compile. */
#define VALUES_FOR(name, ...)                                                   \
	((const struct call_argument[ARRAY_OF(VALUES_OF_##name, __VA_ARGS__)]){ \
		__VA_ARGS__, { .kind = ARGUMENT_NONE } })
#define ARRAY_OF(count, ...)                                                                       \
	(sizeof((struct call_argument[]){ __VA_ARGS__ }) / sizeof(struct call_argument) == (count) \
		 ? (count) + 1                                                                     \
		 : -1)

#endif
