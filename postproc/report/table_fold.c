/* SPDX-License-Identifier: MIT */
/*
 * Joins rows that look the same without addresses: for example, the copies of a call in an unrolled
 * loop are one call site for the user.
 */
#include <errno.h>
#include <string.h>

#include "base/hash_table.h"
#include "table.h"

/* A row and its text without numbers. */
struct reading {
	struct table_cell *row;
	const char *text;
};

/*
 * The kinds of columns whose cells can be joined. For other kinds, such as a time or a sum of
 * durations, the way to join cells would depend on the report.
 */
#define BIT(kind) (1ull << TABLE_##kind)
#define FOLDABLE                                                                           \
	(BIT(GROUP) | BIT(TEXT) | BIT(NOTE) | BIT(TYPE) | BIT(COUNT) | BIT(PROCESSES) |    \
	 BIT(BYTES) | BIT(SIZE) | BIT(ERROR) | BIT(AMOUNT) | BIT(LONGEST) | BIT(PERCENT) | \
	 BIT(SHARE) | BIT(STEPS) | BIT(BACKTRACE))

static bool is_foldable(const struct table_facts *facts)
{
	for (unsigned i = 0; i < facts->column_count; i++)
		if (!(FOLDABLE >> facts->columns[i].kind & 1))
			return false;
	return facts->columns[facts->column_count - 1].kind == TABLE_BACKTRACE;
}

static void join_cell(enum table_kind kind, struct table_cell *cell, const struct table_cell *other)
{
	uint64_t weight = cell->weight + other->weight;

	if (kind == TABLE_TYPE && (cell->is_set != other->is_set ||
				   (cell->is_set && strcmp(cell->text, other->text) != 0))) {
		cell->is_set = true;
		cell->text = "several types";
		return;
	}
	if (!other->is_set)
		return;
	if (!cell->is_set) {
		*cell = *other;
	} else if (kind == TABLE_PERCENT || kind == TABLE_SIZE) {
		if (weight)
			cell->number = (uint64_t)(((double)cell->number * (double)cell->weight +
						   (double)other->number * (double)other->weight) /
						  (double)weight);
		cell->weight = weight;
	} else if (kind == TABLE_STEPS) {
		/*
		 * both arrays have the steps of the same run; `cell` has its own copy, so its array
		 * can be changed in place
		 */
		for (uint64_t i = 0; i < cell->weight && i < other->weight; i++)
			((uint64_t *)cell->steps)[i] += other->steps[i];
	} else if (kind == TABLE_BACKTRACE)
		cell->weight += other->weight;
	else if (kind == TABLE_LONGEST || kind == TABLE_PROCESSES)
		cell->number = cell->number > other->number ? cell->number : other->number;
	else if (kind != TABLE_GROUP && kind != TABLE_TEXT && kind != TABLE_NOTE &&
		 kind != TABLE_TYPE)
		table_add_to(kind, cell, other);
}

static bool reads_so(const void *item, const void *key)
{
	return !strcmp(((const struct reading *)item)->text, key);
}

/* Joins the row with an earlier row that has the same text. Returns false if there is none. */
static bool fold_row(struct table *table, struct hash_table *by_text, struct table_cell *row,
		     const char *text)
{
	uint64_t hash = hash_bytes(by_text->seed, text, strlen(text));
	struct reading *same = hash_table_find(by_text, hash, reads_so, text);

	for (unsigned i = 0; same && i < table->facts.column_count; i++)
		join_cell(table->facts.columns[i].kind, &same->row[i], &row[i]);
	if (same)
		return true;
	same = table_alloc(table, sizeof(*same));
	*same = (struct reading){ row, pool_text(&table->tables->pool, text, strlen(text)) };
	hash_table_add(by_text, hash, same);
	return false;
}

/* Joins rows of a group, and moves the remaining rows to index *to. Advances *to past them. */
static void fold_group(struct table *table, const struct table_group *group, size_t *to,
		       table_reading *reading, void *user)
{
	struct hash_table by_text;

	hash_table_init(&by_text);
	for (size_t i = 0; i < group->kept; i++) {
		struct table_cell *row = table->rows.items[group->first + i];
		const char *text = i < TABLE_ROWS_READ ? reading(user, table, row) : NULL;

		if (!text || !fold_row(table, &by_text, row, text))
			table->rows.items[(*to)++] = row;
	}
	hash_table_free(&by_text);
}

int tables_fold(struct tables *tables, const char *by, size_t top, table_reading *reading,
		void *user, struct error *err)
{
	for (unsigned i = 0; i < tables->count; i++) {
		struct table *table = &tables->list[i];
		size_t to = 0;

		if (!is_foldable(&table->facts))
			continue;
		for (size_t group = 0; group < table->groups.count; group++)
			fold_group(table, &table->groups.items[group], &to, reading, user);
		table->rows.count = to;
	}
	return tables_finish(tables, by, top, err);
}
