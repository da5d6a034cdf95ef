/* SPDX-License-Identifier: MIT */
#ifndef LIVE_TOP_H
#define LIVE_TOP_H

/* The output of `holdtrace top`: one picture of a run in three formats. */

#include "base/out.h"
#include "live/sample.h"
#include "live/look.h"

#define TOP_WAITS_MAX 64u

/* A thread that waits for a lock that another one holds. */
struct top_wait {
	int pid;
	bool is_in_ring, is_orphaned;
	char text[300]; /* made by look_put_thread() */
};

struct top_picture {
	struct sample sample;
	const struct sample_options *options;
	uint64_t left_out; /* files and streams that are not followed */
	bool is_frozen, has_waits;
	struct top_wait waits[TOP_WAITS_MAX];
	size_t wait_count, held_up, rings;
	size_t selected; /* index of the row */
	bool shows_backtrace;
};

/*
 * Writes lines of text; *marked: the number of the selected line. A call site that does not fit
 * beside its numbers gets a line of its own. width: of the terminal; 0: no terminal.
 */
void top_put_text(struct out *out, const struct top_picture *picture, size_t width, size_t *marked);
void top_put_json(struct out *out, const struct top_picture *picture);

/* OpenMetrics, as prometheus' node_exporter reads from its textfile directory. */
void top_put_metrics(struct out *out, const struct top_picture *picture);

#endif
