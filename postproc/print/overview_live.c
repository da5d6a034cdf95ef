/* SPDX-License-Identifier: MIT */
/* Prints the table of resource classes, and the call sites whose objects are live at exit. */
#include "overview_parts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hash_table.h"
#include "base/memory.h"
#include "hook_table.h"

#define OTHERS_MAX 4  /* maximum number of rows for classes that only other tracers record */
#define WORDS_MIN  16 /* minimum width of the last cell of a row */

/* ---- the table ---- */

/* For each class of resources, the words for its acquisitions and for its live objects. */
static const struct {
	const char *used, *held;
} words[RESOURCE_COUNT] = {
	[RESOURCE_NONE] = { "acquired", "live" },
	[RESOURCE_MEMORY] = { "allocs", "block" },
	[RESOURCE_FD] = { "opened", "open" },
	[RESOURCE_FILE] = { "opened", "open" },
	[RESOURCE_THREAD] = { "created", "never joined" },
	[RESOURCE_LOCK] = { "locked", "still locked" },
	[RESOURCE_MUTEX] = { "created", "not destroyed" },
	[RESOURCE_CONDITION] = { "created", "not destroyed" },
	[RESOURCE_SEMAPHORE] = { "created", "not destroyed" },
	[RESOURCE_FUTEX] = { "waits", "held" },
	[RESOURCE_CALL] = { "waits", "held" },
	[RESOURCE_DIRECTORY] = { "opened", "open" },
	[RESOURCE_RWLOCK] = { "created", "not destroyed" },
	[RESOURCE_SPINLOCK] = { "created", "not destroyed" },
	[RESOURCE_BARRIER] = { "created", "not destroyed" },
	[RESOURCE_MAPPING] = { "mapped", "range" },
	[RESOURCE_SHM_OBJECT] = { "created", "not unlinked" },
	[RESOURCE_SHM_FD] = { "opened", "open" },
	[RESOURCE_SEGMENT] = { "created", "segment" },
	[RESOURCE_ATTACHMENT] = { "attached", "attached" },
	[RESOURCE_CONTROL] = { "created", "live" },
	[RESOURCE_SEMSET] = { "created", "not removed" },
	[RESOURCE_PROCESS] = { "created", "never waited for" },
};

/* The cells of a row: class, acquired, peak, live at exit. */
#define CELLS	 4
#define ROWS_MAX (RESOURCE_COUNT + OTHERS_MAX)

struct row {
	struct line cells[CELLS];
};

/* Adds a number of bytes: "12.3 MB" or, if memory was sampled, "about 12.3 MB +- 0.4 MB". */
static void add_bytes(struct line *line, const struct summary_class *class, uint64_t bytes,
		      double variance)
{
	uint64_t error = estimate_error(variance);

	line_add(line, "%s%s", class->is_estimate ? "about " : "", BYTES(bytes));
	if (error)
		line_add(line, " +- %s", BYTES(error));
}

/*
 * Fills the cell of the peak with the highest peak of any one process. The peak of all processes
 * together is unknown, because processes are read one after the other.
 */
static void fill_peak(const struct overview *overview, struct line *line,
		      const struct summary_class *class)
{
	const struct summary_process *process =
		summary_process_at(overview->summary, class->peak.process);

	if (!class->peak.amount)
		return;
	if (summary_has_bytes(class))
		add_bytes(line, class, class->peak.amount, class->peak.variance);
	else
		line_add(line, "%s", COUNT(class->peak.amount));
	/* the peak does not include detached threads, because their end is unknown */
	if (class->known == RESOURCE_THREAD && class->lost)
		line_add(line, " joinable");
	if (overview->summary->pids > 1 && process)
		line_add(line, " in %" PRIu32 " %.10s", process->pid, overview_name(process));
	else if (overview->summary->has_times)
		line_add(line, " at %s", DURATION(class->peak.time_ns));
}

static void fill_held(const struct overview *overview, struct line *line,
		      const struct summary_class *class)
{
	const struct summary_process *last = images_last(overview->summary);
	bool is_fd = class->known == RESOURCE_FD, is_thread = class->known == RESOURCE_THREAD;
	bool has_bytes = summary_has_bytes(class);

	if (class->held && has_bytes)
		add_bytes(line, class, class->held_bytes, class->held_variance);
	if (class->held)
		line_add(line, "%s%s %s%s", has_bytes ? " in " : "", COUNT(class->held),
			 words[class->known].held, has_bytes ? PLURAL(class->held) : "");
	else
		line_add(line, "none");
	if (is_fd) {
		/* add how many descriptors are parts of live objects, and the objects' classes */
		const char *between = " by ";

		if (class->held_parts)
			line_add(line, ", %s", COUNT(class->held_parts));
		for (unsigned i = 0; class->held_parts && i < RESOURCE_COUNT; i++)
			if (class->parts_of & 1u << i) {
				line_add(line, "%s%s", between, resource_table[i].type);
				between = "/";
			}
	}
	/*
	 * the unit of the size is unknown; if every object has size 1, the sum of sizes would only
	 * repeat the count
	 */
	if (class->known == RESOURCE_NONE && class->held_bytes > class->held)
		line_add(line, ", %s in size", COUNT(class->held_bytes));
	/* count live objects of killed processes separately, because they may not be leaks */
	if (class->killed && overview->summary->pids > 1)
		line_add(line, ", %s in killed processes",
			 has_bytes ? BYTES(class->killed_bytes) : COUNT(class->killed));
	if (is_fd && last->inherited)
		line_add(line, "; %s %s", COUNT(last->inherited),
			 last->is_attached ? "open before" : "inherited");
	if (is_thread && class->waited)
		line_add(line, "; %s joined", COUNT(class->waited));
	if (is_thread && class->lost)
		line_add(line, "%s %s detached", class->waited ? "," : ";", COUNT(class->lost));
	if (class->sites && !is_fd && !is_thread)
		line_add(line, ", %s site%s", COUNT(class->sites), PLURAL(class->sites));
}

static bool was_used(const struct overview *overview, const struct summary_class *class)
{
	/* failed opens and closes of inherited streams are normal, so they alone make no row */
	if (class->known == RESOURCE_FD || class->known == RESOURCE_FILE)
		return class->acquired ||
		       (class->known == RESOURCE_FD && images_last(overview->summary)->inherited);
	if (class->known == RESOURCE_CALL) /* overview_waits() prints this class */
		return false;
	return class->acquired || class->waited || class->notified || class->failed;
}

static void fill_row(const struct overview *overview, struct row *row,
		     const struct summary_class *class)
{
	line_add(&row->cells[0], "  %.20s", class->type);

	struct line *line = &row->cells[1];

	if (class->known == RESOURCE_MEMORY)
		line_add(line, "%s%s alloc%s", class->is_estimate ? "about " : "",
			 COUNT(class->acquired), PLURAL(class->acquired));
	else if (!class->acquired &&
		 /* the objects were initialized statically, without a recorded call */
		 class->waited)
		line_add(line, "%s wait%s", COUNT(class->waited), PLURAL(class->waited));
	else if (!class->acquired && class->notified)
		line_add(line, "%s %s%s", COUNT(class->notified),
			 class->known == RESOURCE_SEMAPHORE ? "post"
			 : class->known == RESOURCE_FUTEX   ? "wake"
							    : "signal",
			 PLURAL(class->notified));
	else
		line_add(line, "%s %s", COUNT(class->acquired), words[class->known].used);
	/* do not show failures of other classes: failed opens and busy locks are normal */
	if (class->failed && (class->known == RESOURCE_MEMORY || class->known == RESOURCE_THREAD))
		line_add(line, ", %s FAILED", COUNT(class->failed));
	fill_peak(overview, &row->cells[2], class);
	fill_held(overview, &row->cells[3], class);
}

/*
 * Fills the rows of the table: known classes in the order of resources.def, then a few classes of
 * other tracers.
 */
static size_t fill_rows(const struct overview *overview, struct row *rows)
{
	const struct summary *summary = overview->summary;
	size_t count = 1, others = 0;

	line_add(&rows[0].cells[1], "used");
	line_add(&rows[0].cells[2], summary->pids > 1 ? "peak of one process" : "peak");
	line_add(&rows[0].cells[3], "%s", overview_held(overview));
	for (enum resource known = RESOURCE_NONE + 1; known < RESOURCE_COUNT; known++) {
		const struct summary_class *class = summary_class_of(summary, known);

		if (class && known != RESOURCE_EVENT && was_used(overview, class))
			fill_row(overview, &rows[count++], class);
	}
	for (uint32_t i = 0;
	     i < summary->class_count && others < overview_limit(overview, OTHERS_MAX); i++)
		if (summary->classes[i].known == RESOURCE_NONE && ++others)
			fill_row(overview, &rows[count++], &summary->classes[i]);
	return count;
}

/* Prints the cells of a row below each other, for a narrow terminal. */
static void print_stack(struct overview *overview, const struct row *row)
{
	static const char *const names[CELLS] = { "", "", "peak ", "live " };

	for (size_t i = 1; i < CELLS; i++) {
		struct line line = { .length = 0 };

		if (!row->cells[i].length)
			continue;
		if (i == 1)
			line_add(&line, "%s", row->cells[0].text);
		line_to(&line, OVERVIEW_COLUMN);
		line_add(&line, "%s%s", names[i], row->cells[i].text);
		screen_wrap(&overview->screen, &line, OVERVIEW_COLUMN + 2);
	}
}

static bool is_narrow(const struct overview *overview, const struct row *rows, size_t count,
		      size_t last)
{
	size_t width = overview->screen.width;

	if (last + WORDS_MIN > width)
		return true;
	for (size_t i = 0; width < SCREEN_WIDTH_USUAL && i < count; i++)
		if (last + rows[i].cells[CELLS - 1].length > width)
			return true;
	return false;
}

void overview_table(struct overview *overview)
{
	size_t columns[CELLS] = { 0, OVERVIEW_COLUMN };
	cleanup_free struct row *rows = memory_zalloc(ROWS_MAX, sizeof(*rows));
	size_t count = fill_rows(overview, rows);
	bool narrow;

	for (size_t cell = 1; cell + 1 < CELLS; cell++)
		for (size_t i = 0; i < count; i++)
			if (columns[cell] + rows[i].cells[cell].length + 3 > columns[cell + 1])
				columns[cell + 1] = columns[cell] + rows[i].cells[cell].length + 3;
	narrow = is_narrow(overview, rows, count, columns[CELLS - 1]);
	/* row 0 has the headings, which a narrow terminal does not show */
	for (size_t i = narrow; i < count; i++) {
		struct line line = { .length = 0 };

		if (narrow) {
			print_stack(overview, &rows[i]);
			continue;
		}
		for (size_t cell = 0; cell < CELLS; cell++) {
			if (cell)
				line_to(&line, columns[cell]);
			line_add(&line, "%s", rows[i].cells[cell].text);
		}
		screen_wrap(&overview->screen, &line, columns[CELLS - 1]);
	}
}

/* ---- call sites ---- */

#define COLUMN_AMOUNT	 6
#define AMOUNT_WIDTH_MAX 34
#define EXAMPLE_SHORT	 16 /* maximum bytes of a path or name printed beside an amount */
/* on a narrower terminal, an amount and its backtrace are on separate lines */
#define WIDTH_BESIDE 64

#define SITES_MAX 10

static bool has_short_example(const struct live_row *entry)
{
	return entry->site->example && strlen(entry->site->example) <= EXAMPLE_SHORT &&
	       !entry->has_more_examples;
}

static void add_amount(const struct overview *overview, struct line *line,
		       const struct live_row *entry)
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
	const struct summary_class *class = &overview->summary->classes[entry->site->class];
	const char *thing = things[class->known][entry->count != 1];

	if (summary_has_bytes(class))
		line_add(line, "%s in ", EXACT(entry->bytes));
	line_add(line, "%s ", COUNT(entry->count));
	if (thing)
		line_add(line, "%s", thing);
	else
		line_add(line, "%.20s%s", class->type, PLURAL(entry->count));
	if (has_short_example(entry))
		line_add(line, " %s", entry->site->example);
}

/* ---- the list ---- */

static void print_entry(struct overview *overview, const struct live_row *entry, size_t rank,
			size_t column)
{
	const struct summary *summary = overview->summary;
	const struct summary_process *process = summary_process_at(summary, entry->site->process);
	const char *example = has_short_example(entry) ? NULL : entry->site->example;
	size_t length = example ? strlen(example) : 0;
	size_t room = overview->screen.width - column - 14;
	struct line line = { .length = 0 }, origin = { .length = 0 };

	line_add(&line, "%4zu. ", rank);
	add_amount(overview, &line, entry);
	if (column == COLUMN_AMOUNT)
		screen_wrap(&overview->screen, &line, column);
	line_to(&line, column);
	if (process && process != images_last(summary)) {
		line_add(&origin, " [%.15s %" PRIu32, overview_name(process), process->pid);
		if (entry->site->processes > 1)
			line_add(&origin, " +%" PRIu32, entry->site->processes - 1);
		line_add(&origin, "]");
	}
	if (entry->sites > 1)
		line_add(&origin, " (%s sites)", COUNT(entry->sites));
	overview_frames(overview, &line, column, 2, entry->site->backtrace, entry->sites,
			origin.text);
	screen_wrap(&overview->screen, &line, column);
	if (!length)
		return;
	line_to(&line, column);
	line_add(&line, "%s%s%s", length > room ? "..." : "",
		 example + (length > room ? length - room + 3 : 0),
		 entry->has_more_examples ? " and others" : "");
	screen_add(&overview->screen, &line);
}

static void print_entries(struct overview *overview, const struct live *live, size_t wanted)
{
	cleanup_free uint32_t *classes = memory_zalloc(live->count + 1, sizeof(*classes));
	struct live_row shown[SITES_MAX];
	uint32_t chosen[SITES_MAX];
	struct line line = { .length = 0 };
	size_t column = 20, count;
	uint64_t sites = 0;

	for (size_t i = 0; i < live->count; i++)
		classes[i] = live->items[i].site->class;
	count = summary_share(overview->summary, classes, live->count, wanted, chosen);
	for (size_t i = 0; i < count; i++) {
		shown[i] = live->items[chosen[i]];
		sites += shown[i].sites;
	}
	line_add(&line, "%s, by call site", overview_held(overview));
	if (live->sites > sites)
		line_add(&line, " (%s of %s sites)", COUNT(sites), COUNT(live->sites));
	screen_wrap(&overview->screen, &line, 2);
	/* backtraces begin after the widest amount or, on a narrow terminal, below the amounts */
	for (size_t i = 0; i < count; i++) {
		add_amount(overview, &line, &shown[i]);
		if (line.length > AMOUNT_WIDTH_MAX)
			line.length = AMOUNT_WIDTH_MAX;
		if (COLUMN_AMOUNT + line.length + 2 > column)
			column = COLUMN_AMOUNT + line.length + 2;
		line_begin(&line);
	}
	if (overview->screen.width < WIDTH_BESIDE)
		column = COLUMN_AMOUNT;
	for (size_t i = 0; i < count; i++)
		print_entry(overview, &shown[i], i + 1, column);
}

void overview_sites(struct overview *overview, size_t room)
{
	struct screen above = overview->screen;
	struct live live;
	size_t wanted = overview->has_rows ? overview->rows : SITES_MAX;

	live_collect(&live, overview->summary, overview->naming, &overview->suppress);
	overview->leaks = live.leaks;
	if (live.count)
		overview->first = live.items[0].site->process;
	for (; live.count && wanted; wanted--) {
		overview->screen = (struct screen){ .width = above.width };
		/* restart the counts of frames: print_missing() needs those on the screen */
		naming_restart(overview->naming);
		print_entries(overview, &live, wanted);
		if (overview->has_rows || overview->screen.count <= room || wanted == 1)
			break;
		screen_free(&overview->screen);
	}
	if (live.count) {
		screen_move(&above, &overview->screen);
		overview->screen = above;
		overview->rows = wanted;
	}
	live_free(&live);
}
