/* SPDX-License-Identifier: MIT */
/* The report on the traces in directories. It reads only the first bytes of each trace. */
#include <inttypes.h>
#include <time.h>

#include "postproc/request/newest.h"
#include "postproc/report/report.h"

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
