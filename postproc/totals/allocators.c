/* SPDX-License-Identifier: MIT */
#include "allocators.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "hook_table.h"
#include "naming/runtime.h"
#include "summary_fold.h"

#define PLACES_MAX   256u  /* maximum number of call sites of mapped memory that are examined */
#define FRAMES_MAX   32u   /* maximum number of innermost frames that are examined */
#define RECORDED_MAX 2048u /* maximum number of recorded functions that are stored */

/*
 * Mapped memory is reported only if it is at least MAPPED_LEAST bytes and at least 1 / MAPPED_PARTS
 * of the process's peak of recorded memory.
 */
#define MAPPED_LEAST 65536u
#define MAPPED_PARTS 10u

static const struct {
	const char *name, *pattern;
} allocators[] = {
#define ALLOCATOR(name, pattern) { name, pattern },
#include "allocators.def"
#undef ALLOCATOR
};

static const char *const heaps[] = {
#define HEAP(pattern) pattern,
#include "allocators.def"
#undef HEAP
};

/* ---- a process ---- */

void allocators_note(struct summary *summary, const struct event *note)
{
	const char *address = event_argument(note, "malloc");

	if (address)
		summary->fold->malloc =
			space_module_of(&summary->space, strtoull(address, NULL, 0), note->index);
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static const char *copy_text(struct summary *summary, const char *text)
{
	return pool_text(&summary->pool, text, strlen(text));
}

void allocators_function(struct summary *summary, const struct event *note)
{
	struct summary_process *process = &summary->fold->process;
	const char *function = event_argument(note, "function"),
		   *reason = event_argument(note, "reason"), *path = event_argument(note, "path");

	if (!function || !path)
		return;
	if (reason && !summary->inner.refusals++) {
		summary->inner.refused = copy_text(summary, function);
		summary->inner.reason = copy_text(summary, reason);
		summary->inner.path = copy_text(summary, path);
	}
	/* the program's own malloc is recorded, or inner.reason says why it is not */
	if (process->allocator && !strcmp(function, "malloc") && !strcmp(path, process->allocator))
		process->allocator = NULL;
	for (size_t i = 0; i < summary->inner.recorded.count; i++)
		if (!strcmp(summary->inner.recorded.items[i].function, function) &&
		    !strcmp(summary->inner.recorded.items[i].path, path))
			return;
	if (!reason && summary->inner.recorded.count < RECORDED_MAX)
		*ARRAY_ADD(&summary->inner.recorded) =
			(struct summary_recorded){ copy_text(summary, function),
						   copy_text(summary, path) };
}

/* Whether functions of this module's allocator are recorded. */
static bool has_recorded(const struct summary *summary, const char *module)
{
	for (size_t i = 0; module && i < summary->inner.recorded.count; i++)
		if (!strcmp(last_part(summary->inner.recorded.items[i].path), last_part(module)))
			return true;
	return false;
}

/* Returns an argument of the call that mapped the memory, or `otherwise` if the call has none. */
static uint64_t argument(const struct ledger_held *held, const char *name, uint64_t otherwise)
{
	const struct wire_value *at = held->item->arguments;

	while (at && at->name && strcmp(at->name, name) != 0)
		at++;
	return at && at->name ? strtoull(at->value, NULL, 0) : otherwise;
}

/*
 * Whether mapped memory may contain blocks: memory that belongs to no file, is not shared, is not a
 * stack, and has no code.
 */
static bool is_memory(const struct ledger_held *held, const struct hook *hook)
{
	uint64_t flags = argument(held, "flags", 0), prot = argument(held, "prot", 0);

	if (!strcmp(hook->name, "brk") || !strcmp(hook->name, "sbrk"))
		return true;
	return (flags & (MAP_PRIVATE | MAP_ANONYMOUS)) == (MAP_PRIVATE | MAP_ANONYMOUS) &&
	       !(flags & (MAP_STACK | MAP_GROWSDOWN)) && !(prot & PROT_EXEC);
}

static const char *file_name(const struct space_module *module)
{
	return last_part(module->path);
}

static bool is_heap(const struct space_module *module)
{
	for (size_t i = 0; i < sizeof(heaps) / sizeof(*heaps); i++)
		if (fnmatch(heaps[i], file_name(module), 0) == 0)
			return true;
	return false;
}

/*
 * Whether the recorded malloc maps this memory: `module` is the file that defines malloc, and the
 * program did not call into this file directly. (The same file may also export functions by which
 * the program maps memory.)
 */
static bool is_of_malloc(const struct summary *summary, const struct trace_node *place,
			 const struct space_module *module)
{
	const struct space_module *caller = module;

	if (!module || module != summary->fold->malloc)
		return false;
	for (; place->count && caller == module; place = place->caller)
		caller = space_module_at(&summary->space, place->address);
	return !caller || caller == module || runtime_has(RUNTIME_MODULE, file_name(caller));
}

#define LIBRARY "libholdtrace.so"
/* this many outermost frames may be in the library, because it wraps a thread's function */
#define THREAD_FRAMES 3u

/*
 * Whether a recorded call of an allocator maps this memory: the backtrace of the mapping then
 * contains the stub, a frame of holdtrace's library.
 */
static bool is_of_recorded(const struct summary *summary, const struct trace_node *place)
{
	for (; place->count > THREAD_FRAMES; place = place->caller) {
		const struct space_module *module =
			space_module_at(&summary->space, place->address);

		if (module && !strncmp(file_name(module), LIBRARY, strlen(LIBRARY)))
			return true;
	}
	return false;
}

struct own_memory {
	uint64_t bytes, largest;
	const struct space_module *by; /* file that mapped the largest piece; NULL: unknown */
};

static void take_mapping(struct summary *summary, const struct ledger_held *held,
			 struct own_memory *mapped)
{
	const struct site *site = sites_at(ledger_sites(summary->ledger), held->site);
	const struct trace_node *place;
	const struct space_module *module;

	if (!site->function->hook || !site->backtrace || !is_memory(held, site->function->hook))
		return;
	place = space_backtrace(&summary->space, site->backtrace, site->index);
	module = place->count ? space_module_at(&summary->space, place->address) : NULL;
	if (is_of_malloc(summary, place, module) ||
	    (summary->inner.recorded.count && is_of_recorded(summary, place)))
		return;
	if ((!module || (!is_heap(module) && !has_recorded(summary, module->path))) &&
	    argument(held, "prot", PROT_READ) != PROT_NONE) {
		mapped->bytes += held->size;
		if (held->size > mapped->largest) {
			mapped->largest = held->size;
			mapped->by = module;
		}
	}
	for (size_t i = 0; i < summary->inner.places.count; i++)
		if (summary->inner.places.items[i] == place)
			return;
	if (summary->inner.places.count < PLACES_MAX)
		*ARRAY_ADD(&summary->inner.places) = place;
}

void allocators_process(struct summary *summary)
{
	const struct summary_process *process = &summary->fold->process;
	struct own_memory mapped = { 0 };
	struct ledger_held held;

	/* an unrecorded malloc of the program itself is reported elsewhere */
	if (process->allocator)
		return;
	for (size_t at = 0; ledger_mapped(summary->ledger, &at, &held);)
		take_mapping(summary, &held, &mapped);
	if (mapped.bytes < MAPPED_LEAST || mapped.bytes < process->peak_bytes / MAPPED_PARTS ||
	    mapped.bytes <= summary->inner.bytes)
		return;
	summary->inner.bytes = mapped.bytes;
	summary->inner.mapper = mapped.by ? mapped.by->path : NULL;
}

/* ---- the run ---- */

static bool is_allocators(struct summary *summary, const struct naming_symbol *symbol)
{
	for (size_t i = 0; symbol->function && i < sizeof(allocators) / sizeof(*allocators); i++) {
		if (fnmatch(allocators[i].pattern, symbol->function, 0) != 0 ||
		    has_recorded(summary, symbol->module))
			continue;
		summary->inner.name = allocators[i].name;
		summary->inner.module = symbol->module;
		return true;
	}
	return false;
}

void allocators_find(struct summary *summary, struct naming *naming)
{
	struct naming_symbol symbols[FRAMES_MAX];

	for (size_t i = 0; naming && i < summary->inner.places.count; i++)
		naming_expect(naming, summary->inner.places.items[i]);
	for (size_t i = 0; naming && i < summary->inner.places.count; i++) {
		size_t count =
			naming_symbols(naming, summary->inner.places.items[i], symbols, FRAMES_MAX);

		for (size_t k = 0; k < count; k++)
			if (is_allocators(summary, &symbols[k]))
				return;
	}
}
