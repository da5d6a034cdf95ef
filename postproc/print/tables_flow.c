/* SPDX-License-Identifier: MIT */
/*
 * Prints the last column of a table. A cell uses the rest of the line and continues in the next
 * lines. Lines are broken only between frames or words.
 */
#include "tables_text.h"

#include "base/human.h"

#include <inttypes.h>
#include <stdio.h>

#define FRAMES_MAX    12  /* maximum number of frames of a backtrace without -v */
#define FRAMES_WHOLE  256 /* maximum number of frames of a backtrace with -v */
#define LINES_MAX     3	  /* maximum number of lines of the last column in a row */
#define BRANCH_INDENT 2u
/* without -v, a longer branch is cut to this many frames, half of them from each end */
#define BRANCH_FRAMES 4u

struct flow {
	const struct layout *layout;
	size_t begin; /* column where each line of the cell begins */
	size_t at;    /* current column of the terminal */
	unsigned lines;
	bool is_frames; /* each piece is a function, followed by its file, line or module */
};

/* Prints a piece that must not be broken. Returns false if no line is left for it. */
static bool flow_piece(struct flow *flow, const char *between, const char *text)
{
	struct out *out = flow->layout->job->out;
	unsigned width = tables_width(flow->layout->job);
	bool is_first = flow->at == flow->begin;
	const char *blank;
	size_t columns = name_columns(text, strlen(text));
	size_t length = (is_first ? 0 : strlen(between)) + columns;

	if (!is_first && flow->at + length > width) {
		if (++flow->lines > LINES_MAX)
			return false;
		flow->at = flow->begin;
		out_char(out, '\n');
		text_blanks(out, flow->begin);
		while (*between == ' ')
			between++;
		length = strlen(between) + columns;
	} else if (is_first) {
		between = "";
	}
	out_name(out, between, strlen(between), ESCAPE_ALL);
	blank = flow->is_frames ? strrchr(text, ' ') : NULL;
	out_name(out, text, blank ? (size_t)(blank - text) : strlen(text), ESCAPE_ALL);
	if (blank) {
		text_colour(flow->layout->job, COLOUR_HEAD);
		out_name(out, blank, strlen(blank), ESCAPE_ALL);
		text_colour(flow->layout->job, COLOUR_END);
	}
	flow->at += length;
	return true;
}

/*
 * Fills the lines of a call site, and returns their number. *site: number of those that are always
 * printed.
 */
static size_t lines_of(const struct tables_job *job, enum table_kind kind,
		       const struct table_cell *cell, struct naming_line lines[FRAMES_MAX],
		       size_t *site)
{
	size_t count = 0;

	if (kind == TABLE_BACKTRACE)
		return naming_site(job->naming, cell->backtrace, lines, FRAMES_MAX, site);
	*site = cell->branch->site;
	for (const char *at = cell->branch->lines; *at && count < FRAMES_MAX; count++) {
		size_t length = strcspn(at, "\1");

		lines[count] = (struct naming_line){ .times = 1 };
		snprintf(lines[count].text, NAMING_TEXT_MAX, "%.*s", (int)length, at);
		at += length + (at[length] != '\0');
	}
	return count;
}

/*
 * Prints a call site. Its own frames are always printed, because rows are merged by call site. If
 * only one backtrace has this call site (`sites` is 1), also prints as many callers as fit.
 */
static void flow_frames(struct flow *flow, enum table_kind kind, const struct table_cell *cell,
			uint64_t sites)
{
	const struct tables_job *job = flow->layout->job;
	struct naming_line frames[FRAMES_MAX];
	size_t site, count = lines_of(job, kind, cell, frames, &site);

	if (!count)
		flow_piece(flow, "", "(no backtrace)");
	flow->is_frames = true;
	for (size_t i = 0; i < (sites > 1 ? site : count); i++) {
		naming_fit(&frames[i], sites < 2, tables_width(job) - flow->begin - strlen("<- "));
		if (i < site)
			flow->lines = 0;
		if (!flow_piece(flow, " <- ", frames[i].text))
			break;
	}
}

/*
 * Prints a branch of a tree. If it is long, leaves out its middle, which is the least informative
 * part. The indentation is limited to half of the space.
 */
static void flow_branch(struct flow *flow, const struct table_branch *branch)
{
	bool is_verbose = flow->layout->job->style->is_verbose;
	bool is_cut = branch->count > BRANCH_FRAMES && !is_verbose;
	size_t indent = BRANCH_INDENT * (size_t)branch->depth;
	size_t most = (tables_width(flow->layout->job) - flow->begin) / 2;

	if (indent > most)
		indent = most;
	text_blanks(flow->layout->job->out, indent);
	flow->begin += indent;
	flow->at = flow->begin;
	flow->is_frames = true;
	for (uint32_t i = 0; i < branch->count; i++) {
		const struct naming_symbol *frame = branch->frames[i];
		char text[CELL_MAX] = "...";

		if (is_cut && i >= BRANCH_FRAMES / 2 && i < branch->count - BRANCH_FRAMES / 2)
			i = branch->count - BRANCH_FRAMES / 2 - 1;
		else if (frame->function && (is_verbose || !frame->address))
			snprintf(text, sizeof(text), "%s", frame->function);
		else
			naming_text(flow->layout->job->naming, frame, text);
		naming_cut(text, tables_width(flow->layout->job) - flow->begin - strlen(" -> "));
		flow->lines = 0;
		if (!flow_piece(flow, i ? branch->is_outwards ? " <- " : " -> " : "", text))
			break;
	}
}

/* With -v: prints each frame in full, on its own line. */
static void print_whole(const struct layout *layout, enum table_kind kind,
			const struct table_cell *cell)
{
	struct out *out = layout->job->out;
	struct naming_symbol frames[FRAMES_WHOLE];
	size_t count = 0;

	if (kind == TABLE_BACKTRACE)
		count = naming_symbols(layout->job->naming, cell->backtrace, frames, FRAMES_WHOLE);
	else
		for (; count < cell->branch->count && count < FRAMES_WHOLE; count++)
			frames[count] = *cell->branch->frames[count];

	for (size_t i = 0; i < count; i++) {
		const struct naming_symbol *frame = &frames[i];

		if (i) {
			out_char(out, '\n');
			text_blanks(out, layout->last_at);
		}
		if (frame->function)
			out_name(out, frame->function, strlen(frame->function), ESCAPE_ALL);
		else
			out_format(out, "0x%" PRIx64, frame->offset);
		if (frame->file) {
			out_char(out, ' ');
			out_name(out, frame->file, strlen(frame->file), ESCAPE_ALL);
			out_format(out, ":%u", frame->line);
		}
		if (frame->module) {
			out_text(out, " (");
			out_name(out, frame->module, strlen(frame->module), ESCAPE_ALL);
			out_char(out, ')');
		}
	}
}

void tables_print_last(const struct layout *layout, size_t at, size_t gap,
		       const struct table_cell *cell)
{
	struct out *out = layout->job->out;
	enum table_kind kind = layout->table->facts.columns[layout->last].kind;
	struct flow flow = {
		.layout = layout, .begin = layout->last_at, .at = layout->last_at, .lines = 1
	};
	bool has_text = kind != TABLE_BACKTRACE && kind != TABLE_BRANCH, is_site;
	char text[CELL_MAX] = "";
	struct human human;

	if (cell->is_set && has_text)
		tables_format_cell(text, kind, cell);
	if (!cell->is_set || (has_text && !*text))
		return;
	if (at > layout->last_at) {
		out_char(out, '\n');
		at = gap = 0;
	}
	text_blanks(out, gap + layout->last_at - at);
	is_site = kind == TABLE_BACKTRACE || (kind == TABLE_BRANCH && cell->branch->lines);
	if (is_site && layout->job->style->is_verbose) {
		print_whole(layout, kind, cell);
	} else if (is_site) {
		flow_frames(&flow, kind, cell, cell->weight);
		snprintf(text, sizeof(text), "(%s sites)", human_count(&human, cell->weight));
		flow.lines = 0;
		flow.is_frames = false;
		if (cell->weight > 1)
			flow_piece(&flow, " ", text);
	} else if (kind == TABLE_BRANCH) {
		flow_branch(&flow, cell->branch);
	} else if (kind == TABLE_BAR && layout->job->style->has_colour) {
		tables_draw_bar(layout->job, cell, tables_width(layout->job) - layout->last_at);
	} else {
		const char *words = text;
		char word[CELL_MAX];

		if (!tables_is_left(kind) && strlen(text) < layout->widths[layout->last])
			text_blanks(out, layout->widths[layout->last] - strlen(text));
		for (size_t length; *words; words += length + strspn(words + length, " ")) {
			length = strcspn(words, " ");
			snprintf(word, sizeof(word), "%.*s", (int)length, words);
			/* never cut a sentence: the limit of lines does not apply */
			flow.lines = 0;
			if (!flow_piece(&flow, " ", word))
				break;
		}
	}
}

void tables_print_below(const struct layout *layout, unsigned column, const struct table_cell *cell)
{
	const struct table_column *facts = &layout->table->facts.columns[column];
	struct layout below = *layout;
	struct flow flow = { .layout = &below, .lines = 1 };

	size_t begin = 3 * INDENT + strlen(facts->heading) + 2;

	if (begin + LAST_WIDTH_MIN > tables_width(layout->job)) {
		begin = 4 * INDENT;
		out_char(layout->job->out, '\n');
		text_blanks(layout->job->out, begin);
	} else {
		out_char(layout->job->out, ' ');
	}
	below.last_at = flow.begin = flow.at = begin;
	if (layout->job->style->is_verbose)
		print_whole(&below, facts->kind, cell);
	else
		flow_frames(&flow, facts->kind, cell, 1);
	out_char(layout->job->out, '\n');
}
