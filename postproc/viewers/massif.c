/* SPDX-License-Identifier: MIT */
/*
 * Writes Massif's output file (valgrind, massif/ms_main.c): the live memory over time of the
 * process with the highest peak. Times are in milliseconds. Snapshots with call sites are written
 * for the peak and for the ends of time windows. Viewers draw the curve of a call site through
 * these snapshots: with call sites only at the peak, the memory of every call site would seem to
 * rise until the peak. The peak of all processes together is unknown, because processes are read
 * one after the other.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/memory.h"
#include "base/order.h"
#include "stacks.h"
#include "viewers.h"
#include "postproc/memory/costs.h"
#include "postproc/report/curve.h"

#define THRESHOLD 100u /* call sites with less than 1/THRESHOLD of the memory share one line */

struct massif {
	struct report_run *run;
	struct costs costs;
	struct stacks stacks;
	/* curve: of the current process; best: of the process with the highest peak so far */
	struct curve curve, best;
	uint64_t now;
	uint32_t process; /* number of the process with the highest peak */
	uint64_t last;	  /* live memory of `process` at its end, in bytes */
	bool is_best;	  /* the process that was read last has the highest peak so far */
	struct tally *tally;
	struct rises_axis windows; /* time axis of `process` */
};

/* The live memory of a call site over time, in the current process or in the one with the peak. */
struct held {
	struct rises rises;
	uint32_t process; /* number of the process, + 1 */
};

/* Values of `when`: the time of the peak, or (from 0 on) the end of the window with this number. */
enum { AT_PEAK = -1 };

/* A frame of the tree. The children of a frame are its callers. */
struct node {
	const struct stacks_frame *frame; /* NULL: the node is the root */
	struct node *children, *next;
	uint64_t bytes;
	uint32_t count; /* number of children */
};

/* ---- the fold ---- */

static void massif_move(void *user, const struct ledger_move *move)
{
	struct massif *massif = user;
	struct held *held;

	if (ledger_class(massif->run->ledger, move->class)->known != RESOURCE_MEMORY)
		return;
	held = tally_entry(massif->tally, move->site);
	report_hold(massif->run, &held->rises, move);
	massif->now += move->is_acquisition ? move->bytes : -move->bytes;
	curve_add(&massif->curve, move->event->time_ns, massif->now);
}

/*
 * Called at the end of each process, after massif_process(). If the process has the highest peak so
 * far, stores its call sites.
 */
static void massif_merge(void *user, void *of_run, const void *of_process)
{
	const struct massif *massif = user;
	struct held *run = of_run;

	if (!massif->is_best)
		return;
	if (run->process != massif->process + 1)
		*run = (struct held){ .process = massif->process + 1 };
	rises_merge(&run->rises, &massif->windows, &((const struct held *)of_process)->rises);
}

static int massif_begin(void *user, struct report_run *run, struct error *err)
{
	struct massif *massif = user;

	(void)err;
	costs_begin(&massif->costs, run);
	massif->tally = report_listen(run, sizeof(struct held), massif_merge, massif_move, massif);
	stacks_init(&massif->stacks, run->naming);
	return 0;
}

static void massif_process(void *state)
{
	struct massif *massif = state;

	costs_process(&massif->costs);
	massif->is_best = false;
	for (uint32_t i = 0; i < ledger_class_count(massif->run->ledger); i++)
		if (ledger_class(massif->run->ledger, i)->known == RESOURCE_MEMORY)
			massif->is_best = massif->costs.peaks.classes[i].is_best;
	if (massif->is_best) {
		massif->windows = massif->run->life;
		massif->best = massif->curve;
		massif->process = report_process(massif->run) - 1;
		massif->last = massif->now;
	}
	massif->curve = (struct curve){ 0 };
	massif->now = 0;
}

static void massif_destroy(void *state)
{
	struct massif *massif = state;

	stacks_free(&massif->stacks);
}

/* ---- the tree ---- */

static struct node *child_of(struct pool *pool, struct node *node, const struct stacks_frame *frame)
{
	struct node *child = node->children;

	while (child && child->frame != frame)
		child = child->next;
	if (child)
		return child;
	child = pool_zalloc(pool, sizeof(*child));
	child->frame = frame;
	child->next = node->children;
	node->children = child;
	node->count++;
	return child;
}

static uint64_t bytes_of(const struct massif *massif, const struct costs_place *place,
			 uint32_t index, int when)
{
	const struct held *held = when == AT_PEAK ? NULL : tally_of_place(massif->tally, index);
	uint64_t curve[RISES_WINDOWS];

	if (when == AT_PEAK)
		return place->peak.bytes;
	return held && held->process == massif->process + 1 &&
			       rises_curve(&held->rises, &massif->windows, curve) > (unsigned)when
		       ? curve[when]
		       : 0;
}

static void grow_tree(struct massif *massif, struct pool *pool, struct node *root, int when)
{
	struct costs_place place;
	uint32_t at = 0;

	while (costs_next(&massif->costs, &at, &place)) {
		uint64_t bytes = bytes_of(massif, &place, at - 1, when);
		struct node *node = root;
		size_t count;

		if (place.class->known != RESOURCE_MEMORY || !bytes)
			continue;
		count = stacks_of(&massif->stacks, place.place->backtrace, place.place->function);
		node->bytes += bytes;
		for (size_t i = 0; i < count; i++) {
			node = child_of(pool, node, massif->stacks.stack[i]);
			node->bytes += bytes;
		}
	}
}

static int by_bytes(const void *a, const void *b)
{
	const struct node *x = *(struct node *const *)a, *y = *(struct node *const *)b;

	return ORDER(y->bytes, x->bytes) ?: ORDER(x->frame->number, y->frame->number);
}

/* ---- the file ---- */

static void put_indent(struct out *out, unsigned depth)
{
	while (depth--)
		out_char(out, ' ');
}

static void put_node(struct out *out, const struct node *node, unsigned depth, uint64_t least)
{
	cleanup_free struct node **list = memory_zalloc(node->count + 1, sizeof(struct node *));
	cleanup_free char *name =
		node->frame ? stacks_describe(node->frame)
			    : memory_text("(heap allocation functions) malloc/new/new[], "
					  "--alloc-fns, etc.");
	uint32_t count = 0, shown = 0;
	uint64_t bytes = 0;

	for (struct node *child = node->children; child; child = child->next)
		list[count++] = child;
	qsort(list, count, sizeof(struct node *), by_bytes);
	while (shown < count && list[shown]->bytes >= least)
		shown++;
	/* if only one call site is left, show it: a line for the rest would be no shorter */
	if (shown + 1 == count)
		shown++;
	put_indent(out, depth);
	out_format(out, "n%" PRIu32 ": %" PRIu64 " ", shown + (shown < node->count), node->bytes);
	out_name(out, name, strlen(name), ESCAPE_ALL);
	out_char(out, '\n');
	for (uint32_t i = 0; i < shown; i++)
		put_node(out, list[i], depth + 1, least);
	for (uint32_t i = shown; i < node->count; i++)
		bytes += list[i]->bytes;
	if (shown < node->count) {
		put_indent(out, depth + 1);
		out_format(out,
			   "n0: %" PRIu64 " in %" PRIu32
			   " places, all below massif's threshold (1.00%%)\n",
			   bytes, node->count - shown);
	}
}

static void put_snapshot(struct out *out, uint64_t number, uint64_t ns, uint64_t bytes,
			 const char *tree)
{
	out_format(out,
		   "#-----------\nsnapshot=%" PRIu64 "\n#-----------\ntime=%.3f"
		   "\nmem_heap_B=%" PRIu64 "\nmem_heap_extra_B=0\nmem_stacks_B=0\nheap_tree=%s\n",
		   number, (double)ns / 1e6, bytes, tree);
}

/* Writes a snapshot with a tree of call sites. Its size is the sum of their sizes. */
static void put_tree(struct massif *massif, struct out *out, int when, uint64_t number,
		     uint64_t time_ns)
{
	struct pool pool = { 0 };
	struct node root = { 0 };

	grow_tree(massif, &pool, &root, when);
	put_snapshot(out, number, report_time(massif->run, time_ns), root.bytes,
		     when == AT_PEAK ? "peak" : "detailed");
	put_node(out, &root, 0, root.bytes / THRESHOLD);
	pool_free(&pool);
}

/* Writes trees for the ends of windows before until_ns, beginning with the window *window. */
static void put_windows(struct massif *massif, struct out *out, unsigned *window, uint64_t until_ns,
			uint64_t *number)
{
	unsigned count = (unsigned)(massif->windows.last - massif->windows.first + 1);

	for (; massif->windows.shift && *window < count &&
	       rises_end(&massif->windows, *window) < until_ns;
	     ++*window)
		put_tree(massif, out, (int)*window, (*number)++,
			 rises_end(&massif->windows, *window));
}

/*
 * Writes all snapshots, the first of which is empty. The peak is the first snapshot with the
 * highest value.
 */
static void put_snapshots(struct massif *massif, const struct summary_process *shown,
			  struct out *out)
{
	uint64_t peak = 0, time_ns, bytes, number = 1;
	bool had_peak;
	unsigned window = 0;
	size_t at = 0;

	while (curve_next(&massif->best, &at, &time_ns, &bytes))
		peak = bytes > peak ? bytes : peak;
	had_peak = !peak;
	at = 0;
	put_snapshot(out, 0, 0, 0, "empty");
	while (curve_next(&massif->best, &at, &time_ns, &bytes)) {
		bool is_peak = !had_peak && bytes == peak;

		had_peak |= is_peak;
		put_windows(massif, out, &window, time_ns, &number);
		if (is_peak)
			put_tree(massif, out, AT_PEAK, number++, time_ns);
		else
			put_snapshot(out, number++, report_time(massif->run, time_ns), bytes,
				     "empty");
	}
	if (!shown)
		return;
	put_windows(massif, out, &window, shown->end_ns, &number);
	if (massif->windows.shift)
		put_tree(massif, out, (int)window, number, shown->end_ns);
	else
		put_snapshot(out, number, report_time(massif->run, shown->end_ns), massif->last,
			     "empty");
}

static int massif_print(void *state, struct out *out, struct error *err)
{
	struct massif *massif = state;
	const struct summary *run = massif->run->summary;
	const struct summary_process *shown = summary_process_at(run, massif->process);
	const char *command = viewer_command(shown);
	char samples[SUMMARY_SAMPLES_MAX];

	(void)err;
	summary_say_samples(run, samples);
	out_format(out,
		   "desc: holdtrace " PACKAGE_VERSION ", process %" PRIu32 " of %zu%s%s\ncmd: ",
		   shown ? shown->pid : 0, run->processes.count, *samples ? "; " : "", samples);
	out_name(out, command, strlen(command), ESCAPE_ALL);
	out_text(out, "\ntime_unit: ms\n");
	put_snapshots(massif, shown, out);
	return 0;
}

const struct report viewer_massif = {
	.wants_ledger = true,
	.wants_summary = true,
	.state_size = sizeof(struct massif),
	.begin = massif_begin,
	.process = massif_process,
	.print = massif_print,
	.destroy = massif_destroy,
};
