/* SPDX-License-Identifier: MIT */
/* Formats a cell of a table for people, by the kind of its column. */
#include "sheets_text.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/human.h"

#define BAR_WIDTH 20u
#define STEPS_MAX 20u

bool sheets_is_left(enum sheet_kind kind)
{
	return kind == SHEET_TEXT || kind == SHEET_BACKTRACE || kind == SHEET_BAR ||
	       kind == SHEET_STEPS || kind == SHEET_BRANCH;
}

static void bar(char *text, uint64_t part)
{
	size_t length = (size_t)((part * BAR_WIDTH + 9999) / 10000);

	memset(text, '#', length < BAR_WIDTH ? length : BAR_WIDTH);
	text[length < BAR_WIDTH ? length : BAR_WIDTH] = '\0';
}

/*
 * Writes a digit from 0 to 8 for each step, relative to the largest; 0 only for nothing.
 * sheets_text.c draws them.
 */
static void steps(char *text, const struct sheet_cell *cell)
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

static const char *amount(struct human *human, const struct sheet_cell *cell, uint64_t number)
{
	if (cell->has_ns)
		return human_time(human, number);
	return cell->has_bytes ? human_exact_bytes(human, number) : human_count(human, number);
}

/* "+12", "-3". */
static const char *change(struct human *human, const struct sheet_cell *cell)
{
	bool is_less = (int64_t)cell->number < 0;
	char text[sizeof(human->text)];

	snprintf(text, sizeof(text), "%s",
		 amount(human, cell, is_less ? -cell->number : cell->number));
	snprintf(human->text, sizeof(human->text), "%c%.*s", is_less ? '-' : '+',
		 (int)sizeof(text) - 2, text);
	return human->text;
}

void sheets_format_cell(char *text, enum sheet_kind kind, const struct sheet_cell *cell)
{
	struct human human;
	const char *words = human.text;

	human.text[0] = '\0';
	if (!cell->is_set) {
		*text = '\0';
		return;
	}
	switch (kind) {
	case SHEET_GROUP:
	case SHEET_TEXT:
	case SHEET_NOTE:
		words = cell->text;
		break;
	case SHEET_AMOUNT:
		words = amount(&human, cell, cell->number);
		break;
	case SHEET_PART:
		words = cell->number ? amount(&human, cell, cell->number) : "";
		break;
	case SHEET_CHANGE:
		words = change(&human, cell);
		break;
	case SHEET_STEPS:
		steps(human.text, cell);
		break;
	case SHEET_KEY:
	case SHEET_BRANCH:
		break;
	case SHEET_CURVE:
	case SHEET_CURVE_BYTES:
	case SHEET_COUNT:
	case SHEET_PROCESSES:
		human_count(&human, cell->number);
		break;
	case SHEET_NUMBER:
		snprintf(human.text, sizeof(human.text), "%" PRIu64, cell->number);
		break;
	case SHEET_BYTES:
	case SHEET_SIZE:
		human_bytes(&human, cell->number);
		break;
	case SHEET_ERROR:
	case SHEET_PART_ERROR:
		words = cell->has_bytes ? human_bytes(&human, cell->number)
					: amount(&human, cell, cell->number);
		break;
	case SHEET_NS:
	case SHEET_LONGEST:
		human_time(&human, cell->number);
		break;
	case SHEET_TIME:
		human_moment(&human, cell->number);
		break;
	case SHEET_PERCENT:
	case SHEET_SHARE:
		snprintf(human.text, sizeof(human.text), "%.1f %%", (double)cell->number / 100);
		break;
	case SHEET_BAR:
		bar(human.text, cell->number);
		break;
	case SHEET_OBJECT:
		snprintf(human.text, sizeof(human.text), "0x%" PRIx64, cell->number);
		break;
	case SHEET_BACKTRACE:
		break;
	}
	snprintf(text, CELL_MAX, "%s", words);
}
