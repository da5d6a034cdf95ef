/* SPDX-License-Identifier: MIT */
/*
 * Two reports: one on the processes of a run and the programs that --follow excluded, the other on
 * the traces in directories. The second report reads only the first bytes of each trace.
 */
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "postproc/report/report.h"
#include "postproc/request/newest.h"

static void put_end(struct table *table, struct table_cell *cell,
		    const struct summary_process *process)
{
	const char *signal;

	switch (process->end) {
	case SUMMARY_EXITED:
		table_format(table, cell, "exit %d", process->status);
		break;
	case SUMMARY_KILLED:
		signal = process->has_status ? sigabbrev_np(process->status) : NULL;
		if (process->oom == SUMMARY_OOM_YES)
			table_text(table, cell, "killed by the kernel, because memory ran out");
		else
			table_format(table, cell, "killed%s%s%s", signal ? " by SIG" : "",
				     signal ? signal : "",
				     process->oom == SUMMARY_OOM_UNKNOWN
					     ? "; it is unknown whether memory ran out"
					     : "");
		break;
	case SUMMARY_EXEC:
		table_format(table, cell, "ran %s",
			     process->became ? process->became : "another program");
		break;
	case SUMMARY_LEFT:
		table_text(table, cell, "still running when the recording ended");
		break;
	case SUMMARY_DETACHED:
		table_text(table, cell, "detached, still running");
		break;
	case SUMMARY_UNKNOWN:
		table_text(table, cell, process->has_end ? "ended" : "no end recorded");
		break;
	}
}

static void processes_put(const struct report_run *run, struct table *table,
			  const struct summary_process *process)
{
	struct table_cell *row = table_add(table);

	table_number(CELL(row, processes, pid), process->pid);
	table_count(CELL(row, processes, parent), process->parent_pid);
	table_number(CELL(row, processes, start), report_time(run, process->start_ns));
	if (process->end_ns >= process->start_ns)
		table_number(CELL(row, processes, duration), process->end_ns - process->start_ns);
	if (process->has_tails)
		table_number(CELL(row, processes, threads), process->threads);
	table_number(CELL(row, processes, events), process->events);
	/*
	 * the number of dropped events is at the end of the trace, so 0 is certain only if the
	 * trace has an end
	 */
	if (process->lost || !process->has_tails || (process->has_end && !process->is_damaged))
		table_number(CELL(row, processes, dropped), process->lost);
	table_text(table, CELL(row, processes, program), process->name);
	table_text(table, CELL(row, processes, trace), process->path);
	table_text(table, CELL(row, processes, command), process->command);
	table_text(table, CELL(row, processes, labels), process->labels);
	put_end(table, CELL(row, processes, end), process);
	if (process->session[0] || process->session[1])
		table_format(table, CELL(row, processes, session), "%016" PRIx64 "%016" PRIx64,
			     process->session[1], process->session[0]);
}

static void processes_end(void *state, struct tables *tables)
{
	const struct report_run *run = state;
	struct table *table = tables_begin(tables, TABLE_processes);

	for (size_t i = 0; i < run->summary->processes.count; i++)
		processes_put(run, table, &run->summary->processes.items[i]);
	if (!run->summary->left_out.count)
		return;
	table = tables_begin(tables, TABLE_not_followed);
	for (size_t i = 0; i < run->summary->left_out.count; i++) {
		const struct summary_left_out *left_out = &run->summary->left_out.items[i];
		struct table_cell *row = table_add(table);

		table_number(CELL(row, not_followed, processes), left_out->count);
		table_text(table, CELL(row, not_followed, program), left_out->program);
	}
}

const struct report report_processes = {
	.skips_calls = true,
	.end = processes_end,
};

/* ---- traces in directories ---- */

static void traces_put(struct table *table, const struct newest_trace *trace)
{
	struct table_cell *row = table_add(table);
	char written[64] = "";
	struct tm local;

	if (localtime_r(&trace->modified.tv_sec, &local))
		strftime(written, sizeof(written), "%Y-%m-%d %H:%M:%S", &local);
	table_text(table, CELL(row, traces, modified), written);
	table_text(table, CELL(row, traces, program), trace->name);
	table_text(table, CELL(row, traces, path), trace->path);
	table_text(table, CELL(row, traces, labels), trace->labels);
	table_number(CELL(row, traces, size), trace->bytes);
	table_number(CELL(row, traces, pid), trace->pid);
	if (!trace->session[0] && !trace->session[1])
		return;
	table_format(table, CELL(row, traces, run), "%08" PRIx64, trace->session[1] >> 32);
}

static void traces_end(void *state, struct tables *tables)
{
	const struct report_run *run = state;
	struct table *table = tables_begin(tables, TABLE_traces);

	for (size_t i = 0; !tables->failure.number && i < run->path_count; i++) {
		struct newest newest;

		if (newest_scan(&newest, run->paths[i], run->reading, &tables->failure) == 0)
			for (size_t k = 0; k < newest.count; k++)
				traces_put(table, &newest.items[k]);
		newest_free(&newest);
	}
}

const struct report report_traces = {
	.wants_directories = true,
	.end = traces_end,
};
