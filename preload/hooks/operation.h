/* SPDX-License-Identifier: MIT */
#ifndef HOOKS_OPERATION_H
#define HOOKS_OPERATION_H

/*
 * The properties of each operation as constants: when its events happen, whether its calls sleep,
 * whether it acquires.
 */

#include "terms.h"

enum {
#define OPERATION(name, effect, when, sleeps, description)                          \
	WHEN_OF_##name = WHEN_##when, BLOCKS_OF_OPERATION_##name = BLOCKS_##sleeps, \
	GAINS_##name = EFFECT_##effect == EFFECT_GAINS,
#include "operations.def"
#undef OPERATION
};

#endif
