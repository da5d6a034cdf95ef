/* SPDX-License-Identifier: MIT */
#include "overview_parts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "base/order.h"
#include "base/hash_table.h"
#include "naming/runtime.h"

#define COLUMN_AMOUNT	 6
#define AMOUNT_WIDTH_MAX 34
#define WIDTH_BESIDE	 64 /* columns of a terminal that has amounts and backtraces in one line */

#define SITES_MAX 10

/* A row of the list: all sites of a class and a process with the same call site. */
struct entry {
	const struct summary_site *site; /* the largest */
	uint64_t count, bytes, sites;
	bool has_more_examples;
	bool is_foreign; /* of a system program that the run started */
	char *call_site;
};

struct entries {
	struct entry *items;
	size_t count;
	uint64_t sites;		 /* number of sites in the entries */
	struct hash_table table; /* by class, process and call site */
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

/* ---- an example of a row ---- */

/* Whether the example is short enough to follow the amount. */
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

/* ---- the rows ---- */

/* Adds the process, if it is not the main program, and the number of sites. */
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
		line_add(line, " (%s sites)", COUNT(entry->sites));
}

/* The column of the backtraces: after the widest amount. */
static size_t find_column(const struct overview *overview, const struct entry *entries,
			  size_t count)
{
	size_t column = 20;

	for (size_t i = 0; i < count; i++) {
		struct line line;
		size_t length;

		line_begin(&line);
		add_amount(overview, &line, &entries[i]);
		length =
			line.length +
			(has_short_example(&entries[i]) ? 1 + strlen(entries[i].site->example) : 0);
		if (length > AMOUNT_WIDTH_MAX)
			length = AMOUNT_WIDTH_MAX;
		if (COLUMN_AMOUNT + length + 2 > column)
			column = COLUMN_AMOUNT + length + 2;
	}
	return overview->screen.width < WIDTH_BESIDE ? COLUMN_AMOUNT : column;
}

static void join(struct entry *entry, const struct summary_site *site)
{
	const char *a = entry->site->example, *b = site->example;

	entry->has_more_examples |= site->has_more_examples || (a && b && strcmp(a, b) != 0);
	entry->count += site->count;
	entry->bytes += site->bytes;
	entry->sites++;
}

/*
 * Whether a process is a system program (true, sed) that the run started, and not its main program.
 */
static bool is_foreign(const struct summary *summary, uint32_t number)
{
	const struct summary_process *process = summary_process_at(summary, number);
	const struct summary_process *own = images_last(summary);
	const char *path = process ? process->executable : NULL;

	return path && own->executable && strcmp(path, own->executable) != 0 &&
	       runtime_has(RUNTIME_PROGRAM, path);
}

static bool is_same_entry(const void *item, const void *key)
{
	const struct entry *entry = item, *wanted = key;

	return entry->site->class == wanted->site->class &&
	       entry->site->process == wanted->site->process &&
	       !strcmp(entry->call_site, wanted->call_site);
}

/* Adds a site to the row of its call site. */
static bool add_site(struct overview *overview, struct entries *entries,
		     const struct summary_site *site)
{
	char text[NAMING_SITE_MAX];
	struct entry wanted = { .site = site, .call_site = text }, *entry;
	uint64_t hash;

	naming_read_site(overview->naming, site->backtrace, text, sizeof(text));
	hash = hash_bytes(entries->table.seed ^ site->class ^ (uint64_t)site->process << 32, text,
			  strlen(text));
	entry = hash_table_find(&entries->table, hash, is_same_entry, &wanted);
	entries->sites++;
	if (entry) {
		join(entry, site);
		return true;
	}
	entry = &entries->items[entries->count];
	*entry = (struct entry){
		.site = site,
		.count = site->count,
		.bytes = site->bytes,
		.sites = 1,
		.has_more_examples = site->has_more_examples,
		.is_foreign = is_foreign(overview->summary, site->process),
		.call_site = memory_text(text),
	};
	if (!entry->call_site)
		return false;
	entries->count++;
	return hash_table_add(&entries->table, hash, entry) == 0;
}

/*
 * The program's own sites first, by class; within a class by size, which joining may have changed.
 */
static int compare_entries(const void *left, const void *right)
{
	const struct entry *a = left, *b = right;

	if (a->is_foreign != b->is_foreign)
		return a->is_foreign - b->is_foreign;
	if (a->site->class != b->site->class)
		return ORDER(a->site, b->site);
	return ORDER(b->bytes, a->bytes) ?: ORDER(b->count, a->count) ?: ORDER(a->site, b->site);
}

/* Joins the sites that are not suppressed (--suppress=none suppresses none). */
static bool collect(struct overview *overview, struct entries *entries)
{
	const struct summary *summary = overview->summary;
	bool is_complete = true;

	hash_table_init(&entries->table);
	entries->items = memory_zalloc(summary->sites.count + 1, sizeof(*entries->items));
	for (size_t i = 0; entries->items && is_complete && i < summary->sites.count; i++) {
		const struct summary_site *site = &summary->sites.items[i];

		if (!site->is_part && !overview_is_left_out(overview, site))
			is_complete = add_site(overview, entries, site);
	}
	if (entries->count)
		qsort(entries->items, entries->count, sizeof(*entries->items), compare_entries);
	return entries->items && is_complete;
}

static void free_entries(struct entries *entries)
{
	for (size_t i = 0; i < entries->count; i++)
		free(entries->items[i].call_site);
	hash_table_free(&entries->table);
	free(entries->items);
}

/* ---- the list ---- */

static void print_title(struct overview *overview, const struct entries *entries,
			const struct entry *shown, size_t count)
{
	uint64_t sites = 0;
	struct line line;

	for (size_t i = 0; i < count; i++)
		sites += shown[i].sites;
	line_begin(&line);
	line_add(&line, "%s, and where it came from", overview_held(overview));
	if (entries->sites > sites)
		line_add(&line, " (%s of %s sites)", COUNT(sites), COUNT(entries->sites));
	screen_wrap(&overview->screen, &line, 2);
}

static void print_entry(struct overview *overview, const struct entry *entry, size_t rank,
			size_t column)
{
	struct line line, origin;

	line_begin(&line);
	line_add(&line, "%4zu. ", rank);
	add_amount(overview, &line, entry);
	if (has_short_example(entry))
		line_add(&line, " %s", entry->site->example);
	if (column == COLUMN_AMOUNT)
		screen_wrap(&overview->screen, &line, column);
	line_to(&line, column);
	line_begin(&origin);
	add_origin(overview, &origin, entry);
	overview_frames(overview, &line, column, 2, entry->site->backtrace, entry->sites,
			origin.text);
	screen_wrap(&overview->screen, &line, column);
	print_example(overview, entry, column);
}

static void print_some(struct overview *overview, const struct entries *entries, size_t wanted)
{
	cleanup_free uint32_t *classes = memory_zalloc(entries->count + 1, sizeof(*classes));
	struct entry shown[SITES_MAX];
	uint32_t chosen[SITES_MAX];
	size_t column, count = 0;

	for (size_t i = 0; i < entries->count; i++)
		classes[i] = entries->items[i].site->class;
	count = summary_share(overview->summary, classes, entries->count, wanted, chosen);
	for (size_t i = 0; i < count; i++)
		shown[i] = entries->items[chosen[i]];
	print_title(overview, entries, shown, count);
	column = find_column(overview, shown, count);
	for (size_t i = 0; i < count; i++)
		print_entry(overview, &shown[i], i + 1, column);
}

void overview_sites(struct overview *overview, size_t room)
{
	struct screen above = overview->screen;
	struct entries entries = { 0 };
	size_t wanted = overview->has_rows ? overview->rows : SITES_MAX;

	collect(overview, &entries);
	overview->leaks = (struct findings_leaks){ 0 };
	if (entries.count) {
		overview->first = entries.items[0].site->process;
		overview->leaks.class = &overview->summary->classes[entries.items[0].site->class];
	}
	for (size_t i = 0; i < entries.count; i++)
		if (overview->summary->classes[entries.items[i].site->class].known ==
			    RESOURCE_MEMORY &&
		    entries.items[i].count > overview->leaks.blocks)
			overview->leaks.blocks = entries.items[i].count;
	for (; entries.count && wanted; wanted--) {
		overview->screen = (struct screen){ .width = above.width };
		/* Counts missing names only for sites that are on the screen. */
		naming_restart(overview->naming);
		print_some(overview, &entries, wanted);
		if (overview->has_rows || overview->screen.count <= room || wanted == 1)
			break;
		screen_free(&overview->screen);
	}
	if (entries.count) {
		screen_move(&above, &overview->screen);
		overview->screen = above;
		overview->rows = wanted;
	}
	free_entries(&entries);
}
