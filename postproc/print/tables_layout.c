/* SPDX-License-Identifier: MIT */
/*
 * Formats the cells of a table as text, by the kind of their column, and lays out the columns. Each
 * column is as wide as its widest cell; a column without cells is left out. If too little of the
 * line is left for the last column, that column begins on a new line.
 */
#include "tables_text.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/human.h"
#include "base/picture.h"

#define BAR_WIDTH      20u
#define STEPS_MAX      20u
#define TEXT_WIDTH_MIN 12
#define BAR_WIDTH_MIN  8u /* minimum width of the bars beside shares */
#define BAR_WIDTH_MAX  30u

/* ---- cells ---- */

bool tables_is_left(enum table_kind kind)
{
	return kind == TABLE_TEXT || kind == TABLE_BACKTRACE || kind == TABLE_BAR ||
	       kind == TABLE_STEPS || kind == TABLE_BRANCH;
}

/*
 * Writes each step of a curve as a digit: 0 for an amount of 0, otherwise 1 to 8, where 8 is the
 * largest amount. tables_text.c draws the digits.
 */
static void format_steps(char *text, const struct table_cell *cell)
{
	uint64_t most = 1, i;

	for (i = 0; i < cell->weight; i++)
		if (cell->steps[i] > most)
			most = cell->steps[i];
	for (i = 0; i < cell->weight && i < STEPS_MAX; i++) {
		unsigned level = (unsigned)((double)cell->steps[i] * 8 / (double)most);

		text[i] = (char)('0' + (level || !cell->steps[i] ? level : 1));
	}
	text[i] = '\0';
}

static const char *format_amount(struct human *human, const struct table_cell *cell,
				 uint64_t number)
{
	if (cell->has_ns)
		return human_time(human, number);
	return cell->has_bytes ? human_exact_bytes(human, number) : human_count(human, number);
}

/* Formats a change with its sign: "+12", "-3". */
static const char *format_change(struct human *human, const struct table_cell *cell)
{
	bool is_less = (int64_t)cell->number < 0;
	char text[sizeof(human->text)];

	snprintf(text, sizeof(text), "%s",
		 format_amount(human, cell, is_less ? -cell->number : cell->number));
	snprintf(human->text, sizeof(human->text), "%c%.*s", is_less ? '-' : '+',
		 (int)sizeof(text) - 2, text);
	return human->text;
}

size_t tables_draw_bar(const struct tables_job *job, const struct table_cell *cell, size_t width)
{
	size_t columns;

	text_colour(job, COLOUR_BAR);
	columns = picture_bar(job->out, cell->is_set ? (double)cell->number : 0, 10000, width,
			      job->style->has_blocks);
	text_colour(job, COLOUR_END);
	return columns;
}

void tables_format_cell(char *text, enum table_kind kind, const struct table_cell *cell)
{
	struct human human;
	const char *words = human.text;
	size_t length;

	human.text[0] = '\0';
	if (!cell->is_set) {
		*text = '\0';
		return;
	}
	switch (kind) {
	case TABLE_GROUP:
	case TABLE_TEXT:
	case TABLE_NOTE:
	case TABLE_TYPE:
		words = cell->text;
		break;
	case TABLE_AMOUNT:
		words = format_amount(&human, cell, cell->number);
		break;
	case TABLE_PART:
		words = cell->number ? format_amount(&human, cell, cell->number) : "";
		break;
	case TABLE_PART_COUNT:
		words = cell->number ? human_count(&human, cell->number) : "";
		break;
	case TABLE_CHANGE:
		words = format_change(&human, cell);
		break;
	case TABLE_STEPS:
		format_steps(human.text, cell);
		break;
	case TABLE_KEY:
	case TABLE_BRANCH:
		break;
	case TABLE_CURVE:
	case TABLE_CURVE_BYTES:
	case TABLE_COUNT:
	case TABLE_PROCESSES:
		human_count(&human, cell->number);
		break;
	case TABLE_NUMBER:
		snprintf(human.text, sizeof(human.text), "%" PRIu64, cell->number);
		break;
	case TABLE_BYTES:
	case TABLE_SIZE:
		human_bytes(&human, cell->number);
		break;
	case TABLE_ERROR:
	case TABLE_PART_ERROR:
		words = cell->has_bytes ? human_bytes(&human, cell->number)
					: format_amount(&human, cell, cell->number);
		break;
	case TABLE_NS:
	case TABLE_LONGEST:
	case TABLE_MEAN:
		human_time(&human, cell->number);
		break;
	case TABLE_TIME:
		human_moment(&human, cell->number);
		break;
	case TABLE_PERCENT:
	case TABLE_SHARE:
		snprintf(human.text, sizeof(human.text), "%.1f %%", (double)cell->number / 100);
		break;
	case TABLE_BAR:
		length = (size_t)((cell->number * BAR_WIDTH + 9999) / 10000);
		length = length < BAR_WIDTH ? length : BAR_WIDTH;
		memset(human.text, '#', length);
		human.text[length] = '\0';
		break;
	case TABLE_OBJECT:
		snprintf(human.text, sizeof(human.text), "0x%" PRIx64, cell->number);
		break;
	case TABLE_BACKTRACE:
		break;
	}
	snprintf(text, CELL_MAX, "%s", words);
}

/* ---- columns ---- */

unsigned tables_width(const struct tables_job *job)
{
	unsigned width = job->style->width ? job->style->width : 80;

	return width < 40 ? 40 : width;
}

bool tables_is_below(const struct layout *layout, unsigned column)
{
	const struct table_facts *facts = &layout->table->facts;

	return facts->columns[column].kind == TABLE_NOTE ||
	       facts->columns[column].kind == TABLE_TYPE ||
	       ((facts->columns[column].kind == TABLE_BACKTRACE ||
		 facts->columns[column].kind == TABLE_BRANCH) &&
		column + 1 < facts->column_count);
}

static size_t longest_word(const char *text)
{
	size_t longest = 0;

	for (size_t length; *text; text += length + strspn(text + length, " ")) {
		length = strcspn(text, " ");
		if (length > longest && !memchr(text, '/', length))
			longest = length;
	}
	return longest;
}

/* Sets the widths of all columns that have cells, from the cells and the heading. */
static void measure_columns(struct layout *layout)
{
	const struct table_facts *facts = &layout->table->facts;
	bool is_one_process = layout->job->run->summary->processes.count < 2;
	struct table_at at = { 0 };
	const struct table_cell *row;
	char text[CELL_MAX];

	while ((row = table_next(layout->table, &at)) != NULL)
		for (unsigned i = 0; i < facts->column_count; i++) {
			enum table_kind kind = facts->columns[i].kind;
			size_t length = 1;

			if (!row[i].is_set || kind == TABLE_GROUP || kind == TABLE_KEY ||
			    tables_is_below(layout, i) ||
			    (kind == TABLE_PROCESSES && is_one_process))
				continue;
			tables_format_cell(text, kind, &row[i]);
			if (kind != TABLE_BACKTRACE && kind != TABLE_BRANCH)
				length = name_columns(text, strlen(text));
			if (length > layout->widths[i])
				layout->widths[i] = length;
			if (kind == TABLE_TEXT && longest_word(text) > layout->words[i])
				layout->words[i] = longest_word(text);
		}
	for (unsigned i = 0; i < facts->column_count; i++) {
		size_t heading = strlen(facts->columns[i].heading);

		if (!layout->widths[i])
			continue;
		layout->last = i;
		if (heading > layout->widths[i])
			layout->widths[i] = heading;
	}
}

/* Returns the minimum width to which a column of texts may be narrowed. */
static size_t least_text(const struct layout *layout)
{
	size_t third = tables_width(layout->job) / 3;

	return third < TEXT_WIDTH_MIN ? TEXT_WIDTH_MIN : third;
}

/*
 * Returns the minimum width of the last column: a constant for backtraces and branches; for texts,
 * a width at which the longest one takes about three lines; for other kinds, the full width.
 */
static size_t least_last(const struct layout *layout)
{
	enum table_kind kind = layout->table->facts.columns[layout->last].kind;
	size_t width = layout->widths[layout->last], least = least_text(layout);

	if (kind == TABLE_BACKTRACE)
		return LAST_WIDTH_MIN;
	if (kind == TABLE_BRANCH)
		return BRANCH_WIDTH_MIN;
	if (least > LAST_WIDTH_MIN)
		least = LAST_WIDTH_MIN;
	if (least < 2 * width / 5)
		least = 2 * width / 5;
	if (least < layout->words[layout->last])
		least = layout->words[layout->last];
	return kind == TABLE_TEXT && width > least ? least : width;
}

static size_t width_before_last(const struct layout *layout)
{
	size_t width = INDENT;

	for (unsigned i = 0; i < layout->last; i++)
		if (layout->widths[i] && !layout->is_sentence[i])
			width += layout->widths[i] + GAP;
	return width;
}

/*
 * A column of texts without a heading contains sentences. Moves such columns to lines of their own,
 * from the last column backwards, until the other columns fit into `room`. Stops at the first
 * column that contains something else.
 */
static void move_sentences(struct layout *layout, size_t room)
{
	const struct table_facts *facts = &layout->table->facts;

	for (unsigned i = layout->last; i-- > 0 && width_before_last(layout) > room;) {
		if (!layout->widths[i])
			continue;
		if (i >= facts->column_count || facts->columns[i].kind != TABLE_TEXT ||
		    *facts->columns[i].heading)
			return;
		layout->is_sentence[i] = true;
	}
}

/*
 * If colours are used and there is space, adds bars to the first column of shares. The bars take
 * about a third of the space that the last column does not need.
 */
static void add_bar(struct layout *layout, size_t width)
{
	size_t least = least_last(layout), room;

	if (!layout->job->style->has_colour)
		return;
	while (layout->bar < layout->last &&
	       (!layout->widths[layout->bar] ||
		(layout->table->facts.columns[layout->bar].kind != TABLE_SHARE &&
		 layout->table->facts.columns[layout->bar].kind != TABLE_PERCENT)))
		layout->bar++;
	if (least < LAST_WIDTH_MIN)
		least = LAST_WIDTH_MIN;
	room = width - layout->last_at;
	if (layout->bar == layout->last || room < least + 1 + BAR_WIDTH_MIN)
		return;
	layout->bar_width = (room - least - 1) / 3;
	if (layout->bar_width < BAR_WIDTH_MIN)
		layout->bar_width = BAR_WIDTH_MIN;
	if (layout->bar_width > BAR_WIDTH_MAX)
		layout->bar_width = BAR_WIDTH_MAX;
	layout->last_at += 1 + layout->bar_width;
}

/*
 * If the line is too short, moves the last column to a new line. Texts are cut only if this is not
 * enough.
 */
void tables_lay_out(struct layout *layout)
{
	size_t width = tables_width(layout->job);
	size_t at = INDENT;
	const struct table_facts *facts = &layout->table->facts;

	measure_columns(layout);
	layout->last_at = width_before_last(layout);
	/*
	 * leave out columns of curves that would make each row one line longer, unless --growing
	 * was given
	 */
	for (unsigned i = 0; i < layout->last && !layout->job->run->options->wants_growing; i++)
		if (facts->columns[i].kind == TABLE_STEPS &&
		    layout->last_at + least_last(layout) > width) {
			layout->last_at -= layout->widths[i] ? layout->widths[i] + GAP : 0;
			layout->widths[i] = 0;
		}
	if (layout->last_at + least_last(layout) <= width) {
		add_bar(layout, width);
		return;
	}
	/* a last column of numbers stays in the line of the other columns, under its heading */
	if (!tables_is_left(layout->table->facts.columns[layout->last].kind))
		layout->last = layout->table->facts.column_count;
	layout->last_at = 3 * INDENT;
	move_sentences(layout, width + GAP);
	/* narrow the columns of texts until all columns before the last one fit into `room` */
	size_t room = width + GAP, least = least_text(layout);
	size_t before = width_before_last(layout);

	for (unsigned i = 0; i < layout->last && before > room; i++) {
		size_t spare = layout->widths[i] > least ? layout->widths[i] - least : 0;

		if (layout->table->facts.columns[i].kind != TABLE_TEXT || layout->is_sentence[i])
			continue;
		if (spare > before - room)
			spare = before - room;
		layout->widths[i] -= spare;
		before -= spare;
	}
	/* if the columns of numbers do not fit into a line, continue them in the next lines */
	for (unsigned i = 0; i < layout->last; i++) {
		if (!layout->widths[i] || layout->is_sentence[i])
			continue;
		layout->begins[i] = at > FOLD_INDENT && at + layout->widths[i] > width;
		at = (layout->begins[i] ? FOLD_INDENT : at) + layout->widths[i] + GAP;
	}
}
