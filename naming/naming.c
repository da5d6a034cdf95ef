/* SPDX-License-Identifier: MIT */
#include "naming/naming_parts.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/memory.h"
#include "injected.h"
#include "naming/runtime.h"

const char *naming_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* ---- which frames are shown ---- */

static bool is_start_function(const char *function)
{
	static const char *const names[] = {
		"__libc_start_main",
		"__libc_start_main_impl",
		"__libc_start_call_main",
		"__libc_start_main@@GLIBC_2.34",
		"start_thread",
		"clone",
		"clone3",
		"__clone",
		"__clone3",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(function, names[i]))
			return true;
	return false;
}

static bool is_module(const struct naming_frame *frame, const char *start)
{
	return frame->module &&
	       !strncmp(naming_base_name(frame->module->path), start, strlen(start));
}

static bool is_c_library(const struct naming_frame *frame)
{
	return is_module(frame, "libc.so.") || is_module(frame, "libc-2.") ||
	       is_module(frame, "libpthread") || is_module(frame, "ld-");
}

static bool is_own(const struct naming_frame *frame)
{
	return is_module(frame, "libholdtrace.so") || is_module(frame, "memfd:" LATE_LIBRARY);
}

static bool is_start(const struct naming_frame *frame)
{
	const char *function = frame->symbol.function;

	if (frame->is_own)
		return true;
	if (!function)
		return false;
	return !strcmp(function, "_start") || (frame->is_c_library && is_start_function(function));
}

/*
 * Finds the frames between the start of the program or thread and its own code. A stripped C
 * library has no names for them, and a stripped program none for main, so the modules of the
 * surrounding frames decide. *main: the frame that must be main, or count. glibc calls main through
 * two functions of its own, and constructors from the outer one.
 */
static size_t fold_start(const struct naming_frame *const *frames, size_t count, size_t *main)
{
	size_t end = count, around = 0;
	bool is_program = end >= 2 && frames[end - 2]->is_c_library &&
			  !frames[end - 1]->is_c_library &&
			  (!frames[end - 1]->symbol.function || frames[end - 1]->is_start);

	*main = count;
	if (is_program)
		end--;
	while (end && (frames[end - 1]->is_start || frames[end - 1]->is_c_library))
		around += !frames[--end]->symbol.is_inlined;
	if (is_program && end && around == 2 && !frames[end - 1]->symbol.function)
		*main = end - 1;
	return end ? end : count;
}

/* ---- modules ---- */

static unsigned parse_build_id(const char *text, uint8_t *bytes, unsigned max)
{
	unsigned count = 0;

	for (; count < max && isxdigit((unsigned char)text[0]) && isxdigit((unsigned char)text[1]);
	     text += 2) {
		char pair[3] = { text[0], text[1], 0 };

		bytes[count++] = (uint8_t)strtoul(pair, NULL, 16);
	}
	return count;
}

static int map(struct naming *naming, const struct space_module *module)
{
	uint8_t build_id[64];
	struct resolve_module how = {
		.path = module->path,
		.from = module->from,
		.to = module->to,
		.build_id = build_id,
		.build_id_size = parse_build_id(module->build_id, build_id, sizeof(build_id)),
	};
	struct naming_counts *counts = ARRAY_ADD(&naming->modules);
	int rc;

	if (!counts)
		return -ENOMEM;
	*counts = (struct naming_counts){ 0 };
	if (module->has_tail) {
		how.exec_start = module->code;
		how.exec_end = module->to;
		how.offset = module->offset;
	}
	rc = resolve_map(naming->resolve, &how);
	return rc == -EINVAL ? 0 : rc;
}

/* Maps modules that were added to the address map since the last time. */
static int map_new(struct naming *naming)
{
	const struct address_space *space = naming->space;
	int rc = 0;

	while (rc == 0 && naming->modules.count < space->module_list.count)
		rc = map(naming, space->module_list.items[naming->modules.count]);
	return rc;
}

/* ---- looking up ---- */

/* Is the file a system library? Libraries that a program brings along are in its directory. */
static bool is_library(const struct naming *naming, const char *path)
{
	return runtime_has(RUNTIME_LIBRARY, path) &&
	       !runtime_has(RUNTIME_SCRIPTS, naming_base_name(path)) &&
	       !space_is_beside_program(naming->space, path);
}

void naming_classify(const struct naming *naming, struct naming_frame *frame)
{
	struct naming_symbol *symbol = &frame->symbol;

	frame->is_own = is_own(frame);
	frame->is_c_library = is_c_library(frame);
	frame->is_start = is_start(frame);
	frame->is_library = frame->module && is_library(naming, frame->module->path);
	symbol->is_runtime =
		(frame->module &&
		 runtime_has(RUNTIME_MODULE, naming_base_name(frame->module->path))) ||
		(symbol->function && runtime_has(RUNTIME_FUNCTION, symbol->function)) ||
		(symbol->function && symbol->file && runtime_has(RUNTIME_FILE, symbol->file));
}

static void fill(struct naming *naming, struct naming_frame *frame, uint64_t address,
		 const struct symbol *symbol)
{
	/* The call before the return address decides. */
	const struct space_module *module = space_module_at(naming->space, address - 1);

	*frame = (struct naming_frame){
		.module = module,
		.symbol = { .address = address,
			    .offset = address - (module ? module->from : 0),
			    .function = symbol->is_missing ? NULL : symbol->function,
			    .file = symbol->file,
			    .line = symbol->line,
			    .module = module ? module->path : NULL,
			    .id = ++naming->ids },
	};
	naming_classify(naming, frame);
}

static bool is_found(const void *item, const void *key)
{
	return ((const struct naming_found *)item)->address == *(const uint64_t *)key;
}

static const struct naming_found *recall(const struct naming *naming, uint64_t address)
{
	return hash_table_find(&naming->found, hash_two(naming->found.seed, address, 0), is_found,
			       &address);
}

/* The functions at a return address, with the calls inlined there. NULL: no memory. */
static const struct naming_found *find(struct naming *naming, uint64_t address)
{
	const struct naming_found *known = recall(naming, address);
	struct symbol symbols[RESOLVE_FRAMES_MAX];
	struct naming_found *found;
	unsigned count;

	if (known)
		return known;
	if (map_new(naming))
		return NULL;
	count = resolve_address(naming->resolve, address, false, symbols, RESOLVE_FRAMES_MAX);
	if (count > RESOLVE_FRAMES_MAX)
		count = RESOLVE_FRAMES_MAX;
	found = pool_alloc(&naming->pool, sizeof(*found) + count * sizeof(*found->frames));
	if (!found)
		return NULL;
	*found = (struct naming_found){ .address = address, .count = count };
	for (unsigned i = 0; i < count; i++) {
		fill(naming, &found->frames[i], address, &symbols[i]);
		found->frames[i].symbol.is_inlined = i + 1 < count;
	}
	return hash_table_add(&naming->found, hash_two(naming->found.seed, address, 0), found)
		       ? NULL
		       : found;
}

static void expect(struct naming *naming, uint64_t address)
{
	if (!recall(naming, address) && !map_new(naming))
		(void)resolve_ask(naming->resolve, address, false);
}

/* Returns false if the node was announced before. */
static bool is_new(struct naming *naming, const struct trace_node *node)
{
	uint64_t *word = ARRAY_AT(&naming->expected, node->number / 64);
	uint64_t bit = UINT64_C(1) << node->number % 64;

	if (!word)
		return true;
	if (*word & bit)
		return false;
	*word |= bit;
	return true;
}

void naming_expect(struct naming *naming, const struct trace_node *backtrace)
{
	for (; backtrace && backtrace->count && is_new(naming, backtrace);
	     backtrace = backtrace->caller)
		expect(naming, backtrace->address);
}

static void expect_some(struct naming *naming, const struct trace_node *backtrace, size_t most)
{
	for (; backtrace->count && most; backtrace = backtrace->caller, most--)
		expect(naming, backtrace->address);
}

size_t naming_look_up(struct naming *naming, const struct trace_node *backtrace,
		      const struct naming_frame **frames, size_t max, size_t *end, size_t *main)
{
	const struct trace_node *at = backtrace ? backtrace : &trace_no_node;
	size_t count = 0;

	for (; at->count && count < max; at = at->caller) {
		const struct naming_found *found = recall(naming, at->address);

		/* The first unknown address also queues those after it. */
		if (!found)
			expect_some(naming, at, max - (backtrace->count - at->count));
		if (!found)
			found = find(naming, at->address);
		for (uint32_t i = 0; found && i < found->count && count < max; i++)
			frames[count++] = &found->frames[i];
	}
	/* A truncated backtrace lacks its outermost frames. */
	*end = *main = count;
	if (!at->count)
		*end = fold_start(frames, count, main);
	return count;
}

/* ---- for programs ---- */

size_t naming_symbols(struct naming *naming, const struct trace_node *backtrace,
		      struct naming_symbol *symbols, size_t max)
{
	cleanup_free const struct naming_frame **frames = memory_alloc((max + 1) * sizeof(*frames));
	size_t end, main, count;

	if (!frames)
		return 0;
	count = naming_look_up(naming, backtrace, frames, max, &end, &main);
	for (size_t i = 0; i < count; i++) {
		naming_count(naming, frames[i]);
		symbols[i] = frames[i]->symbol;
		symbols[i].is_start = i >= end;
	}
	if (main < count) {
		symbols[main].function = "main";
		symbols[main].id = 0;
	}
	return count;
}

/* ---- missing names ---- */

void naming_count(struct naming *naming, const struct naming_frame *frame)
{
	if (!frame->module || frame->symbol.is_inlined)
		return;
	naming->modules.items[frame->module->id].shown++;
	naming->modules.items[frame->module->id].unnamed += !frame->symbol.function;
}

void naming_restart(struct naming *naming)
{
	for (size_t i = 0; i < naming->modules.count; i++)
		naming->modules.items[i] = (struct naming_counts){ 0 };
}

static void add_reason(const struct naming *naming, struct naming_missing *missing)
{
	struct resolve_state state;
	unsigned i = 0;

	while (resolve_state(naming->resolve, i, &state) &&
	       strcmp(state.module, missing->module->path) != 0)
		i++;
	if (!resolve_state(naming->resolve, i, &state))
		return;
	missing->text = *state.text ? state.text : NULL;
	missing->advice = state.advice;
	missing->is_exhausted = state.reason == RESOLVE_SPECIAL ||
				(state.reason == RESOLVE_NO_SYMBOLS && !state.advice);
}

static struct naming_missing describe(const struct naming *naming,
				      const struct space_module *module)
{
	struct naming_missing missing = {
		.module = module,
		.shown = naming->modules.items[module->id].shown,
		.unnamed = naming->modules.items[module->id].unnamed,
	};

	strncat(missing.build_id, module->build_id, sizeof(missing.build_id) - 1);
	add_reason(naming, &missing);
	return missing;
}

static bool is_before(const struct naming_missing *a, const struct naming_missing *b)
{
	if (a->is_exhausted != b->is_exhausted)
		return b->is_exhausted;
	return a->unnamed > b->unnamed;
}

/* Inserts it in order; a full list drops its last entry. */
static void insert(struct naming_missing *list, size_t count, size_t max,
		   const struct naming_missing *missing)
{
	size_t place = count < max ? count : max;

	while (place && is_before(missing, &list[place - 1])) {
		if (place < max)
			list[place] = list[place - 1];
		place--;
	}
	if (place < max)
		list[place] = *missing;
}

size_t naming_missing(const struct naming *naming, struct naming_missing *list, size_t max)
{
	size_t count = 0;

	for (size_t i = 0; i < naming->modules.count; i++) {
		struct naming_missing missing;

		if (!naming->modules.items[i].unnamed)
			continue;
		missing = describe(naming, naming->space->module_list.items[i]);
		insert(list, count++, max, &missing);
	}
	return count;
}

/* ---- create and destroy ---- */

int naming_create(struct naming **result, const struct address_space *space,
		  const struct naming_files *files, struct error *err)
{
	const struct resolve_options options = {
		.inlines = true,
		.demangle = DEMANGLE_SHORT,
		.full_path = true,
		.root = !files	      ? NULL
			: files->root ? files->root
				      : resolve_root(files->maps, files->map_count),
		.debug_dir = files ? files->debug_dir : NULL,
		.maps = files ? files->maps : NULL,
		.map_count = files ? files->map_count : 0,
	};
	struct naming *naming = memory_zalloc(1, sizeof(*naming));
	int rc;

	if (!naming)
		return error_set(err, ENOMEM, "no memory for names");
	naming->space = space;
	hash_table_init(&naming->found);
	rc = resolve_create(&naming->resolve, &options, err);
	if (rc) {
		naming_destroy(naming);
		return rc;
	}
	*result = naming;
	return 0;
}

void naming_destroy(struct naming *naming)
{
	if (!naming)
		return;
	resolve_destroy(naming->resolve);
	hash_table_free(&naming->found);
	pool_free(&naming->pool);
	free(naming->modules.items);
	free(naming->expected.items);
	free(naming);
}
