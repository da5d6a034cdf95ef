/* SPDX-License-Identifier: MIT */
#include "naming/atlas.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/memory.h"

/*
 * Far above all addresses of processes, so that a frame without a mapping is never inside a module.
 */
#define ATLAS_BASE	  (1ull << 62)
#define ATLAS_MODULES_MAX (1u << 20)

void atlas_init(struct atlas *atlas)
{
	*atlas = (struct atlas){ 0 };
	table_init(&atlas->modules);
	trace_nodes_init(&atlas->nodes, &atlas->pool);
	table_init(&atlas->programs);
}

void atlas_free(struct atlas *atlas)
{
	free(atlas->way.items);
	free(atlas->memo.items);
	free(atlas->mappings.items);
	free(atlas->module_list.items);
	table_free(&atlas->modules);
	trace_nodes_free(&atlas->nodes);
	table_free(&atlas->programs);
	pool_free(&atlas->pool);
}

void atlas_begin_process(struct atlas *atlas)
{
	atlas->mappings.count = 0;
	atlas->age++;
}

void atlas_rest(struct atlas *atlas)
{
	ARRAY_CLEAR(&atlas->memo);
	trace_nodes_rest(&atlas->nodes);
}

static bool is_text(const void *item, const void *key)
{
	return !strcmp(item, key);
}

static uint64_t hash_program(const struct atlas *atlas, const char *path)
{
	return hash_bytes(atlas->programs.seed, path, strlen(path));
}

bool atlas_is_program(const struct atlas *atlas, const char *path)
{
	return table_find(&atlas->programs, hash_program(atlas, path), is_text, path);
}

/* With its slash, so that a directory never equals a program. */
static char *directory_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return memory_text_part(path, slash ? (size_t)(slash - path) + 1 : 0);
}

bool atlas_is_beside_program(const struct atlas *atlas, const char *path)
{
	cleanup_free char *directory = directory_of(path);

	return directory && *directory && atlas_is_program(atlas, directory);
}

static int add_program_text(struct atlas *atlas, const char *text)
{
	char *kept;

	if (atlas_is_program(atlas, text))
		return 0;
	kept = pool_text(&atlas->pool, text, strlen(text));
	return kept ? table_add(&atlas->programs, hash_program(atlas, text), kept) : -ENOMEM;
}

int atlas_add_program(struct atlas *atlas, const char *path)
{
	cleanup_free char *directory = directory_of(path);

	return !directory || add_program_text(atlas, path) || add_program_text(atlas, directory)
		       ? -ENOMEM
		       : 0;
}

static bool makes_sense(const struct trace_mapping *mapping)
{
	return mapping->from < mapping->to && mapping->to - mapping->from < ATLAS_MODULE_SPACE &&
	       (!mapping->has_tail ||
		(mapping->code >= mapping->from && mapping->code < mapping->to));
}

/* The module as it would be if it were added next. */
static struct atlas_module describe(const struct atlas *atlas, const struct trace_mapping *mapping)
{
	uint32_t id = (uint32_t)atlas->module_list.count;
	uint64_t from = ATLAS_BASE + id * ATLAS_MODULE_SPACE;

	return (struct atlas_module){
		.id = id,
		.path = mapping->path,
		.build_id = mapping->build_id ? mapping->build_id : "",
		.has_tail = mapping->has_tail,
		.from = from,
		.to = from + (mapping->to - mapping->from),
		.code = mapping->has_tail ? from + (mapping->code - mapping->from) : from,
		.offset = mapping->offset,
	};
}

static bool is_module(const void *item, const void *key)
{
	const struct atlas_module *a = item, *b = key;

	return !strcmp(a->path, b->path) && !strcmp(a->build_id, b->build_id) &&
	       a->has_tail == b->has_tail && a->offset == b->offset &&
	       a->to - a->from == b->to - b->from && a->code - a->from == b->code - b->from;
}

static struct atlas_module *keep_module(struct atlas *atlas, const struct atlas_module *module)
{
	struct atlas_module *kept = pool_alloc(&atlas->pool, sizeof(*kept));
	struct atlas_module **entry = kept ? ARRAY_ADD(&atlas->module_list) : NULL;

	if (!entry)
		return NULL;
	*kept = *module;
	kept->path = pool_text(&atlas->pool, module->path, strlen(module->path));
	kept->build_id = pool_text(&atlas->pool, module->build_id, strlen(module->build_id));
	*entry = kept;
	return kept->path && kept->build_id ? kept : NULL;
}

static const struct atlas_module *find_or_keep(struct atlas *atlas,
					       const struct atlas_module *module)
{
	uint64_t hash = hash_bytes(atlas->modules.seed, module->path, strlen(module->path));
	struct atlas_module *found = table_find(&atlas->modules, hash, is_module, module);

	if (found)
		return found;
	found = keep_module(atlas, module);
	return found && table_add(&atlas->modules, hash, found) == 0 ? found : NULL;
}

int atlas_map(struct atlas *atlas, const struct trace_mapping *mapping)
{
	const struct atlas_module *module;
	struct atlas_module described;
	struct atlas_mapping *entry;

	if (!makes_sense(mapping) || atlas->module_list.count >= ATLAS_MODULES_MAX)
		return 0;
	described = describe(atlas, mapping);
	module = find_or_keep(atlas, &described);
	entry = module ? ARRAY_ADD(&atlas->mappings) : NULL;
	if (!entry)
		return -ENOMEM;
	*entry = (struct atlas_mapping){
		.start = mapping->has_tail ? mapping->code : mapping->from,
		.end = mapping->to,
		.since = mapping->since,
		.move = module->from - mapping->from,
	};
	atlas->age++;
	return 0;
}

/*
 * Converts an address by the newest mapping older than the call, else by the oldest later one. Sets
 * *is_certain to false (if not NULL) where another call could have another mapping.
 */
static uint64_t moved(const struct atlas *atlas, uint64_t address, uint64_t index, bool *is_certain)
{
	const struct atlas_mapping *found = NULL;

	for (size_t i = 0; i < atlas->mappings.count; i++) {
		const struct atlas_mapping *mapping = &atlas->mappings.items[i];

		/* A call that never returns has its return address at the very end. */
		if (address < mapping->start || address > mapping->end)
			continue;
		if (found && is_certain)
			*is_certain = false;
		if (address == mapping->end && found)
			continue;
		if (mapping->since < index || !found)
			found = mapping;
	}
	return found ? address + found->move : address;
}

/* Where the memo has the frame's number in the map. NULL: no memory. */
static uint32_t *memo_of(struct atlas *atlas, const struct trace_node *node)
{
	uint32_t index = node->number - 1, at = index % ATLAS_MEMO;
	uintptr_t from = (uintptr_t)node - at * sizeof(*node);
	struct atlas_memo *memo = ARRAY_AT(&atlas->memo, index / ATLAS_MEMO);

	if (!memo)
		return NULL;
	if (memo->from != from || memo->age != atlas->age)
		*memo = (struct atlas_memo){ .from = from, .age = atlas->age };
	return &memo->to[at];
}

/*
 * Lists the frames that must be converted, from node outwards to the first one in the memo. Returns
 * that one's node in the map; NULL: no memory.
 */
static const struct trace_node *look_for(struct atlas *atlas, const struct trace_node *node)
{
	atlas->way.count = 0;
	for (; node->count; node = node->caller) {
		const uint32_t *known = memo_of(atlas, node);
		const struct trace_node **place;

		if (!known)
			return NULL;
		if (*known)
			return trace_nodes_at(&atlas->nodes, *known);
		place = ARRAY_ADD(&atlas->way);
		if (!place)
			return NULL;
		*place = node;
	}
	return &trace_no_node;
}

const struct trace_node *atlas_backtrace(struct atlas *atlas, const struct backtrace *backtrace,
					 uint64_t index)
{
	const struct trace_node *to;
	bool is_certain = true;

	if (backtrace && backtrace->id == BACKTRACE_OF_ATLAS)
		return backtrace->node;
	to = look_for(atlas, backtrace ? backtrace->node : &trace_no_node);
	while (to && atlas->way.count) {
		const struct trace_node *from = atlas->way.items[--atlas->way.count];

		to = trace_nodes_add(&atlas->nodes, to,
				     moved(atlas, from->address, index, &is_certain));
		if (to && is_certain)
			*memo_of(atlas, from) = to->number;
	}
	return to;
}

const struct trace_node *atlas_frames(struct atlas *atlas, const uint64_t *frames, size_t count,
				      uint64_t index)
{
	const struct trace_node *node = &trace_no_node;

	while (node && count)
		node = trace_nodes_add(&atlas->nodes, node,
				       moved(atlas, frames[--count], index, NULL));
	return node;
}

const struct atlas_module *atlas_module_at(const struct atlas *atlas, uint64_t address)
{
	uint64_t id = (address - ATLAS_BASE) / ATLAS_MODULE_SPACE;
	const struct atlas_module *module;

	if (address < ATLAS_BASE || id >= atlas->module_list.count)
		return NULL;
	module = atlas->module_list.items[id];
	return address <= module->to ? module : NULL;
}

const struct atlas_module *atlas_module_of(const struct atlas *atlas, uint64_t address,
					   uint64_t index)
{
	return atlas_module_at(atlas, moved(atlas, address, index, NULL));
}
