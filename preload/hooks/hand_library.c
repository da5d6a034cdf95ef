/* SPDX-License-Identifier: MIT */
/*
 * dlopen(3). It is no hook: nothing of it is recorded. What it does depends on who calls it, so its
 * stub is assembly that leaves the stack as it was. Where nobody has written one, the calls of what
 * is bound with RTLD_DEEPBIND are not seen, and the trace says so.
 */
#include "hand.h"

#include "preload/ground/sys.h"
#include "preload/start/patch.h"

#ifdef ARCH_DLOPEN
typedef __typeof__(dlopen) *open_function;

open_function hand_dlopen_enter(const char *path, int mode);

/* Where to go on. */
__attribute__((used)) open_function hand_dlopen_enter(const char *path, int mode)
{
	(void)path;
	real_ready();
	if (unlikely(mode & RTLD_DEEPBIND) && life.board && !life.is_off && !sys_is_quiet)
		patch_before_deep();
	return real.dlopen;
}

__asm__(ARCH_DLOPEN);
#endif
