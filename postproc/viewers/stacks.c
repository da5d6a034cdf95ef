/* SPDX-License-Identifier: MIT */
#include "stacks.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"

void stacks_init(struct stacks *stacks, struct naming *naming)
{
	*stacks = (struct stacks){ .naming = naming };
	hash_table_init(&stacks->functions);
	hash_table_init(&stacks->frames);
	stacks->symbols = memory_zalloc(STACKS_DEPTH_MAX, sizeof(*stacks->symbols));
	stacks->stack = memory_zalloc(STACKS_DEPTH_MAX, sizeof(*stacks->stack));
}

void stacks_free(struct stacks *stacks)
{
	hash_table_free(&stacks->functions);
	hash_table_free(&stacks->frames);
	free(stacks->function_list.items);
	free(stacks->frame_list.items);
	free(stacks->symbols);
	free(stacks->stack);
	free(stacks->line.items);
	pool_free(&stacks->pool);
}

/* ---- functions ---- */

static bool is_function(const void *item, const void *key)
{
	const struct stacks_function *a = item, *b = key;

	return !strcmp(a->name, b->name) && !strcmp(a->module, b->module) &&
	       !strcmp(a->file, b->file);
}

static const struct stacks_function *function_of(struct stacks *stacks,
						 const struct stacks_function *wanted)
{
	uint64_t seed = stacks->functions.seed;
	uint64_t hash = hash_two(hash_bytes(seed, wanted->file, strlen(wanted->file)),
				 hash_bytes(seed, wanted->name, strlen(wanted->name)),
				 hash_bytes(seed, wanted->module, strlen(wanted->module)));
	struct stacks_function *function =
		hash_table_find(&stacks->functions, hash, is_function, wanted);

	if (function)
		return function;
	function = pool_alloc(&stacks->pool, sizeof(*function));
	*ARRAY_ADD(&stacks->function_list) = function;
	hash_table_add(&stacks->functions, hash, function);
	*function = *wanted;
	function->number = (uint32_t)stacks->function_list.count;
	function->name = pool_copy(&stacks->pool, wanted->name);
	return function;
}

/* ---- frames ---- */

static bool is_frame(const void *item, const void *key)
{
	const struct stacks_frame *a = item, *b = key;

	return a->function == b->function && a->address == b->address && a->line == b->line &&
	       a->is_inlined == b->is_inlined;
}

static const struct stacks_frame *frame_of(struct stacks *stacks,
					   const struct naming_symbol *symbol)
{
	char text[NAMING_TEXT_MAX];
	struct stacks_function function = { .name = symbol->function,
					    .file = symbol->file ? symbol->file : "",
					    .module = symbol->module ? symbol->module : "" };
	struct stacks_frame *frame, wanted = { .address = symbol->address,
					       .offset = symbol->offset,
					       .line = symbol->line,
					       .is_inlined = symbol->is_inlined };
	uint64_t hash;

	if (!function.name) {
		naming_text(stacks->naming, symbol, text);
		function.name = text;
	}
	wanted.function = function_of(stacks, &function);
	hash = hash_two(stacks->frames.seed, wanted.function->number,
			wanted.address ^ (uint64_t)wanted.line << 48);
	frame = hash_table_find(&stacks->frames, hash, is_frame, &wanted);
	if (frame)
		return frame;
	frame = pool_alloc(&stacks->pool, sizeof(*frame));
	*frame = wanted;
	hash_table_add(&stacks->frames, hash, frame);
	*ARRAY_ADD(&stacks->frame_list) = frame;
	frame->number = (uint32_t)stacks->frame_list.count;
	return frame;
}

size_t stacks_of(struct stacks *stacks, const struct trace_node *backtrace, const char *called)
{
	size_t count = 0;

	if (backtrace && backtrace->count && stacks->naming)
		count = naming_symbols(stacks->naming, backtrace, stacks->symbols,
				       STACKS_DEPTH_MAX);
	for (size_t i = 0; i < count; i++)
		stacks->stack[i] = frame_of(stacks, &stacks->symbols[i]);
	if (!count) {
		struct naming_symbol symbol = { .function = called };

		stacks->stack[count++] = frame_of(stacks, &symbol);
	}
	return count;
}

const char *stacks_line(struct stacks *stacks, const struct trace_node *backtrace,
			const char *called)
{
	size_t count = stacks_of(stacks, backtrace, called);

	stacks->line.count = 0;
	for (size_t i = count; i; i--)
		for (const char *name = stacks->stack[i - 1]->function->name;; name++) {
			*ARRAY_ADD(&stacks->line) = *name ? *name : i > 1 ? ';' : '\0';
			if (!*name)
				break;
		}
	return stacks->line.items;
}

char *stacks_describe(const struct stacks_frame *frame)
{
	const struct stacks_function *function = frame->function;
	const char *place = *function->file ? function->file : function->module;
	char line[24] = "";

	if (*function->file && frame->line)
		snprintf(line, sizeof(line), ":%u", frame->line);
	return memory_format("0x%" PRIX64 ": %s%s%s%s%s%s", frame->offset, function->name,
			     *place ? " (" : "", *function->file || !*place ? "" : "in ", place,
			     line, *place ? ")" : "");
}
