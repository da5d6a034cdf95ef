/* SPDX-License-Identifier: MIT */
#include "overview_parts.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/memory.h"
#include "hook_table.h"

#define OTHERS_MAX 4  /* classes of other tracers */
#define WORDS_MIN  16 /* least columns of the terminal for the last cell of a row */

/* The words of a class for acquired and for live objects. */
struct words {
	const char *used, *held;
};

static struct words words_of(enum resource resource)
{
	static const struct words words[RESOURCE_COUNT] = {
		[RESOURCE_NONE] = { "taken", "held" },
		[RESOURCE_MEMORY] = { "allocs", "block" },
		[RESOURCE_FD] = { "opened", "open" },
		[RESOURCE_FILE] = { "opened", "open" },
		[RESOURCE_THREAD] = { "made", "never joined" },
		[RESOURCE_LOCK] = { "taken", "locked" },
		[RESOURCE_MUTEX] = { "made", "not destroyed" },
		[RESOURCE_CONDITION] = { "made", "not destroyed" },
		[RESOURCE_SEMAPHORE] = { "made", "not destroyed" },
		[RESOURCE_EVENT] = { "gained", "held" },
		[RESOURCE_DIRECTORY] = { "opened", "open" },
		[RESOURCE_RWLOCK] = { "made", "not destroyed" },
		[RESOURCE_SPINLOCK] = { "made", "not destroyed" },
		[RESOURCE_BARRIER] = { "made", "not destroyed" },
		[RESOURCE_MAPPING] = { "mapped", "range" },
		[RESOURCE_SHM_OBJECT] = { "made", "not unlinked" },
		[RESOURCE_SHM_FD] = { "opened", "open" },
		[RESOURCE_SEGMENT] = { "made", "segment" },
		[RESOURCE_ATTACHMENT] = { "attached", "attached" },
		[RESOURCE_CONTROL] = { "made", "held" },
		[RESOURCE_SEMSET] = { "made", "not removed" },
		[RESOURCE_PROCESS] = { "made", "never waited for" },
	};

	return words[resource];
}

/* The cells of a row: class, used, peak, live at exit. */
#define CELLS	 4
#define ROWS_MAX (RESOURCE_COUNT + OTHERS_MAX)

struct row {
	struct line cells[CELLS];
};

/* "12.3 MB", or with sampling "about 12.3 MB +- 0.4 MB". */
static void add_bytes(struct line *line, const struct summary_class *class, uint64_t bytes,
		      double variance)
{
	uint64_t error = estimate_error(variance);

	line_add(line, "%s%s", class->is_estimate ? "about " : "", BYTES(bytes));
	if (error)
		line_add(line, " +- %s", BYTES(error));
}

static void fill_used(struct line *line, const struct summary_class *class)
{
	if (class->known == RESOURCE_MEMORY)
		line_add(line, "%s%s alloc%s", class->is_estimate ? "about " : "",
			 COUNT(class->gained), PLURAL(class->gained));
	else if (!class->gained && class->waited) /* a static initialiser made it, without a call */
		line_add(line, "%s wait%s", COUNT(class->waited), PLURAL(class->waited));
	else if (!class->gained && class->notified)
		line_add(line, "%s %s%s", COUNT(class->notified),
			 class->known == RESOURCE_SEMAPHORE ? "post" : "signal",
			 PLURAL(class->notified));
	else
		line_add(line, "%s %s", COUNT(class->gained), words_of(class->known).used);
	/* Failed opens and busy locks are normal. */
	if (class->failed && (class->known == RESOURCE_MEMORY || class->known == RESOURCE_THREAD))
		line_add(line, ", %s FAILED", COUNT(class->failed));
}

/* The common peak of several processes is unknown, as they are read one by one. */
static void fill_peak(const struct overview *overview, struct line *line,
		      const struct summary_class *class)
{
	const struct summary_process *process;

	if (!class->peak.amount)
		return;
	if (summary_has_bytes(class))
		add_bytes(line, class, class->peak.amount, class->peak.variance);
	else
		line_add(line, "%s", COUNT(class->peak.amount));
	/* The peak counts joinable threads; a detached thread may still run. */
	if (class->known == RESOURCE_THREAD && class->lost)
		line_add(line, " joinable");
	process = summary_process_at(overview->summary, class->peak.process);
	if (overview->summary->pids > 1 && process)
		line_add(line, " in %" PRIu32 " %.10s", process->pid, overview_name(process));
	else if (overview->summary->has_times)
		line_add(line, " at %s", DURATION(class->peak.time_ns));
}

/* Live objects of killed processes may not be leaks. */
static void add_killed(const struct overview *overview, struct line *line,
		       const struct summary_class *class)
{
	if (!class->killed || overview->summary->pids < 2)
		return;
	if (summary_has_bytes(class))
		line_add(line, ", %s by killed", BYTES(class->killed_bytes));
	else
		line_add(line, ", %s by killed", COUNT(class->killed));
}

/* Adds the classes whose objects own descriptors. */
static void add_parts(struct line *line, const struct summary_class *class)
{
	const char *between = " by ";

	if (!class->held_parts)
		return;
	line_add(line, ", %s", COUNT(class->held_parts));
	for (unsigned i = 0; i < RESOURCE_COUNT; i++) {
		if (!(class->parts_of & 1u << i))
			continue;
		line_add(line, "%s%s", between, resource_table[i].type);
		between = "/";
	}
}

static void fill_held_fds(const struct overview *overview, struct line *line,
			  const struct summary_class *class)
{
	uint64_t inherited = images_last(overview->summary)->inherited;

	if (!class->held)
		line_add(line, "none");
	else
		line_add(line, "%s %s", COUNT(class->held), words_of(class->known).held);
	add_parts(line, class);
	add_killed(overview, line, class);
	if (inherited)
		line_add(line, "; %s %s", COUNT(inherited),
			 images_last(overview->summary)->is_attached ? "open before" : "inherited");
}

static void fill_threads(const struct overview *overview, struct line *line,
			 const struct summary_class *class)
{
	if (class->held)
		line_add(line, "%s never joined", COUNT(class->held));
	else
		line_add(line, "none");
	add_killed(overview, line, class);
	if (class->waited)
		line_add(line, "; %s joined", COUNT(class->waited));
	if (class->lost)
		line_add(line, "%s %s detached", class->waited ? "," : ";", COUNT(class->lost));
}

/* The size of another tracer's class means something only if it exceeds the count. */
static void fill_sizes(struct line *line, const struct summary_class *class)
{
	if (class->known == RESOURCE_NONE && class->held_bytes > class->held)
		line_add(line, ", %s in size", COUNT(class->held_bytes));
}

static void fill_held_bytes(struct line *line, const struct summary_class *class)
{
	add_bytes(line, class, class->held_bytes, class->held_variance);
	line_add(line, " in %s %s%s", COUNT(class->held), words_of(class->known).held,
		 PLURAL(class->held));
}

static void fill_held(const struct overview *overview, struct line *line,
		      const struct summary_class *class)
{
	if (class->known == RESOURCE_FD) {
		fill_held_fds(overview, line, class);
		return;
	}
	if (class->known == RESOURCE_THREAD) {
		fill_threads(overview, line, class);
		return;
	}
	if (!class->held)
		line_add(line, "none");
	else if (!summary_has_bytes(class))
		line_add(line, "%s %s", COUNT(class->held), words_of(class->known).held);
	else
		fill_held_bytes(line, class);
	fill_sizes(line, class);
	add_killed(overview, line, class);
}

static bool was_used(const struct overview *overview, const struct summary_class *class)
{
	/* Programs probe for missing files, and close the streams that they started with. */
	if (class->known == RESOURCE_FD || class->known == RESOURCE_FILE)
		return class->gained ||
		       (class->known == RESOURCE_FD && images_last(overview->summary)->inherited);
	return class->gained || class->waited || class->notified || class->failed;
}

static void fill_row(const struct overview *overview, struct row *row,
		     const struct summary_class *class)
{
	for (size_t i = 0; i < CELLS; i++)
		line_begin(&row->cells[i]);
	line_add(&row->cells[0], "  %.20s", class->type);
	fill_used(&row->cells[1], class);
	fill_peak(overview, &row->cells[2], class);
	fill_held(overview, &row->cells[3], class);
	if (class->sites && class->known != RESOURCE_FD && class->known != RESOURCE_THREAD)
		line_add(&row->cells[3], ", %s site%s", COUNT(class->sites), PLURAL(class->sites));
}

static void fill_title(const struct overview *overview, struct row *row)
{
	const char *titles[CELLS] = { "", "used", "peak", overview_held(overview) };

	if (overview->summary->pids > 1)
		titles[2] = "peak of one process";
	for (size_t i = 0; i < CELLS; i++) {
		line_begin(&row->cells[i]);
		line_add(&row->cells[i], "%s", titles[i]);
	}
}

/* Known classes in the order of resources.def, then a few classes of other tracers. */
static size_t fill_rows(const struct overview *overview, struct row *rows)
{
	const struct summary *summary = overview->summary;
	size_t count = 1, others = 0;

	fill_title(overview, &rows[0]);
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

static void print_row(struct overview *overview, const struct row *row, const size_t *columns)
{
	struct line line;

	line_begin(&line);
	for (size_t i = 0; i < CELLS; i++) {
		if (i)
			line_to(&line, columns[i]);
		line_add(&line, "%s", row->cells[i].text);
	}
	screen_wrap(&overview->screen, &line, columns[CELLS - 1]);
}

/* On a narrow terminal, the cells of a row are printed below each other. */
static void print_stack(struct overview *overview, const struct row *row)
{
	static const char *const words[CELLS] = { "", "", "peak ", "held " };
	struct line line;

	for (size_t i = 1; i < CELLS; i++) {
		if (!row->cells[i].length)
			continue;
		line_begin(&line);
		if (i == 1)
			line_add(&line, "%s", row->cells[0].text);
		line_to(&line, OVERVIEW_COLUMN);
		line_add(&line, "%s%s", words[i], row->cells[i].text);
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
	struct row *rows = memory_zalloc(ROWS_MAX, sizeof(*rows));
	size_t count = fill_rows(overview, rows);
	bool narrow;

	for (size_t cell = 1; cell + 1 < CELLS; cell++)
		for (size_t i = 0; i < count; i++)
			if (columns[cell] + rows[i].cells[cell].length + 3 > columns[cell + 1])
				columns[cell + 1] = columns[cell] + rows[i].cells[cell].length + 3;
	narrow = is_narrow(overview, rows, count, columns[CELLS - 1]);
	/* the first row is the headings */
	for (size_t i = narrow; i < count; i++)
		if (narrow)
			print_stack(overview, &rows[i]);
		else
			print_row(overview, &rows[i], columns);
	free(rows);
}
