/* SPDX-License-Identifier: MIT */
/*
 * Prints a table of curves as a chart. Each row of the table is a point in time, from left to
 * right. Each curve has a few lines, with a mark above its highest point. If the table has more
 * rows than the terminal has columns, a column of the chart shows the maximum of several rows, so
 * that every peak is visible.
 */
#include <string.h>

#include "base/human.h"
#include "base/picture.h"
#include "tables_text.h"

#define LINES_MAX   4u
#define LABEL_WIDTH 10u
#define CHART_MIN   40u
#define POINTS_MAX  400u

struct curve {
	const struct tables_job *job;
	const struct table *table;
	unsigned column;
	unsigned width; /* number of points in a line */
	unsigned lines;
	uint64_t points[POINTS_MAX];
	uint64_t most;
	size_t most_row; /* the first row whose value is `most` */
};

static uint64_t value_of(const struct curve *curve, size_t row)
{
	const struct table_cell *cell = &curve->table->rows.items[row][curve->column];

	return cell->is_set ? cell->number : 0;
}

static const char *format_number(struct human *human, const struct curve *curve, uint64_t value)
{
	return curve->table->facts.columns[curve->column].kind == TABLE_CURVE_BYTES
		       ? human_bytes(human, value)
		       : human_count(human, value);
}

/* Whether a column contains the errors (+-) of the previous column. It is not drawn as a curve. */
static bool is_error(const struct table *table, unsigned column)
{
	return column < table->facts.column_count &&
	       table->facts.columns[column].kind == TABLE_PART_ERROR;
}

static void print_title(const struct curve *curve)
{
	const struct table *table = curve->table;
	const struct table_cell *row = table->rows.items[curve->most_row];
	const struct table_cell *error = &row[curve->column + 1];
	struct human most, at, wrong;

	text_colour(curve->job, COLOUR_TITLE);
	out_text(curve->job->out, table->facts.columns[curve->column].heading);
	text_colour(curve->job, COLOUR_END);
	out_format(curve->job->out, ": most %s", format_number(&most, curve, curve->most));
	if (is_error(table, curve->column + 1) && error->is_set)
		out_format(curve->job->out, " +- %s", format_number(&wrong, curve, error->number));
	out_format(curve->job->out, " at %s\n", human_moment(&at, row[0].number));
}

/*
 * Returns how many eighths of a character cell to fill. point: column of the cell; below: height of
 * the lower edge of the cell, in eighths.
 */
static unsigned level_of(const struct curve *curve, unsigned point, unsigned below)
{
	unsigned levels = curve->lines * 8;
	unsigned level = (unsigned)((double)curve->points[point] * levels / (double)curve->most);

	/* show a value above 0 as one eighth at least, so that it is visible */
	if (!level && curve->points[point])
		level = 1;
	level = level > below ? level - below : 0;
	return level < 8 ? level : 8;
}

static void print_curve(struct curve *curve)
{
	size_t count = curve->table->rows.count;

	curve->most = 0;
	for (size_t i = 0; i < count; i++) {
		if (value_of(curve, i) <= curve->most)
			continue;
		curve->most = value_of(curve, i);
		curve->most_row = i;
	}
	for (unsigned i = 0; i < curve->width; i++) {
		size_t row = i * count / curve->width, end = (i + 1) * count / curve->width;

		curve->points[i] = 0;
		do {
			if (value_of(curve, row) > curve->points[i])
				curve->points[i] = value_of(curve, row);
		} while (++row < end);
	}
	if (!curve->most)
		return;
	/* if the maximum is below LINES_MAX, use one line for each unit */
	curve->lines = curve->most < LINES_MAX ? (unsigned)curve->most : LINES_MAX;
	print_title(curve);
	/* print the mark above the highest point */
	size_t column = (curve->most_row * curve->width + curve->width - 1) / count;

	while (column > 0 && curve->points[column] < curve->most)
		column--;
	out_format(curve->job->out, "%*s%s\n", (int)(LABEL_WIDTH + 2 + column), "",
		   curve->job->style->has_blocks ? "▾" : "v");
	for (unsigned i = 0; i < curve->lines; i++) {
		struct out *out = curve->job->out;
		unsigned below = (curve->lines - 1 - i) * 8, width = curve->width;
		struct human label;

		label.text[0] = '\0';
		if (i == 0)
			format_number(&label, curve, curve->most);
		text_colour(curve->job, COLOUR_HEAD);
		out_format(out, "%*s |", (int)LABEL_WIDTH, i && !below ? "0" : label.text);
		text_colour(curve->job, COLOUR_END);
		text_colour(curve->job, COLOUR_BAR);
		while (width && !level_of(curve, width - 1, below))
			width--;
		for (unsigned point = 0; point < width; point++) {
			/*
			 * print 0 to 8 eighths of a character cell; ASCII has only three marks for
			 * 1 to 8 eighths
			 */
			unsigned level = level_of(curve, point, below);

			if (curve->job->style->has_blocks)
				picture_level(curve->job->out, level, true);
			else
				out_char(curve->job->out, " ...:::##"[level]);
		}
		text_colour(curve->job, COLOUR_END);
		out_char(out, '\n');
	}
	out_char(curve->job->out, '\n');
}

#define AXIS_GAP 24u /* minimum distance of two times on the axis */

/* Prints the time axis: the times of some points, from the first to the last one. */
static void print_axis(const struct curve *curve)
{
	const struct table *table = curve->table;
	size_t rows = table->rows.count, gaps = curve->width / AXIS_GAP, at = 0;
	struct human time;

	gaps = gaps < rows - 1 ? gaps : rows - 1;
	text_colour(curve->job, COLOUR_HEAD);
	text_blanks(curve->job->out, LABEL_WIDTH + 2);
	for (size_t i = 0; i <= gaps; i++) {
		size_t row = gaps ? i * (rows - 1) / gaps : 0;
		size_t begin = row * curve->width / rows, length;

		human_moment(&time, table->rows.items[row][0].number);
		length = strlen(time.text);
		/* the last time ends below the last point */
		if (i && i == gaps && curve->width > at + length)
			begin = curve->width - length;
		text_blanks(curve->job->out, begin > at ? begin - at : 0);
		out_text(curve->job->out, time.text);
		at = (begin > at ? begin : at) + length;
	}
	text_colour(curve->job, COLOUR_END);
	out_char(curve->job->out, '\n');
}

bool tables_is_chart(const struct table *table)
{
	for (unsigned i = 0; i < table->facts.column_count; i++)
		if (table->facts.columns[i].kind == TABLE_CURVE ||
		    table->facts.columns[i].kind == TABLE_CURVE_BYTES)
			return true;
	return false;
}

void tables_print_chart(const struct tables_job *job, const struct table *table)
{
	unsigned width = job->style->width ? job->style->width : 80;
	struct curve curve = { .job = job, .table = table };

	curve.width = (width < CHART_MIN ? CHART_MIN : width) - LABEL_WIDTH - 2;
	if (curve.width > POINTS_MAX)
		curve.width = POINTS_MAX;
	for (unsigned i = 1; i < table->facts.column_count; i++) {
		curve.column = i;
		if (!is_error(table, i))
			print_curve(&curve);
	}
	print_axis(&curve);
}
