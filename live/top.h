/* SPDX-License-Identifier: MIT */
#ifndef LIVE_TOP_H
#define LIVE_TOP_H

/* What `holdtrace top` shows: one picture of a run, in three forms. */

#include "base/out.h"
#include "live/glance.h"
#include "live/look.h"

#define TOP_WAITS_MAX 64u

/* A thread that waits for what another one holds, now. */
struct top_wait {
	int pid;
	bool is_in_ring, is_orphaned;
	char text[300]; /* as look_put_thread() has it */
};

struct top_picture {
	struct glance glance;
	const struct glance_wish *wish;
	uint64_t left_out; /* files and streams that are not followed */
	bool is_frozen, has_base, has_waits;
	struct top_wait waits[TOP_WAITS_MAX];
	size_t wait_count, held_up, rings;
	size_t selected; /* row */
	bool shows_backtrace;
};

/*
 * Lines of text, each ended by a newline; *marked: the number of the selected one. A call site that
 * has no room beside its numbers is a line of its own. width: of the terminal; 0: there is none.
 */
void top_put_text(struct out *out, const struct top_picture *picture, size_t width, size_t *marked);
void top_put_json(struct out *out, const struct top_picture *picture);

/* OpenMetrics, as prometheus' node_exporter reads from its textfile directory. */
void top_put_metrics(struct out *out, const struct top_picture *picture);

#endif
