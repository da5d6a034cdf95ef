/* SPDX-License-Identifier: MIT */
#include "library/library.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "hook_table.h"
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

/* ---- open and close ---- */

static int read_options(struct trace_options *to, const struct holdtrace_options *from,
			struct error *err)
{
	int ret = 0;

	to->memory_max = from->memory_max;
	to->no_wait = from->flags & HOLDTRACE_NOW;
	if (from->since)
		ret = instant_parse(&to->since, from->since, err);
	if (ret == 0 && from->until)
		ret = instant_parse(&to->until, from->until, err);
	return ret;
}

static bool is_directory(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* Copies the options that are needed after the trace was opened. */
static int keep_options(struct holdtrace_trace *trace, const struct holdtrace_options *options,
			struct error *err)
{
	struct holdtrace_options kept = *options;

	trace->hands_out_notes = options->flags & HOLDTRACE_NOTES;
	trace->root = options->root ? strdup(options->root) : NULL;
	trace->debug_directory = options->debug_directory ? strdup(options->debug_directory) : NULL;
	kept.root = trace->root;
	kept.debug_directory = trace->debug_directory;
	trace->names = library_names_create(&kept);
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

static int open_paths(struct holdtrace_trace *trace, const char *const *paths, size_t count,
		      const struct trace_options *options, struct error *err)
{
	int ret;

	trace->has_origin = count != 1 || is_directory(paths[0]);
	if (trace->has_origin)
		return trace_merge_open(&trace->trace, paths, count, options, err);
	ret = trace_open(&trace->trace, paths[0], options, err);
	return ret ? error_prefix(err, "%s", paths[0]) : 0;
}

PUBLIC int holdtrace_trace_open(struct holdtrace_trace **trace, const char *const *paths,
				size_t count, const struct holdtrace_options *options,
				struct holdtrace_error *error)
{
	static const struct holdtrace_options defaults;
	struct holdtrace_trace *new = calloc(1, sizeof(*new));
	struct trace_options wanted = { 0 };
	struct error err = { 0 };
	int ret;

	*trace = NULL;
	if (!new) {
		error_system(&err, ENOMEM, "cannot open a trace");
		return library_fail(error, &err);
	}
	options = options ? options : &defaults;
	ret = keep_options(new, options, &err);
	if (ret == 0)
		ret = read_options(&wanted, options, &err);
	if (ret == 0)
		ret = open_paths(new, paths, count, &wanted, &err);
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
	library_names_destroy(trace->names);
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
	const struct backtrace *backtrace = event->backtrace;
	int ret = 0;

	if (event->kind == EVENT_MAPPING)
		ret = library_names_map(trace->names, event);
	else if (event_is_call(event) && backtrace &&
		 backtrace->id >= library_names_met(trace->names))
		ret = library_names_meet(trace->names, event);
	return ret < 0 ? error_system(err, ENOMEM, "cannot store mappings and backtraces") : 0;
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
	/* store the name of the class by its id, because the trace has no table of classes */
	resource = ARRAY_AT(&trace->resources, (*event)->resource->id);
	if (!resource)
		return error_system(err, ENOMEM, "cannot store a class of resources");
	*resource = (*event)->resource->type;
	return 1;
}

static enum holdtrace_effect effect_of(const struct event *event)
{
	if (event->type == CALL_TYPE_ALLOC)
		return HOLDTRACE_ACQUIRES;
	return event->type == CALL_TYPE_FREE ? HOLDTRACE_RELEASES : HOLDTRACE_NEITHER;
}

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
	X(effect, (uint32_t)effect_of(event))                                   \
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
