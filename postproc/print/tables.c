/* SPDX-License-Identifier: MIT */
#include "tables.h"

void tables_print(const struct tables *tables, const struct report_run *run, struct naming *naming,
		  const struct report_row *const *rows, unsigned count,
		  const struct tables_style *style, struct out *out)
{
	struct tables_job job = { tables, run, naming, rows, count, style, out };

	style->format->print(&job);
}

enum tables_shape tables_shape(enum table_kind kind)
{
	switch (kind) {
	case TABLE_GROUP:
	case TABLE_TEXT:
	case TABLE_NOTE:
		return SHAPE_TEXT;
	case TABLE_BACKTRACE:
		return SHAPE_BACKTRACE;
	case TABLE_BRANCH:
		return SHAPE_BRANCH;
	case TABLE_CHANGE:
		return SHAPE_SIGNED;
	case TABLE_OBJECT:
		return SHAPE_HEX;
	case TABLE_PERCENT:
	case TABLE_SHARE:
	case TABLE_BAR:
		return SHAPE_HUNDREDTHS;
	case TABLE_STEPS:
		return SHAPE_STEPS;
	case TABLE_CURVE:
	case TABLE_CURVE_BYTES:
	case TABLE_COUNT:
	case TABLE_PROCESSES:
	case TABLE_NUMBER:
	case TABLE_BYTES:
	case TABLE_SIZE:
	case TABLE_ERROR:
	case TABLE_PART_ERROR:
	case TABLE_AMOUNT:
	case TABLE_PART:
	case TABLE_PART_COUNT:
	case TABLE_KEY:
	case TABLE_NS:
	case TABLE_LONGEST:
	case TABLE_TIME:
		break;
	}
	return SHAPE_UNSIGNED;
}
