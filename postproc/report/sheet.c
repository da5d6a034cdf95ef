/* SPDX-License-Identifier: MIT */
#include "sheet.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "account/estimate.h"
#include "base/array.h"
#include "base/memory.h"
#include "base/suggest.h"

static const struct sheet_column columns[] = {
#define COLUMN(sheet, name, kind, heading, meaning) { #name, SHEET_##kind, heading, meaning },
#include "base/order.h"
#include "postproc/reports.def"
};

static const struct {
	const char *name, *by, *title;
	int first;
} table[] = {
#define SHEET(name, by, title) { #name, by, title, FIRST_##name },
#include "base/order.h"
#include "postproc/reports.def"
	{ NULL, NULL, NULL, SHEET_COLUMN_COUNT },
};

struct sheet_facts sheet_facts(enum sheet_id id)
{
	return (struct sheet_facts){
		.name = table[id].name,
		.title = table[id].title,
		.by = table[id].by,
		.columns = &columns[table[id].first],
		.column_count = (unsigned)(table[id + 1].first - table[id].first),
	};
}

int sheet_column(const struct sheet_facts *facts, const char *name)
{
	for (unsigned i = 0; i < facts->column_count; i++)
		if (!strcmp(facts->columns[i].name, name))
			return (int)i;
	return SHEET_COLUMN_NONE;
}

void sheets_init(struct sheets *sheets)
{
	memset(sheets, 0, sizeof(*sheets));
}

void sheets_free(struct sheets *sheets)
{
	for (unsigned i = 0; i < sheets->count; i++) {
		free(sheets->list[i].rows.items);
		free(sheets->list[i].groups.items);
		free(sheets->list[i].left_out.items);
	}
	pool_free(&sheets->pool);
	memset(sheets, 0, sizeof(*sheets));
}

/* Large enough that sorting costs little per row. */
static size_t limit_of(const struct sheet_bound *bound, size_t kept)
{
	return bound->most ? kept + 8 * bound->most : SIZE_MAX;
}

void sheets_bound(struct sheets *sheets, const char *by, size_t top)
{
	sheets->bound = (struct sheet_bound){ .by = by, .most = top + SHEET_ROWS_READ };
}

struct sheet *sheets_begin(struct sheets *sheets, enum sheet_id id)
{
	struct sheet *sheet;

	if (sheets->wanted && !sheets->wanted[id])
		return sheets_begin(sheets->others, id);
	for (unsigned i = 0; i < sheets->count; i++)
		if (sheets->list[i].id == id)
			return &sheets->list[i];
	sheet = &sheets->list[sheets->count++];
	sheet->id = id;
	sheet->facts = sheet_facts(id);
	sheet->sheets = sheets;
	sheet->limit = limit_of(&sheets->bound, 0);
	return sheet;
}

int sheets_failure(const struct sheets *sheets, struct error *err)
{
	if (err)
		*err = sheets->failure;
	return -sheets->failure.number;
}

void *sheet_alloc(struct sheet *sheet, size_t size)
{
	void *memory = pool_zalloc(&sheet->sheets->pool, size);

	return memory;
}

/* ---- cells ---- */

void sheet_number(struct sheet_cell *cell, uint64_t number)
{
	cell->is_set = true;
	cell->number = number;
}

void sheet_amount(struct sheet_cell *cell, uint64_t number, bool has_bytes)
{
	sheet_number(cell, number);
	cell->has_bytes = has_bytes;
}

void sheet_percent(struct sheet_cell *cell, uint64_t part, uint64_t whole)
{
	double hundredths = whole ? (double)part * 10000 / (double)whole + 0.5 : 0;

	if (!whole)
		return;
	/* A damaged trace may have a part that exceeds the whole. */
	sheet_number(cell, hundredths < 0x1p63 ? (uint64_t)hundredths : INT64_MAX);
	cell->weight = whole;
}

void sheet_add_to(enum sheet_kind kind, struct sheet_cell *sum, const struct sheet_cell *cell)
{
	double one = (double)sum->number, other = (double)cell->number;

	if (kind == SHEET_ERROR)
		sum->number = (uint64_t)ceil(sqrt(one * one + other * other));
	else
		sum->number += cell->number;
}

void sheet_error(struct sheet_cell *cell, double variance, bool has_bytes)
{
	uint64_t error = estimate_error(variance);

	if (error)
		sheet_amount(cell, error, has_bytes);
}

void sheet_count_error(struct sheet_cell *cell, uint64_t count, double variance)
{
	uint64_t error = estimate_count_error(count, variance);

	if (error)
		sheet_number(cell, error);
}

void sheet_average(struct sheet_cell *cell, uint64_t total, uint64_t count)
{
	if (!count)
		return;
	sheet_number(cell, total / count);
	cell->weight = count;
}

void sheet_backtrace(struct sheet_cell *cell, const struct trace_node *backtrace)
{
	cell->is_set = backtrace != NULL;
	cell->backtrace = backtrace;
	cell->weight = 1;
}

void sheet_steps(struct sheet *sheet, struct sheet_cell *cell, const uint64_t *steps,
		 unsigned count)
{
	uint64_t *copy = count ? sheet_alloc(sheet, count * sizeof(*copy)) : NULL;

	if (!copy)
		return;
	memcpy(copy, steps, count * sizeof(*copy));
	cell->is_set = true;
	cell->weight = count;
	cell->steps = copy;
}

static const char *copy_text(struct sheet *sheet, const char *text)
{
	const char *copy = pool_text_again(&sheet->sheets->pool, &sheet->recent, text);

	return copy;
}

void sheet_text(struct sheet *sheet, struct sheet_cell *cell, const char *text)
{
	if (!text || !*text)
		return;
	cell->text = copy_text(sheet, text);
	cell->is_set = cell->text != NULL;
}

void sheet_format(struct sheet *sheet, struct sheet_cell *cell, const char *format, ...)
{
	char text[4096];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	sheet_text(sheet, cell, text);
}

void sheet_note(struct sheet *sheet, const char *format, ...)
{
	char text[4096];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	sheet->note = copy_text(sheet, text);
}

void sheet_group(struct sheet *sheet, struct sheet_cell *cell, const char *name, uint32_t rank)
{
	cell->weight = rank;
	sheet_text(sheet, cell, name);
}

/* ---- order ---- */

struct order {
	bool has_groups;
	int by; /* column; SHEET_COLUMN_NONE: as added */
	bool is_text, is_change;
};

/* Changes are compared by magnitude. */
static uint64_t number_of(const struct sheet_cell *cell, bool is_change)
{
	return is_change && (int64_t)cell->number < 0 ? -cell->number : cell->number;
}

/* Larger numbers first, texts alphabetically, unset cells last. */
static int compare_cells(const struct sheet_cell *one, const struct sheet_cell *two, bool is_text,
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

static int compare_groups(const struct sheet_cell *one, const struct sheet_cell *two)
{
	return ORDER(one->weight, two->weight) ?: compare_cells(one, two, true, false);
}

/* qsort_r() does not keep the order of equal rows, so their number decides. */
struct numbered {
	struct sheet_cell *row;
	size_t number;
};

static int compare_rows(const void *a, const void *b, void *user)
{
	const struct numbered *one = a, *two = b;
	const struct order *order = user;
	int result = order->has_groups ? compare_groups(&one->row[0], &two->row[0]) : 0;

	if (!result && order->by >= 0)
		result = compare_cells(&one->row[order->by], &two->row[order->by], order->is_text,
				       order->is_change);
	return result ?: ORDER(one->number, two->number);
}

static void sort(struct sheet *sheet, struct order *order)
{
	size_t count = sheet->rows.count;
	struct numbered *rows = count ? memory_alloc(count * sizeof(*rows)) : NULL;

	for (size_t i = 0; i < count; i++)
		rows[i] = (struct numbered){ sheet->rows.items[i], i };
	if (count)
		qsort_r(rows, count, sizeof(*rows), compare_rows, order);
	for (size_t i = 0; i < count; i++)
		sheet->rows.items[i] = rows[i].row;
	free(rows);
}

/* ---- groups and sums ---- */

static bool has_sum(enum sheet_kind kind)
{
	return kind == SHEET_COUNT || kind == SHEET_BYTES || kind == SHEET_AMOUNT ||
	       kind == SHEET_ERROR || kind == SHEET_CHANGE;
}

static void add_to_sums(const struct sheet *sheet, struct sheet_cell *sums,
			const struct sheet_cell *row)
{
	for (unsigned i = 0; i < sheet->facts.column_count; i++) {
		if (!row[i].is_set || !has_sum(sheet->facts.columns[i].kind))
			continue;
		sums[i].is_set = true;
		sums[i].has_bytes = row[i].has_bytes;
		sums[i].has_ns = row[i].has_ns;
		sheet_add_to(sheet->facts.columns[i].kind, &sums[i], &row[i]);
	}
}

/* Returns whether there is memory for its sums. */
static bool begin_group(struct sheet *sheet, struct sheet_group *group, const char *name,
			size_t first)
{
	*group = (struct sheet_group){
		.name = name,
		.first = first,
		.sums = sheet_alloc(sheet, sheet->facts.column_count * sizeof(*group->sums)),
		.rest = sheet_alloc(sheet, sheet->facts.column_count * sizeof(*group->rest)),
	};
	return group->sums && group->rest;
}

static struct sheet_group *find_left_out(const struct sheet *sheet, const char *name)
{
	for (size_t i = 0; i < sheet->left_out.count; i++) {
		struct sheet_group *group = &sheet->left_out.items[i];

		if (!name || !strcmp(group->name, name))
			return group;
	}
	return NULL;
}

/* Adds the group of a row, with the sums of its rows that were left out. */
static struct sheet_group *add_group(struct sheet *sheet, const char *name, size_t first)
{
	const struct sheet_group *left_out = find_left_out(sheet, name);
	struct sheet_group *group = ARRAY_ADD(&sheet->groups);

	if (!begin_group(sheet, group, name, first))
		return NULL;
	if (!left_out)
		return group;
	group->count = left_out->count;
	add_to_sums(sheet, group->sums, left_out->sums);
	add_to_sums(sheet, group->rest, left_out->sums);
	return group;
}

/* The rows are sorted. most: rows to show of a group; 0: all. */
static void make_groups(struct sheet *sheet, bool has_groups, size_t most)
{
	struct sheet_group *group = NULL;

	sheet->groups.count = 0;
	for (size_t i = 0; i < sheet->rows.count; i++) {
		const struct sheet_cell *row = sheet->rows.items[i];

		if (!group || (has_groups && strcmp(group->name, row[0].text) != 0))
			group = add_group(sheet, has_groups ? row[0].text : NULL, i);
		group->kept++;
		group->count++;
		add_to_sums(sheet, group->sums, row);
		if (most && group->shown == most)
			add_to_sums(sheet, group->rest, row);
		else
			group->shown++;
	}
}

static bool is_text(enum sheet_kind kind)
{
	return kind == SHEET_TEXT || kind == SHEET_NOTE || kind == SHEET_GROUP;
}

/* The rows of a tree keep their order. */
static bool is_tree(const struct sheet_facts *facts)
{
	for (unsigned i = 0; i < facts->column_count; i++)
		if (facts->columns[i].kind == SHEET_BRANCH)
			return true;
	return false;
}

/* is_known: set if the table has the column by. */
static struct order order_of(const struct sheet *sheet, const char *by, bool *is_known)
{
	const struct sheet_facts *facts = &sheet->facts;
	struct order order = { .has_groups = facts->columns[0].kind == SHEET_GROUP };
	int asked = by && !is_tree(facts) ? sheet_column(facts, by) : SHEET_COLUMN_NONE;

	/* A histogram stays in its order. */
	order.by = *facts->by ? sheet_column(facts, facts->by) : SHEET_COLUMN_NONE;
	if (asked >= 0 && facts->columns[asked].kind != SHEET_BACKTRACE) {
		order.by = asked;
		*is_known = true;
	}
	order.is_change = order.by >= 0 && facts->columns[order.by].kind == SHEET_CHANGE;
	order.is_text = order.by >= 0 && is_text(facts->columns[order.by].kind);
	return order;
}

static void finish(struct sheet *sheet, const char *by, size_t top, bool *is_known)
{
	struct order order = order_of(sheet, by, is_known);

	sort(sheet, &order);
	make_groups(sheet, order.has_groups, order.by < 0 ? 0 : top);
}

/* ---- rows ---- */

/* Finds or adds the sums of the rows that were left out of a row's group. */
static struct sheet_group *left_out_of(struct sheet *sheet, const struct order *order,
				       const struct sheet_cell *row)
{
	const char *name = order->has_groups ? row[0].text : NULL;
	struct sheet_group *group = find_left_out(sheet, name);

	if (group)
		return group;
	group = ARRAY_ADD(&sheet->left_out);
	return begin_group(sheet, group, name, 0) ? group : NULL;
}

/* Sums up rows that will not be read, and frees their space for others. */
static void leave_out(struct sheet *sheet)
{
	bool is_known = false;
	struct order order = order_of(sheet, sheet->sheets->bound.by, &is_known);
	struct sheet_cell **rows = sheet->rows.items;
	size_t count = sheet->rows.count, kept = 0, in_group = 0;

	if (order.by >= 0)
		sort(sheet, &order);
	for (size_t i = 0; order.by >= 0 && i < count; i++) {
		struct sheet_cell *row = rows[i];
		struct sheet_group *group;

		if (order.has_groups && kept && strcmp(rows[kept - 1][0].text, row[0].text) != 0)
			in_group = 0;
		if (in_group++ < sheet->sheets->bound.most) {
			rows[i] = rows[kept];
			rows[kept++] = row;
			continue;
		}
		group = left_out_of(sheet, &order, row);
		group->count++;
		add_to_sums(sheet, group->sums, row);
	}
	sheet->rows.count = order.by < 0 ? count : kept;
	sheet->limit = order.by < 0 ? SIZE_MAX : limit_of(&sheet->sheets->bound, kept);
}

static struct sheet_cell *new_row(struct sheet *sheet, size_t size)
{
	struct sheet_cell *row, **place;

	if (sheet->rows.count >= sheet->limit)
		leave_out(sheet);
	if (sheet->rows.count < sheet->made)
		return memset(sheet->rows.items[sheet->rows.count++], 0, size);
	row = sheet_alloc(sheet, size);
	place = ARRAY_ADD(&sheet->rows);
	sheet->made = sheet->rows.count;
	return *place = row;
}

struct sheet_cell *sheet_add(struct sheet *sheet)
{
	return new_row(sheet, sheet->facts.column_count * sizeof(struct sheet_cell));
}

/* ---- all tables ---- */

static int refuse_column(const struct sheets *sheets, const char *by, struct error *err)
{
	struct suggest suggest;

	suggest_begin(&suggest, by, strlen(by));
	for (unsigned i = 0; i < sheets->count; i++)
		for (unsigned c = 0; c < sheets->list[i].facts.column_count; c++)
			suggest_try(&suggest, sheets->list[i].facts.columns[c].name);
	return error_set(err, EINVAL,
			 "--by=%s: no such column in this report%s; holdtrace-report(5) lists them",
			 by, suggest_text(&suggest));
}

int sheets_finish(struct sheets *sheets, const char *by, size_t top, struct error *err)
{
	bool is_known = by == NULL;

	for (unsigned i = 0; i < sheets->count; i++)
		finish(&sheets->list[i], by, top, &is_known);
	if (sheets->failure.number)
		return sheets_failure(sheets, err);
	if (is_known)
		return 0;
	return refuse_column(sheets, by, err);
}
