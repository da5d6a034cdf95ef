/* SPDX-License-Identifier: MIT */
#include "overview.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/invocation.h"
#include "base/memory.h"
#include "overview_parts.h"
#include "postproc/report/report.h"
#include "postproc/totals/selection.h"
#include "trace/bundle.h"

#define FRAMES_MAX    6
#define MISSING_MAX   3
#define PROCESSES_MAX 6
#define LASTING_MAX   4u
#define CUT_MAX	      3
#define UNTRACED_MAX  3
#define UNCHOSEN_MAX  4

/* ---- shared by the parts ---- */

/* Returns the last component of a path. */
static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

const char *overview_name(const struct summary_process *process)
{
	return file_name(process->name && *process->name ? process->name : "program");
}

const char *overview_held(const struct overview *overview)
{
	return images_last(overview->summary)->end == SUMMARY_DETACHED ? "live at detach"
								       : "live at exit";
}

void overview_frames(struct overview *overview, struct line *line, size_t indent, size_t height,
		     const struct trace_node *backtrace, uint64_t sites, const char *behind)
{
	struct naming_line frames[FRAMES_MAX];
	size_t site, count = naming_site(overview->naming, backtrace, frames, FRAMES_MAX, &site);

	if (!count)
		line_add(line, "(no backtrace)");
	for (size_t i = 0; i < (sites > 1 ? site : count); i++) {
		size_t before = line->length, after;

		naming_fit(&frames[i], sites < 2, overview->screen.width - indent - strlen("<- "));
		line_add(line, "%s%s", i ? " <- " : "", frames[i].text);
		after = line->length;
		line_add(line, "%s", behind);
		if (i >= site && line_height(&overview->screen, line, indent) > height) {
			line_cut(line, before);
			break;
		}
		line_cut(line, after);
	}
	line_add(line, "%s", behind);
}

static bool is_complete(const struct summary_process *process)
{
	return process->has_end && !process->is_damaged;
}

static bool are_complete(const struct summary *summary)
{
	if (summary->unread)
		return false;
	for (size_t i = 0; i < summary->processes.count; i++)
		if (!is_complete(&summary->processes.items[i]))
			return false;
	return true;
}

/* Adds how a process ended and, unless after_ns is 0, after how many nanoseconds. */
static void add_end(const struct summary *summary, struct line *line,
		    const struct summary_process *process, uint64_t after_ns)
{
	const struct summary_process *next;
	const char *signal;

	switch (process->end) {
	case SUMMARY_EXITED:
		line_add(line, process->has_status ? "exit %d" : "exited", process->status);
		break;
	case SUMMARY_KILLED:
		if (process->oom == SUMMARY_OOM_YES && process->memory_limit) {
			line_add(line,
				 "killed by the kernel at %s (memory limit of the control group)",
				 BYTES(process->memory_limit));
			break;
		}
		if (process->oom == SUMMARY_OOM_YES) {
			line_add(line, "killed by the kernel, because memory ran out,");
			break;
		}
		signal = process->has_status ? sigabbrev_np(process->status) : NULL;
		line_add(line, signal ? "killed by SIG%s" : "killed", signal);
		break;
	case SUMMARY_EXEC:
		next = images_next(summary, process);
		if (next)
			line_add(line, "ran %.20s", overview_name(next));
		else if (process->became)
			line_add(line, "ran %.20s%s", file_name(process->became),
				 process->untraced ? " untraced" : "");
		else
			line_add(line, "ran a program not in these traces");
		break;
	case SUMMARY_LEFT:
		line_add(line, "still running when the recording ended");
		break;
	case SUMMARY_DETACHED:
		line_add(line, "detached, still running");
		break;
	case SUMMARY_UNKNOWN:
		line_add(line, process->has_end	    ? "ended"
			       : process->has_tails ? "no end recorded"
						    : "end unknown");
		break;
	}
	if (after_ns)
		line_add(line, " after %s", DURATION(after_ns));
	if (process->end == SUMMARY_UNKNOWN && process->has_end)
		line_add(line, ", exit status unknown");
}

/* ---- the headline ---- */

/*
 * For a process that the kernel killed because memory ran out: adds the bytes that were live at
 * that time, and the call site that had allocated most of them.
 */
static void add_live_then(struct overview *overview, struct line *line,
			  const struct summary_process *process)
{
	const struct summary_class *memory = summary_class_of(overview->summary, RESOURCE_MEMORY);
	struct naming_line frames[FRAMES_MAX];
	size_t site;

	if (process->oom != SUMMARY_OOM_YES)
		return;
	line_add(line, "; live at that moment %s", BYTES(process->held_bytes));
	for (size_t i = 0; memory && memory->held_bytes && i < overview->summary->sites.count;
	     i++) {
		const struct summary_site *largest = &overview->summary->sites.items[i];

		if (&overview->summary->classes[largest->class] != memory)
			continue;
		if (naming_site(overview->naming, largest->backtrace, frames, FRAMES_MAX, &site))
			line_add(line, ", %" PRIu64 " %% by %s",
				 largest->bytes * 100 / memory->held_bytes, frames[0].text);
		return;
	}
}

static bool has_filters(const struct overview *overview)
{
	return overview->summary->selection && overview->summary->selection->filters;
}

static void print_headline(struct overview *overview)
{
	const struct summary *summary = overview->summary;
	const struct summary_process *root = images_last(summary);
	uint64_t begin_ns = summary->processes.items[0].start_ns;
	struct line line = { .length = 0 }, counts = { .length = 0 };

	line_add(&line, "holdtrace: %s (pid %" PRIu32 "), ", overview_name(root), root->pid);
	add_end(summary, &line, root, root->end_ns > begin_ns ? root->end_ns - begin_ns : 0);
	add_live_then(overview, &line, root);
	if (summary->pids > 1)
		line_add(&counts, "%s processes", COUNT(summary->pids));
	if (summary->processes.count > summary->pids)
		line_add(&counts, summary->pids > 1 ? " (%s programs)" : "%s programs",
			 COUNT(summary->processes.count));
	if (summary->processes.count > 1)
		line_add(&counts, ", ");
	if (summary->threads)
		line_add(&counts, "%s thread%s, ", COUNT(summary->threads),
			 PLURAL(summary->threads));
	line_add(&counts, "%s event%s", COUNT(summary->events), PLURAL(summary->events));
	if (summary->lost)
		line_add(&counts, ", %s DROPPED", COUNT(summary->lost));
	else if (are_complete(summary))
		line_add(&counts, ", 0 dropped");
	for (size_t i = 0; summary->lost && i < summary->losses.count; i++)
		line_add(&counts, "%s%s %s%s", i ? ", " : " (", summary->losses.items[i].reason,
			 COUNT(summary->losses.items[i].count),
			 i + 1 == summary->losses.count ? ")" : "");
	/* print damage after the numbers, because no number includes the damaged part */
	if (summary->damaged && summary->processes.count > 1)
		line_add(&counts, ", %s of %zu traces DAMAGED", COUNT(summary->damaged),
			 summary->processes.count);
	else if (summary->damaged)
		line_add(&counts, ", DAMAGED");
	if (summary->unread)
		line_add(&counts, ", %s trace%s NOT READ", COUNT(summary->unread),
			 PLURAL(summary->unread));
	if (line.length + 2 + counts.length > overview->screen.width)
		screen_wrap(&overview->screen, &line, 2);
	line_add(&line, "%s%s", line.length ? ": " : "  ", counts.text);
	screen_wrap(&overview->screen, &line, 2);
	if (!has_filters(overview))
		return;
	line_add(&line, "  only  ");
	line_add_selection(&line, summary->selection);
	screen_wrap(&overview->screen, &line, 8);
}

static void print_nothing(struct overview *overview)
{
	const struct summary *summary = overview->summary;
	bool was_paused = false, is_attached = false;
	const char *text;

	for (size_t i = 0; i < summary->processes.count; i++) {
		was_paused |= summary->processes.items[i].pauses != 0;
		is_attached |= summary->processes.items[i].is_attached;
	}
	if (has_filters(overview))
		text = "No event passed the filters.";
	else if (summary->sample)
		text = "No events: memory was sampled, and no block was in the sample.";
	else if (was_paused)
		text = "No events: recording was off (--start=off, holdtrace ctl stop); `holdtrace "
		       "ctl PID start` starts it.";
	else if (summary->lost)
		text = "No events: all events were dropped.";
	else if (!are_complete(summary))
		text = "No events and no end: recording never began, or was cut off before the "
		       "first event was written.";
	else if (is_attached)
		text = "No events since the process was attached to: it called no hooked function, "
		       "it did not call them through the C library, or --events selects none of "
		       "them.";
	else
		text = "No events, although the program was traced from start to end: it called no "
		       "hooked function, it did not call them through the C library, or --events "
		       "selects none of them.";
	screen_say(&overview->screen, 2, "%s", text);
}

/* ---- processes ---- */

static void print_processes(struct overview *overview)
{
	const struct summary *summary = overview->summary;
	size_t count = summary->processes.count, room = overview_limit(overview, PROCESSES_MAX);
	cleanup_free bool *is_chosen = memory_zalloc(count, sizeof(*is_chosen));
	struct line line = { .length = 0 };

	/* if there is only one process, the headline describes it */
	if (count < 2)
		return;
	room += room == 1;
	images_choose(summary, room, is_chosen);
	line_add(&line, count != summary->pids ? "programs" : "processes");
	if (room < count)
		line_add(&line, " (%zu of %s)", room, COUNT(count));
	screen_add(&overview->screen, &line);
	for (size_t i = 0; i < count; i++)
		if (is_chosen[i]) {
			const struct summary_process *process = &summary->processes.items[i];
			bool is_over = process->end == SUMMARY_EXEC;
			uint64_t fds = process->held[RESOURCE_FD];

			line_add(&line, "  %-7" PRIu32 " %.20s, ", process->pid,
				 overview_name(process));
			add_end(overview->summary, &line, process, 0);
			line_add(&line, ": %s event%s", COUNT(process->events),
				 PLURAL(process->events));
			if (process->lost)
				line_add(&line, ", %s DROPPED", COUNT(process->lost));
			if (process->peak_bytes != process->held_bytes)
				line_add(&line, ", peak %s", BYTES(process->peak_bytes));
			if (process->held_bytes)
				line_add(&line, ", %s live%s", BYTES(process->held_bytes),
					 is_over			  ? " at exec"
					 : process->end == SUMMARY_KILLED ? " when killed"
									  : "");
			if (fds && !is_over)
				line_add(&line, ", %s fd%s", COUNT(fds), PLURAL(fds));
			screen_wrap(&overview->screen, &line, OVERVIEW_COLUMN);
		}
}

/* ---- objects and events that the numbers do not include ---- */

static void print_left_out(struct overview *overview)
{
	struct suppress_sums sums;
	struct line line = { .length = 0 };

	suppress_sum(&overview->suppress, overview->naming, overview->summary, &sums);
	overview->has_no_leaks = sums.is_all;
	if (!sums.sites)
		return;
	line_add(&line, "suppressed in report leaks: %s site%s", COUNT(sums.sites),
		 PLURAL(sums.sites));
	if (sums.bytes)
		line_add(&line, " with %s", BYTES(sums.bytes));
	line_add(&line, " (--suppress=none shows %s)", sums.sites == 1 ? "it" : "them");
	screen_wrap(&overview->screen, &line, 2);
}

/* Lists the shared memory and semaphores that no process of the run has removed. */
static void print_lasting(struct overview *overview)
{
	const struct lasting *lasting = &overview->summary->lasting;
	struct line line = { .length = 0 };
	uint64_t count = 0;

	if (!are_complete(overview->summary) || has_filters(overview))
		return;
	for (size_t i = 0; i < lasting->items.count; i++) {
		const struct lasting_item *item = &lasting->items.items[i];

		if (!lasting_stays(item) || count++ >= LASTING_MAX)
			continue;
		line_add(&line, "%s%s ", count > 1 ? ", " : "stays after the run: ", item->what);
		if (item->name)
			line_add(&line, "%.60s", item->name);
		else
			line_add(&line, "%" PRIu64, item->number);
		if (item->bytes)
			line_add(&line, " (%s)", BYTES(item->bytes));
	}
	if (count > LASTING_MAX)
		line_add(&line, " and %s more", COUNT(count - LASTING_MAX));
	if (count)
		screen_wrap(&overview->screen, &line, 2);
}

static void print_lost(struct overview *overview)
{
	const struct summary *summary = overview->summary;
	bool was_full = false;

	/* advise --patience=forever only if events were dropped because a ring was full */
	for (size_t i = 0; i < summary->losses.count; i++)
		was_full |= !strcmp(summary->losses.items[i].reason, "full");
	if (summary->lost)
		screen_say(&overview->screen, 6,
			   "DROPPED  events are missing, so objects that seem to be live may have "
			   "been released: %s",
			   was_full ? "record again with --patience=forever"
				    : "report info says why");
	if (summary->late)
		screen_say(&overview->screen, 6,
			   "LATE  %s event%s arrived after later events had been written: releases "
			   "and acquisitions of the same object may be in the wrong order",
			   COUNT(summary->late), PLURAL(summary->late));
}

/* Warns about allocators whose calls are not recorded. */
static void print_allocators(struct overview *overview)
{
	const struct summary *summary = overview->summary;
	const struct summary_process *process = summary->processes.items;
	struct line line = { .length = 0 };

	if (summary->allocators) {
		while (!process->allocator)
			process++;
		line_add(&line,
			 "UNSEEN  memory of %s: it uses the malloc of %s, which is not recorded: "
			 "its blocks are not counted here",
			 overview_name(process), process->allocator);
		if (summary->allocators > 1)
			line_add(&line, "; %s processes use such a malloc",
				 COUNT(summary->allocators));
		screen_wrap(&overview->screen, &line, 8);
	}
	if (summary->inner.refusals)
		screen_say(&overview->screen, 8,
			   "UNSEEN  memory of an allocator in %s: the calls to %s are not "
			   "recorded: %s",
			   file_name(summary->inner.path), summary->inner.refused,
			   summary->inner.reason);
	else if (summary->inner.name)
		screen_say(&overview->screen, 8,
			   "UNSEEN  memory of %s%s%s: this allocator is not recorded: its blocks "
			   "are not counted here",
			   summary->inner.name, summary->inner.module ? " in " : "",
			   summary->inner.module ? summary->inner.module : "");
	else if (summary->inner.bytes)
		screen_say(&overview->screen, 8,
			   "UNSEEN  blocks that %s may keep in %s of mappings of its own: they are "
			   "not counted here",
			   summary->inner.mapper ? summary->inner.mapper : "the program",
			   BYTES(summary->inner.bytes));
}

/* Warns about modules whose acquisitions and releases are not recorded. */
static void print_modules(struct overview *overview)
{
	const struct summary *summary = overview->summary;
	const struct summary_process *process = summary->processes.items;
	size_t count = summary->bypasses.count;
	struct line line = { .length = 0 };

	if (count) {
		line_add(&line, "UNSEEN  calls of %s", file_name(summary->bypasses.items[0].path));
		if (count > 1)
			line_add(&line, " and %s more module%s", COUNT(count - 1),
				 PLURAL(count - 1));
		line_add(&line,
			 " (dlopen with RTLD_DEEPBIND?): objects that %s acquired are not counted "
			 "here, objects that %s released seem to be live",
			 count > 1 ? "they" : "it", count > 1 ? "they" : "it");
		screen_wrap(&overview->screen, &line, 8);
	}
	for (size_t i = 0; i < summary->processes.count; i++)
		if (summary->processes.items[i].has_go) {
			screen_say(&overview->screen, 8,
				   "UNSEEN  memory, descriptors, threads, locks and waits of Go in "
				   "%s: Go makes system calls without libc",
				   overview_name(&summary->processes.items[i]));
			break;
		}
	for (size_t i = 0; i < summary->processes.count; i++) {
		const struct summary_process *other = &summary->processes.items[i];

		if (report_made_directly(other) & KIND_MEMORY && !other->has_go &&
		    !other->has_namespace) {
			screen_say(&overview->screen, 8,
				   "UNSEEN  blocks that %s may keep in memory that it maps by "
				   "syscall(2): they are not counted here",
				   overview_name(other));
			break;
		}
	}
	if (!summary->namespaces)
		return;
	while (!process->has_namespace)
		process++;
	line_add(&line,
		 "UNSEEN  calls of libraries that %s loaded into another link namespace (dlmopen): "
		 "they are not counted here",
		 overview_name(process));
	if (summary->namespaces > 1)
		line_add(&line, "; %s processes did so", COUNT(summary->namespaces));
	screen_wrap(&overview->screen, &line, 8);
}

/* Warns that functions which a runtime compiled (JIT code) have no names. */
static void print_code(struct overview *overview)
{
	static const struct {
		const char *runtime, *option;
	} rows[] = {
#define JIT(name, prefix, option) { prefix, option },
#include "base/jit.def"
#undef JIT
	};
	const struct summary *summary = overview->summary;

	if (summary->code.file && summary->code.problem)
		screen_say(&overview->screen, 8,
			   "UNSEEN  names of some functions that were compiled at run time: %s %s",
			   summary->code.file, summary->code.problem);
	for (size_t i = 0; summary->code.runtime && i < sizeof(rows) / sizeof(*rows); i++)
		if (!strcmp(summary->code.runtime, rows[i].runtime))
			screen_say(&overview->screen, 8,
				   "UNSEEN  names of functions that were compiled at run time: %s "
				   "makes the program list them",
				   rows[i].option);
}

static void print_doubts(struct overview *overview)
{
	const struct summary *summary = overview->summary;
	const char *language = report_language(summary);
	char text[COVERAGE_TEXT_SIZE];

	print_allocators(overview);
	if (summary->python.unknown)
		screen_say(&overview->screen, 8,
			   "UNSEEN  lines of Python: this build of CPython%s%s is not known",
			   summary->python.version ? " " : "",
			   summary->python.version ? summary->python.version : "");
	if (summary->python.is_full)
		screen_say(&overview->screen, 8,
			   "UNSEEN  lines of some Python functions: the process has more functions "
			   "than holdtrace can record");
	if (summary->python.off)
		screen_say(&overview->screen, 8,
			   "UNSEEN  lines of Python: --python=lines shows them");
	if (summary->python.hidden)
		screen_say(&overview->screen, 8,
			   "UNSEEN  Python objects of up to 512 bytes: they are parts of larger "
			   "blocks; --python=malloc records each of them");
	print_code(overview);
	print_modules(overview);
	/* without this line, a screen without waits would seem to say that no thread waited */
	if (coverage_is_low(&summary->blocked_time))
		screen_say(&overview->screen, 8, "UNSEEN  waits: %s",
			   coverage_say(&summary->blocked_time, text));
	if (language && report_indirect_ns(summary) > COVERAGE_EXACT_NS)
		screen_say(&overview->screen, 8,
			   "UNSEEN  locks of programs that %s runs: waits for these locks are "
			   "counted as waits for conditions and semaphores",
			   file_name(language));
	if (summary->pauses)
		screen_say(&overview->screen, 8,
			   "PAUSED  nothing was recorded for %s (%s pause%s): objects that were "
			   "released in that time seem to be live",
			   DURATION(summary->pause_ns), COUNT(summary->pauses),
			   PLURAL(summary->pauses));
	if (summary->sample)
		screen_say(
			&overview->screen, 9,
			"SAMPLED  memory, one sample in %s: its numbers are estimates (+-: their "
			"error, with a confidence of 95 %%); temporary blocks, double frees "
			"and frees of unallocated memory are unknown",
			BYTES(summary->sample));
}

static void print_one_untraced(struct overview *overview, const char *program, uint64_t times,
			       const char *reason)
{
	struct line line = { .length = 0 };

	line_add(&line, "UNTRACED  %s ran untraced", program);
	if (times > 1)
		line_add(&line, " %s times", COUNT(times));
	line_add(&line, ": %s", reason);
	screen_wrap(&overview->screen, &line, 10);
}

static void print_untraced(struct overview *overview)
{
	const struct summary *summary = overview->summary;
	const struct summary_spawned *spawned = summary->spawned.items;
	size_t max = overview_limit(overview, UNTRACED_MAX), shown = 0;

	for (size_t i = 0; i < summary->processes.count && shown < max; i++) {
		const struct summary_process *process = &summary->processes.items[i];
		uint64_t times = images_untraced(summary, i);

		if (times)
			print_one_untraced(overview,
					   process->became ? process->became : "a program", times,
					   process->untraced);
		shown += times != 0;
	}
	shown = 0;
	for (size_t i = 0; i < summary->spawned.count && shown < max; i++) {
		uint64_t times = 0;
		size_t first = 0;

		while (strcmp(spawned[first].path, spawned[i].path) != 0)
			first++;
		if (first < i)
			continue;
		for (size_t k = i; k < summary->spawned.count; k++)
			times += !strcmp(spawned[i].path, spawned[k].path);
		shown++;
		print_one_untraced(overview, spawned[i].path, times, UNTRACED_CHILD);
	}
}

static void print_attached(struct overview *overview)
{
	const struct summary *summary = overview->summary;
	uint64_t memory = summary->earlier_blocks, others = summary->earlier_others;

	for (size_t i = 0; i < summary->processes.count; i++) {
		const struct summary_process *process = &summary->processes.items[i];
		struct line line = { .length = 0 };
		const char *between = "; since then it released ";

		if (!process->is_attached)
			continue;
		line_add(&line, "ATTACHED  %s (pid %" PRIu32 ") had run for %s, with ",
			 overview_name(process), process->pid, DURATION(process->had_ns));

		struct before_sum mappings = before_mappings(process->had);
		struct before_sum heap = before_heap(process->had);

		line_add(&line, "%s thread%s%s", COUNT(process->had_threads),
			 PLURAL(process->had_threads),
			 mappings.ranges || heap.bytes ? ", " : " and ");
		line_add(&line, "%s in memory", BYTES(process->had_bytes));
		if (mappings.ranges)
			line_add(&line, "%s%s mapping%s of %s", heap.bytes ? ", " : " and ",
				 COUNT(mappings.ranges), PLURAL(mappings.ranges),
				 BYTES(mappings.bytes));
		if (heap.bytes)
			line_add(&line, " and a heap of %s", BYTES(heap.bytes));
		line_add(&line, ": objects from before the attach are not listed");
		/*
		 * add how many objects from before the attach have been released since. memory,
		 * others: numbers of blocks and of other objects that all processes released, so
		 * they are printed only once. The mappings are those that this process unmapped.
		 */
		if (memory) {
			line_add(&line, "%s%s block%s of memory", between, COUNT(memory),
				 PLURAL(memory));
			between = process->unmapped && others ? ", " : " and ";
		}
		if (process->unmapped) {
			line_add(&line, "%s%s mapping%s (%s)", between, COUNT(process->unmapped),
				 PLURAL(process->unmapped), BYTES(mappings.lost));
			between = " and ";
		}
		if (others)
			line_add(&line, "%s%s other object%s", between, COUNT(others),
				 PLURAL(others));
		memory = others = 0;
		screen_wrap(&overview->screen, &line, 10);
	}
}

/* Says which events --keep has removed. */
static void print_kept(struct overview *overview)
{
	const struct summary *summary = overview->summary;
	uint64_t gone = 0;

	for (size_t i = 0; i < summary->processes.count; i++) {
		const struct summary_process *process = &summary->processes.items[i];

		if (process->gone > gone)
			gone = process->gone;
		if (process->cut_calls)
			screen_say(&overview->screen, 10,
				   "KEPT      %s (pid %" PRIu32
				   ") is recorded from %s on, with the objects that were live "
				   "then; %s event%s before that were dropped (--keep)",
				   overview_name(process), process->pid,
				   DURATION(process->kept_ns > process->start_ns
						    ? process->kept_ns - process->start_ns
						    : 0),
				   COUNT(process->cut_calls), PLURAL(process->cut_calls));
	}
	if (gone)
		screen_say(&overview->screen, 10,
			   "KEPT      %s program%s that ended before %s dropped (--keep)",
			   COUNT(gone), PLURAL(gone), gone == 1 ? "was" : "were");
}

/* Lists the processes that --follow excluded. */
static void print_unchosen(struct overview *overview)
{
	const struct summary *summary = overview->summary;
	uint64_t sum = summary->left_out.sum;
	struct line line = { .length = 0 };

	if (!sum)
		return;
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

static void print_incomplete(struct overview *overview)
{
	const struct summary *summary = overview->summary;
	size_t count = 0, max = overview_limit(overview, CUT_MAX);

	for (size_t i = 0; i < summary->processes.count && count < max; i++) {
		const struct summary_process *process = &summary->processes.items[i];
		struct line line = { .length = 0 };

		if (is_complete(process) || (!process->has_tails && !process->is_damaged))
			continue;
		count++;
		line_add(&line, "INCOMPLETE  %s (pid %" PRIu32 "): ", overview_name(process),
			 process->pid);
		if (process->is_damaged)
			line_add(&line, "the trace is damaged (%s); all other parts were used",
				 process->damage ? process->damage : "?");
		else
			line_add(&line, "the trace has no end: recording was cut off or still "
					"continues; live objects may have been released since");
		screen_wrap(&overview->screen, &line, 12);
	}
}

/*
 * Lists the modules for which the user can get the missing names, the module with the most unnamed
 * frames first.
 */
static void print_missing(struct overview *overview)
{
	const struct summary *summary = overview->summary;
	struct naming_missing missing[MISSING_MAX];
	size_t most = overview_limit(overview, MISSING_MAX);
	size_t count = naming_missing(overview->naming, missing, most);

	for (size_t i = 0; i < count && i < most && !missing[i].is_exhausted; i++) {
		/*
		 * print the share of events with a frame of the module, because the missing names
		 * affect every report on these events
		 */
		double percent =
			touched_percent(&summary->touched, missing[i].module, summary->events);
		struct line line = { .length = 0 };

		line_add(&line, "MISSING  %s", missing[i].module->path);
		if (missing[i].text)
			line_add(&line, " %s", missing[i].text);
		line_add(&line, ": %s of %s frames without names;", COUNT(missing[i].unnamed),
			 COUNT(missing[i].shown));
		if (percent > 0 && percent < 0.1)
			line_add(&line, " in less than 0.1 %% of the events;");
		else
			line_add(&line, " in %.*f %% of the events;", percent < 10, percent);
		if (*missing[i].build_id)
			line_add(&line, " build-id %s;", missing[i].build_id);
		if (missing[i].advice)
			line_add(&line, " %s", missing[i].advice);
		screen_wrap(&overview->screen, &line, 9);
	}
}

/* ---- the last lines ---- */

/*
 * Returns the length of the path of the file that contains a trace. In a bundle (a file with
 * several streams), the path of a trace ends with the number of its stream, which the length does
 * not include.
 */
static size_t file_length(const char *path)
{
	size_t length, stream;

	return bundle_split_name(path, &length, &stream) && access(path, F_OK) ? length
									       : strlen(path);
}

/*
 * Returns the path of the file with the process's stream, and sets *length to the length of this
 * path. Returns NULL if the stream of the previous process is in the same file.
 */
static const char *file_of(const struct summary *summary, size_t index, size_t *length)
{
	const char *path = summary->processes.items[index].path;
	const char *before = index ? summary->processes.items[index - 1].path : NULL;

	*length = file_length(path);
	return before && file_length(before) == *length && !strncmp(before, path, *length) ? NULL
											   : path;
}

/* Counts the trace files. Processes whose streams are in the same file are adjacent in the list. */
static size_t count_files(const struct summary *summary)
{
	size_t count = 0, length;

	for (size_t i = 0; i < summary->processes.count; i++)
		count += file_of(summary, i, &length) != NULL;
	return count;
}

/*
 * Returns the length of the path of the directory that contains all files of the run, or 0 if there
 * are several directories.
 */
static size_t common_directory(const struct summary *summary)
{
	const char *first = summary->processes.items[0].path, *slash = strrchr(first, '/');
	size_t length = slash ? (size_t)(slash - first) + 1 : 0;

	for (size_t i = 1; i < summary->processes.count; i++) {
		const char *path = summary->processes.items[i].path;

		slash = strrchr(path, '/');
		if (!slash || (size_t)(slash - path) + 1 != length ||
		    strncmp(path, first, length) != 0)
			return 0;
	}
	return length;
}

/*
 * Adds the name of a file. If the line would get too long, ends the line with a backslash and
 * begins a new one.
 */
static void add_file(struct overview *overview, struct line *line, const char *path, size_t length)
{
	cleanup_free char *name = memory_text_part(path, length);
	struct line file = { .length = 0 };

	line_add_word(&file, name);
	if (line->length + 1 + file.length > overview->screen.width) {
		line_add(line, " \\");
		screen_add(&overview->screen, line);
		line_to(line, 7);
		line_add(line, "%s", file.text);
	} else {
		line_add(line, " %s", file.text);
	}
}

/*
 * Prints the command that the user may want next. path: the trace that the command reads. If the
 * traces are the newest run and have several files, the command names these files, or their
 * directory.
 */
static void print_next(struct overview *overview, const char *path)
{
	const struct summary *summary = overview->summary;
	bool has_several = overview->is_newest && count_files(summary) > 1;
	size_t directory = has_several ? common_directory(summary) : 0, length;
	struct line line = { .length = 0 };
	char word[SCREEN_LINE_MAX];

	line_add(&line, "next:  ");

	const char *own = program_invocation_name, *end = strstr(own, "-postproc");
	bool is_postproc = end && !end[strlen("-postproc")];

	snprintf(word, sizeof(word), "%.*s", is_postproc ? (int)(end - own) : -1, own);
	line_add_word(&line, word);
	line_add(&line, invocation_is_launcher() || is_postproc ? " report %s" : " --report=%s",
		 findings_report(summary, &overview->leaks));
	if (!has_several)
		add_file(overview, &line, path, strlen(path));
	else if (directory)
		add_file(overview, &line, summary->processes.items[0].path, directory);
	for (size_t i = 0; has_several && !directory && i < summary->processes.count; i++) {
		const char *file = file_of(summary, i, &length);

		if (file)
			add_file(overview, &line, file, length);
	}
	screen_add(&overview->screen, &line);
}

static void print_traces(struct overview *overview)
{
	const struct summary *summary = overview->summary;
	const struct summary_process *process = summary_process_at(summary, overview->first);
	bool has_held = summary->sites.count != 0 && process;
	const char *of = has_held ? process->path : images_last(summary)->path;
	cleanup_free char *path = of ? memory_text_part(of, file_length(of)) : NULL;
	struct line line = { .length = 0 };

	if (!path || !*path)
		return;
	if (summary->events)
		print_next(overview, path);
	line_add(&line, "trace: %s", path);
	if (count_files(summary) > 1)
		line_add(&line, " and %zu more", count_files(summary) - 1);
	screen_wrap(&overview->screen, &line, 7);
}

/* ---- the whole screen ---- */

/*
 * Builds all lines of the screen. The lines below the call sites are built first, so that the call
 * sites get the remaining lines.
 */
static void compose_screen(struct overview *overview)
{
	const struct summary *summary = overview->summary;
	struct screen top, bottom;
	size_t used;

	print_headline(overview);
	/* report damage first, because no number below includes the damaged part */
	if (summary->damaged)
		screen_say(&overview->screen, 9,
			   "DAMAGED  a part of %s could not be read: no number here includes it",
			   summary->processes.count > 1 ? "the traces" : "the trace");
	if (summary->unread)
		screen_say(&overview->screen, 10,
			   "NOT READ  %s could not be read: no number here includes %s",
			   summary->unread > 1 ? "some traces" : "a trace",
			   summary->unread > 1 ? "them" : "it");
	if (!summary->events)
		print_nothing(overview);
	if (summary->deadlocked)
		overview_blocked(overview);
	if (summary->events)
		overview_table(overview);
	if (!summary->deadlocked)
		overview_blocked(overview);
	overview_waits(overview);
	overview_unusual(overview);
	top = overview->screen;
	overview->screen = (struct screen){ .width = overview->screen.width };
	print_processes(overview);
	print_left_out(overview);
	print_lasting(overview);
	print_lost(overview);
	print_doubts(overview);
	print_untraced(overview);
	print_attached(overview);
	print_kept(overview);
	print_unchosen(overview);
	print_incomplete(overview);
	bottom = overview->screen;
	overview->screen = top;
	/*
	 * add 2 lines for print_traces(), and 4 for print_missing(), whose number of lines is not
	 * known before the call sites are printed
	 */
	used = top.count + bottom.count + 2 + 4;
	overview_sites(overview, used + 3 < OVERVIEW_LINES_MAX ? OVERVIEW_LINES_MAX - used : 3);
	screen_move(&overview->screen, &bottom);
	print_missing(overview);
	print_traces(overview);
}

int overview_print(const struct summary *summary, struct naming *naming,
		   const struct report_options *options, const struct overview_style *style,
		   struct out *out, struct error *err)
{
	struct overview overview = {
		.summary = summary,
		.naming = naming,
		.is_newest = style->is_newest,
		.has_colour = style->has_colour,
		.first = UINT32_MAX,
	};
	int rc;

	if (!summary->processes.count)
		return 0;
	naming_restart(naming);
	rc = suppress_fill(&overview.suppress, options, err);
	if (rc == 0 && summary->causes)
		causes_fold(summary->causes, naming);
	if (rc == 0) {
		/*
		 * choose the number of rows for the usual width. On a terminal of another width,
		 * the same rows may take more or fewer lines.
		 */
		size_t width = screen_width(style->width);

		overview.screen.width = SCREEN_WIDTH_USUAL;
		compose_screen(&overview);
		while (overview.screen.count > OVERVIEW_LINES_MAX &&
		       overview.tight < OVERVIEW_TIGHTEST) {
			overview.tight++;
			screen_free(&overview.screen);
			compose_screen(&overview);
		}
		if (width != SCREEN_WIDTH_USUAL) {
			screen_free(&overview.screen);
			overview.screen.width = width;
			overview.has_rows = true;
			compose_screen(&overview);
		}
		screen_print(&overview.screen,
			     !overview.has_colour    ? SCREEN_PLAIN
			     : overview.has_no_leaks ? SCREEN_COLOURS
						     : SCREEN_COLOURS_OF_LEAKS,
			     out);
		screen_free(&overview.screen);
	}
	suppress_free(&overview.suppress);
	naming_restart(naming);
	return rc;
}
