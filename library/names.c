/* SPDX-License-Identifier: MIT */
/*
 * Names of the frames of a trace's backtraces. Names are resolved only on request. Until then, the
 * mappings of each process and the first event of each backtrace are stored. The first event
 * determines the mappings that apply to the backtrace.
 */
#include "library/library.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "naming/naming.h"

/* The first event of a backtrace. It determines the mappings that apply to the addresses. */
struct origin {
	uint64_t index;
	uint32_t section;
};

struct section {
	ARRAY_OF(const struct trace_mapping *) mappings;
	const char *program;
};

struct library_names {
	ARRAY_OF(struct origin) origins;   /* indexed by backtrace */
	ARRAY_OF(struct section) sections; /* indexed by section number - 1 */
	struct address_space space;
	struct naming *naming; /* NULL: no name was requested yet */
	struct naming_files files;
	uint32_t section; /* the section whose mappings are in the address map */
	size_t mapped;	  /* number of that section's mappings that are in the address map */
};

struct library_names *library_names_create(const struct holdtrace_options *options)
{
	struct library_names *names = calloc(1, sizeof(*names));

	if (!names)
		return NULL;
	names->files.root = options->root;
	names->files.debug_dir = options->debug_directory;
	names->section = HOLDTRACE_NO_ID;
	space_init(&names->space);
	return names;
}

void library_names_destroy(struct library_names *names)
{
	if (!names)
		return;
	naming_destroy(names->naming);
	space_free(&names->space);
	for (size_t i = 0; i < names->sections.count; i++)
		free(names->sections.items[i].mappings.items);
	free(names->sections.items);
	free(names->origins.items);
	free(names);
}

static struct section *section_of(struct library_names *names, uint32_t number)
{
	return ARRAY_AT(&names->sections, number);
}

int library_names_map(struct library_names *names, const struct event *event)
{
	struct section *section = section_of(names, event->process->section - 1);
	const struct trace_mapping **mapping = section ? ARRAY_ADD(&section->mappings) : NULL;

	if (!mapping)
		return -ENOMEM;
	*mapping = event->mapping;
	return 0;
}

int library_names_meet(struct library_names *names, const struct event *event)
{
	while (names->origins.count <= event->backtrace->id) {
		struct origin *origin = ARRAY_ADD(&names->origins);

		if (!origin)
			return -ENOMEM;
		*origin = (struct origin){ event->index, event->process->section - 1 };
	}
	return 0;
}

size_t library_names_met(const struct library_names *names)
{
	return names->origins.count;
}

/* Adds to the address map those mappings of a process that have been read so far. */
static int enter_section(struct library_names *names, uint32_t number)
{
	const struct section *section = section_of(names, number);
	int ret = 0;

	if (!section)
		return -ENOMEM;
	if (names->section != number) {
		space_begin_process(&names->space);
		names->section = number;
		names->mapped = 0;
	}
	while (ret == 0 && names->mapped < section->mappings.count)
		ret = space_map(&names->space, section->mappings.items[names->mapped++]);
	return ret;
}

#define SYMBOLS_MAX 2048

/*
 * Fills `frames` with functions. A frame of the backtrace yields several functions if some were
 * inlined into it.
 */
static long fill_frames(struct naming_symbol *symbols, size_t count,
			const struct backtrace *backtrace, struct holdtrace_frame *frames,
			size_t max)
{
	const struct trace_node *at = backtrace->node;

	for (size_t i = 0; i < count && i < max; i++) {
		frames[i] = (struct holdtrace_frame){
			.address = at->address,
			.offset = symbols[i].offset,
			.function = symbols[i].function,
			.file = symbols[i].file,
			.module = symbols[i].module,
			.line = symbols[i].line,
			.is_inlined = symbols[i].is_inlined,
		};
		if (!symbols[i].is_inlined && at->count)
			at = at->caller;
	}
	return (long)(count < max ? count : max);
}

const struct trace_node *library_names_place(struct library_names *names,
					     const struct backtrace *backtrace)
{
	const struct origin *origin = &names->origins.items[backtrace->id];

	if (enter_section(names, origin->section) < 0)
		return NULL;
	return space_backtrace(&names->space, backtrace, origin->index);
}

static long look_up_names(struct holdtrace_trace *trace, const struct backtrace *backtrace,
			  struct holdtrace_frame *frames, size_t max, struct error *err)
{
	static const char sentence[] = "cannot look up names";
	struct library_names *names = trace->names;
	const struct trace_node *place = library_names_place(names, backtrace);
	struct naming_symbol *symbols;
	long count;

	if (!place)
		return error_system(err, ENOMEM, sentence);
	if (!names->naming) {
		int ret = naming_create(&names->naming, &names->space, &names->files, err);

		if (ret < 0)
			return ret;
	}
	symbols = calloc(SYMBOLS_MAX, sizeof(*symbols));
	if (!symbols)
		return error_system(err, ENOMEM, sentence);
	count = fill_frames(symbols, naming_symbols(names->naming, place, symbols, SYMBOLS_MAX),
			    backtrace, frames, max);
	free(symbols);
	return count;
}

PUBLIC long holdtrace_trace_names(struct holdtrace_trace *trace, uint32_t id,
				  struct holdtrace_frame *frames, size_t max,
				  struct holdtrace_error *error)
{
	const struct backtrace *backtrace = trace_backtrace(trace->trace, id);
	struct error err = { 0 };
	long count;

	if (!backtrace || id >= trace->names->origins.count)
		return 0;
	count = look_up_names(trace, backtrace, frames, max, &err);
	return count < 0 ? library_fail(error, &err) : count;
}
