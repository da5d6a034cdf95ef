/* SPDX-License-Identifier: MIT */
/* Joins rows that a reader cannot tell apart: an unrolled loop is one call site to them. */
#include <errno.h>
#include <string.h>

#include "base/table.h"
#include "sheet.h"

/* A row, and its text without numbers. */
struct reading {
	struct sheet_cell *row;
	const char *text;
};

/* Kinds that can be joined; for others (a time, a sum of times) only the report knows how. */
#define BIT(kind) (1ull << SHEET_##kind)
#define FOLDABLE                                                                           \
	(BIT(GROUP) | BIT(TEXT) | BIT(NOTE) | BIT(COUNT) | BIT(PROCESSES) | BIT(BYTES) |   \
	 BIT(SIZE) | BIT(ERROR) | BIT(AMOUNT) | BIT(LONGEST) | BIT(PERCENT) | BIT(SHARE) | \
	 BIT(STEPS) | BIT(BACKTRACE))

static bool is_foldable(const struct sheet_facts *facts)
{
	for (unsigned i = 0; i < facts->column_count; i++)
		if (!(FOLDABLE >> facts->columns[i].kind & 1))
			return false;
	return facts->columns[facts->column_count - 1].kind == SHEET_BACKTRACE;
}

static void join_average(struct sheet_cell *cell, const struct sheet_cell *other)
{
	uint64_t weight = cell->weight + other->weight;

	if (weight)
		cell->number = (uint64_t)(((double)cell->number * (double)cell->weight +
					   (double)other->number * (double)other->weight) /
					  (double)weight);
	cell->weight = weight;
}

/*
 * All rows have the steps of one run. The array belongs to the row alone, so it is changed in
 * place.
 */
static void join_steps(struct sheet_cell *cell, const struct sheet_cell *other)
{
	uint64_t *steps = (uint64_t *)cell->steps;

	for (uint64_t i = 0; i < cell->weight && i < other->weight; i++)
		steps[i] += other->steps[i];
}

static void join_cell(enum sheet_kind kind, struct sheet_cell *cell, const struct sheet_cell *other)
{
	if (!other->is_set)
		return;
	if (!cell->is_set)
		*cell = *other;
	else if (kind == SHEET_PERCENT || kind == SHEET_SIZE)
		join_average(cell, other);
	else if (kind == SHEET_STEPS)
		join_steps(cell, other);
	else if (kind == SHEET_BACKTRACE)
		cell->weight += other->weight;
	else if (kind == SHEET_LONGEST || kind == SHEET_PROCESSES)
		cell->number = cell->number > other->number ? cell->number : other->number;
	else if (kind != SHEET_GROUP && kind != SHEET_TEXT && kind != SHEET_NOTE)
		sheet_add_to(kind, cell, other);
}

static bool reads_so(const void *item, const void *key)
{
	return !strcmp(((const struct reading *)item)->text, key);
}

/* Adds the row to an earlier one with the same text; false: there is none. */
static bool fold_row(struct sheet *sheet, struct table *table, struct sheet_cell *row,
		     const char *text)
{
	uint64_t hash = hash_bytes(table->seed, text, strlen(text));
	struct reading *same = table_find(table, hash, reads_so, text);

	for (unsigned i = 0; same && i < sheet->facts.column_count; i++)
		join_cell(sheet->facts.columns[i].kind, &same->row[i], &row[i]);
	if (same)
		return true;
	same = sheet_alloc(sheet, sizeof(*same));
	*same = (struct reading){ row, pool_text(&sheet->sheets->pool, text, strlen(text)) };
	table_add(table, hash, same);
	return false;
}

/* Moves the remaining rows of a group to *to. */
static void fold_group(struct sheet *sheet, const struct sheet_group *group, size_t *to,
		       sheet_reading *reading, void *user)
{
	struct table table;

	table_init(&table);
	for (size_t i = 0; i < group->kept; i++) {
		struct sheet_cell *row = sheet->rows.items[group->first + i];
		const char *text = i < SHEET_ROWS_READ ? reading(user, sheet, row) : NULL;

		if (!text || !fold_row(sheet, &table, row, text))
			sheet->rows.items[(*to)++] = row;
	}
	table_free(&table);
}

static void fold(struct sheet *sheet, sheet_reading *reading, void *user)
{
	size_t to = 0;

	for (size_t i = 0; i < sheet->groups.count; i++)
		fold_group(sheet, &sheet->groups.items[i], &to, reading, user);
	sheet->rows.count = to;
}

int sheets_fold(struct sheets *sheets, const char *by, size_t top, sheet_reading *reading,
		void *user, struct error *err)
{
	for (unsigned i = 0; i < sheets->count; i++)
		if (is_foldable(&sheets->list[i].facts))
			fold(&sheets->list[i], reading, user);
	return sheets_finish(sheets, by, top, err);
}
