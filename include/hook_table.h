/* SPDX-License-Identifier: MIT */
#ifndef HOOK_TABLE_H
#define HOOK_TABLE_H

/*
 * The rows of hooks.def, resources.def and operations.def as constant tables for code that reads
 * events: hook_table[enum hook_number], resource_table[enum resource], operation_table[enum
 * operation]. Only the .c files that need a table include this header. The library's stubs do not:
 * the preprocessor compiles the same facts into their code.
 */

#include <stdbool.h>
#include <string.h>

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
	/* WHEN_DEFAULT: use the operation's value. Read this member only by hook_at(). */
	enum hook_when at;
	/* BLOCKS_DEFAULT: use the operation's value. Read this member only by hook_blocks(). */
	enum hook_blocks blocks;
	enum hook_how how;
	struct hook_argument arguments[HOOK_ARGUMENTS_MAX]; /* the recorded arguments; an entry
							       without a name ends the list */
};

struct resource_facts {
	const char *type;
	const char *description;
	unsigned flags; /* bit 0: COUNTED (resources.def) */
};

struct operation_facts {
	const char *name; /* as in operations.def, in capitals */
	enum effect effect;
	enum hook_when at;
	enum hook_blocks blocks;
};

/* Macros that turn the columns of a row into initializers of struct hook. */
/* clang-format off */
#define VALUES(...)	.arguments = { __VA_ARGS__ },
#define NAMED(kind, name, value) { #name, ARGUMENT_##kind }
#define DECIMAL(name)	{ #name, ARGUMENT_DECIMAL }
#define HEX(name)	{ #name, ARGUMENT_HEX }
#define OCTAL(name)	{ #name, ARGUMENT_OCTAL }
#define TEXT(name)	{ #name, ARGUMENT_TEXT }
#define TIME(name)	{ #name, ARGUMENT_TIME }
#define AT(when)	.at = WHEN_##when,
#define BLOCKS(how)	.blocks = BLOCKS_##how,
#define HOW(manner)	.how = HOW_##manner,

#define HOOK(fn, result, parameters, class, op, returns, ...)                                     \
	[HOOK_##fn] = { .name = #fn, .resource = RESOURCE_##class, .operation = OPERATION_##op,   \
			__VA_ARGS__ },
static const struct hook hook_table[HOOK_COUNT] __attribute__((unused)) = {
#include "hooks.def"
	/* RESOURCE_EVENT is a placeholder: the record names the class, which the program defined */
	[HOOK_holdtrace_acquired] = { .name = "holdtrace_acquired", .resource = RESOURCE_EVENT,
				    .operation = OPERATION_ALLOC },
	[HOOK_holdtrace_released] = { .name = "holdtrace_released", .resource = RESOURCE_EVENT,
				  .operation = OPERATION_FREE },
};
#undef NAMED
#undef DECIMAL
#undef HEX
#undef OCTAL
#undef TEXT
#undef TIME

#define RESOURCE_FLAG_0	      0u
#define RESOURCE_FLAG_COUNTED 1u
#define RESOURCE(name, word, bits, text) [RESOURCE_##name] = { word, text, RESOURCE_FLAG_##bits },
static const struct resource_facts resource_table[RESOURCE_COUNT] __attribute__((unused)) = {
#include "resources.def"
};
#undef RESOURCE

#define OPERATION(name, gains, when, sleeps, text)                                                 \
	[OPERATION_##name] = { #name, EFFECT_##gains, WHEN_##when, BLOCKS_##sleeps },
static const struct operation_facts operation_table[OPERATION_COUNT] __attribute__((unused)) = {
#include "operations.def"
};
#undef OPERATION

/* clang-format on */

/* Returns when the operation of the hook happens: WHEN_ENTRY, WHEN_RETURN or WHEN_BOTH. */
static inline enum hook_when hook_at(const struct hook *hook)
{
	if (hook->blocks == BLOCKS_GIVES_BACK_FIRST)
		return WHEN_BOTH;
	return hook->at ? hook->at : operation_table[hook->operation].at;
}

/* Returns whether calls may sleep: BLOCKS_NO, BLOCKS_YES or BLOCKS_GIVES_BACK_FIRST. */
static inline enum hook_blocks hook_blocks(const struct hook *hook)
{
	return hook->blocks ? hook->blocks : operation_table[hook->operation].blocks;
}

/*
 * Whether the hook is one of the exec functions. A call of such a hook is recorded before the exec,
 * because a successful exec does not return.
 */
static inline bool hook_is_exec(const struct hook *hook)
{
	return hook->resource == RESOURCE_EVENT && hook->operation == OPERATION_END &&
	       hook_blocks(hook) == BLOCKS_GIVES_BACK_FIRST;
}

static inline bool hook_may_sleep(const struct hook *hook)
{
	return hook_blocks(hook) != BLOCKS_NO;
}

/* Returns the row with this name, or NULL. */
static inline const struct hook *hook_find(const char *name)
{
	for (unsigned i = 0; i < HOOK_COUNT; i++)
		if (!strcmp(hook_table[i].name, name))
			return &hook_table[i];
	return NULL;
}

#endif
