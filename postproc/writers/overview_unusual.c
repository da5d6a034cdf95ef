/* SPDX-License-Identifier: MIT */
/* What a screen of sums does not show by itself, and which report tells more of it. */
#include "postproc/writers/overview_parts.h"

#define PEAK_BYTES  1000000u /* more than is held: less is nobody's trouble */
#define PEAK_TIMES  4u
#define BLOCKS_MIN  1000u
#define SIGNALS_MIN 10u

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
	line_add(line, "%s of %s signals had no waiter", COUNT(class->vain), COUNT(class->notified));
}

static void say_short(struct line *line, const struct summary_class *class)
{
	line_add(line, "%s of %s blocks freed by the next call of their thread",
		 COUNT(class->temporary), COUNT(class->gained));
}

/* The worst first. */
static const struct {
	const char *report;
	const struct summary_class *(*find)(const struct summary *summary);
	void (*say)(struct line *line, const struct summary_class *class);
} unusual[] = {
	{ "fds", closed_twice, say_closed },
	{ "peak", high_peak, say_peak },
	{ "conds", vain_signals, say_signals },
	{ "temp", short_lived, say_short },
};

#define UNUSUAL (sizeof(unusual) / sizeof(*unusual))

const char *overview_unusual_report(const struct summary *summary)
{
	for (size_t i = 0; i < UNUSUAL; i++)
		if (unusual[i].find(summary))
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
	}
}
