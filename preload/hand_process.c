/* SPDX-License-Identifier: MIT */
/* Hooked by hand: how code and processes end. */
#include "hand.h"

#include "maps.h"

/* Destructors run inside, and call hooked functions; afterwards rules and modules may be stale. */
EXPORT int dlclose(void *handle)
{
	int result;

	BEGIN(dlclose, MOMENT_WAITS, handle, 0, real.dlclose(handle))
	call_sleeps(&call);
	result = real.dlclose(handle);
	maps_check();
	call_returned(&call);
	EVENT(.resource = RESOURCE_EVENT, .operation = OPERATION_END, .moment = MOMENT_LEAVE,
	      .failed = result != 0, .object = WORD(handle), .result = WORD(result));
	call_end(&call);
	return result;
}

/* The end of the process: recorded before it happens, since it does not return. */
EXPORT __attribute__((noreturn)) void exit(int status)
{
	const struct origin origin = CAPTURE_ORIGIN();
	struct call call;

	if (call_begin(&call, HOOK_exit, MOMENT_ENTER, &origin, 0, 0)) {
		call_returned(&call);
		EVENT(.resource = RESOURCE_EVENT, .operation = OPERATION_END,
		      .moment = MOMENT_ENTER, .arguments = ARGUMENTS(DECIMAL(status)));
		call_end(&call);
	}
	real_ready();
	real.exit(status);
	__builtin_unreachable();
}
