/* SPDX-License-Identifier: MIT */
#include "sheets.h"

void sheets_print(const struct sheets *sheets, const struct report_run *run, struct naming *naming,
		  const struct report_row *const *rows, unsigned count,
		  const struct sheets_style *style, struct out *out)
{
	struct sheets_job job = { sheets, run, naming, rows, count, style, out };

	style->format->print(&job);
}

enum sheets_shape sheets_shape(enum sheet_kind kind)
{
	switch (kind) {
	case SHEET_GROUP:
	case SHEET_TEXT:
	case SHEET_NOTE:
		return SHAPE_TEXT;
	case SHEET_BACKTRACE:
		return SHAPE_BACKTRACE;
	case SHEET_BRANCH:
		return SHAPE_BRANCH;
	case SHEET_CHANGE:
		return SHAPE_SIGNED;
	case SHEET_OBJECT:
		return SHAPE_HEX;
	case SHEET_PERCENT:
	case SHEET_SHARE:
	case SHEET_BAR:
		return SHAPE_HUNDREDTHS;
	case SHEET_STEPS:
		return SHAPE_STEPS;
	case SHEET_CURVE:
	case SHEET_CURVE_BYTES:
	case SHEET_COUNT:
	case SHEET_PROCESSES:
	case SHEET_NUMBER:
	case SHEET_BYTES:
	case SHEET_SIZE:
	case SHEET_ERROR:
	case SHEET_PART_ERROR:
	case SHEET_AMOUNT:
	case SHEET_PART:
	case SHEET_KEY:
	case SHEET_NS:
	case SHEET_LONGEST:
	case SHEET_TIME:
		break;
	}
	return SHAPE_UNSIGNED;
}
