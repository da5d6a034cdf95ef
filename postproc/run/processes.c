/* SPDX-License-Identifier: MIT */
/* The processes in a trace. */
#include <inttypes.h>
#include <string.h>

#include "postproc/report/report.h"

static void put_end(struct sheet *sheet, struct sheet_cell *cell,
		    const struct summary_process *process)
{
	const char *signal;

	switch (process->end) {
	case SUMMARY_EXITED:
		sheet_format(sheet, cell, "exit %d", process->status);
		break;
	case SUMMARY_KILLED:
		signal = process->has_status ? sigabbrev_np(process->status) : NULL;
		sheet_format(sheet, cell, "killed%s%s", signal ? " by SIG" : "",
			     signal ? signal : "");
		break;
	case SUMMARY_EXEC:
		sheet_format(sheet, cell, "ran %s",
			     process->became ? process->became : "another program");
		break;
	case SUMMARY_LEFT:
		sheet_text(sheet, cell, "ran on when the collector was ended");
		break;
	case SUMMARY_DETACHED:
		sheet_text(sheet, cell, "detached, and runs on");
		break;
	case SUMMARY_UNKNOWN:
		sheet_text(sheet, cell, process->has_end ? "ended" : "no end recorded");
		break;
	}
}

static void put_texts(struct sheet *sheet, struct sheet_cell *row,
		      const struct summary_process *process)
{
	sheet_text(sheet, CELL(row, processes, program), process->name);
	sheet_text(sheet, CELL(row, processes, trace), process->path);
	sheet_text(sheet, CELL(row, processes, command), process->command);
	put_end(sheet, CELL(row, processes, end), process);
	if (!process->session[0] && !process->session[1])
		return;
	sheet_format(sheet, CELL(row, processes, session), "%016" PRIx64 "%016" PRIx64,
		     process->session[1], process->session[0]);
}

static void put(const struct report_run *run, struct sheet *sheet,
		const struct summary_process *process)
{
	struct sheet_cell *row = sheet_add(sheet);

	sheet_number(CELL(row, processes, pid), process->pid);
	if (process->parent_pid)
		sheet_number(CELL(row, processes, parent), process->parent_pid);
	sheet_number(CELL(row, processes, start), report_time(run, process->start_ns));
	if (process->end_ns >= process->start_ns)
		sheet_number(CELL(row, processes, life), process->end_ns - process->start_ns);
	if (process->has_tails)
		sheet_number(CELL(row, processes, threads), process->threads);
	sheet_number(CELL(row, processes, events), process->events);
	/* without the end of the trace the number of dropped events is not known */
	if (process->lost || !process->has_tails || (process->has_end && !process->is_damaged))
		sheet_number(CELL(row, processes, lost), process->lost);
	put_texts(sheet, row, process);
}

static void put_left_out(struct sheet *sheet, const struct summary_left_out *left_out)
{
	struct sheet_cell *row = sheet_add(sheet);

	sheet_number(CELL(row, not_followed, count), left_out->count);
	sheet_text(sheet, CELL(row, not_followed, program), left_out->program);
}

static void end(void *state, struct sheets *sheets)
{
	const struct report_run *run = state;
	struct sheet *sheet = sheets_begin(sheets, SHEET_processes);

	for (size_t i = 0; i < run->summary->processes.count; i++)
		put(run, sheet, &run->summary->processes.items[i]);
	if (!run->summary->left_out.count)
		return;
	sheet = sheets_begin(sheets, SHEET_not_followed);
	for (size_t i = 0; i < run->summary->left_out.count; i++)
		put_left_out(sheet, &run->summary->left_out.items[i]);
}

const struct report report_processes = {
	.skips_calls = true,
	.end = end,
};
