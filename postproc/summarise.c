/* SPDX-License-Identifier: MIT */
#include "postproc/summarise.h"

#include <errno.h>
#include <string.h>

#include "postproc/views/summary.h"
#include "postproc/writers/overview.h"
#include "trace/inputs.h"

static int fold_events(struct summary *summary, struct trace *trace, struct select *select,
		       const struct summarise_options *options, struct error *err)
{
	const struct event *event;
	int rc;

	for (;;) {
		if (options->stop && *options->stop)
			return error_set(err, EINTR, "interrupted: the result is of a part");
		rc = trace_next(trace, &event, err);
		if (rc <= 0)
			return rc;
		rc = select_event(select, &event, err);
		if (rc > 0 && event->kind != EVENT_STREAM && options->has_found)
			*options->has_found = true;
		if (rc > 0)
			rc = summary_event(summary, event, err);
		if (rc < 0)
			return rc;
	}
}

/* What was read before an error is used. */
static int fold_trace(struct summary *summary, const char *path, struct trace *trace,
		      const struct summarise_options *options, struct error *err)
{
	struct error closing = { 0 };
	struct select *select;
	int rc = select_create(&select, &options->select, err);
	int end;

	if (rc)
		return rc;
	rc = summary_open(summary, strcmp(path, "-") ? path : NULL, err);
	if (rc == 0)
		rc = fold_events(summary, trace, select, options, err);
	end = summary_close(summary, trace_tally(trace), &closing);
	select_destroy(select);
	if (rc == 0 && end) {
		*err = closing;
		rc = end;
	}
	return rc;
}

static int fold_file(struct summary *summary, const char *path,
		     const struct summarise_options *options, bool *is_damaged, struct error *err)
{
	struct trace *trace;
	int rc = trace_open(&trace, path, &options->trace, err);

	if (rc)
		return rc;
	rc = fold_trace(summary, path, trace, options, err);
	*is_damaged |= !trace_is_whole(trace);
	trace_close(trace);
	return rc;
}

/* A stream that fails is told of and left out, unless all do. */
static int fold_streams(struct summary *summary, const char *const *paths, size_t count,
			const struct summarise_options *options, bool *is_damaged,
			struct error *err)
{
	for (size_t i = 0; i < count; i++) {
		int rc = fold_file(summary, paths[i], options, is_damaged, err);

		if (rc == 0)
			continue;
		if (rc == -EINTR || rc == -ENOMEM || count == 1)
			return rc;
		*is_damaged = true;
		if (options->unread)
			++*options->unread;
		if (options->failed)
			options->failed(paths[i], err);
	}
	return 0;
}

static int fold_files(struct summary *summary, const char *const *paths, size_t count,
		      const struct summarise_options *options, bool *is_damaged, struct error *err)
{
	struct inputs inputs;
	int rc = inputs_expand(&inputs, paths, count, &options->trace, err);

	if (rc == 0)
		rc = fold_streams(summary, inputs.items, inputs.count, options, is_damaged, err);
	inputs_free(&inputs);
	return rc;
}

int summarise(const char *const *paths, size_t count, const struct summarise_options *options,
	      struct out *out, bool *is_damaged, struct error *err)
{
	struct overview_style style = overview_style_of(out, options->is_newest);
	struct error later = { 0 };
	struct summary *summary;
	int rc = summary_begin(&summary, err);
	int end;

	*is_damaged = false;
	if (rc)
		return rc;
	rc = summary_watch(summary, err);
	if (rc) {
		summary_free(summary);
		return rc;
	}
	summary->selection = options->select.tally;
	rc = fold_files(summary, paths, count, options, is_damaged, err);
	end = summary_end(summary, &later);
	if (end == 0)
		end = overview_print(summary, NULL, NULL, &style, out, &later);
	summary_free(summary);
	if (rc == 0 && end) {
		*err = later;
		rc = end;
	}
	return rc;
}
