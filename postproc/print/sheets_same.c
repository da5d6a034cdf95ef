/* SPDX-License-Identifier: MIT */
/* Which rows of a sheet read the same on a screen, where they are as wide as those that are shown.
 */
#include "postproc/print/sheets_text.h"

struct reader {
	struct layout layout; /* of the sheet that was asked for last */
	struct line text;
};

/* Its texts and its backtraces; numbers are added up. NULL: too long to be sure of the end. */
static const char *read_row(void *user, const struct sheet *sheet, const struct sheet_cell *row)
{
	struct reader *reader = user;
	const struct sheet_facts *facts = &sheet->facts;

	if (reader->layout.sheet != sheet) {
		reader->layout = (struct layout){ .job = reader->layout.job, .sheet = sheet };
		sheets_lay_out(&reader->layout);
	}
	line_begin(&reader->text);
	for (unsigned i = 0; i < facts->column_count; i++) {
		if (row[i].is_set && facts->columns[i].kind == SHEET_TEXT)
			line_add(&reader->text, "%s\n", row[i].text);
		if (row[i].is_set && facts->columns[i].kind == SHEET_BACKTRACE)
			sheets_read_backtrace(&reader->layout, row[i].backtrace, &reader->text);
	}
	return reader->text.length < sizeof(reader->text.text) - 1 ? reader->text.text : NULL;
}

int sheets_fold_same(struct sheets *sheets, const struct sheets_job *job, const char *by,
		     size_t top, struct error *err)
{
	struct reader reader = { .layout.job = job };
	int rc = sheets_fold(sheets, by, top, read_row, &reader, err);

	/* What was read is not shown yet. */
	naming_restart(job->naming);
	return rc;
}
