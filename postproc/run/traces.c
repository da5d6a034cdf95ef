/* SPDX-License-Identifier: MIT */
/* The traces in directories, from their first bytes. */
#include <inttypes.h>
#include <time.h>

#include "postproc/request/newest.h"
#include "postproc/report/report.h"

static void put(struct sheet *sheet, const struct newest_trace *trace)
{
	struct sheet_cell *row = sheet_add(sheet);
	char written[64] = "";
	struct tm local;

	if (localtime_r(&trace->modified.tv_sec, &local))
		strftime(written, sizeof(written), "%Y-%m-%d %H:%M:%S", &local);
	sheet_text(sheet, CELL(row, traces, modified), written);
	sheet_text(sheet, CELL(row, traces, program), trace->name);
	sheet_text(sheet, CELL(row, traces, path), trace->path);
	sheet_number(CELL(row, traces, size), trace->bytes);
	sheet_number(CELL(row, traces, pid), trace->pid);
	if (!trace->session[0] && !trace->session[1])
		return;
	sheet_format(sheet, CELL(row, traces, run), "%08" PRIx64, trace->session[1] >> 32);
}

static void put_directory(struct sheet *sheet, const char *path,
			  const struct trace_options *reading)
{
	struct newest newest;

	if (newest_scan(&newest, path, reading, &sheet->sheets->failure) == 0)
		for (size_t i = 0; i < newest.count; i++)
			put(sheet, &newest.items[i]);
	newest_free(&newest);
}

static void end(void *state, struct sheets *sheets)
{
	const struct report_run *run = state;
	struct sheet *sheet = sheets_begin(sheets, SHEET_traces);

	for (size_t i = 0; !sheets->failure.number && i < run->path_count; i++)
		put_directory(sheet, run->paths[i], run->reading);
}

const struct report report_traces = {
	.wants_directories = true,
	.end = end,
};
