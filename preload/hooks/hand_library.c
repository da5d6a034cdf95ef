/* SPDX-License-Identifier: MIT */
/*
 * dlopen(3) has a stub, but is not a hook: its calls are not recorded. dlopen behaves differently
 * for each caller, so the stub is assembly that leaves the stack as it was. On processors without
 * such a stub, calls of libraries that are bound with RTLD_DEEPBIND are not recorded, and the trace
 * says so.
 */
#include "hand.h"

#include "preload/ground/sys.h"
#include "preload/start/patch.h"

#ifdef ARCH_DLOPEN
typedef __typeof__(dlopen) *open_function;

open_function hand_dlopen_enter(const char *path, int mode);

/* Returns the function to which the stub jumps. */
__attribute__((used)) open_function hand_dlopen_enter(const char *path, int mode)
{
	(void)path;
	real_ready();
	if (unlikely(mode & RTLD_DEEPBIND) && life.control && !life.is_off && !sys_is_quiet)
		patch_before_deep();
	return real.dlopen;
}

__asm__(ARCH_DLOPEN);
#endif
