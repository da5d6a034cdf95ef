/* SPDX-License-Identifier: MIT */
#include "live/top.h"

#include "account/estimate.h"
#include "base/human.h"
#include "base/json.h"
#include "base/picture.h"
#include "base/terminal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define LINES_MAX	40
#define WAITS_SHOWN	5
#define CLASS_WIDTH	9u
#define CURVE_WIDTH_MAX 24u
/* minimum width of a call site that is on the same line as its numbers */
#define SITE_WIDTH_MIN 40u
/* indent of a call site that is on a separate line */
#define SITE_INDENT 4u

/* ---- numbers ---- */

/* Writes a change as a size or a count with its sign: +1.2 KB, -3, 0. */
static const char *human_change(struct human *human, double amount, bool is_bytes)
{
	const char *sign = amount > 0 ? "+" : "-";
	struct human number;
	uint64_t size = (uint64_t)llround(fabs(amount));

	if (is_bytes)
		human_bytes(&number, size);
	else
		human_count(&number, size);
	snprintf(human->text, sizeof(human->text), "%s%.40s", size ? sign : "", number.text);
	return human->text;
}

static const char *human_amount(struct human *human, int64_t number, bool is_bytes)
{
	if (number < 0)
		return human_change(human, (double)number, is_bytes);
	return is_bytes ? human_bytes(human, (uint64_t)number)
			: human_count(human, (uint64_t)number);
}

/* ---- the layout of text ---- */

/* The columns after the class. Only classes have ACQUIRED and PEAK, only call sites have SHARE. */
enum column { LIVE, OBJECTS, GROWTH, CURVE, RATE, ACQUIRED, PEAK, SHARE, COLUMNS };

static const size_t usual_widths[COLUMNS] = { 10, 9, 9, 8, 10, 12, 10, 8 };

static const struct {
	const char *name;
	enum column column;
} orders[SAMPLE_ORDERS] = {
	{ "live", LIVE }, { "growth", GROWTH }, { "rate", RATE }, { "objects", OBJECTS }
};

struct view {
	struct out *out;
	const struct top_picture *picture;
	const struct screen *screen; /* the screen; NULL: plain text */
	size_t width; /* width of the screen; SIZE_MAX: plain text, whose lines are not cut */
	size_t widths[COLUMNS]; /* 0: the column is left out */
	size_t site_at;		/* column of the terminal where call sites begin */
	bool has_site_line;	/* each call site is on a separate line */
	bool has_blocks;
};

/*
 * Omits columns if the screen is too narrow, but not the column by which the rows are sorted.
 * Curves, bars and call sites share the rest of the line. If the rest is too narrow for call sites,
 * they are printed on separate lines.
 */
static void lay_out(struct view *view)
{
	const enum column wanted[] = { LIVE,	orders[view->picture->options->order].column,
				       GROWTH,	CURVE,
				       OBJECTS, RATE,
				       SHARE };
	size_t used = CLASS_WIDTH, *widths = view->widths, spare;

	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
		size_t width = usual_widths[wanted[i]];

		if (widths[wanted[i]] || (i > 1 && used + 1 + width > view->width))
			continue;
		widths[wanted[i]] = width;
		used += 1 + width;
	}
	view->has_site_line = used + 2 + SITE_WIDTH_MIN > view->width;
	view->site_at = SITE_INDENT;
	spare = view->width > used ? (view->width - used) / 2 : 0;
	if (!view->has_site_line)
		spare = (view->width - used - 2 - SITE_WIDTH_MIN) / 4;
	if (spare > CURVE_WIDTH_MAX - usual_widths[CURVE])
		spare = CURVE_WIDTH_MAX - usual_widths[CURVE];
	widths[CURVE] += spare;
	widths[SHARE] += widths[SHARE] ? spare : 0;
	if (!view->has_site_line)
		view->site_at = used + 2 * spare + 2;
	/* the rows of classes have no column SHARE, so PEAK and ACQUIRED can use its space */
	widths[PEAK] = view->width < 80 ? 0 : usual_widths[PEAK];
	widths[ACQUIRED] = view->width < 100 ? 0 : usual_widths[ACQUIRED];
}

/* ---- text ---- */

static void put_style(const struct view *view, enum screen_style style)
{
	if (view->screen)
		out_char(view->out, (char)style);
}

/*
 * Breaks lines that are too long for the screen, from the offset `start` on: at two blanks if
 * possible, else at one blank.
 */
static void wrap_lines(const struct view *view, size_t start)
{
	char *text = view->out->buffer;
	size_t columns = 0, blank = 0;

	for (size_t at = start; at < view->out->used; at++) {
		bool is_gap = text[at] == ' ' && at > start && columns > SITE_INDENT;

		if (text[at] == '\n')
			columns = blank = 0;
		if (is_gap && (text[at - 1] == ' ' || !blank || text[blank - 1] != ' '))
			blank = at;
		/* bytes of styles and continuation bytes of UTF-8 take no column */
		columns +=
			(unsigned char)text[at] >= ' ' && ((unsigned char)text[at] & 0xc0) != 0x80;
		if (columns <= view->width || !blank)
			continue;
		text[blank] = '\n';
		at = blank;
		columns = blank = 0;
	}
}

static void put_head(const struct view *view)
{
	const struct top_picture *picture = view->picture;
	struct out *out = view->out;
	const struct sample *sample = &picture->sample;
	struct human time, events, rate;

	put_style(view, STYLE_TITLE);
	out_text(out, "holdtrace top  ");
	put_style(view, STYLE_PLAIN);
	if (sample_age_ns(sample))
		out_format(out, "%s of the run  ", human_time(&time, sample_age_ns(sample)));
	out_format(out, "%zu process%s (%zu ended)  %s events, %s/s",
		   sample->running + sample->ended,
		   sample->running + sample->ended == 1 ? "" : "es", sample->ended,
		   human_count(&events, sample->events),
		   human_count(&rate, (uint64_t)sample->event_rate));
	if (sample->resident_bytes)
		out_format(out, ", %s resident", human_bytes(&rate, sample->resident_bytes));
	put_style(view, STYLE_ALARM);
	if (sample->dropped)
		out_format(out, ", %s DROPPED", human_count(&rate, sample->dropped));
	if (sample->damages)
		out_format(out, ", %llu DAMAGED PARTS", (unsigned long long)sample->damages);
	if (picture->left_out)
		out_format(out, ", %llu file%s LEFT OUT", (unsigned long long)picture->left_out,
			   picture->left_out == 1 ? "" : "s");
	put_style(view, STYLE_KEY);
	out_text(out, picture->is_frozen ? "  FROZEN\n" : "\n");
}

/* Draws a bar: the share of a call site in the live amount of its class. */
static void put_share(const struct view *view, const struct sample_row *row, size_t width)
{
	const struct sample *sample = &view->picture->sample;
	size_t drawn = 0;

	for (size_t i = 0; i < sample->class_count; i++) {
		const struct sample_row *class = &sample->classes[i];

		if (strcmp(class->type, row->type) != 0)
			continue;
		drawn = picture_bar(view->out, (double)(row->has_bytes ? row->bytes : row->count),
				    (double)(row->has_bytes ? class->bytes : class->count), width,
				    view->has_blocks);
	}
	out_format(view->out, "%*s", (int)(width - drawn), "");
}

/* Writes the class and the numbers of a row, or the headings if row is NULL. */
static void put_numbers(const struct view *view, const struct sample_row *row, bool is_class)
{
	const struct sample_options *options = view->picture->options;
	size_t ticks = view->picture->sample.ticks;
	const char *texts[COLUMNS] = { "live",	     "objects",	 "growth/s", "curve",
				       "acquired/s", "acquired", "peak",     "share" };
	enum screen_style usual = row ? STYLE_PLAIN : STYLE_HEAD;
	const char *type = row ? row->type : "class";
	size_t length = name_start(type, strlen(type), CLASS_WIDTH);
	struct human live, count, growth, rate, acquired, peak;

	if (row) {
		texts[OBJECTS] = human_amount(&count, row->count, false);
		texts[LIVE] = row->has_bytes	      ? human_amount(&live, row->bytes, true)
			      : view->widths[OBJECTS] ? ""
						      : texts[OBJECTS];
		texts[GROWTH] = human_change(&growth, row->growth_rate, row->has_bytes);
		texts[RATE] = human_count(&rate, (uint64_t)llround(row->acquired_rate));
		texts[ACQUIRED] = human_count(&acquired, row->acquired);
		texts[PEAK] = row->has_bytes ? human_bytes(&peak, row->peak)
					     : human_count(&peak, row->peak);
	} else if (options->since_base && !is_class) {
		texts[LIVE] = "since base";
	}
	put_style(view, row ? STYLE_CLASS : STYLE_HEAD);
	out_name(view->out, type, length, ESCAPE_ALL);
	out_format(view->out, "%*s", (int)(CLASS_WIDTH - name_columns(type, length)), "");
	for (enum column i = 0; i < COLUMNS; i++) {
		bool is_drawn = i == CURVE || i == SHARE;
		bool is_sorted = !is_class && i == orders[options->order].column;
		int width = (int)view->widths[i];

		if (!width || (is_class ? i == SHARE : i == ACQUIRED || i == PEAK))
			continue;
		put_style(view, is_sorted ? STYLE_KEY : is_drawn && row ? STYLE_BAR : usual);
		out_char(view->out, ' ');
		if (row && i == CURVE)
			picture_curve(view->out, row->curve + WATCHED_TICKS - ticks, ticks,
				      view->widths[i], view->has_blocks);
		else if (row && i == SHARE)
			put_share(view, row, view->widths[i]);
		else
			out_format(view->out, is_drawn ? "%-*s" : "%*s", width, texts[i]);
	}
	put_style(view, usual);
	if (is_class)
		out_char(view->out, '\n');
}

/*
 * Writes the error of the estimates in one line, because the columns have no space for the error of
 * each number.
 */
static void put_error(const struct view *view)
{
	const struct sample *sample = &view->picture->sample;
	struct out *out = view->out;
	struct human every, error;

	if (!sample->sample)
		return;
	out_format(out, "memory was sampled, one sample in %s: amounts are estimates",
		   human_bytes(&every, sample->sample));
	for (size_t i = 0; i < sample->class_count; i++)
		if (estimate_error(sample->classes[i].variance))
			out_format(
				out, "; live +- %s",
				human_bytes(&error, estimate_error(sample->classes[i].variance)));
	out_char(out, '\n');
}

static void put_waits(const struct view *view)
{
	const struct top_picture *picture = view->picture;
	struct out *out = view->out;

	if (!picture->has_waits || !picture->held_up)
		return;
	put_style(view, picture->rings ? STYLE_ALARM : STYLE_TITLE);
	out_format(out, "waiting for a lock that is held: %zu thread%s%s\n", picture->held_up,
		   picture->held_up == 1 ? "" : "s",
		   picture->rings      ? "  DEADLOCK (!)"
		   : picture->inferred ? "  DEADLOCK (?, inferred)"
				       : "");
	put_style(view, STYLE_PLAIN);
	for (size_t i = 0; i < picture->wait_count && i < WAITS_SHOWN; i++)
		/*
		 * print only the mark and the text, so that the lock's holder fits into 80 columns
		 */
		out_format(out, "%s%s\n",
			   picture->waits[i].is_in_ring	   ? "! "
			   : picture->waits[i].is_inferred ? "? "
							   : "  ",
			   picture->waits[i].text);
}

static void put_site(const struct view *view, const char *text)
{
	size_t width = view->width - view->site_at;
	char site[SAMPLE_SITE_MAX];

	snprintf(site, sizeof(site), "%s", text);
	/* drop outer frames first, and cut the middle of a name only if that is not enough */
	for (size_t at = strlen(site); at-- && name_columns(site, strlen(site)) > width;)
		if (!strncmp(site + at, " <- ", 4))
			site[at] = '\0';
	naming_cut(site, width);
	if (view->has_site_line)
		out_format(view->out, "\n%*s", (int)view->site_at, "");
	else
		out_text(view->out, "  ");
	out_name(view->out, site, strlen(site), ESCAPE_ALL);
	out_char(view->out, '\n');
}

static size_t count_lines(const struct out *out)
{
	size_t lines = 0;

	for (size_t i = 0; i < out->used; i++)
		lines += out->buffer[i] == '\n';
	return lines;
}

void top_put_text(struct out *out, const struct top_picture *picture, const struct screen *screen,
		  size_t *marked)
{
	const struct sample_options *options = picture->options;
	struct view view = { .out = out, .picture = picture, .screen = screen, .width = SIZE_MAX };
	size_t lines;
	char where[100];

	if (screen) {
		view.width = screen->width;
		view.has_blocks = terminal_has_unicode();
		lay_out(&view);
	} else {
		memcpy(view.widths, usual_widths, sizeof(usual_widths));
		view.widths[CURVE] = view.widths[SHARE] = 0;
	}
	put_head(&view);
	wrap_lines(&view, 0);
	put_numbers(&view, NULL, true);
	for (size_t i = 0; i < picture->sample.class_count; i++)
		put_numbers(&view, &picture->sample.classes[i], true);
	lines = out->used;
	put_error(&view);
	put_waits(&view);
	wrap_lines(&view, lines);
	out_char(out, '\n');
	put_numbers(&view, NULL, false);
	snprintf(where, sizeof(where), "where (%s, by %s%s)",
		 options->class ? options->class : "all classes", orders[options->order].name,
		 options->since_base ? ", since the baseline" : "");
	put_site(&view, where);
	if (screen)
		*marked = SIZE_MAX;
	for (size_t i = picture->first; i < picture->sample.row_count; i++) {
		const struct sample_row *row = &picture->sample.rows[i];

		if (screen && count_lines(out) >= screen->height)
			break;
		if (screen && i == picture->selected)
			*marked = count_lines(out);
		put_numbers(&view, row, false);
		put_site(&view, row->site_text);
		if (screen && i == picture->selected && picture->shows_backtrace) {
			struct naming_line frames[LINES_MAX];
			size_t count = sample_backtrace(row, frames, LINES_MAX);

			for (size_t k = 0; k < count; k++) {
				naming_cut(frames[k].text, view.width - view.site_at - 2);
				out_format(out, "%*s", (int)view.site_at + 2, "");
				out_name(out, frames[k].text, strlen(frames[k].text), ESCAPE_ALL);
				out_char(out, '\n');
			}
		}
	}
}

void top_put_keys(struct out *out, const struct screen *screen)
{
	static const struct {
		const char *key, *action;
	} keys[] = {
		{ "q", "end" },		  { "s", "sort" },     { "c", "class" },
		{ "f", "freeze" },	  { "b", "baseline" }, { "up/down", "select" },
		{ "enter", "backtrace" },
	};
	const struct view view = { .out = out, .screen = screen, .width = screen->width };

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		out_text(out, i ? "  " : "");
		put_style(&view, STYLE_KEY);
		out_text(out, keys[i].key);
		put_style(&view, STYLE_PLAIN);
		out_format(out, " %s", keys[i].action);
	}
	wrap_lines(&view, 0);
}

/* ---- JSON ---- */

static void add_json_row(struct json *json, const struct sample_row *row)
{
	uint64_t error = estimate_error(row->variance);

	json_begin(json, '{');
	json_add_text(json, "class", row->type);
	json_add_signed(json, "objects", row->count);
	if (row->has_bytes)
		json_add_signed(json, "bytes", row->bytes);
	if (error)
		json_add_unsigned(json, "bytes_error", error);
	json_add_unsigned(json, "acquired", row->acquired);
	json_add_real(json, "acquired_per_s", row->acquired_rate);
	json_add_real(json, "growth_per_s", row->growth_rate);
	if (*row->site_text)
		json_add_text(json, "site", row->site_text);
	else
		json_add_unsigned(json, "peak", row->peak);
	json_end(json);
}

void top_put_json(struct out *out, const struct top_picture *picture)
{
	const struct sample *sample = &picture->sample;
	struct json json;

	json_start(&json, out, false);
	json_begin(&json, '{');
	json_add_real(&json, "duration_s", (double)sample_age_ns(sample) / 1e9);
	json_add_unsigned(&json, "events", sample->events);
	json_add_real(&json, "events_per_s", sample->event_rate);
	json_add_unsigned(&json, "dropped", sample->dropped);
	if (sample->sample)
		json_add_unsigned(&json, "sample_bytes", sample->sample);
	json_add_unsigned(&json, "damages", sample->damages);
	json_add_unsigned(&json, "files_left_out", picture->left_out);
	json_add_unsigned(&json, "running", sample->running);
	json_add_unsigned(&json, "ended", sample->ended);
	if (sample->resident_bytes)
		json_add_unsigned(&json, "resident_bytes", sample->resident_bytes);
	json_open(&json, "classes", '[');
	for (size_t i = 0; i < sample->class_count; i++)
		add_json_row(&json, &sample->classes[i]);
	json_end(&json);
	json_open(&json, "sites", '[');
	for (size_t i = 0; i < sample->row_count; i++)
		add_json_row(&json, &sample->rows[i]);
	json_end(&json);
	if (picture->has_waits) {
		json_add_unsigned(&json, "waiting_threads", picture->held_up);
		json_add_unsigned(&json, "deadlocks", picture->rings);
		json_add_unsigned(&json, "inferred_deadlock_threads", picture->inferred);
		json_open(&json, "waits", '[');
		for (size_t i = 0; i < picture->wait_count; i++) {
			const struct top_wait *wait = &picture->waits[i];

			json_begin(&json, '{');
			json_add_unsigned(&json, "pid", (uint64_t)wait->pid);
			json_add_bool(&json, "in_deadlock", wait->is_in_ring);
			json_add_bool(&json, "in_inferred_deadlock", wait->is_inferred);
			json_add_bool(&json, "holder_has_ended", wait->is_orphaned);
			json_add_text(&json, "text", wait->text);
			json_end(&json);
		}
		json_end(&json);
	}
	json_end(&json);
	json_finish(&json);
}

/* ---- OpenMetrics ---- */

/* Writes a label with its value in ASCII, escaped as in OpenMetrics 1.0. */
static void put_label(struct out *out, const char *name, const char *value)
{
	out_format(out, "%s=\"", name);
	for (const char *at = value; *at; at++) {
		bool is_printable = (unsigned char)*at >= 0x20 && (unsigned char)*at < 0x7f;

		if (*at == '\\' || *at == '"')
			out_char(out, '\\');
		out_char(out, is_printable ? *at : '?');
	}
	out_char(out, '"');
}

static void put_family(struct out *out, const char *name, const char *type, const char *help)
{
	out_format(out, "# TYPE %s %s\n# HELP %s %s\n", name, type, name, help);
}

static void put_metric(struct out *out, const char *name, const char *type, const char *help,
		       uint64_t value)
{
	put_family(out, name, type, help);
	out_format(out, "%s%s %llu\n", name, strcmp(type, "counter") ? "" : "_total",
		   (unsigned long long)value);
}

static void put_class_metric(struct out *out, const char *name, const struct sample_row *class,
			     uint64_t value)
{
	out_format(out, "%s{", name);
	put_label(out, "class", class->type);
	out_format(out, "} %llu\n", (unsigned long long)value);
}

void top_put_metrics(struct out *out, const struct top_picture *picture)
{
	const struct sample *sample = &picture->sample;

	put_metric(out, "holdtrace_processes", "gauge", "Running traced processes.",
		   sample->running);
	if (sample->resident_bytes)
		put_metric(out, "holdtrace_resident_bytes", "gauge",
			   "Resident memory of the running traced processes.",
			   sample->resident_bytes);
	put_metric(out, "holdtrace_events", "counter", "Recorded events.", sample->events);
	put_metric(out, "holdtrace_dropped_events", "counter", "Dropped events.", sample->dropped);
	if (picture->has_waits) {
		put_metric(out, "holdtrace_waiting_threads", "gauge",
			   "Threads that wait for a lock that is held.", picture->held_up);
		put_metric(out, "holdtrace_deadlocks", "gauge",
			   "Cycles of threads that wait for each other.", picture->rings);
	}

	const struct sample_row *end = sample->classes + sample->class_count, *class;

	put_family(out, "holdtrace_live_objects", "gauge", "Live objects.");
	for (class = sample->classes; class < end; class ++)
		put_class_metric(out, "holdtrace_live_objects", class, (uint64_t) class->count);
	put_family(out, "holdtrace_live_bytes", "gauge", "Bytes of live objects.");
	for (class = sample->classes; class < end; class ++)
		if (class->has_bytes)
			put_class_metric(out, "holdtrace_live_bytes", class,
					 (uint64_t) class->bytes);
	if (sample->sample) {
		put_metric(out, "holdtrace_sample_bytes", "gauge",
			   "Sampling interval of memory in bytes; live bytes are estimates.",
			   sample->sample);
		put_family(out, "holdtrace_live_bytes_error", "gauge",
			   "Half of the 95 % confidence interval of the live bytes.");
		for (class = sample->classes; class < end; class ++)
			if (estimate_error(class->variance))
				put_class_metric(out, "holdtrace_live_bytes_error", class,
						 estimate_error(class->variance));
	}
	put_family(out, "holdtrace_acquired", "counter", "Calls that acquired an object.");
	for (class = sample->classes; class < end; class ++)
		put_class_metric(out, "holdtrace_acquired_total", class, class->acquired);
	put_family(out, "holdtrace_site_live_bytes", "gauge",
		   "Bytes of live objects at the largest call sites.");
	for (size_t i = 0; i < sample->row_count; i++) {
		const struct sample_row *row = &sample->rows[i];

		if (!row->has_bytes)
			continue;
		out_text(out, "holdtrace_site_live_bytes{");
		put_label(out, "class", row->type);
		out_char(out, ',');
		put_label(out, "site", row->site_text);
		out_format(out, "} %lld\n", (long long)row->bytes);
	}
	out_text(out, "# EOF\n");
}
