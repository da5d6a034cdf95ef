/* SPDX-License-Identifier: MIT */
/* Which rows of a sheet are one on a screen: those of one call site. */
#include "sheets_text.h"

struct reader {
	struct naming *naming;
	struct line text;
};

/* Its texts and its call sites; numbers are added up. NULL: too long to be sure of the end. */
static const char *read_row(void *user, const struct sheet *sheet, const struct sheet_cell *row)
{
	struct reader *reader = user;
	const struct sheet_facts *facts = &sheet->facts;
	char site[NAMING_SITE_MAX];

	line_begin(&reader->text);
	for (unsigned i = 0; i < facts->column_count; i++) {
		if (row[i].is_set && facts->columns[i].kind == SHEET_TEXT)
			line_add(&reader->text, "%s\n", row[i].text);
		if (!row[i].is_set || facts->columns[i].kind != SHEET_BACKTRACE)
			continue;
		if (!naming_read_site(reader->naming, row[i].backtrace, site, sizeof(site)))
			return NULL;
		line_add(&reader->text, "%s", site);
	}
	return reader->text.length < sizeof(reader->text.text) - 1 ? reader->text.text : NULL;
}

int sheets_fold_same(struct sheets *sheets, struct naming *naming, const char *by, size_t top,
		     struct error *err)
{
	struct reader reader = { .naming = naming };
	int rc = sheets_fold(sheets, by, top, read_row, &reader, err);

	/* What was read is not shown yet. */
	naming_restart(naming);
	return rc;
}
