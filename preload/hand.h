/* SPDX-License-Identifier: MIT */
#ifndef HAND_H
#define HAND_H

/*
 * For the bodies of HOOK_BY_HAND rows: functions that no row can describe, since they gain and
 * lose at once, make two objects, take a variable number of arguments, or start something.
 */

#include "stub.h"

/* Every body begins so: `origin` and `call`, or the real function alone. */
#define BEGIN(name, moment, object, related, ...)                                            \
	const struct origin origin = CAPTURE_ORIGIN();                                       \
	struct call call;                                                                    \
                                                                                             \
	if (!call_begin(&call, HOOK_##name, moment, &origin, WORD(object), WORD(related))) { \
		real_ready();                                                                \
		return __VA_ARGS__;                                                          \
	}

/* One part of the call, as members of struct call_event. */
#define EVENT(...) call_event(&call, &(struct call_event){ __VA_ARGS__ })

#endif
