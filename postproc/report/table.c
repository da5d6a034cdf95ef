/* SPDX-License-Identifier: MIT */
#include "table.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "account/estimate.h"
#include "base/array.h"
#include "base/memory.h"
#include "base/order.h"
#include "base/suggest.h"

static const struct table_column columns[] = {
#define COLUMN(table, name, kind, heading, meaning) { #name, TABLE_##kind, heading, meaning },
#include "postproc/reports.def"
};

static const struct {
	const char *name, *by, *title;
	int first;
} facts_of[] = {
#define TABLE(name, by, title) { #name, by, title, FIRST_##name },
#include "postproc/reports.def"
	{ NULL, NULL, NULL, TABLE_COLUMN_COUNT },
};

struct table_facts table_facts(enum table_id id)
{
	return (struct table_facts){
		.name = facts_of[id].name,
		.title = facts_of[id].title,
		.by = facts_of[id].by,
		.columns = &columns[facts_of[id].first],
		.column_count = (unsigned)(facts_of[id + 1].first - facts_of[id].first),
	};
}

/* The unit in the key of a column of this kind: bytes, ns or percent; "" if the kind has none. */
static const char *unit_of_kind(enum table_kind kind)
{
	if (kind == TABLE_BYTES || kind == TABLE_SIZE || kind == TABLE_CURVE_BYTES)
		return "bytes";
	if (kind == TABLE_NS || kind == TABLE_LONGEST || kind == TABLE_MEAN || kind == TABLE_TIME)
		return "ns";
	if (kind == TABLE_PERCENT || kind == TABLE_SHARE || kind == TABLE_BAR)
		return "percent";
	return "";
}

struct table_key table_key(const struct table_column *column)
{
	const char *unit = unit_of_kind(column->kind);
	size_t length = strlen(column->name), unit_length = strlen(unit);
	/* "bytes" and "live_bytes" end with the word "bytes", but "joins" does not with "ns" */
	bool names_unit = length >= unit_length &&
			  !strcmp(column->name + length - unit_length, unit) &&
			  (length == unit_length || column->name[length - unit_length - 1] == '_');
	bool has_suffix = *unit && !names_unit;
	struct table_key key;

	snprintf(key.text, sizeof(key.text), "%s%s%s", column->name, has_suffix ? "_" : "",
		 has_suffix ? unit : "");
	return key;
}

int table_column(const struct table_facts *facts, const char *name)
{
	for (unsigned i = 0; i < facts->column_count; i++)
		if (!strcmp(facts->columns[i].name, name) ||
		    !strcmp(table_key(&facts->columns[i]).text, name))
			return (int)i;
	return TABLE_COLUMN_NONE;
}

static bool has_unit_of_row(enum table_kind kind)
{
	return kind == TABLE_AMOUNT || kind == TABLE_PART || kind == TABLE_CHANGE;
}

int table_unit_column(const struct table_facts *facts)
{
	for (unsigned i = 0; i < facts->column_count; i++)
		if (has_unit_of_row(facts->columns[i].kind))
			return (int)i;
	return TABLE_COLUMN_NONE;
}

const char *table_unit(const struct table_facts *facts, const struct table_cell *row)
{
	for (unsigned i = 0; i < facts->column_count; i++)
		if (row[i].is_set && has_unit_of_row(facts->columns[i].kind))
			return row[i].has_bytes ? "bytes" : row[i].has_ns ? "ns" : "count";
	return NULL;
}

void tables_init(struct tables *tables)
{
	memset(tables, 0, sizeof(*tables));
}

void tables_free(struct tables *tables)
{
	for (unsigned i = 0; i < tables->count; i++) {
		free(tables->list[i].rows.items);
		free(tables->list[i].groups.items);
		free(tables->list[i].left_out.items);
	}
	pool_free(&tables->pool);
	memset(tables, 0, sizeof(*tables));
}

/*
 * Returns the number of rows at which table_add() next calls leave_out(). kept: number of rows that
 * leave_out() kept last time. The result is much larger, so that sorting costs little per row.
 */
static size_t limit_of(const struct table_bound *bound, size_t kept)
{
	return bound->most ? kept + 8 * bound->most : SIZE_MAX;
}

void tables_bound(struct tables *tables, const char *by, size_t top)
{
	tables->bound = (struct table_bound){ .by = by, .most = top + TABLE_ROWS_READ };
}

struct table *tables_begin(struct tables *tables, enum table_id id)
{
	struct table *table;

	if (tables->wanted && !tables->wanted[id])
		return tables_begin(tables->others, id);
	for (unsigned i = 0; i < tables->count; i++)
		if (tables->list[i].id == id)
			return &tables->list[i];
	table = &tables->list[tables->count++];
	table->id = id;
	table->facts = table_facts(id);
	table->tables = tables;
	table->limit = limit_of(&tables->bound, 0);
	return table;
}

int tables_failure(const struct tables *tables, struct error *err)
{
	if (err)
		*err = tables->failure;
	return -tables->failure.number;
}

void *table_alloc(struct table *table, size_t size)
{
	return pool_zalloc(&table->tables->pool, size);
}

/* ---- cells ---- */

void table_number(struct table_cell *cell, uint64_t number)
{
	cell->is_set = true;
	cell->number = number;
}

void table_count(struct table_cell *cell, uint64_t number)
{
	if (number)
		table_number(cell, number);
}

void table_amount(struct table_cell *cell, uint64_t number, bool has_bytes)
{
	table_number(cell, number);
	cell->has_bytes = has_bytes;
}

void table_percent(struct table_cell *cell, uint64_t part, uint64_t whole)
{
	double hundredths = whole ? (double)part * 10000 / (double)whole + 0.5 : 0;

	if (!whole)
		return;
	/* limit the result: in a damaged trace, the part may be larger than the whole */
	table_number(cell, hundredths < 0x1p63 ? (uint64_t)hundredths : INT64_MAX);
	cell->weight = whole;
}

void table_add_to(enum table_kind kind, struct table_cell *sum, const struct table_cell *cell)
{
	double one = (double)sum->number, other = (double)cell->number;

	if (kind == TABLE_ERROR)
		sum->number = (uint64_t)ceil(sqrt(one * one + other * other));
	else
		sum->number += cell->number;
}

void table_error(struct table_cell *cell, double variance, bool has_bytes)
{
	uint64_t error = estimate_error(variance);

	if (error)
		table_amount(cell, error, has_bytes);
}

void table_count_error(struct table_cell *cell, uint64_t count, double variance)
{
	uint64_t error = estimate_count_error(count, variance);

	if (error)
		table_number(cell, error);
}

void table_average(struct table_cell *cell, uint64_t total, uint64_t count)
{
	if (!count)
		return;
	table_number(cell, total / count);
	cell->weight = count;
}

void table_backtrace(struct table_cell *cell, const struct trace_node *backtrace)
{
	cell->is_set = backtrace != NULL;
	cell->backtrace = backtrace;
	cell->weight = 1;
}

void table_steps(struct table *table, struct table_cell *cell, const uint64_t *steps,
		 unsigned count)
{
	uint64_t *copy;

	if (!count)
		return;
	copy = table_alloc(table, count * sizeof(*copy));
	memcpy(copy, steps, count * sizeof(*copy));
	cell->is_set = true;
	cell->weight = count;
	cell->steps = copy;
}

void table_text(struct table *table, struct table_cell *cell, const char *text)
{
	if (!text || !*text)
		return;
	cell->text = pool_text_again(&table->tables->pool, &table->recent, text);
	cell->is_set = true;
}

void table_format(struct table *table, struct table_cell *cell, const char *format, ...)
{
	char text[4096];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	table_text(table, cell, text);
}

void table_note(struct table *table, const char *format, ...)
{
	char text[4096];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	table->note = pool_text_again(&table->tables->pool, &table->recent, text);
}

void table_group(struct table *table, struct table_cell *cell, const char *name, uint32_t rank)
{
	cell->weight = rank;
	table_text(table, cell, name);
}

/* ---- order ---- */

struct order {
	bool has_groups;
	/*
	 * index of the column; TABLE_COLUMN_NONE: rows stay in the order in which they were added
	 */
	int by;
	bool is_text, is_change;
};

/* The number to sort by; for a change, its absolute value. */
static uint64_t number_of(const struct table_cell *cell, bool is_change)
{
	return is_change && (int64_t)cell->number < 0 ? -cell->number : cell->number;
}

/* Sorts larger numbers first, texts alphabetically, and unset cells last. */
static int compare_cells(const struct table_cell *one, const struct table_cell *two, bool is_text,
			 bool is_change)
{
	uint64_t a = number_of(one, is_change), b = number_of(two, is_change);

	if (one->is_set != two->is_set)
		return one->is_set ? -1 : 1;
	if (!one->is_set)
		return 0;
	if (is_text)
		return strcmp(one->text, two->text);
	return ORDER(b, a);
}

/*
 * A row and its index before sorting. Equal rows are sorted by this index and so keep their order;
 * qsort_r() alone is not stable.
 */
struct numbered {
	struct table_cell *row;
	size_t number;
};

static int compare_rows(const void *a, const void *b, void *user)
{
	const struct numbered *one = a, *two = b;
	const struct order *order = user;
	int result = 0;

	if (order->has_groups)
		result = ORDER(one->row[0].weight, two->row[0].weight)
				 ?: compare_cells(&one->row[0], &two->row[0], true, false);
	if (!result && order->by >= 0)
		result = compare_cells(&one->row[order->by], &two->row[order->by], order->is_text,
				       order->is_change);
	return result ?: ORDER(one->number, two->number);
}

static void sort_rows(struct table *table, struct order *order)
{
	size_t count = table->rows.count;
	struct numbered *rows = count ? memory_alloc(count * sizeof(*rows)) : NULL;

	for (size_t i = 0; i < count; i++)
		rows[i] = (struct numbered){ table->rows.items[i], i };
	if (count)
		qsort_r(rows, count, sizeof(*rows), compare_rows, order);
	for (size_t i = 0; i < count; i++)
		table->rows.items[i] = rows[i].row;
	free(rows);
}

/* ---- groups and sums ---- */

static void add_to_sums(const struct table *table, struct table_cell *sums,
			const struct table_cell *row)
{
	for (unsigned i = 0; i < table->facts.column_count; i++) {
		enum table_kind kind = table->facts.columns[i].kind;

		if (!row[i].is_set ||
		    (kind != TABLE_COUNT && kind != TABLE_BYTES && kind != TABLE_AMOUNT &&
		     kind != TABLE_ERROR && kind != TABLE_CHANGE))
			continue;
		sums[i].is_set = true;
		sums[i].has_bytes = row[i].has_bytes;
		sums[i].has_ns = row[i].has_ns;
		table_add_to(kind, &sums[i], &row[i]);
	}
}

static void begin_group(struct table *table, struct table_group *group, const char *name,
			size_t first)
{
	*group = (struct table_group){
		.name = name,
		.first = first,
		.sums = table_alloc(table, table->facts.column_count * sizeof(*group->sums)),
		.rest = table_alloc(table, table->facts.column_count * sizeof(*group->rest)),
	};
}

static struct table_group *find_left_out(const struct table *table, const char *name)
{
	for (size_t i = 0; i < table->left_out.count; i++) {
		struct table_group *group = &table->left_out.items[i];

		if (!name || !strcmp(group->name, name))
			return group;
	}
	return NULL;
}

/* Begins the group with that name. The group's sums start with the sums of its removed rows. */
static struct table_group *add_group(struct table *table, const char *name, size_t first)
{
	const struct table_group *left_out = find_left_out(table, name);
	struct table_group *group = ARRAY_ADD(&table->groups);

	begin_group(table, group, name, first);
	if (!left_out)
		return group;
	group->count = left_out->count;
	add_to_sums(table, group->sums, left_out->sums);
	add_to_sums(table, group->rest, left_out->sums);
	return group;
}

/*
 * Makes the groups of the sorted rows. most: maximum number of rows of a group that are shown; 0:
 * all.
 */
static void make_groups(struct table *table, bool has_groups, size_t most)
{
	struct table_group *group = NULL;

	table->groups.count = 0;
	for (size_t i = 0; i < table->rows.count; i++) {
		const struct table_cell *row = table->rows.items[i];

		if (!group || (has_groups && strcmp(group->name, row[0].text) != 0))
			group = add_group(table, has_groups ? row[0].text : NULL, i);
		group->kept++;
		group->count++;
		add_to_sums(table, group->sums, row);
		if (most && group->shown == most)
			add_to_sums(table, group->rest, row);
		else
			group->shown++;
	}
}

/* Whether the table is a tree, whose rows must keep their order. */
static bool is_tree(const struct table_facts *facts)
{
	for (unsigned i = 0; i < facts->column_count; i++)
		if (facts->columns[i].kind == TABLE_BRANCH && !*facts->by)
			return true;
	return false;
}

/* Returns the order in which to sort a table. Sets *is_known if it can be sorted by column `by`. */
static struct order order_of(const struct table *table, const char *by, bool *is_known)
{
	const struct table_facts *facts = &table->facts;
	struct order order = { .has_groups = facts->columns[0].kind == TABLE_GROUP };
	int asked = by && !is_tree(facts) ? table_column(facts, by) : TABLE_COLUMN_NONE;
	enum table_kind kind;

	/* a table without a column to sort by, such as a histogram, keeps its order */
	order.by = *facts->by ? table_column(facts, facts->by) : TABLE_COLUMN_NONE;
	if (asked >= 0 && facts->columns[asked].kind != TABLE_BACKTRACE &&
	    facts->columns[asked].kind != TABLE_BRANCH) {
		order.by = asked;
		*is_known = true;
	}
	if (order.by < 0)
		return order;
	kind = facts->columns[order.by].kind;
	order.is_change = kind == TABLE_CHANGE;
	order.is_text = kind == TABLE_TEXT || kind == TABLE_NOTE || kind == TABLE_TYPE ||
			kind == TABLE_GROUP;
	return order;
}

/* ---- rows ---- */

/*
 * Removes the rows that will not be shown, after adding them to sums, and reuses their memory for
 * new rows.
 */
static void leave_out(struct table *table)
{
	bool is_known = false;
	struct order order = order_of(table, table->tables->bound.by, &is_known);
	struct table_cell **rows = table->rows.items;
	size_t count = table->rows.count, kept = 0, in_group = 0;

	if (order.by < 0) {
		table->limit = SIZE_MAX;
		return;
	}
	sort_rows(table, &order);
	for (size_t i = 0; i < count; i++) {
		struct table_cell *row = rows[i];
		const char *name = order.has_groups ? row[0].text : NULL;
		struct table_group *group;

		if (order.has_groups && kept && strcmp(rows[kept - 1][0].text, row[0].text) != 0)
			in_group = 0;
		if (in_group++ < table->tables->bound.most) {
			rows[i] = rows[kept];
			rows[kept++] = row;
			continue;
		}
		group = find_left_out(table, name);
		if (!group) {
			group = ARRAY_ADD(&table->left_out);
			begin_group(table, group, name, 0);
		}
		group->count++;
		add_to_sums(table, group->sums, row);
	}
	table->rows.count = kept;
	table->limit = limit_of(&table->tables->bound, kept);
}

struct table_cell *table_add(struct table *table)
{
	size_t size = table->facts.column_count * sizeof(struct table_cell);
	struct table_cell *row, **place;

	if (table->rows.count >= table->limit)
		leave_out(table);
	if (table->rows.count < table->made)
		return memset(table->rows.items[table->rows.count++], 0, size);
	row = table_alloc(table, size);
	place = ARRAY_ADD(&table->rows);
	table->made = table->rows.count;
	return *place = row;
}

/* ---- all tables ---- */

int tables_finish(struct tables *tables, const char *by, size_t top, struct error *err)
{
	bool is_known = by == NULL;
	struct suggest suggest;

	for (unsigned i = 0; i < tables->count; i++) {
		struct order order = order_of(&tables->list[i], by, &is_known);

		sort_rows(&tables->list[i], &order);
		make_groups(&tables->list[i], order.has_groups, order.by < 0 ? 0 : top);
	}
	if (tables->failure.number)
		return tables_failure(tables, err);
	if (is_known)
		return 0;
	suggest_begin(&suggest, by, strlen(by));
	for (unsigned i = 0; i < tables->count; i++)
		for (unsigned c = 0; c < tables->list[i].facts.column_count; c++)
			suggest_try(&suggest, tables->list[i].facts.columns[c].name);
	return error_set(
		err, EINVAL,
		"--by=%s: no such column in this report%s; holdtrace-report(5) lists the columns",
		by, suggest_text(&suggest));
}
