/* SPDX-License-Identifier: MIT */
/* Joins rows of a table that have the same call site on a screen. */
#include "tables_text.h"

struct reader {
	struct naming *naming;
	struct line text;
};

/*
 * Reads the texts and call sites of a row, the key by which rows are joined; their numbers are
 * added up. NULL: too long to compare.
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

	/* The names that were read are not on the screen yet. */
	naming_restart(naming);
	return rc;
}
