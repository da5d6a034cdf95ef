/* SPDX-License-Identifier: MIT */
#include "postproc/pass.h"

#include <errno.h>
#include <string.h>

#include "postproc/views/heap_range.h"
#include "postproc/views/leaks.h"

/* The fold over one stream; a file of several streams has several. */
struct fold {
	struct trace *trace;
	const struct pass_options *options;
	struct select *select;
	struct heap_range heap;
	struct leaks *leaks;
	struct compress *compress;
	struct writer_views views;
	void *writer_state;
	bool is_open;
	struct event stream; /* the event that began it, held back until the process is known */
};

static int fold_create_views(struct fold *fold, struct error *err)
{
	const struct pass_options *options = fold->options;
	bool with_arguments = !options->select.remove_arguments;
	int rc = 0;

	if (options->is_leaks)
		rc = leaks_create(&fold->leaks, with_arguments, err);
	if (rc == 0 && options->is_compressed)
		rc = compress_create(&fold->compress, with_arguments, err);
	memset(&fold->heap, 0, sizeof(fold->heap));
	fold->views = (struct writer_views){ &fold->heap, fold->leaks, fold->compress };
	return rc;
}

/* The output's name may need the process, so it is opened at the second event. */
static int fold_open(struct fold *fold, struct error *err)
{
	const struct pass_options *options = fold->options;
	struct writer_options writer = { .directory = options->output->directory,
					 .force = options->force,
					 .is_single_renumbered = options->select.has_resources,
					 .depth = options->select.depth,
					 .is_merged = options->is_merged,
					 .views = &fold->views,
					 .own = options->own,
					 .own_count = options->own_count };
	int rc = fold_create_views(fold, err);

	if (rc == 0 && !(options->writer->flags & FORMAT_DIRECTORY)) {
		rc = output_open(options->output, fold->stream.process, err);
		writer.out = &options->output->out;
	}
	if (rc == 0)
		rc = options->writer->begin(&fold->writer_state, fold->trace, &writer, err);
	fold->is_open = rc == 0;
	return rc ? rc : options->writer->event(fold->writer_state, &fold->stream, err);
}

/* What leaked goes on into the groups, if there are to be groups. */
static int fold_finish_views(struct fold *fold, struct error *err)
{
	int rc = 0;

	if (fold->leaks) {
		leaks_limit(fold->leaks, fold->options->select.min_age_ns,
			    trace_until_ns(fold->trace));
		rc = leaks_finish(fold->leaks, err);
	}
	for (size_t i = 0; rc == 0 && fold->compress && fold->leaks && i < leaks_count(fold->leaks);
	     i++) {
		struct kept kept;
		struct event event;

		leaks_at(fold->leaks, i, &kept);
		keep_event(&kept, trace_section(fold->trace, kept.section), &event);
		rc = compress_event(fold->compress, &event, err);
	}
	if (fold->compress)
		compress_finish(fold->compress, fold->options->order);
	return rc;
}

static void fold_destroy(struct fold *fold)
{
	if (fold->writer_state)
		fold->options->writer->destroy(fold->writer_state);
	leaks_destroy(fold->leaks);
	compress_destroy(fold->compress);
	fold->writer_state = NULL;
	fold->leaks = NULL;
	fold->compress = NULL;
	fold->is_open = false;
}

/* Prints the rest of a stream. rc: what has happened so far; the first error counts. */
static int fold_close(struct fold *fold, int rc, struct error *err)
{
	struct error later = { 0 };
	int end = 0;

	if (!fold->is_open && fold->stream.process && select_has_process(fold->select) && rc == 0)
		rc = fold_open(fold, err);
	if (fold->is_open) {
		end = fold_finish_views(fold, &later);
		if (end == 0)
			end = fold->options->writer->end(fold->writer_state, &later);
	}
	fold_destroy(fold);
	if (!(fold->options->writer->flags & FORMAT_DIRECTORY)) {
		struct error closing = { 0 };
		int closed;

		fold->options->output->is_spoilt = end != 0;
		closed = output_close(fold->options->output, &closing);

		if (closed && end == 0) {
			end = closed;
			later = closing;
		}
	}
	fold->stream.process = NULL;
	if (rc == 0 && end) {
		*err = later;
		rc = end;
	}
	return rc;
}

static int fold_write(struct fold *fold, const struct event *event, struct error *err)
{
	int rc = fold->options->writer->event(fold->writer_state, event, err);

	return rc || (fold->options->writer->flags & FORMAT_DIRECTORY)
		       ? rc
		       : output_error(fold->options->output, err);
}

/* An event that select has left. */
static inline int fold_event(struct fold *fold, const struct event *event, struct error *err)
{
	if (!event_is_call(event))
		return fold_write(fold, event, err);
	heap_range_event(&fold->heap, event);
	if (fold->leaks)
		return leaks_event(fold->leaks, event, err);
	if (fold->compress)
		return compress_event(fold->compress, event, err);
	return fold_write(fold, event, err);
}

static int fold_next(struct fold *fold, const struct event *event, struct error *err)
{
	bool is_merged = fold->options->is_merged;
	bool is_new = event->kind == EVENT_STREAM && !(is_merged && fold->stream.process);
	int rc = is_new ? fold_close(fold, 0, err) : 0, wanted;

	if (rc)
		return rc;
	if (is_new)
		fold->stream = *event;
	wanted = select_event(fold->select, &event, err);
	if (wanted < 0 || is_new || !select_has_process(fold->select))
		return wanted < 0 ? wanted : 0;
	if (fold->options->has_found)
		*fold->options->has_found = true;
	if (is_merged && !fold->is_open)
		fold->stream.process = event->process;
	if (!fold->is_open)
		rc = fold_open(fold, err);
	return rc || !wanted ? rc : fold_event(fold, event, err);
}

/* Nearly all events are calls of which nothing is asked. */
static int fold_all(struct fold *fold, struct error *err)
{
	const struct pass_options *options = fold->options;
	bool keeps_calls = select_keeps_calls(fold->select);
	const struct event *event;
	int rc = 0;

	while (rc == 0) {
		if (options->stop && *options->stop)
			return error_set(err, EINTR, "interrupted: the result is of a part");
		rc = trace_next(fold->trace, &event, err);
		if (rc <= 0)
			return rc;
		if (keeps_calls && fold->is_open && event_is_call(event))
			rc = fold_event(fold, event, err);
		else
			rc = fold_next(fold, event, err);
	}
	return rc;
}

int pass_run(struct trace *trace, const struct pass_options *options, struct error *err)
{
	struct fold fold = { .trace = trace, .options = options };
	int rc = select_create(&fold.select, &options->select, err);

	if (rc)
		return rc;
	rc = fold_all(&fold, err);
	rc = fold_close(&fold, rc, err);
	select_destroy(fold.select);
	return rc;
}
