/* SPDX-License-Identifier: MIT */
#include "postproc/writers/sheets.h"

void sheets_print(const struct sheets *sheets, const struct report_run *run, struct names *names,
		  const struct report_row *const *rows, unsigned count,
		  const struct sheets_style *style, struct out *out)
{
	static void (*const printers[])(const struct sheets_job *) = {
		[SHEETS_TEXT] = sheets_print_text,
		[SHEETS_JSON] = sheets_print_json,
		[SHEETS_CSV] = sheets_print_csv,
		[SHEETS_COLLAPSED] = sheets_print_collapsed,
	};
	struct sheets_job job = { sheets, run, names, rows, count, style, out };

	printers[style->format](&job);
}
