/* SPDX-License-Identifier: MIT */
/* The processes that a trace tells of. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "postproc/views/report.h"

static int put_end(struct sheet *sheet, struct sheet_cell *cell,
		   const struct summary_process *process)
{
	const char *signal;

	switch (process->end) {
	case SUMMARY_EXITED:
		return sheet_format(sheet, cell, "exit %d", process->status);
	case SUMMARY_KILLED:
		signal = process->has_status ? sigabbrev_np(process->status) : NULL;
		return sheet_format(sheet, cell, "killed%s%s", signal ? " by SIG" : "",
				    signal ? signal : "");
	case SUMMARY_EXEC:
		return sheet_format(sheet, cell, "ran %s",
				    process->became ? process->became : "another program");
	case SUMMARY_LEFT:
		return sheet_text(sheet, cell, "ran on when the collector was ended");
	case SUMMARY_DETACHED:
		return sheet_text(sheet, cell, "detached, and runs on");
	case SUMMARY_UNKNOWN:
		break;
	}
	return sheet_text(sheet, cell, process->has_end ? "ended" : "no end recorded");
}

static int put_texts(struct sheet *sheet, struct sheet_cell *row,
		     const struct summary_process *process)
{
	if (sheet_text(sheet, CELL(row, processes, program), process->name) ||
	    sheet_text(sheet, CELL(row, processes, trace), process->path) ||
	    sheet_text(sheet, CELL(row, processes, command), process->command) ||
	    put_end(sheet, CELL(row, processes, end), process))
		return -ENOMEM;
	if (!process->session[0] && !process->session[1])
		return 0;
	return sheet_format(sheet, CELL(row, processes, session), "%016" PRIx64 "%016" PRIx64,
			    process->session[1], process->session[0]);
}

static int put(const struct report_run *run, struct sheet *sheet,
	       const struct summary_process *process)
{
	struct sheet_cell *row = sheet_add(sheet);

	if (!row)
		return -ENOMEM;
	sheet_number(CELL(row, processes, pid), process->pid);
	if (process->parent_pid)
		sheet_number(CELL(row, processes, parent), process->parent_pid);
	sheet_number(CELL(row, processes, start), report_time(run, process->start_ns));
	if (process->end_ns >= process->start_ns)
		sheet_number(CELL(row, processes, life), process->end_ns - process->start_ns);
	if (process->has_tails)
		sheet_number(CELL(row, processes, threads), process->threads);
	sheet_number(CELL(row, processes, events), process->events);
	/* where the end is missing, so is the word of what was lost */
	if (process->lost || !process->has_tails || (process->has_end && !process->is_damaged))
		sheet_number(CELL(row, processes, lost), process->lost);
	return put_texts(sheet, row, process);
}

static int put_left_out(struct sheet *sheet, const struct summary_left_out *left_out)
{
	struct sheet_cell *row = sheet_add(sheet);

	if (!row)
		return -ENOMEM;
	sheet_number(CELL(row, left_out, count), left_out->count);
	return sheet_text(sheet, CELL(row, left_out, program), left_out->program);
}

static int end(void *state, struct sheets *sheets, struct error *err)
{
	const struct report_run *run = state;
	struct sheet *sheet = sheets_begin(sheets, SHEET_processes);

	for (size_t i = 0; i < run->summary->processes.count; i++)
		if (put(run, sheet, &run->summary->processes.items[i]))
			return report_no_memory(err);
	if (!run->summary->left_out.count)
		return 0;
	sheet = sheets_begin(sheets, SHEET_left_out);
	for (size_t i = 0; i < run->summary->left_out.count; i++)
		if (put_left_out(sheet, &run->summary->left_out.items[i]))
			return report_no_memory(err);
	return 0;
}

const struct report report_info = {
	.skips_calls = true,
	.end = end,
};
