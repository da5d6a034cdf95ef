/* SPDX-License-Identifier: MIT */
/* The report `leaks`: objects that were never released, by the call site that acquired them. */
#include <stdlib.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "postproc/report/report.h"
#include "postproc/totals/scanned.h"
#include "postproc/report/suppress.h"

#define EXAMPLE_MAX 200u /* maximum length of an example, in bytes */
#define KEEPER_MAX  300u
#define NOTE_MAX    600u

/* The result of a scan for a block: enum scanned_fate, or UNSURE: the block may be unreachable. */
enum { UNSURE = SCANNED_FATES, FATES };

/* Sums of the live objects of a call site, in a process or in the run. */
struct leak {
	uint64_t count, bytes;
	double variance, count_variance;
	uint64_t oldest_ns; /* age of the oldest object; 0: not known */
	/*
	 * processes: number of processes with live objects of the call site at the end; last:
	 * number of the process that was counted last
	 */
	uint32_t processes, last;
	const char *example; /* description of the oldest object; NULL: none */
	/* first child, in leaks_state.children, that was not waited for; 0: none */
	uint32_t children;
};

/*
 * Results of scans for a call site, in a process or in the run. This is a separate struct to save
 * memory: most runs have no scans, and there may be many call sites.
 */
struct found {
	/* for each result of a scan: number of blocks, their bytes, and the bytes they retain */
	uint64_t fates[FATES], fate_bytes[FATES], with[FATES];
	uint64_t handles; /* number of unreachable handles */
	/*
	 * compared: number of unreachable blocks in processes with an earlier scan; since: number
	 * of these blocks that were not unreachable in the earlier scan
	 */
	uint64_t compared[FATES], since[FATES], since_bytes[FATES];
	const char *keeper; /* owner of the largest reachable block */
	/*
	 * bytes of the largest reachable block, and index of the call that allocated it; of equally
	 * large blocks, the block that was allocated first counts
	 */
	uint64_t largest, first;
	uint32_t kept; /* number of the largest reachable block in the scan, from 1; 0: none */
};

/* With --growing: the live amount of a call site over time, in a process or in the run. */
struct curve {
	struct rises rises;
	/* number of windows in which the amount rose; for the run, the maximum of all processes */
	unsigned count;
};

struct leaks_state {
	struct report_run *run;
	struct scanned scanned;
	/*
	 * scans: number of scanned processes; scanned_count: number of blocks in these scans;
	 * unscanned: number of other processes
	 */
	uint64_t scans, scanned_count, unscanned;
	bool has_handles; /* there are unreachable handles */
	/* the first failure and the first doubt in all scans; NULL: none */
	const char *failure, *doubt;
	struct tally *tally, *found;
	struct tally *curves; /* NULL: --growing is not given */
	struct pool pool;     /* memory of texts */
	struct suppress suppress;
	struct summary_children children;
};

static void leaks_report_merge(void *user, void *of_run, const void *of_process)
{
	struct leaks_state *state = user;
	struct leak *run = of_run;
	const struct leak *process = of_process;

	summary_join_children(&state->children, &run->children, process->children);
	run->count += process->count;
	run->bytes += process->bytes;
	run->variance += process->variance;
	run->count_variance += process->count_variance;
	run->processes += process->count && run->last != report_process(state->run);
	run->last = process->count ? report_process(state->run) : run->last;
	if (process->example && (!run->example || process->oldest_ns > run->oldest_ns))
		run->example = process->example;
	if (process->oldest_ns > run->oldest_ns)
		run->oldest_ns = process->oldest_ns;
}

static void merge_found(void *user, void *of_run, const void *of_process)
{
	struct found *run = of_run;
	const struct found *process = of_process;

	(void)user;
	run->handles += process->handles;
	for (int i = 0; i < FATES; i++) {
		run->fates[i] += process->fates[i];
		run->fate_bytes[i] += process->fate_bytes[i];
		run->with[i] += process->with[i];
		run->compared[i] += process->compared[i];
		run->since[i] += process->since[i];
		run->since_bytes[i] += process->since_bytes[i];
	}
	if (process->keeper && (!run->keeper || process->largest > run->largest)) {
		run->keeper = process->keeper;
		run->largest = process->largest;
	}
}

static void merge_curve(void *user, void *of_run, const void *of_process)
{
	const struct leaks_state *state = user;
	struct curve *run = of_run;
	const struct curve *process = of_process;
	unsigned count = rises_count(&process->rises, &state->run->life);

	rises_merge(&run->rises, &state->run->windows, &process->rises);
	run->count = count > run->count ? count : run->count;
}

static void on_move(void *user, const struct ledger_move *move)
{
	struct leaks_state *state = user;
	struct curve *curve = tally_entry(state->curves, move->site);

	report_hold(state->run, &curve->rises, move);
}

static void leaks_report_destroy(void *user)
{
	struct leaks_state *state = user;

	suppress_free(&state->suppress);
	free(state->children.items);
	scanned_free(&state->scanned);
	pool_free(&state->pool);
}

static int leaks_report_begin(void *user, struct report_run *run, struct error *err)
{
	struct leaks_state *state = user;

	state->tally =
		tallies_add(&run->summary->tallies, sizeof(struct leak), leaks_report_merge, state);
	state->found =
		tallies_add(&run->summary->tallies, sizeof(struct found), merge_found, state);
	if (run->options->wants_growing)
		state->curves =
			report_listen(run, sizeof(struct curve), merge_curve, on_move, state);
	return suppress_fill(&state->suppress, run->options, err);
}

static uint64_t age_of(const struct leaks_state *state, const struct ledger_item *item)
{
	uint64_t end_ns = summary_current(state->run->summary)->end_ns;

	return end_ns > item->acquired_ns ? end_ns - item->acquired_ns : 0;
}

/* Describes the root of the largest reachable block: "pool (server), through 3 blocks". */
static void name_keeper(struct leaks_state *state, struct found *found)
{
	const struct scanned_block *block = &state->scanned.blocks.items[found->kept - 1];
	char text[KEEPER_MAX], name[KEEPER_MAX - 40];
	uint32_t steps;
	const struct scanned_root *root = scanned_root_of(&state->scanned, block, &steps);

	if (!root)
		return;
	scanned_root_text(root, name, sizeof(name));
	if (steps)
		snprintf(text, sizeof(text), "%s, through %" PRIu32 " block%s", name, steps,
			 steps > 1 ? "s" : "");
	else
		snprintf(text, sizeof(text), "%s", name);
	found->keeper = pool_copy(&state->pool, text);
}

/* Adds the result of the scan for a block that was allocated before the scan. */
static void add_fate(struct leaks_state *state, const struct ledger_held *held)
{
	const struct scanned_block *block =
		scanned_find(&state->scanned, held->object, held->item->index);
	struct found *found = block ? tally_entry(state->found, held->site) : NULL;
	unsigned fate = block ? block->fate : SCANNED_NOT;

	if (!found)
		return;
	if (fate >= SCANNED_LOST && state->scanned.doubt)
		fate = UNSURE;
	found->fates[fate]++;
	found->fate_bytes[fate] += held->bytes;
	state->scanned_count++;
	/* block->retained includes the unreachable blocks that only this block leads to */
	if (block->fate == SCANNED_LOST)
		found->with[fate] += block->retained;
	if (fate >= SCANNED_LOST && state->scanned.has_before) {
		bool is_new = scanned_is_new(&state->scanned, held->object, held->item->index);

		found->compared[fate]++;
		found->since[fate] += is_new;
		found->since_bytes[fate] += is_new ? held->bytes : 0;
	}
	if (fate < SCANNED_LOST &&
	    (!found->kept || held->bytes > found->largest ||
	     (held->bytes == found->largest && held->item->index <= found->first))) {
		found->largest = held->bytes;
		found->first = held->item->index;
		found->kept = (uint32_t)(block - state->scanned.blocks.items) + 1;
	}
}

static void add_held(struct leaks_state *state, const struct ledger_held *held)
{
	struct leak *leak = tally_entry(state->tally, held->site);
	enum resource known = ledger_class(state->run->ledger, held->class)->known;
	uint64_t age_ns = age_of(state, held->item);
	bool is_oldest = !leak->count || age_ns > leak->oldest_ns;
	char text[EXAMPLE_MAX];

	leak->count += held->count;
	leak->bytes += held->bytes;
	leak->variance += held->variance;
	leak->count_variance += held->count_variance;
	if (scanned_handle_is_lost(&state->scanned, known, held->object, held->item->index)) {
		state->has_handles = true;
		((struct found *)tally_entry(state->found, held->site))->handles++;
	}
	if (known == RESOURCE_MEMORY)
		add_fate(state, held);
	if (known == RESOURCE_PROCESS)
		summary_add_child(&state->children, &leak->children, report_process(state->run) - 1,
				  (uint32_t)held->object);
	if (!is_oldest)
		return;
	/* use the oldest object as the example */
	leak->oldest_ns = age_ns;
	if (*ledger_describe(held->item, text, sizeof(text)))
		leak->example = pool_copy(&state->pool, text);
}

static void leaks_report_note(void *user, const struct event *event)
{
	struct leaks_state *state = user;

	scanned_note(&state->scanned, event);
}

static void leaks_report_process(void *user)
{
	struct leaks_state *state = user;
	struct scanned *scanned = &state->scanned;
	uint64_t least_ns = state->run->options->min_age_ns;
	struct ledger_held held;
	size_t at = 0, sites;

	while (ledger_held(state->run->ledger, &at, &held))
		if (!least_ns || age_of(state, held.item) >= least_ns)
			add_held(state, &held);
	sites = ledger_sites(state->run->ledger)->list.count;
	for (uint32_t site = 1; scanned->is_done && site < sites; site++) {
		struct found *found = tally_entry(state->found, site);

		if (found->kept)
			name_keeper(state, found);
	}
	state->scans += scanned->is_done;
	state->unscanned += !scanned->is_done;
	/* copy the texts, because scanned_clear() frees the originals */
	state->failure = state->failure ?: pool_copy(&state->pool, scanned->failure);
	state->doubt = state->doubt ?: pool_copy(&state->pool, scanned->doubt);
	scanned_clear(scanned);
}

static void put_leak(struct leaks_state *state, struct table *table, uint32_t index,
		     const struct leak *leak)
{
	const struct tally_place *place = tallies_place(&state->run->summary->tallies, index);
	const struct found *found = tally_of_place(state->found, index);
	const struct curve *curve = state->curves ? tally_of_place(state->curves, index) : NULL;
	bool has_bytes = ledger_class(state->run->ledger, place->class)->has_bytes;
	struct table_cell *row = report_add(state->run, table, place->class);
	uint64_t looked_at = 0;

	table_amount(CELL(row, leaks, amount), has_bytes ? leak->bytes : leak->count, has_bytes);
	table_error(CELL(row, leaks, amount_error), leak->variance, true);
	table_count_error(CELL(row, leaks, count_error), leak->count, leak->count_variance);
	table_number(CELL(row, leaks, count), leak->count);
	table_count(CELL(row, leaks, age), leak->oldest_ns);
	table_number(CELL(row, leaks, processes), leak->processes);
	for (unsigned fate = SCANNED_NOT + 1; found && fate < FATES; fate++)
		looked_at += found->fates[fate];
	/* show the results of the scans only if all of them are certain */
	if (looked_at && !found->fates[UNSURE]) {
		table_number(CELL(row, leaks, unreachable),
			     found->fates[SCANNED_LOST] + found->fates[SCANNED_INDIRECT]);
		table_count(CELL(row, leaks, weak), found->fates[SCANNED_WEAK]);
	}
	report_type(state->run, table, CELL(row, leaks, type), place->backtrace);
	table_text(table, CELL(row, leaks, owner), found ? found->keeper : NULL);
	report_curve(state->run, table, CELL(row, leaks, curve), curve ? &curve->rises : NULL);
	table_backtrace(CELL(row, leaks, backtrace), place->backtrace);
	table_text(table, CELL(row, leaks, function), place->function);
	table_text(table, CELL(row, leaks, example), leak->example);
}

/* Adds a row for each kind of unreachable block that a call site has. */
static void put_lost(struct leaks_state *state, struct table *table, uint32_t index,
		     const struct leak *leak)
{
	const struct tally_place *place = tallies_place(&state->run->summary->tallies, index);
	const struct found *found = tally_of_place(state->found, index);

	for (unsigned fate = SCANNED_LOST; found && fate < FATES; fate++) {
		struct table_cell *row;

		if (!found->fates[fate])
			continue;
		row = table_add(table);
		table_group(table, &row[0], fate == UNSURE ? "uncertain" : scanned_words[fate],
			    fate);
		table_text(table, CELL(row, unreachable, function), place->function);
		table_number(CELL(row, unreachable, bytes), found->fate_bytes[fate]);
		table_number(CELL(row, unreachable, count), found->fates[fate]);
		if (found->with[fate] > found->fate_bytes[fate])
			table_number(CELL(row, unreachable, retained), found->with[fate]);
		if (found->compared[fate]) {
			table_number(CELL(row, unreachable, new), found->since[fate]);
			table_number(CELL(row, unreachable, new_bytes), found->since_bytes[fate]);
		}
		table_number(CELL(row, unreachable, processes), leak->processes);
		report_type(state->run, table, CELL(row, unreachable, type), place->backtrace);
		table_backtrace(CELL(row, unreachable, backtrace), place->backtrace);
	}
}

static void put_handles(struct leaks_state *state, struct table *table, uint32_t index,
			const struct leak *leak)
{
	const struct tally_place *place = tallies_place(&state->run->summary->tallies, index);
	const struct found *found = tally_of_place(state->found, index);
	struct table_cell *row;

	if (!found || !found->handles)
		return;
	row = report_add(state->run, table, place->class);
	table_text(table, CELL(row, unreachable_handles, function), place->function);
	table_number(CELL(row, unreachable_handles, count), found->handles);
	table_number(CELL(row, unreachable_handles, processes), leak->processes);
	table_backtrace(CELL(row, unreachable_handles, backtrace), place->backtrace);
}

/*
 * Sets the note that says how reliable the scans are: which pointers they cannot see, and which
 * processes were not scanned.
 */
static void say_scan(const struct leaks_state *state, struct table *table)
{
	char text[NOTE_MAX];
	size_t used = 0;

	text[0] = '\0';
	if (state->scans)
		used = (size_t)snprintf(text, sizeof(text),
					"%" PRIu64
					" of the live blocks were scanned; a scan does not see "
					"hidden pointers (encoded, packed, or in a pipe)",
					state->scanned_count);
	if (state->doubt)
		used += (size_t)snprintf(text + used, sizeof(text) - used,
					 "%suncertain, because %.100s", used ? "; " : "",
					 state->doubt);
	if (state->failure)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%snot scanned: %.200s",
					 used ? "; " : "", state->failure);
	else if (state->scans && state->unscanned)
		snprintf(text + used, sizeof(text) - used, "; %" PRIu64 " process%s not scanned",
			 state->unscanned, state->unscanned > 1 ? "es were" : " was");
	if (!*text)
		return;
	table->is_unknown = !state->scans || state->unscanned;
	table_note(table, "%s", text);
}

static void put_suppressed(struct leaks_state *state, struct tables *tables)
{
	const struct suppress_pattern *pattern;
	struct table *table = NULL;

	for (size_t i = 0; (pattern = suppress_at(&state->suppress, i)) != NULL; i++) {
		struct table_cell *row;

		if (!pattern->sites)
			continue;
		table = tables_begin(tables, TABLE_suppressed);
		row = table_add(table);
		table_text(table, CELL(row, suppressed, pattern), pattern->text);
		table_text(table, CELL(row, suppressed, reason), pattern->about);
		table_number(CELL(row, suppressed, sites), pattern->sites);
		table_number(CELL(row, suppressed, count), pattern->count);
		table_number(CELL(row, suppressed, bytes), pattern->bytes);
	}
}

/*
 * Whether a call site is not listed: it has no live objects, its objects are parts of other
 * objects, its amount does not grow (--growing), or a pattern suppresses it. Adds the objects of a
 * suppressed call site to the pattern's sums.
 */
static bool is_left_out(struct leaks_state *state, uint32_t index, const struct leak *leak)
{
	const struct tally_place *place = tallies_place(&state->run->summary->tallies, index);
	const struct curve *curve = state->curves ? tally_of_place(state->curves, index) : NULL;
	struct suppress_pattern *pattern;

	if (!leak || !leak->count || place->is_part)
		return true;
	if (state->curves && (curve ? curve->count : 0) < state->run->options->rises)
		return true;
	pattern = suppress_find(&state->suppress, state->run->naming, place->backtrace);
	if (!pattern)
		return false;
	pattern->sites++;
	pattern->count += leak->count;
	pattern->bytes += leak->bytes;
	return true;
}

static void leaks_report_end(void *user, struct tables *tables)
{
	struct leaks_state *state = user;
	const struct tallies *tallies = &state->run->summary->tallies;
	unsigned rises = state->run->options->rises;
	struct table *lost =
		state->scans || state->failure ? tables_begin(tables, TABLE_unreachable) : NULL;
	struct table *handles =
		state->has_handles ? tables_begin(tables, TABLE_unreachable_handles) : NULL;
	struct table *table = tables_begin(tables, TABLE_leaks);

	if (lost)
		say_scan(state, lost);
	/* patterns are compared with the names of all call sites: resolve all names at once */
	for (uint32_t i = 0; state->run->naming && i < tallies_count(tallies); i++) {
		const struct leak *leak = tally_of_place(state->tally, i);

		if (leak && leak->count)
			naming_expect(state->run->naming, tallies_place(tallies, i)->backtrace);
	}
	for (uint32_t i = 0; i < tallies_count(tallies); i++) {
		struct leak *leak = tally_of_place(state->tally, i);

		if (leak && leak->children)
			leak->count -= summary_orphans(state->run->summary, &state->children,
						       leak->children);
		if (leak)
			leak->children = 0;
		if (is_left_out(state, i, leak))
			continue;
		put_leak(state, table, i, leak);
		if (lost)
			put_lost(state, lost, i, leak);
		if (handles)
			put_handles(state, handles, i, leak);
	}
	if (state->curves && rises) {
		table->facts.title = "Live at exit, and growing";
		if (!table->rows.count)
			table_note(table,
				   "no live amount rose in %u window%s of the run (--growing)",
				   rises, rises == 1 ? "" : "s");
	}
	put_suppressed(state, tables);
}

const struct report report_leaks = {
	.wants_ledger = true,
	.state_size = sizeof(struct leaks_state),
	.begin = leaks_report_begin,
	.note = leaks_report_note,
	.process = leaks_report_process,
	.end = leaks_report_end,
	.destroy = leaks_report_destroy,
};
