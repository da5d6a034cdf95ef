/* SPDX-License-Identifier: MIT */
#include "postproc/print/overview_parts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define COLUMN_AMOUNT	 6
#define AMOUNT_WIDTH_MAX 34

#define SITES_MAX      10
#define CANDIDATES_MAX 512 /* all but of the largest programs: lines that read the same are one */

/* A line of the list: a site, or several that would read the same. */
struct entry {
	const struct summary_site *site; /* the weightiest */
	uint64_t count, bytes, sites;
	bool has_more_examples;
	bool is_left_out;  /* by the report leaks */
	struct line place; /* as it will be read, from the column on */
};

struct entries {
	struct entry *items;
	size_t count;
	size_t column; /* where the backtraces begin: behind the widest amount */
};

static const char *thing_of(const struct summary_class *class, uint64_t count)
{
	static const char *const things[RESOURCE_COUNT][2] = {
		[RESOURCE_MEMORY] = { "block", "blocks" },
		[RESOURCE_FD] = { "fd", "fds" },
		[RESOURCE_FILE] = { "stream", "streams" },
		[RESOURCE_MUTEX] = { "mutex", "mutexes" },
		[RESOURCE_MAPPING] = { "mapping", "mappings" },
		[RESOURCE_ATTACHMENT] = { "attachment", "attachments" },
		[RESOURCE_PROCESS] = { "child", "children" },
	};

	return things[class->known][count != 1];
}

static void add_amount(const struct overview *overview, struct line *line,
		       const struct entry *entry)
{
	const struct summary_class *class = &overview->summary->classes[entry->site->class];
	const char *thing = thing_of(class, entry->count);

	if (summary_has_bytes(class))
		line_add(line, "%s in ", EXACT(entry->bytes));
	line_add(line, "%s ", COUNT(entry->count));
	if (thing)
		line_add(line, "%s", thing);
	else
		line_add(line, "%.20s%s", class->type, PLURAL(entry->count));
}

/* ---- the path of one of them ---- */

/* Behind the amount if it is short. */
static bool has_short_example(const struct entry *entry)
{
	return entry->site->example && strlen(entry->site->example) <= 16 &&
	       !entry->has_more_examples;
}

static void print_example(struct overview *overview, const struct entry *entry, size_t column)
{
	const char *example = entry->site->example;
	size_t length = example ? strlen(example) : 0;
	size_t room = overview->screen.width - column - 14;
	struct line line;

	if (!length || has_short_example(entry))
		return;
	line_begin(&line);
	line_to(&line, column);
	line_add(&line, "%s%s%s", length > room ? "..." : "",
		 example + (length > room ? length - room + 3 : 0),
		 entry->has_more_examples ? " and others" : "");
	screen_add(&overview->screen, &line);
}

/* ---- what the lines are ---- */

/* Whose it is, where that is not the program that the screen is about; and how many sites. */
static void add_origin(const struct overview *overview, struct line *line,
		       const struct entry *entry)
{
	const struct summary *summary = overview->summary;
	const struct summary_process *process = summary_process_at(summary, entry->site->process);

	if (process && process != images_last(summary)) {
		line_add(line, " [%.15s %" PRIu32, overview_name(process), process->pid);
		if (entry->site->processes > 1)
			line_add(line, " +%" PRIu32, entry->site->processes - 1);
		line_add(line, "]");
	}
	if (entry->sites > 1)
		line_add(line, " (%s sites%s)", COUNT(entry->sites),
			 entry->is_left_out ? ", suppressed" : "");
	else if (entry->is_left_out)
		line_add(line, " (suppressed)");
}

static void write_place(struct overview *overview, struct entry *entry, size_t column)
{
	struct line behind;

	line_begin(&behind);
	add_origin(overview, &behind, entry);
	line_begin(&entry->place);
	line_to(&entry->place, column);
	overview_frames(overview, &entry->place, column, 2, entry->site->backtrace, behind.text);
}

static void find_column(const struct overview *overview, struct entries *entries)
{
	entries->column = 20;
	for (size_t i = 0; i < entries->count; i++) {
		const struct entry *entry = &entries->items[i];
		struct line line;
		size_t length;

		line_begin(&line);
		add_amount(overview, &line, entry);
		length = line.length +
			 (has_short_example(entry) ? 1 + strlen(entry->site->example) : 0);
		if (length > AMOUNT_WIDTH_MAX)
			length = AMOUNT_WIDTH_MAX;
		if (COLUMN_AMOUNT + length + 2 > entries->column)
			entries->column = COLUMN_AMOUNT + length + 2;
	}
}

static void join(struct entry *entry, const struct entry *other)
{
	const char *a = entry->site->example, *b = other->site->example;

	entry->has_more_examples |= other->has_more_examples || (a && b && strcmp(a, b) != 0);
	entry->count += other->count;
	entry->bytes += other->bytes;
	entry->sites += other->sites;
}

static bool reads_the_same(const struct entry *a, const struct entry *b)
{
	return a->site->class == b->site->class && a->is_left_out == b->is_left_out &&
	       !strcmp(a->place.text, b->place.text);
}

/* Joins lines of one class that read the same. Returns whether there were any. */
static bool join_equal(struct entries *entries)
{
	size_t count = 0;

	for (size_t i = 0; i < entries->count; i++) {
		size_t same = 0;

		while (same < count && !reads_the_same(&entries->items[same], &entries->items[i]))
			same++;
		if (same < count)
			join(&entries->items[same], &entries->items[i]);
		else if (i != count++)
			entries->items[count - 1] = entries->items[i];
	}
	if (count == entries->count)
		return false;
	entries->count = count;
	return true;
}

/* Within their class, what was joined may weigh more than what stood before it; and what the report
 * leaks leaves out stands behind all else.
 */
static bool is_heavier(const struct entry *a, const struct entry *b)
{
	if (a->site->class != b->site->class)
		return false;
	if (a->is_left_out != b->is_left_out)
		return b->is_left_out;
	return a->bytes != b->bytes ? a->bytes > b->bytes : a->count > b->count;
}

static void sort(struct entries *entries)
{
	struct entry *items = entries->items;

	for (size_t i = 1; i < entries->count; i++) {
		struct entry entry = items[i];
		size_t at = i;

		for (; at && is_heavier(&entry, &items[at - 1]); at--)
			items[at] = items[at - 1];
		items[at] = entry;
	}
}

static void lay_out(struct overview *overview, struct entries *entries)
{
	do {
		find_column(overview, entries);
		for (size_t i = 0; i < entries->count; i++)
			write_place(overview, &entries->items[i], entries->column);
	} while (join_equal(entries));
	sort(entries);
}

static bool collect(struct overview *overview, struct entries *entries)
{
	uint32_t chosen[CANDIDATES_MAX];

	entries->items = calloc(CANDIDATES_MAX, sizeof(*entries->items));
	if (!entries->items)
		return false;
	entries->count = summary_top(overview->summary, CANDIDATES_MAX, chosen);
	for (size_t i = 0; i < entries->count; i++) {
		const struct summary_site *site = &overview->summary->sites.items[chosen[i]];

		entries->items[i] = (struct entry){
			.site = site,
			.count = site->count,
			.bytes = site->bytes,
			.sites = 1,
			.has_more_examples = site->has_more_examples,
			.is_left_out = overview_is_left_out(overview, site),
		};
	}
	lay_out(overview, entries);
	return entries->count != 0;
}

/* ---- the list ---- */

static void print_title(struct overview *overview, const struct entries *entries,
			const uint32_t *chosen, size_t count)
{
	uint64_t all = overview->summary->sites.whole, shown = 0;
	struct line line;

	for (size_t i = 0; i < count; i++)
		shown += entries->items[chosen[i]].sites;
	line_begin(&line);
	line_add(&line, "%s, and where it came from", overview_held(overview));
	if (all > shown)
		line_add(&line, " (%s of %s sites)", COUNT(shown), COUNT(all));
	screen_wrap(&overview->screen, &line, 2, 1);
}

static void print_entry(struct overview *overview, struct entry *entry, size_t rank, size_t column)
{
	struct line line;

	/* Once more, so that the names that are missing on the screen are counted. */
	write_place(overview, entry, column);
	line_begin(&line);
	line_add(&line, "%4zu. ", rank);
	add_amount(overview, &line, entry);
	if (has_short_example(entry))
		line_add(&line, " %s", entry->site->example);
	line_to(&line, column);
	line_add(&line, "%s", entry->place.text + strspn(entry->place.text, " "));
	screen_wrap(&overview->screen, &line, column, 2);
	print_example(overview, entry, column);
}

static void print_some(struct overview *overview, const struct entries *entries, size_t wanted)
{
	uint32_t classes[CANDIDATES_MAX], chosen[CANDIDATES_MAX];
	struct entries shown = { .items = calloc(wanted, sizeof(*shown.items)) };

	overview->screen.is_broken |= !shown.items;
	for (size_t i = 0; i < entries->count; i++)
		classes[i] = entries->items[i].site->class;
	if (shown.items)
		shown.count =
			summary_share(overview->summary, classes, entries->count, wanted, chosen);
	print_title(overview, entries, chosen, shown.count);
	for (size_t i = 0; i < shown.count; i++)
		shown.items[i] = entries->items[chosen[i]];
	find_column(overview, &shown);
	for (size_t i = 0; i < shown.count; i++)
		print_entry(overview, &shown.items[i], i + 1, shown.column);
	free(shown.items);
}

void overview_sites(struct overview *overview, size_t room)
{
	struct screen above = overview->screen;
	struct entries entries;

	if (!overview->summary->sites.whole)
		return;
	if (!collect(overview, &entries)) {
		overview->screen.is_broken = true;
		return;
	}
	overview->first = entries.items[0].site->process;
	for (size_t wanted = SITES_MAX; wanted; wanted--) {
		overview->screen = (struct screen){ .width = overview->screen.width };
		naming_restart(overview->naming);
		print_some(overview, &entries, wanted);
		if (overview->screen.count <= room || wanted == 1)
			break;
		screen_free(&overview->screen);
	}
	screen_move(&above, &overview->screen);
	overview->screen = above;
	free(entries.items);
}
