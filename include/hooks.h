/* SPDX-License-Identifier: MIT */
#ifndef HOOKS_H
#define HOOKS_H

/*
 * The rows of hooks.def as an enum. A hook's number is valid in one build only: the library and the
 * collector compare a hash of the tables. In traces, a hook is identified by its name. hook_table.h
 * has the other columns of the rows.
 */

enum hook_number {
#define HOOK(name, ...) HOOK_##name,
#include "hooks.def"
	/* functions of holdtrace.h; they are recorded like hooks, but have no real function */
	HOOK_holdtrace_acquired,
	HOOK_holdtrace_released,
	HOOK_COUNT
};

#define HOOK_ARGUMENTS_MAX 6

#endif
