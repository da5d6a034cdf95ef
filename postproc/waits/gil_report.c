/* SPDX-License-Identifier: MIT */
/* The report on the GIL of Python: where threads wait for the GIL, and which lines hold it. */
#include "postproc/report/report.h"

static void put_waits(const struct report_run *run, struct table *table,
		      const struct summary_gil *waits)
{
	const struct gil_pair *sum = &waits->sum;
	struct table_cell *row = table_add(table);

	table_number(CELL(row, gil_waits, waits), sum->count);
	table_number(CELL(row, gil_waits, wait_time), sum->ns);
	table_average(CELL(row, gil_waits, average), sum->ns, sum->count);
	table_number(CELL(row, gil_waits, longest_wait), sum->longest_ns);
	table_number(CELL(row, gil_waits, time), report_time(run, sum->since_ns));
	if (sum->holder_thread)
		table_format(table, CELL(row, gil_waits, longest_threads),
			     "thread %u waited while thread %u held it", sum->waiter_thread,
			     sum->holder_thread);
	else
		table_format(table, CELL(row, gil_waits, longest_threads),
			     "thread %u waited; the holder is not known", sum->waiter_thread);
	table_backtrace(CELL(row, gil_waits, holder_backtrace), waits->holder);
	table_backtrace(CELL(row, gil_waits, backtrace), waits->waiter);
}

static void gil_report_end(void *user, struct tables *tables)
{
	const struct report_run *run = user;
	struct table *table = tables_begin(tables, TABLE_gil_waits);

	for (size_t i = 1; i < run->summary->gil_waits.count; i++)
		put_waits(run, table, &run->summary->gil_waits.items[i]);
}

const struct report report_gil = {
	.wants_summary = true,
	.end = gil_report_end,
};
