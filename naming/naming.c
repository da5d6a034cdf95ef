/* SPDX-License-Identifier: MIT */
#include "naming/naming.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/hash_table.h"
#include "base/memory.h"
#include "base/out.h"
#include "base/pool.h"
#include "injected.h"
#include "terms.h"
#include "naming/runtime.h"
#include "naming/waiters.h"
#include "naming/shorten.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A function that contains an address, and the properties of its frame. */
struct naming_frame {
	struct naming_symbol symbol;
	const struct space_module *module; /* module of the frame; NULL: none */
	/* classify_frame() sets the following members and symbol.is_runtime */
	/* a function of the C library; only names without a leading underscore are public there */
	bool is_c_library;
	/*
	 * a Python function (its module is a PYTHON_MODULE), or a function that a JIT compiler
	 * compiled; the call sites of Python and JIT programs consist of these frames
	 */
	bool is_script;
	/* a function of libholdtrace.so; after an attach, a trace has no names for it */
	bool is_own;
	/*
	 * the name alone shows that the function only starts the program or thread: it runs before
	 * main() or the thread's function
	 */
	bool is_start;
};

/*
 * The functions at an address: the function that contains it, and the calls that are inlined there.
 */
struct naming_found {
	uint64_t address;
	uint32_t count;
	struct naming_frame frames[];
};

struct naming_counts {
	uint64_t shown, unnamed;
};

struct naming {
	const struct address_space *space;
	struct resolve *resolve;
	bool is_kept; /* whether the resolver is kept after naming_destroy() */
	/*
	 * indexed by module of the address map: numbers of frames shown, and shown without a name
	 */
	ARRAY_OF(struct naming_counts) modules;
	struct pool pool;
	/* the functions that were found so far (struct naming_found); key: address */
	struct hash_table found;
	uint32_t ids; /* the last id that was given to a symbol */
	/*
	 * one bit for each node of the address map: set if naming_expect() was called for the node
	 */
	ARRAY_OF(uint64_t) expected;
};

/* Returns the part of the path after the last slash. */
static const char *base_name(const char *path)
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

static bool is_python(const struct space_module *module)
{
	return module && !strncmp(module->path, PYTHON_MODULE, strlen(PYTHON_MODULE));
}

static bool is_module(const struct naming_frame *frame, const char *start)
{
	return frame->module && !strncmp(base_name(frame->module->path), start, strlen(start));
}

/*
 * Returns the number of frames without the outermost ones that only start the program or thread.
 * Those frames have no names in a stripped C library, and main() has none in a stripped program, so
 * their modules show where they begin. *main: index of the unnamed frame that must be main(), or
 * `count`. glibc calls main() through two of its own functions, and constructors through only one.
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

/* Gives the resolver the modules added to the map since the last call. Returns 0 or -ENOMEM. */
static int map_modules(struct naming *naming)
{
	const struct address_space *space = naming->space;

	while (naming->modules.count < space->module_list.count) {
		const struct space_module *module = space->module_list.items[naming->modules.count];
		uint8_t build_id[64];
		struct resolve_module how = {
			.path = module->path,
			.from = module->from,
			.to = module->to,
			.build_id = build_id,
			.build_id_size =
				parse_build_id(module->build_id, build_id, sizeof(build_id)),
		};
		struct naming_counts *counts = ARRAY_ADD(&naming->modules);

		if (!counts)
			return -ENOMEM;
		*counts = (struct naming_counts){ 0 };
		if (is_python(module))
			continue;
		if (module->has_tail) {
			how.exec_start = module->code;
			how.exec_end = module->to;
			how.offset = module->offset;
		}
		if (resolve_map(naming->resolve, &how) == -ENOMEM)
			return -ENOMEM;
	}
	return 0;
}

/* ---- looking up ---- */

static void count_frame(struct naming *naming, const struct naming_frame *frame)
{
	if (!frame->module || frame->symbol.is_inlined)
		return;
	naming->modules.items[frame->module->id].shown++;
	naming->modules.items[frame->module->id].unnamed += !frame->symbol.function;
}

/* Derives the properties of a frame from its file, function and module. */
static void classify_frame(const struct naming *naming, struct naming_frame *frame)
{
	struct naming_symbol *symbol = &frame->symbol;

	if (space_is_code(symbol->address)) {
		bool is_stub = symbol->function && runtime_has(RUNTIME_STUB, symbol->function);

		frame->is_script = symbol->function && !is_stub;
		symbol->is_runtime =
			is_stub ||
			(symbol->function && runtime_has(RUNTIME_CODE, symbol->function)) ||
			(symbol->file && runtime_has(RUNTIME_CODE, symbol->file));
		return;
	}
	if (is_python(frame->module)) {
		frame->is_script = true;
		symbol->is_runtime = symbol->file && runtime_has(RUNTIME_PYTHON, symbol->file) &&
				     !strstr(symbol->file, "-packages/");
		return;
	}
	frame->is_own =
		is_module(frame, "libholdtrace.so") || is_module(frame, "memfd:" LATE_LIBRARY);
	frame->is_c_library = is_module(frame, "libc.so.") || is_module(frame, "libc-2.") ||
			      is_module(frame, "libpthread") || is_module(frame, "ld-");
	frame->is_start =
		frame->is_own || (symbol->function &&
				  (!strcmp(symbol->function, "_start") ||
				   (frame->is_c_library && is_start_function(symbol->function))));
	/* libraries in the program's directory are part of the program */
	symbol->is_library = frame->module && runtime_has(RUNTIME_LIBRARY, frame->module->path) &&
			     !runtime_has(RUNTIME_SCRIPTS, base_name(frame->module->path)) &&
			     !space_is_beside_program(naming->space, frame->module->path);
	symbol->is_runtime =
		(frame->module && runtime_has(RUNTIME_MODULE, base_name(frame->module->path))) ||
		(symbol->function && (runtime_has(RUNTIME_FUNCTION, symbol->function) ||
				      waiters_find(symbol->function))) ||
		(symbol->function && symbol->file && runtime_has(RUNTIME_FILE, symbol->file));
}

static void fill_frame(struct naming *naming, struct naming_frame *frame, uint64_t address,
		       const struct symbol *symbol)
{
	/*
	 * the address is a return address: the frame's module is the module of the call, which
	 * precedes this address
	 */
	const struct space_module *module = space_module_at(naming->space, address - 1);

	*frame = (struct naming_frame){
		.module = module,
		.symbol = { .address = address,
			    .offset = module		       ? address - module->from
				      : space_is_code(address) ? address & SPACE_CODE_MASK
							       : address,
			    .function = symbol->is_missing ? NULL : symbol->function,
			    .file = symbol->file,
			    .line = symbol->line,
			    .module = module ? module->path : NULL,
			    .id = ++naming->ids },
	};
	classify_frame(naming, frame);
}

static bool is_found(const void *item, const void *key)
{
	return ((const struct naming_found *)item)->address == *(const uint64_t *)key;
}

static const struct naming_found *known_functions(const struct naming *naming, uint64_t address)
{
	return hash_table_find(&naming->found, hash_two(naming->found.seed, address, 0), is_found,
			       &address);
}

/*
 * Returns the function of a Python frame. The path of the frame's module is PYTHON_MODULE, then the
 * function's name, a blank and the source file. The address is the start of the module, plus the
 * line number, plus 1.
 */
static const struct naming_found *find_python(struct naming *naming, uint64_t address)
{
	const struct space_module *module = space_module_at(naming->space, address - 1);
	const char *name = module->path + strlen(PYTHON_MODULE), *blank = strchr(name, ' ');
	struct naming_found *found =
		pool_alloc(&naming->pool, sizeof(*found) + sizeof(*found->frames));
	struct symbol symbol = {
		.function = pool_text(&naming->pool, name,
				      blank ? (size_t)(blank - name) : strlen(name)),
		.file = blank ? blank + 1 : NULL,
		.line = (unsigned)(address - module->from - 1),
	};

	if (!found || !symbol.function)
		return NULL;
	*found = (struct naming_found){ .address = address, .count = 1 };
	fill_frame(naming, &found->frames[0], address, &symbol);
	found->frames[0].symbol.module = PYTHON_MODULE;
	return hash_table_add(&naming->found, hash_two(naming->found.seed, address, 0), found)
		       ? NULL
		       : found;
}

/*
 * Splits the name that a JIT compiler gave a function into its parts. V8 writes "JS:*name
 * file:line:column" (the character before the name is the tier); HotSpot writes "type
 * package.Class.method(types)".
 */
static bool split_code_name(struct naming *naming, const char *name, struct symbol *symbol)
{
	static const char *const scripts[] = { "JS:", "LazyCompile:", "Function:", "Script:",
					       "Eval:" };
	const char *end = strchr(name, '('), *blank = NULL;

	for (size_t i = 0; i < sizeof(scripts) / sizeof(*scripts); i++)
		if (!strncmp(name, scripts[i], strlen(scripts[i]))) {
			name += strlen(scripts[i]);
			name += strspn(name, "~^+*'");
			blank = end = strchr(name, ' ');
		}
	if (blank) {
		const char *last = strrchr(blank, ':'), *line = last;

		/* "file:line:column" or "file:line" */
		while (line && line > blank && isdigit((unsigned char)line[-1]))
			line--;
		line = line && line > blank && line < last && line[-1] == ':' ? line - 1 : last;
		if (line) {
			symbol->file =
				pool_text(&naming->pool, blank + 1, (size_t)(line - blank - 1));
			symbol->line = (unsigned)strtoul(line + 1, NULL, 10);
		}
	} else if (end && end > name && end[-1] != ' ') {
		for (const char *at = name; at < end; at++)
			name = *at == ' ' ? at + 1 : name;
	}
	if (!end || (!blank && (end == name || end[-1] == ' ')))
		end = name + strlen(name);
	symbol->function =
		end == name ? "(anonymous)" : pool_text(&naming->pool, name, (size_t)(end - name));
	return symbol->function;
}

/* Returns the function of generated code, perhaps without a name. NULL: no memory. */
static const struct naming_found *find_code(struct naming *naming, uint64_t address)
{
	const char *name = space_code_name(naming->space, address);
	struct symbol symbol = { .is_missing = !name };
	struct naming_found *found =
		pool_alloc(&naming->pool, sizeof(*found) + sizeof(*found->frames));

	if (!found || (name && !split_code_name(naming, name, &symbol)))
		return NULL;
	*found = (struct naming_found){ .address = address, .count = 1 };
	fill_frame(naming, &found->frames[0], address, &symbol);
	found->frames[0].symbol.module = name ? CODE_MODULE : NULL;
	return hash_table_add(&naming->found, hash_two(naming->found.seed, address, 0), found)
		       ? NULL
		       : found;
}

/*
 * Returns the functions at a return address: the function that contains it, and the calls that are
 * inlined there. Looks up each address only once. NULL: no memory.
 */
static const struct naming_found *find_functions(struct naming *naming, uint64_t address)
{
	const struct naming_found *known = known_functions(naming, address);
	struct symbol symbols[RESOLVE_FRAMES_MAX];
	struct naming_found *found;
	unsigned count;

	if (known)
		return known;
	if (map_modules(naming))
		return NULL;
	if (is_python(space_module_at(naming->space, address - 1)))
		return find_python(naming, address);
	if (space_is_code(address))
		return find_code(naming, address);
	count = resolve_address(naming->resolve, address, false, symbols, RESOLVE_FRAMES_MAX);
	if (count > RESOLVE_FRAMES_MAX)
		count = RESOLVE_FRAMES_MAX;
	found = pool_alloc(&naming->pool, sizeof(*found) + count * sizeof(*found->frames));
	if (!found)
		return NULL;
	*found = (struct naming_found){ .address = address, .count = count };
	for (unsigned i = 0; i < count; i++) {
		fill_frame(naming, &found->frames[i], address, &symbols[i]);
		found->frames[i].symbol.is_inlined = i + 1 < count;
	}
	return hash_table_add(&naming->found, hash_two(naming->found.seed, address, 0), found)
		       ? NULL
		       : found;
}

static void queue_address(struct naming *naming, uint64_t address)
{
	if (!space_is_code(address) && !known_functions(naming, address) && !map_modules(naming) &&
	    !is_python(space_module_at(naming->space, address - 1)))
		(void)resolve_ask(naming->resolve, address, false);
}

void naming_expect(struct naming *naming, const struct trace_node *backtrace)
{
	for (; backtrace && backtrace->count; backtrace = backtrace->caller) {
		uint64_t *word = ARRAY_AT(&naming->expected, backtrace->number / 64);
		uint64_t bit = UINT64_C(1) << backtrace->number % 64;

		if (word && *word & bit)
			/* naming_expect() has handled this frame before, and so all its callers */
			return;
		if (word)
			*word |= bit;
		queue_address(naming, backtrace->address);
	}
}

/*
 * Looks up the frames of a backtrace, innermost first. Fills at most `max` frames and returns their
 * number. *end: number of frames without the outermost ones that only start the program or thread.
 * *main: index of the unnamed frame that must be main(); if there is none, equal to the returned
 * number.
 */
static size_t look_up_backtrace(struct naming *naming, const struct trace_node *backtrace,
				const struct naming_frame **frames, size_t max, size_t *end,
				size_t *main)
{
	const struct trace_node *at = backtrace ? backtrace : &trace_no_node;
	size_t count = 0;

	for (; at->count && count < max; at = at->caller) {
		const struct naming_found *found = known_functions(naming, at->address);

		/*
		 * from the first unknown address on, queue this and all outer addresses, to look
		 * them up together
		 */
		if (!found) {
			const struct trace_node *next = at;

			for (size_t i = backtrace->count - at->count; next->count && i < max; i++) {
				queue_address(naming, next->address);
				next = next->caller;
			}
			found = find_functions(naming, at->address);
		}
		for (uint32_t i = 0; found && i < found->count && count < max; i++)
			frames[count++] = &found->frames[i];
	}
	/* if the backtrace is complete, its outermost frames start the program or thread */
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
	count = look_up_backtrace(naming, backtrace, frames, max, &end, &main);
	for (size_t i = 0; i < count; i++) {
		count_frame(naming, frames[i]);
		symbols[i] = frames[i]->symbol;
		symbols[i].is_start = i >= end;
	}
	if (main < count) {
		symbols[main].function = "main";
		symbols[main].id = 0;
	}
	return count;
}

const char *naming_allocated(struct naming *naming, uint64_t address)
{
	return space_is_code(address) || is_python(space_module_at(naming->space, address - 1)) ||
			       map_modules(naming)
		       ? NULL
		       : resolve_allocated(naming->resolve, address);
}

/* maximum number of frames that are looked up; frames further out are left out */
#define LOOK_MAX 192
/*
 * Number of the program's frames in a call site. One frame would not be enough, because the
 * innermost frame may be in a wrapper of malloc().
 */
#define SITE_FRAMES 3

/* ---- one frame ---- */

/* Writes a frame as text. For a function of the program itself, the module is left out. */
static void write_frame(const struct naming *naming, char *text, const struct naming_frame *frame)
{
	const struct naming_symbol *symbol = &frame->symbol;
	cleanup_free char *name = symbol->function ? memory_text(symbol->function) : NULL;

	if (!name && frame->module)
		snprintf(text, NAMING_TEXT_MAX, "%.100s+0x%" PRIx64, base_name(frame->module->path),
			 symbol->address - frame->module->from);
	else if (!name)
		snprintf(text, NAMING_TEXT_MAX, "0x%" PRIx64, symbol->offset);
	if (!name)
		return;
	if (!frame->is_script)
		shorten_name(name);
	if (symbol->file && symbol->line && !symbol->is_runtime)
		snprintf(text, NAMING_TEXT_MAX, "%.*s %.60s:%u", SHORTEN_MAX, name,
			 base_name(symbol->file), symbol->line);
	else if (!frame->module || symbol->is_runtime ||
		 space_is_program(naming->space, frame->module->path))
		snprintf(text, NAMING_TEXT_MAX, "%.*s", SHORTEN_MAX, name);
	else
		snprintf(text, NAMING_TEXT_MAX, "%.*s (%.60s)", SHORTEN_MAX, name,
			 base_name(frame->module->path));
}

void naming_text(struct naming *naming, const struct naming_symbol *symbol, char *text)
{
	struct naming_frame frame = {
		.symbol = *symbol,
		.module = space_module_at(naming->space, symbol->address - 1),
	};
	char name[SHORTEN_MAX];

	classify_frame(naming, &frame);
	count_frame(naming, &frame);
	write_frame(naming, text, &frame);
	if (!symbol->function || !frame.is_c_library)
		return;
	snprintf(name, sizeof(name), "%s", symbol->function);
	shorten_public(name);
	snprintf(text, NAMING_TEXT_MAX, "%s", name);
}

/* ---- a backtrace ---- */

struct shown {
	struct naming_line *lines;
	size_t count, max;
};

static void add_line(struct naming *naming, struct shown *shown, const struct naming_frame *frame,
		     const char *known)
{
	char text[NAMING_TEXT_MAX];

	if (known)
		snprintf(text, sizeof(text), "%s", known);
	else
		write_frame(naming, text, frame);
	if (!known)
		count_frame(naming, frame);
	if (shown->count && !strcmp(shown->lines[shown->count - 1].text, text)) {
		shown->lines[shown->count - 1].times++;
		return;
	}
	if (shown->count == shown->max)
		return;
	memcpy(shown->lines[shown->count].text, text, sizeof(text));
	shown->lines[shown->count].is_called = false;
	shown->lines[shown->count++].times = 1;
}

/*
 * Adds the function that the program called in the runtime or in a library, unless its name is
 * internal. If the library has no names, adds the name of the library.
 */
static void show_called(struct naming *naming, struct shown *shown,
			const struct naming_frame *frame)
{
	char name[SHORTEN_MAX], module[NAMING_TEXT_MAX];

	if (!frame->symbol.is_runtime) {
		snprintf(module, sizeof(module), "(%.100s)", base_name(frame->module->path));
		add_line(naming, shown, frame, frame->symbol.function ? NULL : module);
		shown->lines[0].is_called = true;
		return;
	}
	if (!frame->symbol.function)
		return;
	snprintf(name, sizeof(name), "%s", frame->symbol.function);
	if (frame->is_c_library)
		shorten_public(name);
	if (name[0] == '_')
		return;
	add_line(naming, shown, frame, frame->is_c_library ? name : NULL);
	shown->lines[0].is_called = true;
}

/*
 * Adds a line for a backtrace without a frame of the program, such as the backtrace of a thread
 * that belongs to the runtime itself.
 */
static void show_runtime(struct naming *naming, struct shown *shown,
			 const struct naming_frame *frame)
{
	char text[NAMING_TEXT_MAX];
	const char *module = frame->module ? base_name(frame->module->path) : "runtime";
	cleanup_free char *name =
		frame->symbol.function ? memory_text(frame->symbol.function) : NULL;

	if (name && name[0] != '_') {
		shorten_name(name);
		snprintf(text, sizeof(text), "%.*s (%.60s itself)", SHORTEN_MAX, name, module);
	} else
		snprintf(text, sizeof(text), "(%.60s itself)", module);
	add_line(naming, shown, frame, text);
}

/*
 * Returns the index of the innermost frame outside of the language's runtime and, if
 * skips_libraries is set, outside of system libraries.
 */
static size_t skip_runtime(const struct naming_frame *const *frames, size_t end,
			   bool skips_libraries)
{
	size_t first = 0;

	while (first < end && (frames[first]->symbol.is_runtime ||
			       (skips_libraries && frames[first]->symbol.is_library)))
		first++;
	return first;
}

/*
 * Returns the index of the frame at which the call site of a Python program begins: the innermost
 * Python frame outside of the standard library, or, if there is none, the innermost Python frame.
 * If there is no Python frame, returns `end`.
 */
static size_t find_python_site(const struct naming_frame *const *frames, size_t end)
{
	size_t innermost = end;

	for (size_t i = 0; i < end; i++) {
		if (!frames[i]->is_script)
			continue;
		if (!frames[i]->symbol.is_runtime)
			return i;
		if (innermost == end)
			innermost = i;
	}
	return innermost;
}

/*
 * Adds the function that a Python frame called: a function of the standard library, or of a C
 * module other than the interpreter. The interpreter is the module of the first C frame outside of
 * this Python frame.
 */
static void show_python_called(struct naming *naming, struct shown *shown,
			       const struct naming_frame *const *frames, size_t site, size_t end)
{
	const struct space_module *interpreter = NULL;

	for (size_t i = site; i < end && !interpreter; i++)
		if (!frames[i]->is_script)
			interpreter = frames[i]->module;
	for (size_t i = site; i--;) {
		if (!frames[i]->is_script &&
		    (frames[i]->module == interpreter || frames[i]->symbol.is_runtime))
			continue;
		if (frames[i]->module)
			show_called(naming, shown, frames[i]);
		return;
	}
}

static size_t write_lines(struct naming *naming, const struct trace_node *backtrace,
			  bool skips_libraries, struct naming_line *lines, size_t max)
{
	const struct naming_frame *frames[LOOK_MAX];
	struct shown shown = { .lines = lines, .max = max };
	size_t first, end, main, called;

	look_up_backtrace(naming, backtrace, frames, LOOK_MAX, &end, &main);
	first = find_python_site(frames, end);
	if (first < end) {
		show_python_called(naming, &shown, frames, first, end);
		for (size_t i = first; i < end && shown.count < max; i++)
			if (frames[i]->is_script && (i == first || !frames[i]->symbol.is_runtime))
				add_line(naming, &shown, frames[i], NULL);
		return shown.count;
	}
	first = skip_runtime(frames, end, skips_libraries);
	/*
	 * a thread that a library started has no frame of the program, so show the library's frames
	 */
	if (first == end)
		first = skip_runtime(frames, end, false);
	if (end && first == end) {
		show_runtime(naming, &shown, frames[end - 1]);
		return shown.count;
	}
	called = first;
	while (called > 1 && !frames[called - 1]->symbol.function && frames[called - 1]->is_own)
		called--;
	if (called)
		show_called(naming, &shown, frames[called - 1]);
	for (size_t i = first; i < end && shown.count < max; i++)
		if (i == first || !frames[i]->symbol.is_runtime)
			add_line(naming, &shown, frames[i], i == main ? "main" : NULL);
	return shown.count;
}

size_t naming_lines(struct naming *naming, const struct trace_node *backtrace,
		    struct naming_line *lines, size_t max)
{
	return write_lines(naming, backtrace, false, lines, max);
}

size_t naming_site(struct naming *naming, const struct trace_node *backtrace,
		   struct naming_line *lines, size_t max, size_t *length)
{
	size_t count = write_lines(naming, backtrace, true, lines, max);
	size_t most = SITE_FRAMES + (count && lines[0].is_called);

	*length = count < most ? count : most;
	return count;
}

bool naming_read_site(struct naming *naming, const struct trace_node *backtrace, char *text,
		      size_t size)
{
	struct naming_line lines[SITE_FRAMES + 1];
	size_t length, used = 0;

	naming_site(naming, backtrace, lines, SITE_FRAMES + 1, &length);
	*text = '\0';
	for (size_t i = 0; i < length && used < size; i++)
		used += (size_t)snprintf(text + used, size - used, "%s\n", lines[i].text);
	return used < size;
}

/* Whether the byte is a continuation byte of UTF-8. */
static bool is_inside(char byte)
{
	return ((unsigned char)byte & 0xc0) == 0x80;
}

/*
 * Replaces the middle of the function's name, and a module name after it, by dots. Keeps the start
 * and the end of the function's name, and the line number.
 */
void naming_cut(char *text, size_t columns)
{
	static const char dots[] = "...";
	char *blank = strrchr(text, ' ');
	size_t length = strlen(text), from, to;

	if (columns < 4 * strlen(dots) || name_columns(text, length) <= columns)
		return;
	if (blank && blank[1] == '(' && length - (size_t)(blank - text) >= strlen(dots)) {
		memcpy(blank, dots, sizeof(dots));
		length = strlen(text);
		if (name_columns(text, length) <= columns)
			return;
		length -= strlen(dots);
		text[length] = '\0';
		blank = NULL;
	}
	to = blank ? (size_t)(blank - text) : length;
	while (is_inside(text[to]) || name_columns(text + to, length - to) > columns / 2)
		to++;
	for (size_t at = to; at && name_columns(text + at, length - at) <= columns / 3;) {
		to = at--;
		while (at && is_inside(text[at]))
			at--;
	}
	/*
	 * `to` may be less than the length of `dots`, because an escaped character takes fewer
	 * bytes in the text than columns on the terminal
	 */
	if (to < strlen(dots))
		return;
	columns -= strlen(dots) + name_columns(text + to, length - to);
	from = to - strlen(dots);
	while (from && (is_inside(text[from]) || name_columns(text, from) > columns))
		from--;
	memmove(text + from + strlen(dots), text + to, length - to + 1);
	memcpy(text + from, dots, strlen(dots));
}

void naming_fit(struct naming_line *line, bool has_times, size_t columns)
{
	char times[16] = "";
	size_t length;

	if (has_times && line->times > 1)
		snprintf(times, sizeof(times), " (%" PRIu32 "x)", line->times);
	naming_cut(line->text, columns - strlen(times));
	length = strlen(line->text);
	snprintf(line->text + length, NAMING_TEXT_MAX - length, "%s", times);
}

const char *naming_program(const struct naming *naming, const char *module)
{
	return !module || space_is_program(naming->space, module) ? "" : base_name(module);
}

/* ---- missing names ---- */

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

size_t naming_missing(const struct naming *naming, struct naming_missing *list, size_t max)
{
	size_t count = 0;

	for (size_t i = 0; i < naming->modules.count; i++) {
		struct naming_missing missing = {
			.module = naming->space->module_list.items[i],
			.shown = naming->modules.items[i].shown,
			.unnamed = naming->modules.items[i].unnamed,
		};
		size_t place = count < max ? count : max;

		if (!missing.unnamed)
			continue;
		strncat(missing.build_id, missing.module->build_id, sizeof(missing.build_id) - 1);
		add_reason(naming, &missing);
		/* insert the module in order; if the list is full, remove its last entry */
		while (place && (list[place - 1].is_exhausted != missing.is_exhausted
					 ? list[place - 1].is_exhausted
					 : list[place - 1].unnamed < missing.unnamed)) {
			if (place < max)
				list[place] = list[place - 1];
			place--;
		}
		if (place < max)
			list[place] = missing;
		count++;
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
		.debug_dir = !files		? NULL
			     : files->debug_dir ? files->debug_dir
						: resolve_debug_dir(files->maps, files->map_count),
		.maps = files ? files->maps : NULL,
		.map_count = files ? files->map_count : 0,
	};
	struct naming *naming = memory_zalloc(1, sizeof(*naming));
	struct resolve **kept = files ? files->kept : NULL;
	int rc = 0;

	if (!naming)
		return error_set(err, ENOMEM, "no memory for names");
	naming->space = space;
	hash_table_init(&naming->found);
	if (kept && *kept)
		naming->resolve = *kept;
	else
		rc = resolve_create(&naming->resolve, &options, err);
	if (rc) {
		naming_destroy(naming);
		return rc;
	}
	naming->is_kept = kept != NULL;
	if (kept)
		*kept = naming->resolve;
	*result = naming;
	return 0;
}

void naming_destroy(struct naming *naming)
{
	if (!naming)
		return;
	if (!naming->is_kept)
		resolve_destroy(naming->resolve);
	hash_table_free(&naming->found);
	pool_free(&naming->pool);
	free(naming->modules.items);
	free(naming->expected.items);
	free(naming);
}

void naming_end_kept(const struct naming_files *files)
{
	resolve_destroy(*files->kept);
	*files->kept = NULL;
}
