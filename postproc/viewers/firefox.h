/* SPDX-License-Identifier: MIT */
#ifndef VIEWERS_FIREFOX_H
#define VIEWERS_FIREFOX_H

/*
 * The data of a run that firefox.c collects, and the functions that write them as a file for the
 * Firefox Profiler.
 */

#include "base/array.h"
#include "base/json.h"
#include "stacks.h"
#include "postproc/report/curve.h"
#include "postproc/waits/lanes.h"
#include "postproc/run/spans.h"

/* A wait that the file shows. */
struct firefox_wait {
	struct lane_wait facts; /* its strings are constants or are in the pool */
	uint32_t pid;
};

struct firefox_point {
	uint64_t time_ns, amount;
};

/* The live amount of a class in a process over time. */
struct firefox_counter {
	uint32_t pid;
	ARRAY_OF(struct firefox_point) points;
};

/* The name of a process or of one of its threads. */
struct firefox_name {
	uint32_t pid, tid; /* tid 0: the process */
	const char *name;
};

struct firefox {
	struct report_run *run;
	struct lanes lanes;
	struct stacks stacks;
	struct pool pool;
	struct hash_table texts;
	/* spans of live memory; drawn: these spans merged by call site, about SPANS_MOST */
	struct spans spans, drawn;
	/* call sites of the current process; key: site; value: index in `places` */
	struct map numbers;
	ARRAY_OF(const struct trace_node *) places; /* index 0 is unused */
	/* index of the first call site of the current process */
	uint32_t first;
	struct curve curve;
	uint64_t now;
	ARRAY_OF(struct firefox_counter) counters;
	ARRAY_OF(struct firefox_name) names; /* sorted when the file is written */
	/* waits: a heap with the shortest wait on top */
	ARRAY_OF(struct firefox_wait) waits;
	uint64_t left_out, left_out_ns, wall_ns;
	/* state of the thread that is being written */
	struct json json;
	uint32_t threads; /* number of threads written so far */
	/* key: pid; value: 1 + number of the process's first thread in the file */
	struct map main_threads;
	/*
	 * nodes: key: number of the caller's stack, and a frame; value: number of the stack.
	 * frames: key: a frame; value: its index in frame_list, + 1
	 */
	struct map nodes, frames;
	ARRAY_OF(uint64_t) node_list; /* for each stack: number of the caller's stack, and frame */
	ARRAY_OF(const struct stacks_frame *) frame_list;
};

static inline uint64_t firefox_length_ns(const struct lane_wait *wait)
{
	return wait->until_ns > wait->since_ns ? wait->until_ns - wait->since_ns : 0;
}

/* Writes the file. Call spans_settle() first. */
void firefox_write(struct firefox *file, struct out *out);

#endif
