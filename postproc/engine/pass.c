/* SPDX-License-Identifier: MIT */
#include "pass.h"

#include <string.h>

#include "heap_range.h"
#include "postproc/memory/leaks.h"
#include "reorder.h"

struct fold {
	const struct pass_options *options;
	const struct trace *trace;
	/* of the stream that is being printed; a file may have several */
	struct heap_range heap;
	struct leaks *leaks;
	struct compress *compress;
	struct reorder *reorder;
	struct writer_views views;
	void *writer_state;
	bool is_open;
};

static int on_open(void *user, const struct trace *trace, const char *path, struct error *err)
{
	(void)path;
	(void)err;
	((struct fold *)user)->trace = trace;
	return 0;
}

static bool is_directory(const struct fold *fold)
{
	return fold->options->writer->flags & FORMAT_DIRECTORY;
}

static void fold_create_views(struct fold *fold)
{
	const struct pass_options *options = fold->options;
	bool with_arguments = !options->remove_arguments;

	if (options->is_leaks)
		leaks_create(&fold->leaks, with_arguments);
	if (options->is_compressed)
		compress_create(&fold->compress, with_arguments);
	if (options->is_reordered)
		fold->reorder = reorder_create(with_arguments);
	memset(&fold->heap, 0, sizeof(fold->heap));
	fold->views = (struct writer_views){ &fold->heap, fold->leaks, fold->compress };
}

static int on_begin(void *user, const struct event *event, struct error *err)
{
	struct fold *fold = user;
	const struct pass_options *options = fold->options;
	const struct select_options *select = &options->reading.select;
	struct writer_options writer = { .directory = options->output->directory,
					 .force = options->force,
					 .is_single_renumbered = select->classes != NULL,
					 .depth = select->depth,
					 .is_merged = options->reading.is_merged,
					 .is_reordered = options->is_reordered,
					 .views = &fold->views,
					 .words = options->words };
	int rc = 0;

	fold_create_views(fold);
	if (!is_directory(fold)) {
		rc = output_open(options->output, event->process, err);
		writer.out = &options->output->out;
	}
	if (rc == 0)
		rc = options->writer->begin(&fold->writer_state, fold->trace, &writer, err);
	fold->is_open = rc == 0;
	return rc ? rc : options->writer->event(fold->writer_state, event, err);
}

static int tell_call(void *user, const struct event *event, struct error *err);

/* With both views the leaks are what is grouped. */
static int fold_finish_views(struct fold *fold, struct error *err)
{
	int rc = fold->reorder ? reorder_finish(fold->reorder, fold->trace, tell_call, fold, err)
			       : 0;

	if (rc == 0 && fold->leaks) {
		leaks_limit(fold->leaks, fold->options->reading.select.min_age_ns,
			    trace_until_ns(fold->trace));
		leaks_finish(fold->leaks, err);
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
	reorder_destroy(fold->reorder);
	fold->writer_state = NULL;
	fold->leaks = NULL;
	fold->compress = NULL;
	fold->reorder = NULL;
	fold->is_open = false;
}

/* An error of the writer takes precedence over one of its output. */
static int fold_close_output(struct fold *fold, int rc, struct error *err)
{
	struct error closing = { 0 };
	int closed;

	if (is_directory(fold))
		return rc;
	fold->options->output->is_spoilt = rc != 0;
	closed = output_close(fold->options->output, &closing);
	if (rc || !closed)
		return rc;
	*err = closing;
	return closed;
}

/* Prints the rest of the stream. */
static int on_end(void *user, struct error *err)
{
	struct fold *fold = user;
	int rc = fold->is_open ? fold_finish_views(fold, err) : 0;

	if (rc == 0 && fold->is_open)
		rc = fold->options->writer->end(fold->writer_state, err);
	fold_destroy(fold);
	return fold_close_output(fold, rc, err);
}

static int fold_write(struct fold *fold, const struct event *event, struct error *err)
{
	struct event bare;
	int rc;

	/* Facts of notes are not arguments of calls, and stay. */
	if (fold->options->remove_arguments && event->kind == EVENT_CALL) {
		bare = *event;
		bare.argument_count = 0;
		event = &bare;
	}
	rc = fold->options->writer->event(fold->writer_state, event, err);

	return rc || is_directory(fold) ? rc : output_error(fold->options->output, err);
}

static inline __attribute__((always_inline)) int tell_call(void *user, const struct event *event,
							   struct error *err)
{
	struct fold *fold = user;

	if (fold->leaks)
		return leaks_event(fold->leaks, event, err);
	if (fold->compress)
		return compress_event(fold->compress, event, err);
	return fold_write(fold, event, err);
}

/* Views of packets need the calls complete, and print them in the order of the stream anyway. */
static bool is_held_back(const struct fold *fold, const struct event *event)
{
	return fold->reorder && (event->process->is_text || !(fold->leaks || fold->compress));
}

static int on_event(void *user, const struct event *event, struct error *err)
{
	struct fold *fold = user;

	if (!event_is_call(event))
		return fold_write(fold, event, err);
	heap_range_event(&fold->heap, event);
	if (!is_held_back(fold, event))
		return tell_call(fold, event, err);
	reorder_event(fold->reorder, event);
	return 0;
}

static struct engine_listener listen(struct fold *fold)
{
	return (struct engine_listener){
		.user = fold,
		.open = on_open,
		.begin = on_begin,
		.event = on_event,
		.end = on_end,
	};
}

int pass(const char *const *paths, size_t count, const struct pass_options *options,
	 struct engine_result *result, struct error *err)
{
	struct fold fold = { .options = options };
	struct engine_listener listener = listen(&fold);

	return engine_read(paths, count, &options->reading, &listener, result, err);
}

int pass_trace(struct trace *trace, const struct pass_options *options, struct error *err)
{
	struct fold fold = { .options = options };
	struct engine_listener listener = listen(&fold);
	struct engine_result result = { 0 };

	return engine_trace(trace, "-", &options->reading, &listener, &result, err);
}
