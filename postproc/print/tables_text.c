/* SPDX-License-Identifier: MIT */
/* Prints tables as text: headings, rows, groups with sums, and a command for the next report. */
#include "tables_text.h"

#include <inttypes.h>
#include <stdio.h>

#include "account/estimate.h"
#include "base/human.h"
#include "base/picture.h"
#include "screen.h"

#define FRAMES_MAX    12  /* maximum number of frames of a backtrace without -v */
#define FRAMES_WHOLE  256 /* maximum number of frames of a backtrace with -v */
#define LINES_MAX     3	  /* maximum number of lines of the last column in a row */
#define BRANCH_INDENT 2u
/* without -v, a longer branch is cut to this many frames, half of them from each end */
#define BRANCH_FRAMES 4u

/* ---- the last column ---- */

struct flow {
	const struct layout *layout;
	size_t begin; /* column where each line of the cell begins */
	size_t at;    /* current column of the terminal */
	unsigned lines;
	bool is_frames; /* each piece is a function, followed by its file, line or module */
};

/* Prints a piece of text, which is never broken. Returns false if no line is left for it. */
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
 * Formats a call site as lines, and returns their number. *site: how many of these lines are always
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

/*
 * Prints the last column of a row. A cell uses the rest of the line and continues in the next
 * lines. Lines are broken only between frames or words. at: the current column of the terminal,
 * including the `gap` blanks that are not printed yet.
 */
static void print_last(const struct layout *layout, size_t at, size_t gap,
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

/* Prints a call site in a line below its row, after the heading of its column. */
static void print_below(const struct layout *layout, unsigned column, const struct table_cell *cell)
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

/* ---- rows ---- */

/*
 * Cuts `text`, a buffer of CELL_MAX bytes, to `width` columns. Keeps the end of a path, and the
 * start and the end of any other text.
 */
static void cut_text(char *text, size_t width)
{
	static const char dots[] = "...";
	size_t length = strlen(text), from = strlen(dots);

	if (*text != '/') {
		naming_cut(text, width);
		return;
	}
	if (width < from || name_columns(text, length) <= width)
		return;
	while (from < length && (((unsigned char)text[from] & 0xc0) == 0x80 ||
				 name_columns(text + from, length - from) > width - strlen(dots)))
		from++;
	memmove(text + strlen(dots), text + from, length - from + 1);
	memcpy(text, dots, strlen(dots));
}

/*
 * Prints a cell and adds its width to *at. *gap: number of blanks that are still to be printed
 * before the next cell.
 */
static void print_cell(const struct layout *layout, unsigned column, const struct table_cell *cell,
		       char *text, size_t *at, size_t *gap)
{
	const struct tables_job *job = layout->job;
	enum table_kind kind = layout->table->facts.columns[column].kind;
	size_t width = layout->widths[column], length, columns;
	bool is_key = (int)column == layout->by && text[0];

	cut_text(text, width);
	length = strlen(text);
	columns = name_columns(text, length);
	if (!tables_is_left(kind))
		*gap += width - columns;
	if (length) {
		text_blanks(job->out, *gap);
		*gap = 0;
	}
	if (is_key)
		text_colour(job, COLOUR_KEY);
	if (kind == TABLE_STEPS) {
		const char *digits = text;

		text_colour(job, COLOUR_BAR);
		for (; *digits; digits++)
			picture_level(job->out, (unsigned)(*digits - '0'), job->style->has_blocks);
		text_colour(job, COLOUR_END);
	} else {
		out_name(job->out, text, length, ESCAPE_ALL);
	}
	if (is_key)
		text_colour(job, COLOUR_END);
	if (tables_is_left(kind))
		*gap += width - columns;
	*at += width;
	if (column == layout->bar && layout->bar_width) {
		text_blanks(job->out, *gap + 1);
		*gap = layout->bar_width - tables_draw_bar(job, cell, layout->bar_width);
		*at += 1 + layout->bar_width;
	}
}

/*
 * Prints words. Breaks lines between words, and indents the further lines. at: the column of the
 * first word.
 */
static void print_words_at(const struct tables_job *job, const char *colour, size_t at,
			   size_t indent, const char *text)
{
	text_colour(job, colour);
	for (size_t length; *text; text += length + strspn(text + length, " ")) {
		size_t columns;

		length = strcspn(text, " ");
		columns = name_columns(text, length);
		if (at > indent && at + 1 + columns > tables_width(job)) {
			out_char(job->out, '\n');
			text_blanks(job->out, indent);
			at = indent;
		} else if (at) {
			out_char(job->out, ' ');
			at++;
		}
		out_name(job->out, text, length, ESCAPE_ALL);
		at += columns;
	}
	text_colour(job, COLOUR_END);
	out_char(job->out, '\n');
}

static void print_words(const struct tables_job *job, const char *colour, size_t at,
			const char *text)
{
	print_words_at(job, colour, at, INDENT, text);
}

static void print_row(const struct layout *layout, const struct table_cell *row)
{
	struct out *out = layout->job->out;
	const struct table_facts *facts = &layout->table->facts;
	size_t at = INDENT, gap = INDENT;
	bool is_folded = false, owes_line = false;
	const struct tables_job *job = layout->job;

	for (unsigned i = 0; i < layout->last; i++) {
		char text[CELL_MAX];

		if (!layout->widths[i])
			continue;
		if (layout->is_sentence[i]) {
			struct layout sentence = *layout;

			sentence.last = i;
			print_last(&sentence, SIZE_MAX, 0, &row[i]);
			is_folded = true;
			continue;
		}
		if (layout->begins[i]) {
			at = gap = FOLD_INDENT;
			is_folded = owes_line = true;
		}
		tables_format_cell(text, facts->columns[i].kind, &row[i]);
		if (owes_line && *text) {
			out_char(out, '\n');
			owes_line = false;
		}
		print_cell(layout, i, &row[i], text, &at, &gap);
		if (i + 1 < layout->last) {
			gap += GAP;
			at += GAP;
		}
	}
	if (is_folded)
		at = SIZE_MAX; /* so that the last column begins a new line */
	if (layout->last < facts->column_count)
		print_last(layout, at, gap, &row[layout->last]);
	out_char(out, '\n');
	for (unsigned i = 0; i < facts->column_count; i++) {
		if (!tables_is_below(layout, i) || !row[i].is_set)
			continue;
		text_blanks(job->out, 3 * INDENT);
		out_format(job->out, "%s:", facts->columns[i].heading);
		if (tables_shape(facts->columns[i].kind) == SHAPE_TEXT) {
			print_words_at(job, COLOUR_NOTE,
				       3 * INDENT + strlen(facts->columns[i].heading) + 1,
				       4 * INDENT, row[i].text);
			continue;
		}
		print_below(layout, i, &row[i]);
	}
}

static void end_headings(const struct tables_job *job, struct line *headings)
{
	while (headings->length && headings->text[headings->length - 1] == ' ')
		headings->text[--headings->length] = '\0';
	text_line(job, COLOUR_HEAD, headings->text);
	line_begin(headings);
}

/*
 * Prints the headings. The last column has a heading only if its cells begin in the first line of
 * their rows.
 */
static void print_headings(const struct layout *layout)
{
	const struct tables_job *job = layout->job;
	const struct table_facts *facts = &layout->table->facts;
	struct line headings;
	size_t at = INDENT;
	bool is_folded = false;

	line_begin(&headings);
	for (unsigned i = 0; i <= layout->last; i++) {
		const struct table_column *column = &facts->columns[i];
		size_t width = layout->widths[i];

		if (!width || layout->is_sentence[i] ||
		    (i == layout->last && (at > layout->last_at || is_folded)))
			continue;
		if (layout->begins[i]) {
			end_headings(job, &headings);
			at = FOLD_INDENT;
			is_folded = true;
		}
		line_add(&headings, "%*s", (int)(at - headings.length), "");
		if (tables_is_left(column->kind))
			line_add(&headings, "%s", column->heading);
		else
			line_add(&headings, "%*s", (int)width, column->heading);
		at += tables_column_width(layout, i) + GAP;
	}
	end_headings(job, &headings);
}

/* ---- groups ---- */

/* Adds the sums of a group: " live 738 B, count 4". */
static void add_sums(struct line *line, const struct layout *layout, const struct table_cell *sums)
{
	const char *between = " ";

	for (unsigned i = 0; i < layout->table->facts.column_count; i++) {
		const struct table_column *column = &layout->table->facts.columns[i];
		char text[CELL_MAX];

		if (!sums[i].is_set)
			continue;
		tables_format_cell(text, column->kind, &sums[i]);
		line_add(line, "%s%s %s", between, column->heading, text);
		between = ", ";
	}
}

/*
 * Prints the name of a group with its sums. If the name is a sentence without sums, it may take
 * several lines.
 */
static void print_group_name(const struct layout *layout, const struct table_group *group)
{
	const struct tables_job *job = layout->job;
	size_t length = strlen(group->name);
	struct line sums = { .length = 0 };

	add_sums(&sums, layout, group->sums);
	if (length >= tables_width(job) && !sums.length) {
		line_add(&sums, "%s:", group->name);
		print_words(job, COLOUR_GROUP, 0, sums.text);
		return;
	}
	text_colour(job, COLOUR_GROUP);
	out_name(job->out, group->name, length, ESCAPE_ALL);
	text_colour(job, COLOUR_END);
	out_char(job->out, ':');
	if (sums.length)
		print_words(job, "", length + 1, sums.text + 1);
	else
		out_char(job->out, '\n');
}

static void print_group(const struct layout *layout, const struct table_group *group)
{
	const struct tables_job *job = layout->job;
	struct human more;
	struct line rest, sums;

	if (group->name)
		print_group_name(layout, group);
	for (size_t i = 0; i < group->shown; i++)
		print_row(layout, layout->table->rows.items[group->first + i]);
	if (group->shown == group->count)
		return;
	line_begin(&rest);
	line_begin(&sums);
	add_sums(&sums, layout, group->rest);
	line_add(&rest, "... and %s more (--top=0 shows all)%s%s",
		 human_count(&more, group->count - group->shown), sums.length ? ":" : "",
		 sums.text);
	out_char(job->out, ' ');
	print_words_at(job, COLOUR_NOTE, 1, 2 * INDENT, rest.text);
}

/*
 * Returns the words for an empty table. The words differ if not everything was observed, or if only
 * samples of memory were recorded.
 */
static const char *word_of_nothing(const struct tables_job *job, const struct table *table)
{
	bool has_estimates = false;

	if (table->is_unknown)
		return "unknown";
	for (unsigned i = 0; i < table->facts.column_count; i++)
		has_estimates |= table->facts.columns[i].kind == TABLE_ERROR;
	return job->run->summary->sample && has_estimates
		       ? "nothing, except memory that was not sampled"
		       : "nothing";
}

/* Whether a table has neither rows nor a note. All such tables share one line of the output. */
static bool is_quiet(const struct tables_job *job, const struct table *table)
{
	return !table->rows.count && !table->note &&
	       !strcmp(word_of_nothing(job, table), "nothing");
}

static void print_table(const struct tables_job *job, const struct table *table)
{
	struct layout layout = { .job = job, .table = table, .by = -1 };

	if (*table->facts.by)
		layout.by = table_column(&table->facts, table->facts.by);
	if (!table->rows.count) {
		struct line text = { .length = 0 };

		line_add(&text, "%s: %s", table->facts.title, word_of_nothing(job, table));
		print_words(job, "", 0, text.text);
		if (table->note)
			print_words(job, COLOUR_NOTE, 0, table->note);
		return;
	}
	print_words(job, COLOUR_TITLE, 0, table->facts.title);
	if (tables_is_chart(table)) {
		tables_print_chart(job, table);
	} else {
		tables_lay_out(&layout);
		print_headings(&layout);
		for (size_t g = 0; g < table->groups.count; g++)
			print_group(&layout, &table->groups.items[g]);
	}
	if (table->note)
		print_words(job, COLOUR_NOTE, 0, table->note);
}

/* ---- the last lines ---- */

/* Adds a gap in the recording: "1 trace damaged", "2 of 5 traces damaged". */
static void add_gap(struct line *line, uint64_t number, uint64_t all, const char *thing,
		    const char *what)
{
	struct human human;

	if (!number)
		return;
	line_add(line, "%s%s", line->length ? "; " : "", human_count(&human, number));
	if (all > number)
		line_add(line, " of %s", human_count(&human, all));
	line_add(line, " %s%s %s", thing, number == 1 && all <= 1 ? "" : "s", what);
}

/* Prints a line that begins with a word in the colour of warnings. */
static void print_warning(const struct tables_job *job, const char *word, const char *text)
{
	text_colour(job, COLOUR_WARN);
	out_text(job->out, word);
	text_colour(job, COLOUR_END);
	print_words(job, "", strlen(word), text);
}

/* Prints that memory was sampled, and how exact the estimates are. */
static void print_sample(const struct tables_job *job)
{
	uint64_t sample = job->run->summary->sample;
	struct human every, unseen;
	struct line text = { .length = 0 };

	if (!sample)
		return;
	line_add(&text,
		 "memory was sampled, one sample in %s: its numbers are estimates, and in 95 of "
		 "100 cases their error is at most the number after +-; a call site without a "
		 "sample may have up to %s",
		 human_bytes(&every, sample), human_bytes(&unseen, estimate_unseen(sample)));
	print_warning(job, "estimates:", text.text);
}

/* Prints a line with the events and traces that the numbers above do not include. */
static void print_gaps(const struct tables_job *job)
{
	struct report_gaps gaps;
	struct line text = { .length = 0 };
	struct table_cell cell = { 0 };
	char share[CELL_MAX];
	struct naming_missing missing;

	report_find_gaps(job->run, KIND_ALL, 0, &gaps);
	add_gap(&text, gaps.lost, gaps.events, "event", "dropped");
	if (gaps.lost) {
		table_percent(&cell, gaps.lost, gaps.events);
		tables_format_cell(share, TABLE_PERCENT, &cell);
		line_add(&text, " (%s)", share);
	}
	add_gap(&text, gaps.late, gaps.events, "event", "in uncertain order");
	add_gap(&text, gaps.incomplete, gaps.traces, "trace", "without an end");
	add_gap(&text, gaps.damaged, gaps.traces, "trace", "damaged");
	add_gap(&text, gaps.unread, gaps.unread, "trace", "not read");
	add_gap(&text, gaps.untraced + gaps.spawned, gaps.untraced + gaps.spawned, "program",
		"not traced");
	add_gap(&text, gaps.cut, gaps.traces, "program", "without its beginning (--keep)");
	add_gap(&text, gaps.gone, gaps.gone, "program", "dropped (--keep)");
	add_gap(&text, gaps.bypasses, gaps.bypasses, "module", "whose calls are not recorded");
	add_gap(&text, gaps.namespace, gaps.traces, "program",
		"with libraries in another link namespace (dlmopen)");

	size_t modules = naming_missing(job->naming, &missing, 1);

	if (modules && !missing.is_exhausted) {
		line_add(&text, "%sno names in %s", text.length ? "; " : "", missing.module->path);
		if (modules > 1)
			line_add(&text, " and %zu more", modules - 1);
		if (missing.advice)
			line_add(&text, ": %s", missing.advice);
	}
	if (!text.length)
		return;
	print_warning(job, "missing:", text.text);
}

/*
 * Whether a report was requested. report: "leaks" or "waits --table=signals,posts"; if it names
 * several tables, only the first one is compared.
 */
static bool is_asked(const struct tables_job *job, const char *report)
{
	static const char option[] = " --table=";
	const char *tables = strstr(report, option);
	size_t length = strcspn(report, " ");

	if (tables) {
		const char *names = tables + strlen(option);
		size_t size = strcspn(names, ",");

		for (unsigned i = 0; i < job->tables->count; i++)
			if (strlen(job->tables->list[i].facts.name) == size &&
			    !strncmp(job->tables->list[i].facts.name, names, size))
				return true;
		return false;
	}
	for (unsigned i = 0; i < job->count; i++)
		if (strlen(job->rows[i]->name) == length &&
		    !strncmp(job->rows[i]->name, report, length))
			return true;
	return false;
}

/*
 * Prints the command for the next report: if the recording lacks events, the report on missing
 * data; otherwise the report that the requested reports recommend.
 */
static void print_next(const struct tables_job *job)
{
	const struct tables_style *style = job->style;
	struct report_gaps gaps;
	size_t count = job->run->summary->processes.count;
	const char *next = "";

	/*
	 * a recommendation of the last requested report takes precedence over those of earlier
	 * reports
	 */
	for (unsigned i = job->count; i-- > 0 && !*next;)
		if (!is_asked(job, job->rows[i]->next))
			next = job->rows[i]->next;
	for (unsigned i = 0; i < job->tables->count; i++)
		count += job->tables->list[i].rows.count;
	if (!style->before_next || !*next || !count)
		return;
	report_find_gaps(job->run, KIND_ALL, 0, &gaps);
	if ((gaps.lost || gaps.late || gaps.incomplete || gaps.damaged || gaps.unread ||
	     gaps.untraced || gaps.spawned || gaps.bypasses || gaps.namespace) &&
	    !is_asked(job, "info --table=missing"))
		next = "info --table=missing";
	out_text(job->out, "next:  ");
	out_name(job->out, style->before_next, strlen(style->before_next), ESCAPE_ALL);
	out_text(job->out, next);
	if (style->behind_next)
		out_name(job->out, style->behind_next, strlen(style->behind_next), ESCAPE_ALL);
	out_char(job->out, '\n');
}

/* Warns of a damaged trace before the first number, because no number includes the damaged part. */
static void print_damage(const struct tables_job *job)
{
	struct report_gaps gaps;
	struct line text = { .length = 0 };

	report_find_gaps(job->run, KIND_ALL, 0, &gaps);
	if (!gaps.damaged || !job->count)
		return;
	line_add(&text,
		 "a part of %s could not be read: no number here includes it, and objects that "
		 "were acquired or released there are unknown",
		 gaps.traces > 1 ? "the traces" : "the trace");
	print_warning(job, "DAMAGED:", text.text);
	out_char(job->out, '\n');
}

void tables_print_text(const struct tables_job *job)
{
	struct line quiet = { .length = 0 };
	unsigned printed = 0, joined = 0;
	struct line text = { .length = 0 };

	print_damage(job);
	/* all empty tables share one line */
	for (unsigned i = 0; i < job->tables->count; i++)
		joined += is_quiet(job, &job->tables->list[i]);
	if (job->style->shows_empty || joined == job->tables->count)
		joined = 0;
	for (unsigned i = 0; i < job->tables->count; i++) {
		const struct table *table = &job->tables->list[i];

		if (joined && is_quiet(job, table)) {
			line_add(&quiet, "%s%s", quiet.length ? ", " : "", table->facts.name);
			continue;
		}
		if (printed++)
			out_char(job->out, '\n');
		print_table(job, table);
	}
	if (!job->count)
		return;
	if (joined) {
		out_text(job->out, "\nempty:");
		print_words(job, "", strlen("empty:"), quiet.text);
	}
	line_add_selection(&text, job->run->summary->selection);
	if (text.length) {
		out_text(job->out, "only: ");
		print_words(job, "", strlen("only: "), text.text);
	}
	print_gaps(job);
	print_sample(job);
	print_next(job);
}
