/* SPDX-License-Identifier: MIT */
#include "engine.h"

#include <errno.h>
#include <string.h>

#include "trace/bundle.h"
#include "trace/merge.h"

struct engine {
	const struct engine_options *options;
	const struct engine_listener *listener;
	struct engine_result *result;
	/* the following members are for the trace that is being read */
	struct trace *trace;
	struct select *select;
	/* first process of the latest run; has_tails is false if no run was read yet */
	struct trace_process first;
	/* the EVENT_STREAM for the listener's begin(); process NULL: no stream has begun */
	struct event stream;
	bool is_begun;
};

/*
 * Returns `rc` if it is an error. Otherwise returns `later_rc` and, if that is an error, copies
 * `later` to `err`.
 */
static int first_of(int rc, int later_rc, const struct error *later, struct error *err)
{
	if (rc || !later_rc)
		return rc;
	if (err)
		*err = *later;
	return later_rc;
}

/* ---- a stream ---- */

static int begin_stream(struct engine *engine, struct error *err)
{
	engine->is_begun = true;
	engine->result->has_found = true;
	return engine->listener->begin(engine->listener->user, &engine->stream, err);
}

/* Ends the stream. rc: the result of reading it. Returns the first error. */
static int end_stream(struct engine *engine, int rc, struct error *err)
{
	struct error later = { 0 };
	int end;

	/* call begin() and end() even for a stream without events */
	if (rc == 0 && !engine->is_begun && engine->stream.process &&
	    select_has_process(engine->select))
		rc = begin_stream(engine, err);
	end = engine->is_begun ? engine->listener->end(engine->listener->user, &later) : 0;
	engine->is_begun = false;
	engine->stream.process = NULL;
	return first_of(rc, end, &later, err);
}

static int on_event(struct engine *engine, const struct event *event, struct error *err)
{
	const struct trace_process *process = event->process;
	bool is_merged = engine->options->is_merged;
	bool wanted;
	int rc = 0;

	/*
	 * if a new run begins, store its first process: all times of the run are relative to the
	 * start of this process, even if the process is not selected
	 */
	if (event->kind == EVENT_PROCESS && process->has_tails &&
	    (!engine->first.has_tails ||
	     memcmp(engine->first.session, process->session, sizeof(process->session)) != 0)) {
		engine->first = *process;
		if (!engine->result->run.start_ns)
			engine->result->run =
				(struct instant_base){ process->start_ns, process->realtime_ns };
	}
	if (event->kind == EVENT_STREAM && !(is_merged && engine->stream.process)) {
		rc = end_stream(engine, 0, err);
		if (rc)
			return rc;
		engine->stream = *event;
		select_event(engine->select, &event);
		return 0;
	}
	wanted = select_event(engine->select, &event);
	if (!engine->is_begun && select_has_process(engine->select)) {
		if (is_merged)
			engine->stream.process = event->process;
		rc = begin_stream(engine, err);
	}
	return rc || !wanted ? rc : engine->listener->event(engine->listener->user, event, err);
}

/*
 * Reads all events. If the selection keeps all calls, which is the usual case, passes calls
 * directly to the listener.
 */
static int read_events(struct engine *engine, struct error *err)
{
	static const volatile sig_atomic_t never;
	const volatile sig_atomic_t *stop = engine->options->stop ? engine->options->stop : &never;
	const struct engine_listener listener = *engine->listener;
	bool keeps_calls = select_keeps_calls(engine->select);
	const struct event *event;
	int rc = 0;

	while (rc == 0) {
		if (*stop)
			return error_set(err, EINTR, "interrupted: the result is partial");
		rc = trace_next(engine->trace, &event, err);
		if (rc <= 0)
			return rc;
		if (keeps_calls && engine->is_begun && event_is_call(event))
			rc = listener.event(listener.user, event, err);
		else
			rc = on_event(engine, event, err);
	}
	return rc;
}

/* ---- traces ---- */

static int read_streams(struct engine *engine, struct error *err)
{
	struct error later = { 0 };
	int rc = select_create(&engine->select, &engine->options->select, err), closed;

	if (rc == 0 && !select_keeps_calls(engine->select))
		trace_wants_calls(engine->trace);
	if (rc == 0)
		rc = read_events(engine, err);
	rc = end_stream(engine, rc, err);
	/*
	 * close the listener before the selection is destroyed: the listener may use cut
	 * backtraces, whose memory belongs to the selection
	 */
	closed = engine->listener->close
			 ? engine->listener->close(engine->listener->user, engine->trace, &later)
			 : 0;
	select_destroy(engine->select);
	return first_of(rc, closed, &later, err);
}

/* Opens and reads a file or, with is_merged, several files as one trace. */
static int read_paths(struct engine *engine, const char *const *paths, size_t count,
		      struct error *err)
{
	const struct engine_options *options = engine->options;
	const char *path = options->is_merged ? NULL : *paths, *name;
	const struct trace *part;
	struct trace *trace;
	int rc = options->is_merged ? trace_merge_open(&trace, paths, count, &options->trace, err)
				    : trace_open(&trace, *paths, &options->trace, err);

	if (rc)
		return rc;
	rc = engine->listener->open(engine->listener->user, trace, path, err);
	if (rc) {
		trace_close(trace);
		return rc;
	}
	engine->trace = trace;
	if (engine->first.has_tails && !options->is_merged)
		trace_count_from(trace, &engine->first);
	rc = read_streams(engine, err);
	if (!options->is_merged)
		engine->result->is_damaged |= !trace_is_whole(trace);
	/* a merged trace is damaged if one of its parts is damaged */
	for (size_t i = 0; options->is_merged && (part = trace_merge_part(trace, i, &name)) != NULL;
	     i++)
		engine->result->is_damaged |= !trace_is_whole(part);
	if (options->read && (rc == 0 || rc == -EINTR))
		options->read(options->trace.user, path, trace);
	trace_close(trace);
	return rc;
}

static int read_files(struct engine *engine, const struct inputs *inputs, struct error *err)
{
	const struct trace_options *options = &engine->options->trace;

	for (size_t i = 0; i < inputs->count; i++) {
		const char *path = inputs->items[i];
		const char *name = strcmp(path, "-") ? path : "standard input";
		int rc = read_paths(engine, &path, 1, err);

		if (rc == 0)
			continue;
		/*
		 * if there are several files and one cannot be read, report the error and continue
		 * with the next file
		 */
		if (inputs->count == 1) {
			error_prefix(err, "%s", name);
			return rc;
		}
		engine->result->is_damaged = true;
		engine->result->unread++;
		if (options->failed)
			options->failed(options->user, name, err);
	}
	return 0;
}

int engine_read(const char *const *paths, size_t count, const struct engine_options *options,
		const struct engine_listener *listener, struct engine_result *result,
		struct error *err)
{
	struct engine engine = { .options = options, .listener = listener, .result = result };
	struct inputs inputs;
	int rc;

	if (options->is_merged)
		return read_paths(&engine, paths, count, err);
	rc = inputs_expand(&inputs, paths, count, &options->trace, err);
	if (rc == 0)
		rc = read_files(&engine, &inputs, err);
	inputs_free(&inputs);
	return rc;
}
