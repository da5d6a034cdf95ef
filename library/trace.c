/* SPDX-License-Identifier: MIT */
#include "library/library.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "hook_table.h"
#include "naming/naming.h"
#include "trace/merge.h"

int library_fail(struct holdtrace_error *error, const struct error *err)
{
	if (error) {
		error->number = err->number;
		memcpy(error->text, err->text, sizeof(error->text));
		error->text[sizeof(error->text) - 1] = 0;
	}
	return -err->number;
}

PUBLIC const char *holdtrace_version(void)
{
	return PACKAGE_VERSION;
}

/* ---- names of frames ---- */

/*
 * Functions are looked up only when the caller requests the names of a backtrace. Until then, the
 * library stores the mappings of each process and the first event of each backtrace. The mappings
 * at the time of this event apply to the backtrace.
 */

/* The first event of a backtrace: its index, and the section (stream) that contains it. */
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
	uint32_t section; /* section whose mappings are in the address map */
	size_t mapped;	  /* number of that section's mappings that are in the address map */
};

#define SYMBOLS_MAX 2048

const struct trace_node *library_names_place(struct library_names *names,
					     const struct backtrace *backtrace)
{
	const struct origin *origin = &names->origins.items[backtrace->id];
	const struct section *section = ARRAY_AT(&names->sections, origin->section);

	if (!section)
		return NULL;
	/* adds to the address map those mappings of the process that have been read so far */
	if (names->section != origin->section) {
		space_begin_process(&names->space);
		names->section = origin->section;
		names->mapped = 0;
	}
	while (names->mapped < section->mappings.count)
		if (space_map(&names->space, section->mappings.items[names->mapped++]) < 0)
			return NULL;
	return space_backtrace(&names->space, backtrace, origin->index);
}

/*
 * Converts symbols to frames. A return address has several symbols if functions were inlined into
 * the function that it belongs to.
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

/* ---- open and close ---- */

/* Copies the options that are needed after the trace was opened. */
static int keep_options(struct holdtrace_trace *trace, const struct holdtrace_options *options,
			struct error *err)
{
	trace->hands_out_notes = options->flags & HOLDTRACE_NOTES;
	trace->root = options->root ? strdup(options->root) : NULL;
	trace->debug_directory = options->debug_directory ? strdup(options->debug_directory) : NULL;
	trace->names = calloc(1, sizeof(*trace->names));
	if (trace->names) {
		trace->names->files.root = trace->root;
		trace->names->files.debug_dir = trace->debug_directory;
		trace->names->section = HOLDTRACE_NO_ID;
		space_init(&trace->names->space);
	}
	trace->frames = calloc(1, sizeof(*trace->frames));
	if (options->flags & HOLDTRACE_ACCOUNT) {
		if (options->since)
			return error_set(err, EINVAL,
					 "since=%s: live objects can be determined only from the "
					 "start of the trace",
					 options->since);
		trace->account = library_account_create();
		if (!trace->account)
			return error_system(err, ENOMEM, "cannot open a trace");
	}
	if (!trace->names || !trace->frames || !trace->root != !options->root ||
	    !trace->debug_directory != !options->debug_directory)
		return error_system(err, ENOMEM, "cannot open a trace");
	return 0;
}

PUBLIC int holdtrace_trace_open(struct holdtrace_trace **trace, const char *const *paths,
				size_t count, const struct holdtrace_options *options,
				struct holdtrace_error *error)
{
	static const struct holdtrace_options defaults;
	struct holdtrace_trace *new = calloc(1, sizeof(*new));
	struct trace_options wanted = { 0 };
	struct error err = { 0 };
	struct stat status;
	int ret;

	*trace = NULL;
	if (!new) {
		error_system(&err, ENOMEM, "cannot open a trace");
		return library_fail(error, &err);
	}
	options = options ? options : &defaults;
	wanted.memory_max = options->memory_max;
	wanted.no_wait = options->flags & HOLDTRACE_NOW;
	new->has_origin = count != 1 || (stat(paths[0], &status) == 0 && S_ISDIR(status.st_mode));
	ret = keep_options(new, options, &err);
	if (ret == 0 && options->since)
		ret = instant_parse(&wanted.since, options->since, &err);
	if (ret == 0 && options->until)
		ret = instant_parse(&wanted.until, options->until, &err);
	if (ret == 0 && new->has_origin)
		ret = trace_merge_open(&new->trace, paths, count, &wanted, &err);
	else if (ret == 0 && (ret = trace_open(&new->trace, paths[0], &wanted, &err)) != 0)
		ret = error_prefix(&err, "%s", paths[0]);
	if (ret < 0) {
		holdtrace_trace_close(new);
		return library_fail(error, &err);
	}
	*trace = new;
	return 0;
}

PUBLIC void holdtrace_trace_close(struct holdtrace_trace *trace)
{
	if (!trace)
		return;
	library_account_destroy(trace->account);
	if (trace->names) {
		naming_destroy(trace->names->naming);
		space_free(&trace->names->space);
		for (size_t i = 0; i < trace->names->sections.count; i++)
			free(trace->names->sections.items[i].mappings.items);
		free(trace->names->sections.items);
		free(trace->names->origins.items);
		free(trace->names);
	}
	trace_close(trace->trace);
	if (trace->frames) {
		pool_free(&trace->frames->pool);
		free(trace->frames->rows.items);
		free(trace->frames);
	}
	free(trace->resources.items);
	free(trace->debug_directory);
	free(trace->root);
	free(trace);
}

/* ---- events ---- */

/* Stores the event's mapping, or its backtrace if it is new, for later requests for names. */
static inline int keep_facts(struct holdtrace_trace *trace, const struct event *event,
			     struct error *err)
{
	static const char sentence[] = "cannot store mappings and backtraces";
	uint32_t number = event->process->section - 1;
	struct library_names *names = trace->names;

	if (event->kind == EVENT_MAPPING) {
		struct section *section = ARRAY_AT(&names->sections, number);
		const struct trace_mapping **place = section ? ARRAY_ADD(&section->mappings) : NULL;

		if (!place)
			return error_system(err, ENOMEM, sentence);
		*place = event->mapping;
	} else if (event_is_call(event) && event->backtrace) {
		while (names->origins.count <= event->backtrace->id) {
			struct origin *origin = ARRAY_ADD(&names->origins);

			if (!origin)
				return error_system(err, ENOMEM, sentence);
			*origin = (struct origin){ event->index, number };
		}
	}
	return 0;
}

/* Finds the next event to return. Returns 1, 0 at the end, or a negative errno. */
static inline int next_event(struct holdtrace_trace *trace, const struct event **event,
			     struct error *err)
{
	const char **resource;
	int ret;

	do {
		ret = trace_next(trace->trace, event, err);
		if (ret <= 0) {
			trace->current = NULL;
			return ret;
		}
		if ((*event)->kind == EVENT_PROCESS && !trace->has_origin) {
			trace_count_from(trace->trace, (*event)->process);
			trace->has_origin = true;
		}
		ret = keep_facts(trace, *event, err);
		if (ret == 0 && trace->account && event_is_call(*event))
			ret = library_account_event(trace->account, *event, err);
		if (ret < 0)
			return ret;
	} while (!((*event)->kind == EVENT_CALL ||
		   ((*event)->kind == EVENT_NOTE && trace->hands_out_notes)));
	trace->current = *event;
	/* stores the name of the class by its id, because the trace has no table of classes */
	resource = ARRAY_AT(&trace->resources, (*event)->resource->id);
	if (!resource)
		return error_system(err, ENOMEM, "cannot store a class of resources");
	*resource = (*event)->resource->type;
	return 1;
}

static const uint32_t effects[] = {
	[CALL_TYPE_NONE] = HOLDTRACE_NEITHER,
	[CALL_TYPE_FREE] = HOLDTRACE_RELEASES,
	[CALL_TYPE_ALLOC] = HOLDTRACE_ACQUIRES,
};

/* Expands to X(member, value) for each member of an event. */
#define EVENT_MEMBERS(X)                                                        \
	X(index, event->index)                                                  \
	X(time_ns, event->time_ns)                                              \
	X(enter_ns, event->enter_ns)                                            \
	X(leave_ns, event->leave_ns)                                            \
	X(object, event->object)                                                \
	X(bytes, event->size)                                                   \
	X(related, event->related)                                              \
	X(result, event->result)                                                \
	X(call, event->call)                                                    \
	X(process, event->process->section - 1)                                 \
	X(thread, event->thread)                                                \
	X(function, event->function->id)                                        \
	X(resource, event->resource->id)                                        \
	X(operation, (uint32_t)event->operation)                                \
	X(effect, effects[event->type])                                         \
	X(flags, event->flags)                                                  \
	X(error, event->error)                                                  \
	X(backtrace, event->backtrace ? event->backtrace->id : HOLDTRACE_NO_ID) \
	X(is_note, event->kind == EVENT_NOTE)

PUBLIC int holdtrace_trace_next(struct holdtrace_trace *trace, const struct holdtrace_event **out,
				struct holdtrace_error *error)
{
	const struct event *event;
	struct error err = { 0 };
	int ret = next_event(trace, &event, &err);

	*out = NULL;
	if (ret < 0)
		return library_fail(error, &err);
	if (ret == 0)
		return 0;
#define MEMBER(name, value) trace->event.name = value;
	EVENT_MEMBERS(MEMBER)
#undef MEMBER
	*out = &trace->event;
	return 1;
}

PUBLIC long holdtrace_trace_read(struct holdtrace_trace *trace,
				 const struct holdtrace_columns *columns, size_t max,
				 struct holdtrace_error *error)
{
	struct error err = { 0 };
	size_t row = 0;

	for (; row < max; row++) {
		const struct event *event;
		int ret = next_event(trace, &event, &err);

		if (ret < 0)
			return library_fail(error, &err);
		if (ret == 0)
			break;
#define MEMBER(name, value) \
	if (columns->name)  \
		columns->name[row] = value;
		EVENT_MEMBERS(MEMBER)
#undef MEMBER
	}
	return (long)row;
}

PUBLIC int holdtrace_trace_skip(struct holdtrace_trace *trace, struct holdtrace_error *error)
{
	const struct event *event;
	struct error err = { 0 };
	int ret;

	do
		ret = next_event(trace, &event, &err);
	while (ret > 0);
	return ret < 0 ? library_fail(error, &err) : 0;
}

PUBLIC const char *holdtrace_trace_argument(const struct holdtrace_trace *trace, const char *name)
{
	return trace->current ? event_argument(trace->current, name) : NULL;
}

/* ---- ids ---- */

PUBLIC const char *holdtrace_trace_function(const struct holdtrace_trace *trace, uint32_t id)
{
	const struct function *function = trace_function(trace->trace, id);

	return function ? function->name : NULL;
}

PUBLIC const char *holdtrace_trace_resource(const struct holdtrace_trace *trace, uint32_t id)
{
	return id < trace->resources.count ? trace->resources.items[id] : NULL;
}

PUBLIC const char *holdtrace_operation_name(uint32_t operation)
{
	return operation < OPERATION_COUNT ? operation_table[operation].name : NULL;
}

PUBLIC size_t holdtrace_trace_backtrace(const struct holdtrace_trace *trace, uint32_t id,
					const uint64_t **frames)
{
	const struct backtrace *backtrace = trace_backtrace(trace->trace, id);
	const uint64_t **row = backtrace ? ARRAY_AT(&trace->frames->rows, id) : NULL;

	if (row && !*row) {
		uint64_t *copy =
			pool_alloc(&trace->frames->pool, (backtrace->count + 1) * sizeof(*copy));

		if (copy)
			trace_node_frames(backtrace->node, copy, backtrace->count);
		*row = copy;
	}
	*frames = row ? *row : NULL;
	return *frames ? backtrace->count : 0;
}

PUBLIC int holdtrace_trace_process(const struct holdtrace_trace *trace, uint32_t id,
				   struct holdtrace_process *out)
{
	const struct trace_process *process =
		id < UINT32_MAX ? trace_section(trace->trace, id + 1) : NULL;

	if (!process)
		return -ENOENT;
	*out = (struct holdtrace_process){ .pid = process->pid,
					   .parent_pid = process->parent_pid,
					   .start_ns = process->start_ns,
					   .realtime_ns = process->realtime_ns,
					   .name = process->name,
					   .arch = process->arch };
	return 0;
}

PUBLIC void holdtrace_trace_tally(const struct holdtrace_trace *trace, struct holdtrace_tally *out)
{
	const struct trace_tally *tally = trace_tally(trace->trace);

	*out = (struct holdtrace_tally){ .events = tally->calls,
					 .dropped = tally->lost,
					 .damages = tally->damages,
					 .damaged_bytes = tally->damaged_bytes,
					 .is_complete = trace_is_whole(trace->trace) };
}
