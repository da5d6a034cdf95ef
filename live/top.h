/* SPDX-License-Identifier: MIT */
#ifndef LIVE_TOP_H
#define LIVE_TOP_H

/* The output of `holdtrace top`: writes a picture of a run in one of three formats. */

#include "base/out.h"
#include "live/sample.h"
#include "live/look.h"
#include "live/screen.h"

#define TOP_WAITS_MAX 64u

/* A thread that waits for a lock, while another thread holds it. */
struct top_wait {
	int pid;
	bool is_in_ring, is_inferred, is_orphaned;
	char text[300]; /* made by look_put_thread() */
};

struct top_picture {
	struct sample sample;
	const struct sample_options *options;
	uint64_t left_out; /* number of files and streams that are not followed */
	bool is_frozen, has_waits;
	struct top_wait waits[TOP_WAITS_MAX];
	size_t wait_count, held_up, rings, inferred;
	size_t selected; /* index of the selected row */
	size_t first;	 /* index of the first row on the screen */
	bool shows_backtrace;
};

/*
 * Writes a picture as lines of text. If `screen` is NULL, writes plain text, with the same columns
 * for every picture. Otherwise uses the screen's styles, bars and curves, fits the lines to its
 * width, and sets *marked to the number of the selected row's line, or to SIZE_MAX.
 */
void top_put_text(struct out *out, const struct top_picture *picture, const struct screen *screen,
		  size_t *marked);

/* Writes the keys of the screen, without a newline after the last line. */
void top_put_keys(struct out *out, const struct screen *screen);
void top_put_json(struct out *out, const struct top_picture *picture);

/*
 * Writes a picture as OpenMetrics, for a file in the textfile directory of the Prometheus
 * node_exporter.
 */
void top_put_metrics(struct out *out, const struct top_picture *picture);

#endif
