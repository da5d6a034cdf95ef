/* SPDX-License-Identifier: MIT */
/* Findings that the sums on the screen do not show. */
#include "overview_parts.h"

#include <inttypes.h>
#include <stdio.h>

#include "postproc/findings/findings.h"

#define PLACES 3 /* call sites shown for a finding */

static void say_closed(struct line *line, const struct summary_class *class)
{
	if (class->bad_closes)
		line_add(line, "%s closed that %s not open", COUNT(class->bad_closes),
			 class->bad_closes == 1 ? "was" : "were");
	if (class->bad_uses)
		line_add(line, "%s%s used when not open", class->bad_closes ? ", " : "",
			 COUNT(class->bad_uses));
	line_add(line, " (EBADF)");
}

static void say_lost(struct line *line, const struct summary_class *class)
{
	line_add(line, "%s block%s lost when scanned, %s: no pointer leads there",
		 COUNT(class->unkept), class->unkept == 1 ? " was" : "s were",
		 BYTES(class->unkept_bytes));
}

static void say_peak(struct line *line, const struct summary_class *class)
{
	line_add(line, "peak of %s at %s, %s still held", BYTES(class->peak.amount),
		 DURATION(class->peak.time_ns), class->held ? BYTES(class->held_bytes) : "nothing");
}

static void say_signals(struct line *line, const struct summary_class *class)
{
	line_add(line, "%s of %s signals had no waiter", COUNT(class->vain),
		 COUNT(class->notified));
}

static void say_short(struct line *line, const struct summary_class *class)
{
	line_add(line, "%s of %s blocks freed by the next call of their thread",
		 COUNT(class->temporary), COUNT(class->gained));
}

/* ---- call sites of a finding ---- */

/* Adds frames to a line below a row. */
static void print_place(struct overview *overview, struct line *line,
			const struct trace_node *backtrace, uint64_t sites)
{
	size_t indent =
		line->length < overview->screen.width * 3 / 5 ? line->length : OVERVIEW_COLUMN + 2;

	char behind[40] = "";

	if (sites > 1)
		snprintf(behind, sizeof(behind), " (%s sites)", COUNT(sites));
	overview_frames(overview, line, indent, 2, backtrace, sites, behind);
	screen_wrap(&overview->screen, line, indent);
}

static void name_peak(struct overview *overview)
{
	const struct causes_top *top = &overview->summary->causes->peak;
	size_t count = findings_places(top, FINDING_PEAK, overview_limit(overview, PLACES));
	struct line line;

	for (size_t i = 0; i < count; i++) {
		const struct causes_place *place = &top->places.items[i];

		line_begin(&line);
		line_to(&line, OVERVIEW_COLUMN);
		line_add(&line, "%s in %s block%s  ", BYTES(place->bytes), COUNT(place->count),
			 PLURAL(place->count));
		print_place(overview, &line, place->backtrace, place->sites);
	}
}

static void name_short(struct overview *overview)
{
	const struct causes_top *top = &overview->summary->causes->temp;
	size_t count = findings_places(top, FINDING_SHORT, overview_limit(overview, PLACES));
	struct line line;

	for (size_t i = 0; i < count; i++) {
		line_begin(&line);
		line_to(&line, OVERVIEW_COLUMN);
		line_add(&line, "%s  ", COUNT(top->places.items[i].count));
		print_place(overview, &line, top->places.items[i].backtrace,
			    top->places.items[i].sites);
	}
}

static void name_step(struct overview *overview, const struct misuse_step *step, const char *word)
{
	struct line line;

	if (!step->backtrace)
		return;
	line_begin(&line);
	line_to(&line, OVERVIEW_COLUMN + 2);
	line_add(&line, "%-10s  ", word);
	print_place(overview, &line, step->backtrace, 1);
}

/* The most frequent misuse, from the opening to the wrong call. */
static void name_closed(struct overview *overview)
{
	const struct misuses *misuses = &overview->summary->causes->misuses;
	const struct misuse *misuse = misuses->list.count ? misuses->list.items[0] : NULL;
	struct line line;

	if (!misuse)
		return;
	line_begin(&line);
	line_to(&line, OVERVIEW_COLUMN);
	line_add(&line, "descriptor %" PRIu64 "%s%s", misuse->number, misuse->what ? " " : "",
		 misuse->what ? misuse->what : "");
	if (misuse->count > 1)
		line_add(&line, ", and %s more like it", COUNT(misuse->count - 1));
	if (misuse->kind == DESCRIPTOR_GONE)
		line_add(&line, ": nobody was seen to close it");
	screen_wrap(&overview->screen, &line, OVERVIEW_COLUMN + 2);
	name_step(overview, &misuse->steps[MISUSE_OPENED], "opened by");
	name_step(overview, &misuse->steps[MISUSE_CLOSED], "closed by");
	name_step(overview, &misuse->steps[MISUSE_AGAIN],
		  misuse->kind == DESCRIPTOR_CLOSED_TWICE ? "again by" : "used by");
}

static const struct {
	void (*say)(struct line *line, const struct summary_class *class);
	void (*name)(struct overview *overview); /* NULL: only the report names call sites */
} words[FINDINGS] = {
	[FINDING_CLOSED] = { say_closed, name_closed }, [FINDING_LOST] = { say_lost, NULL },
	[FINDING_PEAK] = { say_peak, name_peak },	[FINDING_SIGNALS] = { say_signals, NULL },
	[FINDING_SHORT] = { say_short, name_short },
};

void overview_unusual(struct overview *overview)
{
	size_t title = overview->screen.count;
	struct line line;

	for (enum finding i = 0; i < FINDINGS; i++) {
		const struct summary_class *class = finding_class(overview->summary, i);

		if (!class)
			continue;
		line_begin(&line);
		if (overview->screen.count == title) {
			line_add(&line, "unusual");
			screen_add(&overview->screen, &line);
		}
		line_add(&line, "  %.20s", class->type);
		line_to(&line, OVERVIEW_COLUMN);
		words[i].say(&line, class);
		screen_wrap(&overview->screen, &line, OVERVIEW_COLUMN);
		if (words[i].name && overview->summary->causes)
			words[i].name(overview);
	}
}
