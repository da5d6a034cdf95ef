/* SPDX-License-Identifier: MIT */
/* What a screen of sums does not show by itself, and which report tells more of it. */
#include "postproc/print/overview_parts.h"

#include <inttypes.h>

#define PEAK_BYTES  1000000u /* more than is held: less is nobody's trouble */
#define PEAK_TIMES  4u
#define BLOCKS_MIN  1000u
#define SIGNALS_MIN 10u
#define TEMPS_MANY  100000u /* more trouble than a little that is held */

static const struct summary_class *closed_twice(const struct summary *summary)
{
	static const enum resource classes[] = { RESOURCE_FD, RESOURCE_FILE, RESOURCE_DIRECTORY };

	for (size_t i = 0; i < sizeof(classes) / sizeof(*classes); i++) {
		const struct summary_class *class = summary_class_of(summary, classes[i]);

		if (class && class->bad_closes + class->bad_uses)
			return class;
	}
	return NULL;
}

/* The most that was held is far above what is left. */
static const struct summary_class *high_peak(const struct summary *summary)
{
	const struct summary_class *class = summary_class_of(summary, RESOURCE_MEMORY);

	return class && class->peak.amount >= class->held_bytes + PEAK_BYTES &&
			       class->peak.amount / PEAK_TIMES >= class->held_bytes
		       ? class
		       : NULL;
}

static const struct summary_class *vain_signals(const struct summary *summary)
{
	const struct summary_class *class = summary_class_of(summary, RESOURCE_CONDITION);

	return class && class->vain >= SIGNALS_MIN && class->vain >= class->notified / 2 ? class
											 : NULL;
}

static const struct summary_class *short_lived(const struct summary *summary)
{
	const struct summary_class *class = summary_class_of(summary, RESOURCE_MEMORY);

	return class && class->temporary >= BLOCKS_MIN && class->temporary >= class->gained / 2
		       ? class
		       : NULL;
}

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

/* ---- whose fault it is ---- */

/* A line below a row, with frames behind the text. */
static void print_place(struct overview *overview, struct line *line,
			const struct atlas_backtrace *backtrace)
{
	size_t indent =
		line->length < overview->screen.width * 3 / 5 ? line->length : OVERVIEW_COLUMN + 2;

	overview_frames(overview, line, indent, 2, backtrace, "");
	screen_wrap(&overview->screen, line, indent, 2);
}

static size_t most_places(const struct overview *overview, const struct causes_top *top)
{
	size_t most = overview_limit(overview, CAUSES_PLACES);

	return top->count < most ? top->count : most;
}

static void name_peak(struct overview *overview)
{
	const struct causes_top *top = &overview->summary->causes->peak;
	struct line line;

	for (size_t i = 0; i < most_places(overview, top); i++) {
		const struct causes_place *place = &top->places[i];

		/* It made no peak. */
		if (place->bytes < top->places[0].bytes / 100)
			break;
		line_begin(&line);
		line_to(&line, OVERVIEW_COLUMN);
		line_add(&line, "%s in %s block%s  ", BYTES(place->bytes), COUNT(place->count),
			 PLURAL(place->count));
		print_place(overview, &line, place->backtrace);
	}
}

static void name_short(struct overview *overview)
{
	const struct causes_top *top = &overview->summary->causes->temp;
	struct line line;

	for (size_t i = 0; i < most_places(overview, top); i++) {
		const struct causes_place *place = &top->places[i];

		/* A few of many are nobody's trouble. */
		if (i && place->count < top->places[0].count / 10)
			break;
		line_begin(&line);
		line_to(&line, OVERVIEW_COLUMN);
		line_add(&line, "%s  ", COUNT(place->count));
		print_place(overview, &line, place->backtrace);
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
	print_place(overview, &line, step->backtrace);
}

/* The most frequent one, from its beginning to what went wrong. */
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
	screen_wrap(&overview->screen, &line, OVERVIEW_COLUMN + 2, 2);
	name_step(overview, &misuse->steps[MISUSE_OPENED], "opened by");
	name_step(overview, &misuse->steps[MISUSE_CLOSED], "closed by");
	name_step(overview, &misuse->steps[MISUSE_AGAIN],
		  misuse->kind == DESCRIPTOR_CLOSED_TWICE ? "again by" : "used by");
}

/* The worst first. */
static const struct {
	const char *report;
	const struct summary_class *(*find)(const struct summary *summary);
	void (*say)(struct line *line, const struct summary_class *class);
	void (*name)(struct overview *overview); /* NULL: the report alone does */
} unusual[] = {
	{ "fds", closed_twice, say_closed, name_closed },
	{ "peak", high_peak, say_peak, name_peak },
	{ "conds", vain_signals, say_signals, NULL },
	{ "temp", short_lived, say_short, name_short },
};

#define UNUSUAL (sizeof(unusual) / sizeof(*unusual))

/* What is forgotten is a fault, what is freed at once is wasteful: it has to be much. */
static bool is_less_than_leaks(const struct overview *overview, size_t row)
{
	const struct summary *summary = overview->summary;
	const struct summary_class *class = unusual[row].find(summary), *leaked;

	if (overview->has_no_leaks || unusual[row].find != short_lived)
		return false;
	leaked = &summary->classes[summary->sites.items[0].class];
	return class->temporary < TEMPS_MANY || leaked->known != RESOURCE_MEMORY ||
	       leaked->held_bytes >= PEAK_BYTES;
}

const char *overview_unusual_report(const struct overview *overview)
{
	for (size_t i = 0; i < UNUSUAL; i++)
		if (unusual[i].find(overview->summary) && !is_less_than_leaks(overview, i))
			return unusual[i].report;
	return NULL;
}

void overview_unusual(struct overview *overview)
{
	size_t title = overview->screen.count;
	struct line line;

	for (size_t i = 0; i < UNUSUAL; i++) {
		const struct summary_class *class = unusual[i].find(overview->summary);

		if (!class)
			continue;
		line_begin(&line);
		if (overview->screen.count == title) {
			line_add(&line, "unusual");
			screen_add(&overview->screen, &line);
		}
		line_add(&line, "  %.20s", class->type);
		line_to(&line, OVERVIEW_COLUMN);
		unusual[i].say(&line, class);
		screen_wrap(&overview->screen, &line, OVERVIEW_COLUMN, 2);
		if (unusual[i].name && overview->summary->causes)
			unusual[i].name(overview);
	}
}
