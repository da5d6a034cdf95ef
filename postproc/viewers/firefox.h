/* SPDX-License-Identifier: MIT */
#ifndef VIEWERS_FIREFOX_H
#define VIEWERS_FIREFOX_H

/* What is kept of a run for a profile of the Firefox Profiler (firefox.c), and its file. */

#include "base/array.h"
#include "base/json.h"
#include "stacks.h"
#include "postproc/report/curve.h"
#include "postproc/waits/lanes.h"
#include "postproc/run/spans.h"

/* A wait that is told of. */
struct firefox_wait {
	struct lane_wait facts; /* its texts are the pool's, or do not change */
	uint32_t pid;
};

struct firefox_point {
	uint64_t time_ns, amount;
};

/* What a process held of a class over time. */
struct firefox_counter {
	const char *name;
	uint32_t pid;
	ARRAY_OF(struct firefox_point) points;
};

/* What a process, or a thread of it, is called. */
struct firefox_name {
	uint32_t pid, tid; /* tid 0: the process */
	const char *name;
};

struct firefox {
	struct report_run *run;
	struct lanes lanes;
	struct stacks stacks;
	struct pool pool;
	struct table texts;
	/* memory */
	struct spans spans, drawn; /* drawn: as many as there may be, places for sites */
	struct map numbers;	   /* of the process: by site, number of its place */
	ARRAY_OF(const struct trace_node *) places; /* by number; 0: none */
	uint32_t first;				    /* number of the first place of the process */
	struct curve curve;
	uint64_t now;
	ARRAY_OF(struct firefox_counter) counters;
	ARRAY_OF(struct firefox_name) names; /* sorted when the file is written */
	/* waits: a heap, the shortest on top */
	ARRAY_OF(struct firefox_wait) waits;
	uint64_t left_out, left_out_ns, wall_ns;
	/* of a thread of the file */
	struct json json;
	uint32_t threads;	      /* written so far */
	struct map main_threads;      /* by pid: number in the file of its first thread, + 1 */
	struct map nodes, frames;     /* by prefix and frame: number of the stack; by frame: here */
	ARRAY_OF(uint64_t) node_list; /* prefix + 1 and frame of each stack */
	ARRAY_OF(const struct stacks_frame *) frame_list;
};

static inline uint64_t firefox_length_ns(const struct lane_wait *wait)
{
	return wait->until_ns > wait->since_ns ? wait->until_ns - wait->since_ns : 0;
}

/* Writes the file of what is settled. */
void firefox_write(struct firefox *file, struct out *out);

#endif
