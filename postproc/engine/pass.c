/* SPDX-License-Identifier: MIT */
#include "compress.h"
#include "pass.h"

#include <stdlib.h>
#include <string.h>

#include "base/spill_sort.h"
#include "heap_range.h"
#include "postproc/memory/leaks.h"

struct fold {
	const struct pass_options *options;
	const struct trace *trace;
	/*
	 * the following members are for the stream that is being printed; a file may have several
	 */
	struct heap_range heap;
	struct leaks *leaks;
	struct compress *compress;
	/*
	 * whether calls are stored until the stream ends (is_reordered), when their contexts are
	 * known. The stored calls are then printed in the order of sp-rtrace's tools: calls from a
	 * text file by time and index, calls from packets in the order of the stream
	 */
	bool is_sorting;
	struct spill_sort sort;
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
	bool with_arguments = !options->remove_arguments;

	if (options->is_leaks)
		leaks_create(&fold->leaks, with_arguments);
	if (options->is_compressed)
		compress_create(&fold->compress, with_arguments);
	if (options->is_reordered)
		spill_sort_init(&fold->sort, SPILL_TMPDIR, 0);
	fold->is_sorting = options->is_reordered;
	memset(&fold->heap, 0, sizeof(fold->heap));
	fold->views = (struct writer_views){ &fold->heap, fold->leaks, fold->compress };
	if (!is_directory(fold)) {
		rc = output_open(options->output, event->process, err);
		writer.out = &options->output->out;
	}
	if (rc == 0)
		rc = options->writer->begin(&fold->writer_state, fold->trace, &writer, err);
	fold->is_open = rc == 0;
	return rc ? rc : options->writer->event(fold->writer_state, event, err);
}

static int tell_call(struct fold *fold, const struct event *event, struct error *err);

static int tell_held_back(struct fold *fold, struct error *err)
{
	struct spill_piece piece;
	int rc = spill_sort_finish(&fold->sort, err);

	while (rc == 0 && (rc = spill_sort_next(&fold->sort, &piece, err)) > 0) {
		struct kept_call kept;
		struct event event;
		size_t size;

		kept_get((const unsigned char *)piece.bytes, &kept, &size);
		keep_event(&kept, trace_section(fold->trace, kept.section), &event);
		rc = tell_call(fold, &event, err);
		free(kept.arguments);
	}
	return rc;
}

/*
 * Finishes the views (leaks, groups of calls). If leaks and groups were both requested, groups the
 * calls that acquired the leaks.
 */
static int fold_finish_views(struct fold *fold, struct error *err)
{
	int rc = fold->is_sorting ? tell_held_back(fold, err) : 0;

	if (rc == 0 && fold->leaks) {
		leaks_limit(fold->leaks, fold->options->reading.select.min_age_ns,
			    trace_until_ns(fold->trace));
		leaks_finish(fold->leaks);
	}
	for (size_t i = 0; rc == 0 && fold->compress && fold->leaks && i < leaks_count(fold->leaks);
	     i++) {
		struct kept_call kept;
		struct event event;

		leaks_at(fold->leaks, i, &kept);
		keep_event(&kept, trace_section(fold->trace, kept.section), &event);
		rc = compress_event(fold->compress, &event, err);
	}
	if (fold->compress)
		compress_finish(fold->compress, fold->options->order);
	return rc;
}

/* Prints the rest of the stream. */
static int on_end(void *user, struct error *err)
{
	struct fold *fold = user;
	int rc = fold->is_open ? fold_finish_views(fold, err) : 0;
	struct error closing = { 0 };
	int closed;

	if (rc == 0 && fold->is_open)
		rc = fold->options->writer->end(fold->writer_state, err);
	if (fold->writer_state)
		fold->options->writer->destroy(fold->writer_state);
	leaks_destroy(fold->leaks);
	compress_destroy(fold->compress);
	if (fold->is_sorting)
		spill_sort_free(&fold->sort);
	fold->writer_state = NULL;
	fold->leaks = NULL;
	fold->compress = NULL;
	fold->is_open = fold->is_sorting = false;
	if (is_directory(fold))
		return rc;
	fold->options->output->is_spoilt = rc != 0;
	closed = output_close(fold->options->output, &closing);
	if (rc || !closed)
		return rc;
	*err = closing;
	return closed;
}

static int fold_write(struct fold *fold, const struct event *event, struct error *err)
{
	struct event bare;
	int rc;

	/* remove the arguments of calls only: the arguments of a note are its content */
	if (fold->options->remove_arguments && event->kind == EVENT_CALL) {
		bare = *event;
		bare.argument_count = 0;
		event = &bare;
	}
	rc = fold->options->writer->event(fold->writer_state, event, err);

	return rc || is_directory(fold) ? rc : output_error(fold->options->output, err);
}

static inline __attribute__((always_inline)) int
tell_call(struct fold *fold, const struct event *event, struct error *err)
{
	if (fold->leaks) {
		leaks_event(fold->leaks, event);
		return 0;
	}
	if (fold->compress)
		return compress_event(fold->compress, event, err);
	return fold_write(fold, event, err);
}

static int on_event(void *user, const struct event *event, struct error *err)
{
	struct fold *fold = user;
	struct spill_key key = { 0 };

	if (!event_is_call(event))
		return fold_write(fold, event, err);
	heap_range_event(&fold->heap, event);
	/* pass on calls from packets at once: the views need them in the order of the stream */
	if (!fold->is_sorting || (!event->process->is_text && (fold->leaks || fold->compress)))
		return tell_call(fold, event, err);

	bool with_arguments = !fold->options->remove_arguments;
	size_t size = kept_size(event, with_arguments);
	uint64_t index = event->index < UINT32_MAX ? event->index : UINT32_MAX;

	/*
	 * calls from packets get the key 0, so sorting leaves them in the order of the stream: the
	 * times of neighbouring packets of a thread may be out of order by some ns
	 */
	if (event->process->is_text)
		key.first = (uint64_t)event->time_ms << 32 | index;
	kept_put((unsigned char *)spill_sort_reserve(&fold->sort, size), event, with_arguments);
	spill_sort_commit(&fold->sort, key, size);
	return spill_error(&fold->sort.spill, err);
}

int pass(const char *const *paths, size_t count, const struct pass_options *options,
	 struct engine_result *result, struct error *err)
{
	struct fold fold = { .options = options };
	const struct engine_listener listener = {
		.user = &fold,
		.open = on_open,
		.begin = on_begin,
		.event = on_event,
		.end = on_end,
	};

	return engine_read(paths, count, &options->reading, &listener, result, err);
}
