/* SPDX-License-Identifier: MIT */
#include "naming/address_space.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/memory.h"
#include "terms.h"

/*
 * The modules of the address map begin here, above all addresses of processes and of generated
 * code. So an address outside of all mappings is never inside a module of the map.
 */
#define SPACE_BASE	  (1ull << 62)
#define SPACE_MODULES_MAX (1u << 20)

void space_init(struct address_space *space)
{
	*space = (struct address_space){ 0 };
	hash_table_init(&space->modules);
	trace_nodes_init(&space->nodes, &space->pool);
	hash_table_init(&space->programs);
	hash_table_init(&space->codes);
}

void space_free(struct address_space *space)
{
	free(space->pending.items);
	free(space->memo.items);
	free(space->mappings.items);
	free(space->python.items);
	free(space->module_list.items);
	hash_table_free(&space->modules);
	trace_nodes_free(&space->nodes);
	hash_table_free(&space->programs);
	hash_table_free(&space->codes);
	pool_free(&space->pool);
}

void space_begin_process(struct address_space *space)
{
	space->mappings.count = 0;
	space->python.count = 0;
	space->code_base = 0;
	space->age++;
}

void space_rest(struct address_space *space)
{
	ARRAY_CLEAR(&space->memo);
	trace_nodes_rest(&space->nodes);
}

static bool is_text(const void *item, const void *key)
{
	return !strcmp(item, key);
}

static uint64_t hash_program(const struct address_space *space, const char *path)
{
	return hash_bytes(space->programs.seed, path, strlen(path));
}

bool space_is_program(const struct address_space *space, const char *path)
{
	return hash_table_find(&space->programs, hash_program(space, path), is_text, path);
}

/*
 * Returns the directory of a path, including the final slash. Because of this slash, a directory in
 * space->programs never equals the path of a program.
 */
static char *directory_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return memory_text_part(path, slash ? (size_t)(slash - path) + 1 : 0);
}

bool space_is_beside_program(const struct address_space *space, const char *path)
{
	cleanup_free char *directory = directory_of(path);

	return directory && *directory && space_is_program(space, directory);
}

static int add_program_text(struct address_space *space, const char *text)
{
	char *kept;

	if (space_is_program(space, text))
		return 0;
	kept = pool_copy(&space->pool, text);
	return kept ? hash_table_add(&space->programs, hash_program(space, text), kept) : -ENOMEM;
}

int space_add_program(struct address_space *space, const char *path)
{
	cleanup_free char *directory = directory_of(path);

	return !directory || add_program_text(space, path) || add_program_text(space, directory)
		       ? -ENOMEM
		       : 0;
}

static bool is_module(const void *item, const void *key)
{
	const struct space_module *a = item, *b = key;

	return !strcmp(a->path, b->path) && !strcmp(a->build_id, b->build_id) &&
	       a->has_tail == b->has_tail && a->offset == b->offset &&
	       a->to - a->from == b->to - b->from && a->code - a->from == b->code - b->from;
}

static const struct space_module *find_or_keep(struct address_space *space,
					       const struct space_module *module)
{
	uint64_t hash = hash_bytes(space->modules.seed, module->path, strlen(module->path));
	struct space_module *found = hash_table_find(&space->modules, hash, is_module, module);
	struct space_module **entry;

	if (found)
		return found;
	found = pool_alloc(&space->pool, sizeof(*found));
	entry = found ? ARRAY_ADD(&space->module_list) : NULL;
	if (!entry)
		return NULL;
	*found = *module;
	found->path = pool_copy(&space->pool, module->path);
	found->build_id = pool_copy(&space->pool, module->build_id);
	*entry = found;
	return found->path && found->build_id && !hash_table_add(&space->modules, hash, found)
		       ? found
		       : NULL;
}

static bool is_python_address(uint64_t address)
{
	return address - PYTHON_BASE < (uint64_t)PYTHON_FUNCTIONS_MAX << PYTHON_LINE_BITS;
}

static size_t python_number(uint64_t address)
{
	return (size_t)((address - PYTHON_BASE) >> PYTHON_LINE_BITS);
}

/* ---- code that a process made at run time ---- */

struct space_code {
	uint64_t address;
	const char *name;
};

static bool is_code(const void *item, const void *key)
{
	return ((const struct space_code *)item)->address == *(const uint64_t *)key;
}

const char *space_code_name(const struct address_space *space, uint64_t address)
{
	const struct space_code *code = hash_table_find(
		&space->codes, hash_two(space->codes.seed, address, 0), is_code, &address);

	return code ? code->name : NULL;
}

/*
 * Converts an address outside of all mappings to the map. If the trace has no mappings, returns the
 * address unchanged: equal addresses of two processes then probably belong to one program.
 */
static uint64_t code_address(struct address_space *space, uint64_t address)
{
	if (address > SPACE_CODE_MASK || !space->mappings.count)
		return address;
	if (!space->code_base) {
		if (space->code_processes >= SPACE_CODE_BASE >> SPACE_CODE_BITS)
			return address;
		space->code_base =
			SPACE_CODE_BASE + ((uint64_t)space->code_processes++ << SPACE_CODE_BITS);
	}
	return space->code_base + address;
}

/* Adds the name of the generated code that ends at mapping->to. Returns 0 or -ENOMEM. */
static int add_code(struct address_space *space, const struct trace_mapping *mapping)
{
	const char *name = mapping->path + strlen(CODE_MODULE);
	uint64_t address = code_address(space, mapping->to);
	struct space_code *code;

	if (!space_is_code(address) || space_code_name(space, address))
		return 0;
	code = pool_alloc(&space->pool, sizeof(*code));
	if (!code)
		return -ENOMEM;
	*code = (struct space_code){ address, pool_text(&space->pool, name, strlen(name)) };
	return code->name ? hash_table_add(&space->codes, hash_two(space->codes.seed, address, 0),
					   code)
			  : -ENOMEM;
}

int space_map(struct address_space *space, const struct trace_mapping *mapping)
{
	/* the id and addresses that the module gets if it is not in the map yet */
	uint32_t id = (uint32_t)space->module_list.count;
	uint64_t from = SPACE_BASE + id * SPACE_MODULE_SPACE;
	const struct space_module described = {
		.id = id,
		.path = mapping->path,
		.build_id = mapping->build_id ? mapping->build_id : "",
		.has_tail = mapping->has_tail,
		.from = from,
		.to = from + (mapping->to - mapping->from),
		.code = mapping->has_tail ? from + (mapping->code - mapping->from) : from,
		.offset = mapping->offset,
	};
	const struct space_module *module;
	struct space_mapping *entry;

	if (mapping->from >= mapping->to || mapping->to - mapping->from >= SPACE_MODULE_SPACE ||
	    (mapping->has_tail &&
	     (mapping->code < mapping->from || mapping->code >= mapping->to)) ||
	    space->module_list.count >= SPACE_MODULES_MAX)
		return 0;
	if (!strncmp(mapping->path, CODE_MODULE, strlen(CODE_MODULE)))
		return add_code(space, mapping);
	module = find_or_keep(space, &described);
	if (module && is_python_address(mapping->from)) {
		uint64_t *python = ARRAY_AT(&space->python, python_number(mapping->from));

		if (!python)
			return -ENOMEM;
		*python = module->from;
		space->age++;
		return 0;
	}
	entry = module ? ARRAY_ADD(&space->mappings) : NULL;
	if (!entry)
		return -ENOMEM;
	*entry = (struct space_mapping){
		.start = mapping->has_tail ? mapping->code : mapping->from,
		.end = mapping->to,
		.since = mapping->since,
		.move = module->from - mapping->from,
	};
	space->age++;
	return 0;
}

/*
 * Converts an address of the process to the address map. Uses the newest mapping that was made
 * before call number `index`; if there is none, the oldest later mapping. Sets *is_certain (if not
 * NULL) to false if several mappings contain the address, because another call may then need
 * another mapping.
 */
static uint64_t map_address(const struct address_space *space, uint64_t address, uint64_t index,
			    bool *is_certain)
{
	const struct space_mapping *found = NULL;

	if (is_python_address(address)) {
		size_t number = python_number(address);
		uint64_t to = number < space->python.count ? space->python.items[number] : 0;

		return to ? to + (address & ((1u << PYTHON_LINE_BITS) - 1)) : address;
	}
	for (size_t i = 0; i < space->mappings.count; i++) {
		const struct space_mapping *mapping = &space->mappings.items[i];

		/*
		 * include the end address: if the code of a mapping ends with a call that never
		 * returns, the return address of this call is the end of the mapping
		 */
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

/* Like map_address(), but moves an address outside of all mappings to the process's own area. */
static uint64_t map_frame(struct address_space *space, uint64_t address, uint64_t index,
			  bool *is_certain)
{
	uint64_t to = map_address(space, address, index, is_certain);

	return to == address ? code_address(space, address) : to;
}

/*
 * Returns the cache's entry for a frame: its number after conversion; 0: unknown. NULL: no memory.
 */
static uint32_t *memo_of(struct address_space *space, const struct trace_node *node)
{
	uint32_t index = node->number - 1, at = index % SPACE_MEMO;
	uintptr_t from = (uintptr_t)node - at * sizeof(*node);
	struct space_memo *memo = ARRAY_AT(&space->memo, index / SPACE_MEMO);

	if (!memo)
		return NULL;
	if (memo->from != from || memo->age != space->age)
		*memo = (struct space_memo){ .from = from, .age = space->age };
	return &memo->to[at];
}

/*
 * Lists in space->pending the frames from `node` outwards, up to the first frame that is in the
 * cache. Returns the converted node of this frame, or the empty node if no frame is in the cache.
 * NULL: no memory.
 */
static const struct trace_node *look_for(struct address_space *space, const struct trace_node *node)
{
	space->pending.count = 0;
	for (; node->count; node = node->caller) {
		const uint32_t *known = memo_of(space, node);
		const struct trace_node **place;

		if (!known)
			return NULL;
		if (*known)
			return trace_nodes_at(&space->nodes, *known);
		place = ARRAY_ADD(&space->pending);
		if (!place)
			return NULL;
		*place = node;
	}
	return &trace_no_node;
}

const struct trace_node *space_backtrace(struct address_space *space,
					 const struct backtrace *backtrace, uint64_t index)
{
	const struct trace_node *to;
	bool is_certain = true;

	if (backtrace && backtrace->id == BACKTRACE_OF_SPACE)
		return backtrace->node;
	to = look_for(space, backtrace ? backtrace->node : &trace_no_node);
	while (to && space->pending.count) {
		const struct trace_node *from = space->pending.items[--space->pending.count];

		to = trace_nodes_add(&space->nodes, to,
				     map_frame(space, from->address, index, &is_certain));
		if (to && is_certain)
			*memo_of(space, from) = to->number;
	}
	return to;
}

const struct trace_node *space_frames(struct address_space *space, const uint64_t *frames,
				      size_t count, uint64_t index)
{
	const struct trace_node *node = &trace_no_node;

	while (node && count)
		node = trace_nodes_add(&space->nodes, node,
				       map_frame(space, frames[--count], index, NULL));
	return node;
}

const struct space_module *space_module_at(const struct address_space *space, uint64_t address)
{
	uint64_t id = (address - SPACE_BASE) / SPACE_MODULE_SPACE;
	const struct space_module *module;

	if (address < SPACE_BASE || id >= space->module_list.count)
		return NULL;
	module = space->module_list.items[id];
	return address <= module->to ? module : NULL;
}

const struct space_module *space_module_of(const struct address_space *space, uint64_t address,
					   uint64_t index)
{
	return space_module_at(space, map_address(space, address, index, NULL));
}
