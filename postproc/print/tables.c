/* SPDX-License-Identifier: MIT */
#include "tables.h"

#include "tables_text.h"

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
	case TABLE_TYPE:
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
	case TABLE_MEAN:
	case TABLE_TIME:
		break;
	}
	return SHAPE_UNSIGNED;
}

bool tables_can_join(const struct table_facts *facts)
{
	int by = *facts->by ? table_column(facts, facts->by) : TABLE_COLUMN_NONE;
	enum table_kind kind = by < 0 ? TABLE_KEY : facts->columns[by].kind;

	return kind == TABLE_AMOUNT || kind == TABLE_COUNT || kind == TABLE_BYTES ||
	       kind == TABLE_NS || kind == TABLE_LONGEST || kind == TABLE_CHANGE ||
	       !strcmp(facts->name, "limits") || !strcmp(facts->name, "ranks");
}

/* ---- rows with the same call site ---- */

struct reader {
	struct naming *naming;
	struct line text;
};

/*
 * Writes the texts and call sites of a row as a key. Rows with the same key are merged, and their
 * numbers added up. Returns NULL if the key is too long.
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

	/* the names were only compared, not shown: reset the counts of shown names */
	naming_restart(naming);
	return rc;
}
