/* SPDX-License-Identifier: MIT */
#include "overview_parts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "postproc/findings/images.h"
#include "postproc/report/report.h"

#define PROCESSES_MAX 6
#define CUT_MAX	      3
#define UNTRACED_MAX  3
#define UNCHOSEN_MAX  4

/* ---- how it ended ---- */

static void add_exec(const struct summary *summary, struct line *line,
		     const struct summary_process *process)
{
	const struct summary_process *next = images_next(summary, process);
	const char *slash = process->became ? strrchr(process->became, '/') : NULL;

	if (next)
		line_add(line, "ran %.20s", overview_name(next));
	else if (process->became)
		line_add(line, "ran %.20s%s", slash && slash[1] ? slash + 1 : process->became,
			 process->untraced ? " untraced" : "");
	else
		line_add(line, "ran a program not in these traces");
}

void overview_end(const struct summary *summary, struct line *line,
		  const struct summary_process *process, uint64_t after_ns)
{
	const char *signal;

	switch (process->end) {
	case SUMMARY_EXITED:
		line_add(line, process->has_status ? "exit %d" : "exited", process->status);
		break;
	case SUMMARY_KILLED:
		signal = process->has_status ? sigabbrev_np(process->status) : NULL;
		line_add(line, signal ? "killed by SIG%s" : "killed", signal);
		break;
	case SUMMARY_EXEC:
		add_exec(summary, line, process);
		break;
	case SUMMARY_LEFT:
		line_add(line, "ran on when the collector was ended");
		break;
	case SUMMARY_DETACHED:
		line_add(line, "detached, and runs on");
		break;
	case SUMMARY_UNKNOWN:
		line_add(line, process->has_end	    ? "ended"
			       : process->has_tails ? "no end recorded"
						    : "end not known");
		break;
	}
	if (after_ns)
		line_add(line, " after %s", DURATION(after_ns));
	if (process->end == SUMMARY_UNKNOWN && process->has_end)
		line_add(line, ", nobody saw how");
}

bool overview_is_complete(const struct summary_process *process)
{
	return process->has_end && !process->is_damaged;
}

/* ---- the list ---- */

static void print_process(struct overview *overview, const struct summary_process *process)
{
	bool is_over = process->end == SUMMARY_EXEC;
	uint64_t fds = process->held[RESOURCE_FD];
	struct line line;

	line_begin(&line);
	line_add(&line, "  %-7" PRIu32 " %.20s, ", process->pid, overview_name(process));
	overview_end(overview->summary, &line, process, 0);
	line_add(&line, ": %s event%s", COUNT(process->events), PLURAL(process->events));
	if (process->lost)
		line_add(&line, ", %s LOST", COUNT(process->lost));
	if (process->peak_bytes != process->held_bytes)
		line_add(&line, ", peak %s", BYTES(process->peak_bytes));
	if (process->held_bytes)
		line_add(&line, ", %s %s",
			 is_over			  ? "dropped"
			 : process->end == SUMMARY_KILLED ? "held"
							  : "holds",
			 BYTES(process->held_bytes));
	if (fds && !is_over)
		line_add(&line, ", %s fd%s", COUNT(fds), PLURAL(fds));
	screen_wrap(&overview->screen, &line, OVERVIEW_COLUMN);
}

static void print_title(struct overview *overview, size_t shown)
{
	const struct summary *summary = overview->summary;
	bool has_images = summary->processes.count != summary->pids;
	struct line line;

	line_begin(&line);
	line_add(&line, has_images ? "programs" : "processes");
	if (shown < summary->processes.count)
		line_add(&line, " (%zu of %s)", shown, COUNT(summary->processes.count));
	screen_add(&overview->screen, &line);
}

void overview_processes(struct overview *overview)
{
	const struct summary *summary = overview->summary;
	size_t count = summary->processes.count, room = overview_limit(overview, PROCESSES_MAX);
	cleanup_free bool *is_chosen = memory_zalloc(count, sizeof(*is_chosen));

	/* the headline describes a single process */
	if (count < 2)
		return;
	room += room == 1;
	images_choose(summary, room, is_chosen);
	print_title(overview, count < room ? count : room);
	for (size_t i = 0; i < count; i++)
		if (is_chosen[i])
			print_process(overview, &summary->processes.items[i]);
}

/* ---- what the traces lack ---- */

void overview_untraced(struct overview *overview)
{
	const struct summary *summary = overview->summary;
	size_t shown = 0;

	for (size_t i = 0;
	     i < summary->processes.count && shown < overview_limit(overview, UNTRACED_MAX); i++) {
		const struct summary_process *process = &summary->processes.items[i];
		uint64_t times = images_untraced(summary, i);
		struct line line;

		if (!times)
			continue;
		shown++;
		line_begin(&line);
		line_add(&line, "UNTRACED  %s ran untraced",
			 process->became ? process->became : "a program");
		if (times > 1)
			line_add(&line, " %s times", COUNT(times));
		line_add(&line, ": %s", process->untraced);
		screen_wrap(&overview->screen, &line, 10);
	}
}

static void print_spawned(struct overview *overview, const struct summary_spawned *spawned,
			  uint64_t times)
{
	struct line line;

	line_begin(&line);
	line_add(&line, "UNTRACED  %s ran untraced", spawned->path);
	if (times > 1)
		line_add(&line, " %s times", COUNT(times));
	line_add(&line, ": " UNTRACED_CHILD);
	screen_wrap(&overview->screen, &line, 10);
}

void overview_spawned(struct overview *overview)
{
	const struct summary *summary = overview->summary;
	size_t shown = 0;

	for (size_t i = 0;
	     i < summary->spawned.count && shown < overview_limit(overview, UNTRACED_MAX); i++) {
		const struct summary_spawned *spawned = summary->spawned.items;
		uint64_t times = 0;
		size_t first = 0;

		while (strcmp(spawned[first].path, spawned[i].path) != 0)
			first++;
		if (first < i)
			continue;
		for (size_t k = i; k < summary->spawned.count; k++)
			times += !strcmp(spawned[i].path, spawned[k].path);
		shown++;
		print_spawned(overview, &spawned[i], times);
	}
}

const char *overview_held(const struct overview *overview)
{
	return images_last(overview->summary)->end == SUMMARY_DETACHED ? "still held at detach"
								       : "still held at exit";
}

/* Adds what the process had before it was attached to. */
static void add_had(struct line *line, const struct summary_process *process)
{
	struct before_sum mappings = before_mappings(process->had);
	struct before_sum heap = before_heap(process->had);

	line_add(line, "%s thread%s%s", COUNT(process->had_threads), PLURAL(process->had_threads),
		 mappings.ranges || heap.bytes ? ", " : " and ");
	line_add(line, "%s in memory", BYTES(process->had_bytes));
	if (mappings.ranges)
		line_add(line, "%s%s mapping%s of %s", heap.bytes ? ", " : " and ",
			 COUNT(mappings.ranges), PLURAL(mappings.ranges), BYTES(mappings.bytes));
	if (heap.bytes)
		line_add(line, " and a heap of %s", BYTES(heap.bytes));
}

/*
 * Adds how much of that was released since: memory and others are of all processes, mappings of
 * this one.
 */
static void add_given_back(struct line *line, const struct summary_process *process,
			   uint64_t memory, uint64_t others)
{
	struct before_sum mappings = before_mappings(process->had);
	const char *between = "; of that it gave back ";

	if (memory) {
		line_add(line, "%s%s block%s of memory", between, COUNT(memory), PLURAL(memory));
		between = process->unmapped && others ? ", " : " and ";
	}
	if (process->unmapped) {
		line_add(line, "%s%s mapping%s (%s)", between, COUNT(process->unmapped),
			 PLURAL(process->unmapped), BYTES(mappings.lost));
		between = " and ";
	}
	if (others)
		line_add(line, "%s%s other%s", between, COUNT(others), PLURAL(others));
}

void overview_attached(struct overview *overview)
{
	const struct summary *summary = overview->summary;
	uint64_t memory = summary->earlier_blocks, others = summary->earlier_others;
	struct line line;

	for (size_t i = 0; i < summary->processes.count; i++) {
		const struct summary_process *process = &summary->processes.items[i];

		if (!process->is_attached)
			continue;
		line_begin(&line);
		line_add(&line, "ATTACHED  %s (pid %" PRIu32 ") had run for %s, with ",
			 overview_name(process), process->pid, DURATION(process->had_ns));
		add_had(&line, process);
		line_add(&line, ": what it held then is in no list");
		add_given_back(&line, process, memory, others);
		memory = others = 0;
		screen_wrap(&overview->screen, &line, 10);
	}
}

/* The part that a flight recorder dropped. */
void overview_kept(struct overview *overview)
{
	const struct summary *summary = overview->summary;
	uint64_t gone = 0;
	struct line line;

	for (size_t i = 0; i < summary->processes.count; i++) {
		const struct summary_process *process = &summary->processes.items[i];

		if (process->gone > gone)
			gone = process->gone;
		if (!process->cut_calls)
			continue;
		line_begin(&line);
		line_add(&line, "KEPT      %s (pid %" PRIu32 ") is here from %s on, ",
			 overview_name(process), process->pid,
			 DURATION(process->kept_ns > process->start_ns
					  ? process->kept_ns - process->start_ns
					  : 0));
		line_add(&line,
			 "with what it held then; %s event%s before that are left out (--keep)",
			 COUNT(process->cut_calls), PLURAL(process->cut_calls));
		screen_wrap(&overview->screen, &line, 10);
	}
	if (!gone)
		return;
	line_begin(&line);
	line_add(&line, "KEPT      %s program%s that ended before %s left out (--keep)",
		 COUNT(gone), PLURAL(gone), gone == 1 ? "is" : "are");
	screen_wrap(&overview->screen, &line, 10);
}

/* Processes that --follow did not choose. */
void overview_unchosen(struct overview *overview)
{
	const struct summary *summary = overview->summary;
	uint64_t sum = summary->left_out.sum;
	struct line line;

	if (!sum)
		return;
	line_begin(&line);
	line_add(&line, "LEFT OUT  %s process%s by --follow%s%s:", COUNT(sum), sum == 1 ? "" : "es",
		 summary->follow ? "=" : "", summary->follow ? summary->follow : "");
	for (size_t i = 0; i < summary->left_out.count; i++) {
		const struct summary_left_out *program = &summary->left_out.items[i];

		if (i == UNCHOSEN_MAX) {
			line_add(&line, " and others");
			break;
		}
		line_add(&line, "%s %s", i ? "," : "", program->program);
		if (program->count > 1)
			line_add(&line, " (%sx)", COUNT(program->count));
	}
	screen_wrap(&overview->screen, &line, 10);
}

void overview_cut(struct overview *overview)
{
	const struct summary *summary = overview->summary;
	size_t count = 0;
	struct line line;

	for (size_t i = 0;
	     i < summary->processes.count && count < overview_limit(overview, CUT_MAX); i++) {
		const struct summary_process *process = &summary->processes.items[i];

		if (overview_is_complete(process) || (!process->has_tails && !process->is_damaged))
			continue;
		count++;
		line_begin(&line);
		line_add(&line, "INCOMPLETE  %s (pid %" PRIu32 "): ", overview_name(process),
			 process->pid);
		if (process->is_damaged)
			line_add(&line, "the trace is damaged (%s), what is good was used",
				 process->damage ? process->damage : "?");
		else
			line_add(&line, "the trace has no end: the recording was cut off, or it "
					"still goes on; what is held may have been given back");
		screen_wrap(&overview->screen, &line, 12);
	}
}
