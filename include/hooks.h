/* SPDX-License-Identifier: MIT */
#ifndef HOOKS_H
#define HOOKS_H

/*
 * hooks.def as an enum. The number of a hook is private to a build (library and collector compare
 * the hash of the tables); across builds a hook is identified by its name. hook_table.h has the
 * facts.
 */

enum hook_number {
#define HOOK(name, ...) HOOK_##name,
#include "hooks.def"
	/* functions of holdtrace.h: recorded like hooks, but without a real function */
	HOOK_holdtrace_acquired,
	HOOK_holdtrace_released,
	HOOK_COUNT
};

#define HOOK_ARGUMENTS_MAX 6

#endif
