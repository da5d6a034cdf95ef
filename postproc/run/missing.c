/* SPDX-License-Identifier: MIT */
/*
 * The report on missing data: every reason why other reports may be wrong, with a remedy where
 * there is one.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/cleanup.h"
#include "postproc/report/report.h"

#define SYMBOLS_MAX 64

static void missing_put(struct table *table, const char *what,
			const struct summary_process *process, uint64_t count, const char *reason)
{
	struct table_cell *row = table_add(table);

	table_text(table, CELL(row, missing, kind), what);
	table_text(table, CELL(row, missing, program), process->name);
	table_text(table, CELL(row, missing, reason), reason);
	table_number(CELL(row, missing, pid), process->pid);
	table_count(CELL(row, missing, count), count);
}

static const char *cause_of(const char *reason)
{
	static const struct {
		const char *reason, *cause;
	} causes[] = {
		{ "full", "the collector was too slow (--patience=forever helps)" },
		{ "no-slot", "there was no space for more threads" },
		{ "note", "there was no space for notes, such as names and ends of threads" },
		{ "abandoned", "a thread was killed, or left the hook by longjmp or an exception, "
			       "while it recorded an event" },
		{ "sealed", "the program was not allowed to make the calls that recording needs, "
			    "or shared the memory of a thread with another process" },
		{ "sample", "there was no space for the address of a sampled block" },
		{ "damaged", "a thread had written malformed data" },
	};

	for (size_t i = 0; i < sizeof(causes) / sizeof(*causes); i++)
		if (!strcmp(causes[i].reason, reason))
			return causes[i].cause;
	return reason;
}

/* Adds a row for the dropped events of a process, with all causes that occurred in the run. */
static void put_lost(struct table *table, const struct summary *summary,
		     const struct summary_process *process)
{
	char reason[1024];
	size_t length = 0;

	for (size_t i = 0; i < summary->losses.count && length < sizeof(reason); i++)
		length += (size_t)snprintf(reason + length, sizeof(reason) - length, "%s%s",
					   i ? ", or " : "",
					   cause_of(summary->losses.items[i].reason));
	if (length < sizeof(reason))
		snprintf(reason + length, sizeof(reason) - length,
			 "%sobjects that seem to be live may have been released",
			 length ? "; " : "");
	missing_put(table, "dropped", process, process->lost, reason);
}

static void put_process(struct table *table, const struct summary *summary,
			const struct summary_process *process)
{
	char reason[256];

	if (process->lost)
		put_lost(table, summary, process);
	if (process->is_damaged)
		missing_put(table, "damaged", process, process->damages,
			    process->damage ? process->damage : "the undamaged parts were used");
	if (report_is_incomplete(process))
		missing_put(table, "incomplete", process, 0,
			    "the trace has no end: the recording was cut off or is still going on");
	if (report_is_untraced(process)) {
		snprintf(reason, sizeof(reason),
			 "the program that the process executed was not traced: %s",
			 process->untraced);
		missing_put(table, "untraced", process, 0, reason);
	}
	if (process->stalled_s > 0) {
		snprintf(reason, sizeof(reason),
			 "the disk was full for %.1f s: events from that time were dropped",
			 process->stalled_s);
		missing_put(table, "stalled", process, 0, reason);
	}
	if (process->doubt)
		missing_put(table, process->is_part ? "part" : "unproven", process, 0,
			    process->doubt);
	if (process->cut_calls)
		missing_put(table, "cut", process, process->cut_calls,
			    "--keep left out objects that were acquired and released earlier");
	if (report_is_unhooked(summary, process))
		missing_put(table, "unobserved", process, 0,
			    "descriptors were opened or closed by calls that were not recorded: at "
			    "the end of the process, the kernel had another number of open "
			    "descriptors than the recorded calls left");
	if (report_has_unseen_zombie(summary, process))
		missing_put(table, "unobserved", process, 0,
			    "a child was created by a call that was not recorded: it has ended, "
			    "and its parent did not wait for it");
	if (process->has_namespace)
		missing_put(table, "unobserved", process, 0,
			    "libraries in another link namespace (dlmopen) call a libc of their "
			    "own: these calls are not recorded");
	if (process->has_go)
		missing_put(table, "unobserved", process, 0,
			    "a module is written in Go, which makes system calls without libc: its "
			    "memory, descriptors, threads, locks and waits are not recorded");
	else if (report_made_directly(process))
		missing_put(table, "unobserved", process, 0,
			    "calls by syscall(2) acquired or released objects: these calls are not "
			    "recorded");
	if (process->unscanned)
		missing_put(table, "unscanned", process, 0, process->unscanned);
	if (process->late)
		missing_put(table, "late", process, process->late,
			    "these events arrived after later events had been written: their times "
			    "are not exact");
}

/* Adds a row about the run, or about a process without a trace. count 0: the row has no count. */
static struct table_cell *put_for_run(struct table *table, const char *what, uint64_t count,
				      const char *reason)
{
	struct table_cell *row = table_add(table);

	table_text(table, CELL(row, missing, kind), what);
	table_text(table, CELL(row, missing, reason), reason);
	table_count(CELL(row, missing, count), count);
	return row;
}

static void put_run(struct table *table, const struct report_run *run)
{
	const struct summary *summary = run->summary;
	struct report_gaps gaps;
	struct table_cell *row;

	if (summary->inner.name) {
		row = put_for_run(table, "unobserved", 0, NULL);
		table_format(
			table, CELL(row, missing, reason),
			"blocks of the allocator %s in %s are not recorded: holdtrace does not "
			"know the names of its functions",
			summary->inner.name,
			summary->inner.module ? summary->inner.module : "an unknown module");
	}
	if (summary->inner.refusals) {
		row = put_for_run(table, "unobserved", summary->inner.refusals, NULL);
		table_format(table, CELL(row, missing, reason),
			     "calls of functions of an allocator in %s are not recorded: the first "
			     "is %s: "
			     "%s",
			     summary->inner.path, summary->inner.refused, summary->inner.reason);
	}
	/* processes that the collector refused have no stream */
	for (size_t i = 0; i < summary->refused.count; i++)
		put_for_run(table, "refused", summary->refused.items[i].count,
			    summary->refused.items[i].program);
	report_find_gaps(run, KIND_ALL, 0, &gaps);
	if (gaps.gone)
		put_for_run(table, "gone", gaps.gone,
			    "programs that ended before the time span of --keep");
	if (!summary->sample)
		return;
	row = put_for_run(table, "sampled", 0, NULL);
	table_format(table, CELL(row, missing, reason),
		     "memory was sampled, one sample in %" PRIu64
		     " bytes: its numbers are estimates; a call site without a sample may have up "
		     "to %" PRIu64 " live bytes (95 %% confidence); temporary blocks, double "
		     "frees and frees of blocks that were not allocated are unknown",
		     summary->sample, estimate_unseen(summary->sample));
}

static void put_modules(struct table *table, const struct report_run *run)
{
	const struct tallies *tallies = &run->summary->tallies;
	uint32_t places = run->naming ? tallies_count(tallies) : 0;
	cleanup_free struct naming_missing *list = NULL;
	struct naming_symbol symbols[SYMBOLS_MAX];
	size_t count;

	/* resolve all backtraces of the run, to find all modules without names */
	for (uint32_t i = 0; i < places; i++)
		naming_expect(run->naming, tallies_place(tallies, i)->backtrace);
	for (uint32_t i = 0; i < places; i++)
		naming_symbols(run->naming, tallies_place(tallies, i)->backtrace, symbols,
			       SYMBOLS_MAX);
	count = run->naming ? naming_missing(run->naming, NULL, 0) : 0;
	list = memory_zalloc(count + 1, sizeof(*list));
	if (count)
		naming_missing(run->naming, list, count);
	for (size_t i = 0; i < count; i++) {
		const struct naming_missing *unnamed = &list[i];
		struct table_cell *row = table_add(table);

		table_text(table, CELL(row, unnamed_modules, module), unnamed->module->path);
		table_text(table, CELL(row, unnamed_modules, build_id), unnamed->build_id);
		table_number(CELL(row, unnamed_modules, frames), unnamed->shown);
		table_number(CELL(row, unnamed_modules, unnamed), unnamed->unnamed);
		table_format(table, CELL(row, unnamed_modules, reason), "%s%s%s",
			     unnamed->text ? unnamed->text : "these addresses have no names",
			     unnamed->advice ? "; " : "", unnamed->advice ? unnamed->advice : "");
	}
}

static void missing_end(void *state, struct tables *tables)
{
	const struct report_run *run = state;
	struct table *missing = tables_begin(tables, TABLE_missing);
	struct table *modules = tables_begin(tables, TABLE_unnamed_modules);

	for (size_t i = 0; i < run->summary->processes.count; i++)
		put_process(missing, run->summary, &run->summary->processes.items[i]);
	/* programs of spawned children have no trace */
	for (size_t i = 0; i < run->summary->spawned.count; i++) {
		const struct summary_spawned *spawned = &run->summary->spawned.items[i];
		struct table_cell *row =
			put_for_run(missing, "untraced", 0, "it was not traced: " UNTRACED_CHILD);

		table_number(CELL(row, missing, pid), spawned->pid);
		table_text(missing, CELL(row, missing, program), spawned->path);
	}
	for (size_t i = 0; i < run->summary->bypasses.count; i++) {
		const struct summary_bypass *bypass = &run->summary->bypasses.items[i];
		/* the first process that had the module */
		const struct summary_process *process =
			summary_process_at(run->summary, bypass->process);
		cleanup_free char *reason = memory_format(
			"calls of %s to %s%s bypass the library, because of dlopen with "
			"RTLD_DEEPBIND: objects that it acquired are not counted, and objects "
			"that it released seem to be live",
			bypass->path, bypass->example ? bypass->example : "hooked functions",
			bypass->functions > 1 ? " and others" : "");

		if (process)
			missing_put(missing, "unobserved", process, bypass->functions, reason);
	}
	put_run(missing, run);
	put_modules(modules, run);
}

const struct report report_missing = {
	.wants_ledger = true,
	.end = missing_end,
};
