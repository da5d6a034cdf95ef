/* SPDX-License-Identifier: MIT */
#ifndef HAND_H
#define HAND_H

/*
 * For the bodies of HOOK_BY_HAND rows: functions that no row can describe, since they take a list
 * of arguments, return twice or not at all, or start something. What the row says of such a
 * function is taken from the row.
 */

#include "each.h"
#include "terms.h"

/* Class, operation and number of values of every row. */
#define VALUES(...)		 +EACH_COUNT(__VA_ARGS__)
#define NAMED(kind, name, value) 0
#define DECIMAL(name)		 0
#define HEX(name)		 0
#define OCTAL(name)		 0
#define TEXT(name)		 0
#define TIME(name)		 0
#define OF(object)
#define WITH(object)
#define MAKES(object)
#define SIZE(bytes)
#define RELATED(number)
#define AT(when)
#define BLOCKS(how)
#define RECORDS_IF(condition)
#define FAILS_IF(condition)
#define BEFORE(...)
#define AFTER(...)
#define REAL(...)
#define HOOK(name, type, params, class, op, returns, ...)                 \
	CLASS_OF_##name = RESOURCE_##class, DOES_##name = OPERATION_##op, \
	VALUES_OF_##name = 0 __VA_ARGS__,
enum hand_row {
#include "hooks.def"
};
#undef VALUES
#undef NAMED
#undef DECIMAL
#undef HEX
#undef OCTAL
#undef TEXT
#undef TIME
#undef OF
#undef WITH
#undef MAKES
#undef SIZE
#undef RELATED
#undef AT
#undef BLOCKS
#undef RECORDS_IF
#undef FAILS_IF
#undef BEFORE
#undef AFTER
#undef REAL

#include "effects.h"

/* Every body begins so: `origin` and `call`, or the real function alone. */
#define BEGIN(name, at, blocks, object, related, ...)                                            \
	const struct origin origin = CAPTURE_ORIGIN();                                           \
	struct call call;                                                                        \
                                                                                                 \
	if (!stub_begin(&call, HOOK_##name, at, blocks, &origin, WORD(object), WORD(related))) { \
		real_ready();                                                                    \
		return __VA_ARGS__;                                                              \
	}

/* What the row says, and members of struct call_event. */
#define EVENT_OF(name, ...)                                               \
	((struct call_event){ .resource = (enum resource)CLASS_OF_##name, \
			      .operation = (enum operation)DOES_##name,   \
			      __VA_ARGS__ })

/* The values of a row; does not compile where the row has another number of them. */
#define VALUES_FOR(name, ...)                                                   \
	((const struct call_argument[ARRAY_OF(VALUES_OF_##name, __VA_ARGS__)]){ \
		__VA_ARGS__, { .kind = ARGUMENT_NONE } })
#define ARRAY_OF(count, ...)                                                                       \
	(sizeof((struct call_argument[]){ __VA_ARGS__ }) / sizeof(struct call_argument) == (count) \
		 ? (count) + 1                                                                     \
		 : -1)

#endif
