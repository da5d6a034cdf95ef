/* SPDX-License-Identifier: MIT */
#include "live/top.h"

#include "account/estimate.h"
#include "base/human.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define LINES_MAX   40
#define WAITS_SHOWN 5

#define NUMBERS_WIDTH 53u /* columns of a row before its call site */

static const char *const orders[SAMPLE_ORDERS] = { "live", "growth", "rate", "objects" };

/* A size with a sign: +1.2 KB, -3, 0. */
static const char *change(struct human *human, double amount, bool is_bytes)
{
	struct human number;
	uint64_t size = (uint64_t)llround(fabs(amount));

	if (is_bytes)
		human_bytes(&number, size);
	else
		human_count(&number, size);
	snprintf(human->text, sizeof(human->text), "%s%.40s",
		 !size	      ? ""
		 : amount > 0 ? "+"
			      : "-",
		 number.text);
	return human->text;
}

static const char *amount(struct human *human, int64_t number, bool is_bytes)
{
	if (number < 0)
		return change(human, (double)number, is_bytes);
	return is_bytes ? human_bytes(human, (uint64_t)number)
			: human_count(human, (uint64_t)number);
}

static void put_head(struct out *out, const struct top_picture *picture)
{
	const struct sample *sample = &picture->sample;
	struct human time, events, rate;

	out_text(out, "holdtrace top  ");
	if (sample_age_ns(sample))
		out_format(out, "%s of the run  ", human_time(&time, sample_age_ns(sample)));
	out_format(out, "%zu process%s (%zu ended)  %s events, %s/s",
		   sample->running + sample->ended,
		   sample->running + sample->ended == 1 ? "" : "es", sample->ended,
		   human_count(&events, sample->events),
		   human_count(&rate, (uint64_t)sample->event_rate));
	if (sample->dropped)
		out_format(out, ", %s DROPPED", human_count(&rate, sample->dropped));
	if (sample->damages)
		out_format(out, ", %llu DAMAGED", (unsigned long long)sample->damages);
	if (picture->left_out)
		out_format(out, ", %llu file%s LEFT OUT", (unsigned long long)picture->left_out,
			   picture->left_out == 1 ? "" : "s");
	out_text(out, picture->is_frozen ? "  FROZEN\n" : "\n");
}

static void put_class(struct out *out, const struct sample_row *class)
{
	struct human bytes, count, growth, rate, gained, peak;

	out_format(out, "%-9.9s %10s %9s %9s %10s %12s %10s\n", class->type,
		   class->has_bytes ? human_bytes(&bytes, (uint64_t) class->bytes) : "",
		   human_count(&count, (uint64_t) class->count),
		   change(&growth, class->growth_rate, class->has_bytes),
		   human_count(&rate, (uint64_t)llround(class->acquired_rate)),
		   human_count(&gained, class->acquired),
		   class->has_bytes ? human_bytes(&peak, class->peak)
				    : human_count(&peak, class->peak));
}

/* The columns have no space for the error of each number. */
static void put_samples(struct out *out, const struct sample *sample)
{
	struct human every, error;

	if (!sample->sample)
		return;
	out_format(out, "memory is about so: recorded by samples, one in %s",
		   human_bytes(&every, sample->sample));
	for (size_t i = 0; i < sample->class_count; i++)
		if (estimate_error(sample->classes[i].variance))
			out_format(
				out, "; live +- %s",
				human_bytes(&error, estimate_error(sample->classes[i].variance)));
	out_char(out, '\n');
}

static void put_classes(struct out *out, const struct top_picture *picture)
{
	out_format(out, "%-9s %10s %9s %9s %10s %12s %10s\n", "class", "live", "objects",
		   "growth/s", "acquired/s", "acquired", "peak");
	for (size_t i = 0; i < picture->sample.class_count; i++)
		put_class(out, &picture->sample.classes[i]);
}

static void put_waits(struct out *out, const struct top_picture *picture)
{
	if (!picture->has_waits || !picture->held_up)
		return;
	out_format(out, "waiting for a lock that is held: %zu thread%s%s\n", picture->held_up,
		   picture->held_up == 1 ? "" : "s", picture->rings ? "  DEADLOCK (!)" : "");
	for (size_t i = 0; i < picture->wait_count && i < WAITS_SHOWN; i++)
		/* short, so that the holder fits into 80 columns */
		out_format(out, "%s%s\n", picture->waits[i].is_in_ring ? "! " : "  ",
			   picture->waits[i].text);
}

static void put_backtrace(struct out *out, const struct sample_row *row)
{
	struct naming_line lines[LINES_MAX];
	size_t count = sample_backtrace(row, lines, LINES_MAX);

	for (size_t i = 0; i < count; i++)
		out_format(out, "%*s%s\n", (int)NUMBERS_WIDTH, "", lines[i].text);
}

static void put_row(struct out *out, const struct sample_row *row, size_t width)
{
	struct human held, count, growth, rate;

	out_format(out, "%-9.9s %10s %9s %9s %10s  ", row->type,
		   row->has_bytes ? amount(&held, row->bytes, true) : "",
		   amount(&count, row->count, false),
		   change(&growth, row->growth_rate, row->has_bytes),
		   human_count(&rate, (uint64_t)llround(row->acquired_rate)));
	if (width && NUMBERS_WIDTH + name_columns(row->site_text, strlen(row->site_text)) > width)
		out_text(out, "\n    ");
	out_name(out, row->site_text, strlen(row->site_text), ESCAPE_ALL);
	out_char(out, '\n');
}

static size_t count_lines(const struct out *out)
{
	size_t lines = 0;

	for (size_t i = 0; i < out->used; i++)
		lines += out->buffer[i] == '\n';
	return lines;
}

void top_put_text(struct out *out, const struct top_picture *picture, size_t width, size_t *marked)
{
	const struct sample_options *options = picture->options;

	put_head(out, picture);
	put_classes(out, picture);
	put_samples(out, &picture->sample);
	put_waits(out, picture);
	out_format(out, "\n%-9s %10s %9s %9s %10s  where (%s, by %s%s)\n", "class",
		   options->since_base ? "since base" : "live", "objects", "growth/s", "acquired/s",
		   options->class ? options->class : "all classes", orders[options->order],
		   options->since_base ? ", since the baseline" : "");
	for (size_t i = 0; i < picture->sample.row_count; i++) {
		if (i == picture->selected && marked)
			*marked = count_lines(out);
		put_row(out, &picture->sample.rows[i], width);
		if (i == picture->selected && picture->shows_backtrace)
			put_backtrace(out, &picture->sample.rows[i]);
	}
}
