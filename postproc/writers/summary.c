/* SPDX-License-Identifier: MIT */
#include "postproc/writers/overview.h"
#include "formats/writers.h"

#include <errno.h>
#include <stdlib.h>

/* One stream's screen; several files make one screen through postproc/summarise.c. */
struct state {
	struct summary *summary;
	struct out *out;
};

int write_summary_begin(void **result, const struct trace *trace,
			const struct writer_options *options, struct error *err)
{
	struct state *state = calloc(1, sizeof(*state));
	int rc;

	(void)trace;
	if (!state)
		return error_set(err, ENOMEM, "no memory for the summary");
	state->out = options->out;
	rc = summary_begin(&state->summary, err);
	if (rc == 0)
		rc = summary_watch(state->summary, err);
	if (rc == 0)
		rc = summary_open(state->summary, NULL, err);
	if (rc)
		write_summary_destroy(state);
	else
		*result = state;
	return rc;
}

int write_summary_event(void *state, const struct event *event, struct error *err)
{
	return summary_event(((struct state *)state)->summary, event, err);
}

int write_summary_end(void *result, struct error *err)
{
	struct state *state = result;
	struct overview_style style = overview_style_of(state->out, false);
	int rc = summary_end(state->summary, err);

	return rc ? rc : overview_print(state->summary, NULL, NULL, &style, state->out, err);
}

void write_summary_destroy(void *result)
{
	struct state *state = result;

	summary_free(state->summary);
	free(state);
}
