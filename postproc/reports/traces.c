/* SPDX-License-Identifier: MIT */
/* The traces in directories, by their first bytes. */
#include <errno.h>
#include <inttypes.h>
#include <time.h>

#include "postproc/views/newest.h"
#include "postproc/views/report.h"

static int put(struct sheet *sheet, const struct newest_trace *trace)
{
	struct sheet_cell *row = sheet_add(sheet);
	char written[64] = "";
	struct tm local;

	if (localtime_r(&trace->modified.tv_sec, &local))
		strftime(written, sizeof(written), "%Y-%m-%d %H:%M:%S", &local);
	if (!row || sheet_text(sheet, CELL(row, traces, modified), written) ||
	    sheet_text(sheet, CELL(row, traces, program), trace->name) ||
	    sheet_text(sheet, CELL(row, traces, path), trace->path))
		return -ENOMEM;
	sheet_number(CELL(row, traces, size), trace->bytes);
	sheet_number(CELL(row, traces, pid), trace->pid);
	if (!trace->session[0] && !trace->session[1])
		return 0;
	return sheet_format(sheet, CELL(row, traces, run), "%08" PRIx64, trace->session[1] >> 32);
}

static int put_directory(struct sheet *sheet, const char *path, const struct trace_options *reading,
			 struct error *err)
{
	struct newest newest;
	int rc = newest_scan(&newest, path, reading, err);

	for (size_t i = 0; rc == 0 && i < newest.count; i++)
		if (put(sheet, &newest.items[i]))
			rc = report_no_memory(err);
	newest_free(&newest);
	return rc;
}

static int end(void *state, struct sheets *sheets, struct error *err)
{
	const struct report_run *run = state;
	struct sheet *sheet = sheets_begin(sheets, SHEET_traces);
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < run->path_count; i++)
		rc = put_directory(sheet, run->paths[i], run->reading, err);
	return rc;
}

const struct report report_traces = {
	.wants_directories = true,
	.end = end,
};
