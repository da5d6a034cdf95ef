/* SPDX-License-Identifier: MIT */
#ifndef HOOK_TABLE_H
#define HOOK_TABLE_H

/*
 * hooks.def, resources.def and operations.def as constant tables for those who read events:
 * hook_table[enum hook_number], resource_table[enum resource], operation_table[enum operation].
 * Included by the few .c files that need a table; the stubs have the same facts in their code.
 */

#include "hooks.h"
#include "terms.h"

struct hook_argument {
	const char *name;
	enum argument_kind kind;
};

struct hook {
	const char *name;
	enum resource resource;
	enum operation operation;
	enum moment moment; /* never MOMENT_DEFAULT in the table as hook_moment() reads it */
	struct hook_argument arguments[HOOK_ARGUMENTS_MAX]; /* a nameless one ends the list */
};

struct resource_facts {
	const char *type;
	const char *description;
	unsigned flags; /* bit 0: counted */
};

struct operation_facts {
	const char *name; /* in capitals, as in the table */
	enum effect effect;
	enum moment moment;
};

/* Rows of a table, in macros. */
/* clang-format off */
#define ARGUMENTS(...)	{ __VA_ARGS__ }
#define NO_ARGUMENTS	{ { 0 } }
#define DECIMAL(name)	{ #name, ARGUMENT_DECIMAL }
#define HEX(name)	{ #name, ARGUMENT_HEX }
#define OCTAL(name)	{ #name, ARGUMENT_OCTAL }
#define TEXT(name)	{ #name, ARGUMENT_TEXT }
#define TIME(name)	{ #name, ARGUMENT_TIME }
/* An option of a row that only the stubs need. */
#define RELATED(value)

/* The columns between operation and arguments are C for the stubs and dropped here. */
#define HOOK(fn, result, parameters, res, op, object, size, succeeded, args, ...)                 \
	[HOOK_##fn] = { .name = #fn, .resource = RESOURCE_##res, .operation = OPERATION_##op,     \
			.arguments = args, __VA_ARGS__ },
#define HOOK_VOID(fn, parameters, res, op, object, size, succeeded, args, ...)                    \
	[HOOK_##fn] = { .name = #fn, .resource = RESOURCE_##res, .operation = OPERATION_##op,     \
			.arguments = args, __VA_ARGS__ },
#define HOOK_BY_HAND(fn, result, parameters, res, op, args, ...)                                  \
	[HOOK_##fn] = { .name = #fn, .resource = RESOURCE_##res, .operation = OPERATION_##op,     \
			.arguments = args, __VA_ARGS__ },
static const struct hook hook_table[HOOK_COUNT] __attribute__((unused)) = {
#include "hooks.def"
	/* their class is the program's own, and stands in the record */
	[HOOK_holdtrace_gained] = { .name = "holdtrace_gained", .resource = RESOURCE_EVENT,
				    .operation = OPERATION_ALLOC },
	[HOOK_holdtrace_lost] = { .name = "holdtrace_lost", .resource = RESOURCE_EVENT,
				  .operation = OPERATION_FREE },
};
#undef HOOK
#undef HOOK_VOID
#undef HOOK_BY_HAND
#undef ARGUMENTS
#undef NO_ARGUMENTS
#undef DECIMAL
#undef HEX
#undef OCTAL
#undef TEXT
#undef TIME
#undef RELATED

#define RESOURCE_FLAG_0	      0u
#define RESOURCE_FLAG_COUNTED 1u
#define RESOURCE(name, word, bits, text) [RESOURCE_##name] = { word, text, RESOURCE_FLAG_##bits },
static const struct resource_facts resource_table[RESOURCE_COUNT] __attribute__((unused)) = {
#include "resources.def"
};
#undef RESOURCE

#define OPERATION(name, gains, when, text)                                                         \
	[OPERATION_##name] = { #name, EFFECT_##gains, MOMENT_##when },
static const struct operation_facts operation_table[OPERATION_COUNT] __attribute__((unused)) = {
#include "operations.def"
};
#undef OPERATION

/* clang-format on */

static inline enum moment hook_moment(const struct hook *hook)
{
	return hook->moment ? hook->moment : operation_table[hook->operation].moment;
}

#endif
