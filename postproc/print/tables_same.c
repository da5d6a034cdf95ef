/* SPDX-License-Identifier: MIT */
/* Merges the rows of a table that have the same call site on the screen. */
#include "tables_text.h"

struct reader {
	struct naming *naming;
	struct line text;
};

/*
 * Writes the texts and call sites of a row as the key by which rows are merged; the numbers of
 * merged rows are added up. Returns NULL if the key is too long.
 */
static const char *read_row(void *user, const struct table *table, const struct table_cell *row)
{
	struct reader *reader = user;
	const struct table_facts *facts = &table->facts;
	char site[NAMING_SITE_MAX];

	line_begin(&reader->text);
	for (unsigned i = 0; i < facts->column_count; i++) {
		if (row[i].is_set && facts->columns[i].kind == TABLE_TEXT)
			line_add(&reader->text, "%s\n", row[i].text);
		if (!row[i].is_set || facts->columns[i].kind != TABLE_BACKTRACE)
			continue;
		if (!naming_read_site(reader->naming, row[i].backtrace, site, sizeof(site)))
			return NULL;
		line_add(&reader->text, "%s", site);
	}
	return reader->text.length < sizeof(reader->text.text) - 1 ? reader->text.text : NULL;
}

int tables_fold_same(struct tables *tables, struct naming *naming, const char *by, size_t top,
		     struct error *err)
{
	struct reader reader = { .naming = naming };
	int rc = tables_fold(tables, by, top, read_row, &reader, err);

	/* the names were only used to compare rows, not shown: reset the counts of shown names */
	naming_restart(naming);
	return rc;
}
