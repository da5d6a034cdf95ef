/* SPDX-License-Identifier: MIT */
#ifndef HOOKS_H
#define HOOKS_H

/*
 * hooks.def as an enum. A hook's number is private to one build (library and collector compare
 * the hash of the tables); between builds its key is its name. hook_table.h has the facts.
 */

enum hook_number {
#define HOOK(name, ...) HOOK_##name,
#include "hooks.def"
	/* of holdtrace.h: recorded as hooks are, with no real function behind them */
	HOOK_holdtrace_gained,
	HOOK_holdtrace_lost,
	HOOK_COUNT
};

#define HOOK_ARGUMENTS_MAX 6

#endif
