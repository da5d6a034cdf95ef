/* SPDX-License-Identifier: MIT */
/*
 * Tests each limit of limits.def with each reason of reasons.def why a limit may be unknown.
 * Compares the checker's results with the table below.
 *
 * "tests/unit/limits print REASON..." prints, for each limit, an expression that few programs
 * break, and the expected result for a recording with these reasons.
 */
#include "postproc/gate/checker.h"

#include <stdlib.h>

#include "tests/lib/tap.h"
#include "wire.h"

#define THRESHOLD 100000000u
#define FAR	  1000000000000u
#define TWO_S	  2000000000u

/* ---- what each reason is about: a setter for each, so none is forgotten ---- */

struct world {
	struct summary *summary;
	struct summary_process *process;
	struct judge *judge;
};

static void have_unread(struct world *world)
{
	world->summary->unread = 1;
}

static void have_damaged(struct world *world)
{
	world->summary->damaged = 1;
}

static void have_lost(struct world *world)
{
	world->summary->lost = 1;
}

static void have_late(struct world *world)
{
	world->process->late = 1;
}

static void have_incomplete(struct world *world)
{
	world->process->has_end = false;
}

static void have_left(struct world *world)
{
	world->process->end = SUMMARY_LEFT;
}

static void have_paused(struct world *world)
{
	world->process->pauses = 1;
}

static void have_partial(struct world *world)
{
	world->process->recorded = "fd,lock";
}

static void have_unhooked(struct world *world)
{
	world->process->descriptors = 4;
}

static void have_zombie(struct world *world)
{
	world->process->has_zombie = true;
}

static void have_namespace(struct world *world)
{
	world->process->has_namespace = true;
}

static void have_directly(struct world *world)
{
	world->process->past = "mapping,process";
}

static void have_bypasses(struct world *world)
{
	struct summary_bypass *bypass = ARRAY_ADD(&world->summary->bypasses);

	if (!bypass)
		abort();
	*bypass = (struct summary_bypass){ .path = "plugin.so", .functions = 1 };
}

static void have_doubtful(struct world *world)
{
	world->process->is_doubtful = true;
}

static void have_attached(struct world *world)
{
	world->process->is_attached = true;
}

static void have_cut(struct world *world)
{
	world->process->cut_calls = 1;
}

static void have_gone(struct world *world)
{
	world->process->gone = 1;
}

static void have_part(struct world *world)
{
	world->process->is_part = true;
}

static void have_refused(struct world *world)
{
	world->summary->refused.sum = 1;
}

static void have_untraced(struct world *world)
{
	world->process->end = SUMMARY_EXEC;
	world->process->untraced = "a reason";
}

static void have_spawned(struct world *world)
{
	struct summary_spawned *spawned = ARRAY_ADD(&world->summary->spawned);

	if (!spawned)
		abort();
	*spawned = (struct summary_spawned){ .pid = 7, .path = "/bin/busybox" };
}

static void have_allocators(struct world *world)
{
	world->process->allocator = "/usr/lib/libjemalloc.so.2";
}

static void have_inner(struct world *world)
{
	world->summary->inner.name = "mi_malloc";
}

static void have_mapped(struct world *world)
{
	world->summary->inner.bytes = 65536;
}

static void have_contended(struct world *world)
{
	world->process->is_contended = true;
}

static void have_unobserved(struct world *world)
{
	world->process->coverage.worst = TWO_S;
}

static void have_unscanned(struct world *world)
{
	world->process->is_scanned = false;
}

static void have_unmeasured(struct world *world)
{
	world->process->is_measured = false;
}

static void have_unitless(struct world *world)
{
	world->summary->is_unitless = true;
}

static void have_untold(struct world *world)
{
	world->summary->untold = 1;
}

static void have_forked(struct world *world)
{
	world->process->parent_stream = 0;
}

static void have_sampled(struct world *world)
{
	world->summary->sample = 1 << 19;
}

static void have_empty(struct world *world)
{
	world->judge->is_empty = true;
}

static void have_nothing(struct world *world)
{
	world->summary->processes.count = 0;
}

/* Java: threads waited for conditions, and one thread still waits at the end. */
static void have_language(struct world *world)
{
	static struct space_module module = { .path = "/none/libjvm.so", .build_id = "" };
	struct summary_blocked *blocked = ARRAY_ADD(&world->summary->blocked);
	struct space_module **entry = ARRAY_ADD(&world->summary->space.module_list);
	struct summary_class *class = &world->summary->classes[world->summary->class_count++];

	if (!blocked || !entry)
		abort();
	*blocked = (struct summary_blocked){ .resource = RESOURCE_CONDITION, .threads = 1 };
	*entry = &module;
	class->known = RESOURCE_CONDITION;
	class->waits.times.ns[WAITS_STEPS - 1] = TWO_S;
}

static void have_ownerless(struct world *world)
{
	struct summary_blocked *blocked = ARRAY_ADD(&world->summary->blocked);

	if (!blocked)
		abort();
	*blocked = (struct summary_blocked){ .resource = RESOURCE_FUTEX, .threads = 1 };
}

static void have_holderless(struct world *world)
{
	struct summary_blocked *blocked = ARRAY_ADD(&world->summary->blocked);

	*blocked = (struct summary_blocked){ .resource = RESOURCE_LOCK,
					     .threads = 1,
					     .longest_ns = TWO_S };
}

static const struct reason {
	const char *name;
	void (*have)(struct world *world);
} reasons[] = {
#define REASON(name, of, count, part, kinds, noun, what) { #name, have_##name },
#include "postproc/reasons.def"
#undef REASON
};

#define REASONS (sizeof(reasons) / sizeof(*reasons))

/* ---- limits ---- */

static const struct source {
	enum table_id table;
	int column;
} sources[] = {
#define RENAMED(name, instead)
#define LIMIT(name, unit, report, table, column, class, how, when, kinds, live, meaning) \
	{ TABLE_##table, COLUMN_##table##_##column - FIRST_##table },
#include "account/limits.def"
#undef LIMIT
#undef RENAMED
};

#define LIMITS (sizeof(sources) / sizeof(*sources))

static bool counts_rows(const struct limit_row *row)
{
	return !strcmp(row->name, "lock-order") || !strcmp(row->name, "untraced") ||
	       (!strcmp(row->name, "growth") && row->unit == LIMIT_NUMBER);
}

/* Adds a row to the limit's report. first: the text of the first column, or NULL. */
static void add_row(struct table *table, const struct limit_row *row, const char *first,
		    uint64_t value)
{
	const struct table_column *columns = table->facts.columns;
	int column = sources[row - limit_rows].column;
	struct table_cell *cells;

	if (counts_rows(row) && !value)
		return;
	cells = table_add(table);
	if (columns[0].kind == TABLE_GROUP)
		table_group(table, &cells[0], first, 0);
	else if (columns[0].kind == TABLE_TEXT)
		table_text(table, &cells[0], first);
	if (column || (columns[0].kind != TABLE_GROUP && columns[0].kind != TABLE_TEXT))
		table_number(&cells[column], value);
}

/* ---- one pair ---- */

static const char *check(const struct limit *limit, void (*have)(struct world *world),
			 bool is_so_far, const char *class, uint64_t value)
{
	struct report_options options = { 0 };
	struct report_run run = { .options = &options };
	struct limits limits = { .items = { *limit }, .count = 1 };
	struct baseline learned = { 0 };
	struct judge judge = {
		.limits = &limits, .run = &run, .learned = &learned, .is_so_far = is_so_far
	};
	struct tables tables, others;
	struct world world = { .judge = &judge };
	struct table *answer;

	run.summary = summary_begin();
	world.summary = run.summary;
	world.process = ARRAY_ADD(&run.summary->processes);
	*world.process = (struct summary_process){
		.has_tails = true,
		.end = SUMMARY_EXITED,
		.has_end = true,
		.is_scanned = true,
		.is_measured = true,
		.parent_stream = WIRE_NO_STREAM,
	};
	if (naming_create(&run.naming, &run.summary->space, NULL, NULL))
		abort();
	if (have)
		have(&world);
	tables_init(&tables);
	tables_init(&others);
	for (int i = 0; i < 2; i++)
		add_row(tables_begin(&tables, sources[limit->row - limit_rows].table), limit->row,
			class, value);
	answer = tables_begin(&others, TABLE_limits);
	judge_limits(&judge, &tables, &others, answer);
	baseline_free(&learned);
	tables_free(&tables);
	tables_free(&others);
	naming_destroy(run.naming);
	summary_free(run.summary);
	return judge.broken ? "broken" : judge.unknown ? "unknown" : "kept";
}

/* '.': known; 'm': unknown unless it is broken; 'u': unknown in any case; '!': anything else */
static char letter_of(const struct limit *limit, void (*have)(struct world *world), bool is_so_far)
{
	const char *kept = check(limit, have, is_so_far, limit->row->class, 0);
	const char *broken = check(limit, have, is_so_far, limit->row->class, FAR);

	if (!strcmp(kept, "kept") && !strcmp(broken, "broken"))
		return '.';
	if (strcmp(kept, "unknown"))
		return '!';
	return !strcmp(broken, "broken") ? 'm' : !strcmp(broken, "unknown") ? 'u' : '!';
}

/* Returns a limit that the value FAR breaks; if the limit counts rows, any row breaks it. */
static struct limit limit_of(size_t row)
{
	return (struct limit){ .row = &limit_rows[row],
			       .text = limit_rows[row].name,
			       .length = strlen(limit_rows[row].name),
			       .value = counts_rows(&limit_rows[row]) ? 0 : THRESHOLD };
}

/* ---- the table ---- */

/*
 * A letter for each reason, in the order of reasons.def:
 *
 *   .  the reason does not affect the limit
 *   m  the limit is unknown unless it is broken: unseen events only add to it
 *   u  the limit is unknown in any case
 *
 *                                 i                a   u u        h
 *                                 n      n         l  cnun       oo
 *                                 c   ub adda    u l  oonmu     lwl
 *                              d  o  pny miot   rnso  nbsen  s nand
 *                             ua  m pahpzerut   etpc mtscaiufa onee
 *                             nm  p aroaoseba   fraaiaeeastnometgrr
 *                             rallllutosmpctc gpuawtnpnrnultrpmhull
 *                             egoaeesiksbatfhcoascnonpdvnreoklpiaee
 *                             aesttfeaeeiclueunreeereeeeeesleetngss
 *                             ddteetdldseeyldtetdddsrdddddsdddygess
 */
/* clang-format off */
static const struct {
	const char *name;
	enum limit_unit unit;
	const char *letters;
} expected[LIMITS] = {
	{ "leak",         LIMIT_NUMBER, "uuuuuuuu.u.u..m.mummmmmm........mm..." },
	{ "leak",         LIMIT_BYTES,  "uuuuuuuu.u.u..m.mummmmmm........mm..." },
	{ "fd",           LIMIT_NUMBER, "uuuuuuu.uu.u..m.mummm...........mm..." },
	{ "file",         LIMIT_NUMBER, "uuuuuuuu.u.u..m.mummm...........mm..." },
	{ "mapping",      LIMIT_NUMBER, "uuuuuuuu.u.uu.m.mummm...........mm..." },
	{ "mapping",      LIMIT_BYTES,  "uuuuuuuu.u.uu.m.mummm...........mm..." },
	{ "thread",       LIMIT_NUMBER, "uuuuuuuu.u.u..m.mummm...........mm..." },
	{ "process",      LIMIT_NUMBER, "uuuuuuuu.umuu.m.mummm...........mm..." },
	{ "lock",         LIMIT_NUMBER, "uuuuuuuu.u.u..m.mummm...m.......mm..." },
	{ "live",         LIMIT_NUMBER, "uuuuuuuuuumuu.m.mummmmmmm.......mm..." },
	{ "growth",       LIMIT_NUMBER, "uuuuuuuuuumuu.m.mummmmmmm...mm.mmm..." },
	{ "growth",       LIMIT_BYTES,  "uuuuuuuu.u.u..m.mummmmmm....mm..mm..." },
	{ "peak",         LIMIT_BYTES,  "uuuummuu.u.u..mmmummmmmm........mm..." },
	{ "fd-peak",      LIMIT_NUMBER, "uuuummu.uu.u..mmmummm...........mm..." },
	{ "double-close", LIMIT_NUMBER, "mmmmmmmmmm.m..mmmmmmm...........mm..." },
	{ "bad-fd",       LIMIT_NUMBER, "mmmmmmmmmm.m..mmmmmmm...........mm..." },
	{ "bad-unlock",   LIMIT_NUMBER, "uuuummuu.u.u..mmmummm...m.......mm..." },
	{ "wait",         LIMIT_NS,     "mmmmmmm..m.m..mmmmmmm....m......mmm.." },
	{ "total-wait",   LIMIT_NS,     "mmmmmmm..m.m..mmmmmmm....m......mmm.." },
	{ "deadlock",     LIMIT_NUMBER, "uuuuuuuu.u.u..m.mummm...mm......mmmmm" },
	{ "hang",         LIMIT_NUMBER, "uuuuuuuu.u.u..m.mummm...mm......mm..m" },
	{ "lock-order",   LIMIT_NUMBER, "uuuummuu.u.u..mmmummm...m.......mm..." },
	{ "unreachable",  LIMIT_NUMBER, "uuuu..uu.u.u.um.mummmmmm..m....mmm..." },
	{ "unreachable",  LIMIT_BYTES,  "uuuu..uu.u.u.um.mummmmmm..m....mmm..." },
	{ "resident",     LIMIT_BYTES,  "uu..............m.mmm......m....mm..." },
	{ "pinned",       LIMIT_BYTES,  "uuuu..uu.u.u..m.mummmmmm...m..mmmm..." },
	{ "dropped",      LIMIT_NUMBER, "mm..m...........m.m.............mm..." },
	{ "untraced",     LIMIT_NUMBER, "mm..m...........m.m.............mm..." },
};
/* clang-format on */

static bool is_as_expected(size_t row, const char *letters)
{
	return !strcmp(expected[row].name, limit_rows[row].name) &&
	       expected[row].unit == limit_rows[row].unit &&
	       !strcmp(expected[row].letters, letters);
}

static void find_letters(const struct limit *limit, bool is_so_far, char *letters)
{
	for (size_t i = 0; i < REASONS; i++)
		letters[i] = letter_of(limit, reasons[i].have, is_so_far);
	letters[REASONS] = '\0';
}

static void check_row(size_t row)
{
	struct limit limit = limit_of(row);
	char letters[REASONS + 1], sentence[160];

	find_letters(&limit, false, letters);
	snprintf(sentence, sizeof(sentence), "%s is unknown under the reasons of reasons.def alone",
		 limit.row->name);
	if (!ok(is_as_expected(row, letters), sentence))
		printf("#       %s %d\n# found %s\n", expected[row].letters, limit.row->unit,
		       letters);
	snprintf(sentence, sizeof(sentence), "%s is decided if nothing is missing",
		 limit.row->name);
	ok(letter_of(&limit, NULL, false) == '.' && letter_of(&limit, NULL, true) == '.', sentence);
}

static size_t number_of(const char *reason)
{
	size_t i = 0;

	while (strcmp(reasons[i].name, reason))
		i++;
	return i;
}

/* With --now, the present is the end of a running process, but a thread's wait may continue. */
static void check_so_far(void)
{
	bool is_right = true;

	for (size_t i = 0; i < LIMITS; i++) {
		struct limit limit = limit_of(i);
		char letters[REASONS + 1], wanted[REASONS + 1];

		find_letters(&limit, true, letters);
		strcpy(wanted, expected[i].letters);
		if (strcmp(limit.row->name, "hang"))
			wanted[number_of("incomplete")] = wanted[number_of("left")] = '.';
		is_right &= !strcmp(wanted, letters);
	}
	ok(is_right, "with --now no limit but hang is unknown because a process still runs");
}

/* If no block was sampled, some unsampled blocks may still exist. */
static void check_samples(void)
{
	bool is_right = true;

	for (size_t i = 0; i < LIMITS; i++) {
		struct limit limit = limit_of(i);
		bool is_estimate =
			!strcmp(limit.row->name, "leak") || !strcmp(limit.row->name, "live") ||
			!strcmp(limit.row->name, "peak") || !strcmp(limit.row->name, "pinned") ||
			!strcmp(limit.row->name, "growth") ||
			!strcmp(limit.row->name, "unreachable");

		limit.value = 0;
		is_right &= letter_of(&limit, have_sampled, false) == (is_estimate ? 'm' : '.');
	}
	ok(is_right, "a limit of 0 on sampled memory is unknown where no block was sampled");
}

/* Rows whose text is NULL or "", as reports write them if there is no memory for the text. */
static void check_rows_without_text(void)
{
	bool is_right = true;

	for (size_t i = 0; i < LIMITS; i++) {
		struct limit limit = limit_of(i);

		is_right &=
			*limit.row->class ? !strcmp(check(&limit, NULL, false, NULL, FAR), "kept")
					  : !strcmp(check(&limit, NULL, false, NULL, FAR),
						    "broken");
		is_right &= !strcmp(check(&limit, NULL, false, "", 0), "kept");
	}
	ok(is_right, "a row without a text is of no class");
}

static bool is_unknown(size_t row, char *const *names)
{
	for (; *names; names++)
		if (expected[row].letters[number_of(*names)] != '.')
			return true;
	return false;
}

/* tests/e2e/gate compares recordings with the printed results. */
static int print(char *const *names)
{
	static const char *const values[] = { "999999999", "999GB", "100ms" };

	for (size_t i = 0; i < LIMITS; i++)
		printf("%s%s%s\t%s\n", expected[i].name,
		       counts_rows(&limit_rows[i]) ? ">" : ">=", values[expected[i].unit],
		       is_unknown(i, names) ? "unknown" : "kept");
	return 0;
}

int main(int argc, char **argv)
{
	if (argc > 1)
		return print(argv + 2);
	for (size_t i = 0; i < LIMITS; i++)
		check_row(i);
	check_so_far();
	check_samples();
	check_rows_without_text();
	return tap_end();
}
