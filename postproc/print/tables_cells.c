/* SPDX-License-Identifier: MIT */
/* Formats the cells of a table as text, by the kind of their column. */
#include "tables_text.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/human.h"
#include "base/picture.h"

#define BAR_WIDTH 20u
#define STEPS_MAX 20u

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
