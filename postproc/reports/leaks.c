/* SPDX-License-Identifier: MIT */
/* What was gained and never given back, by who gained it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "postproc/views/report.h"
#include "postproc/views/suppress.h"

#define EXAMPLE_MAX 200u /* bytes */

/* Of one place. */
struct leak {
	uint64_t count, bytes;
	uint64_t oldest_ns;	  /* age; 0: not known */
	uint32_t processes, last; /* the number of the last of them */
	const char *example;	  /* of the oldest; NULL: none */
};

struct leaks_state {
	struct report_run *run;
	struct tally *tally;
	struct pool pool; /* examples */
	struct suppress suppress;
};

static void merge(void *user, void *of_run, const void *of_process)
{
	const struct leaks_state *state = user;
	struct leak *run = of_run;
	const struct leak *process = of_process;

	run->count += process->count;
	run->bytes += process->bytes;
	run->processes += process->count && run->last != report_process(state->run);
	run->last = process->count ? report_process(state->run) : run->last;
	if (process->example && (!run->example || process->oldest_ns > run->oldest_ns))
		run->example = process->example;
	if (process->oldest_ns > run->oldest_ns)
		run->oldest_ns = process->oldest_ns;
}

static void destroy(void *user)
{
	struct leaks_state *state = user;

	suppress_free(&state->suppress);
	pool_free(&state->pool);
	free(state);
}

static int begin(void **result, struct report_run *run, struct error *err)
{
	struct leaks_state *state = calloc(1, sizeof(*state));

	if (!state)
		return report_no_memory(err);
	state->run = run;
	state->tally = tallies_add(&run->summary->tallies, sizeof(struct leak), merge, state);
	*result = state;
	return suppress_fill(&state->suppress, run->options, err);
}

static uint64_t age_of(const struct leaks_state *state, const struct ledger_item *item)
{
	uint64_t end_ns = summary_current(state->run->summary)->end_ns;

	return end_ns > item->gained_ns ? end_ns - item->gained_ns : 0;
}

/* The oldest one is the example. */
static int add_item(struct leaks_state *state, struct leak *leak, const struct ledger_item *item)
{
	uint64_t age_ns = age_of(state, item);
	char text[EXAMPLE_MAX];
	bool is_oldest = age_ns > leak->oldest_ns || leak->count == 1;

	if (is_oldest)
		leak->oldest_ns = age_ns;
	if (!is_oldest || !*ledger_describe(item, text, sizeof(text)))
		return 0;
	leak->example = pool_text(&state->pool, text, strlen(text));
	return leak->example ? 0 : -ENOMEM;
}

static int add(struct leaks_state *state, const struct ledger_held *held)
{
	struct leak *leak = tally_entry(state->tally, held->site);

	if (!leak)
		return -ENOMEM;
	leak->count++;
	leak->bytes += held->bytes;
	return add_item(state, leak, held->item);
}

static int process(void *user, struct error *err)
{
	struct leaks_state *state = user;
	uint64_t least_ns = state->run->options->min_age_ns;
	struct ledger_held held;
	size_t at = 0;

	while (ledger_held(state->run->ledger, &at, &held)) {
		if (least_ns && age_of(state, held.item) < least_ns)
			continue;
		if (add(state, &held))
			return report_no_memory(err);
	}
	return 0;
}

static int put(struct leaks_state *state, struct sheet *sheet, uint32_t index,
	       const struct leak *leak)
{
	const struct tally_place *place = tallies_place(&state->run->summary->tallies, index);
	bool has_bytes = ledger_class(state->run->ledger, place->class)->has_bytes;
	struct sheet_cell *row = report_add(state->run, sheet, place->class);

	if (!row)
		return -ENOMEM;
	sheet_amount(CELL(row, leaks, amount), has_bytes ? leak->bytes : leak->count, has_bytes);
	sheet_number(CELL(row, leaks, count), leak->count);
	if (leak->oldest_ns)
		sheet_number(CELL(row, leaks, age), leak->oldest_ns);
	sheet_number(CELL(row, leaks, processes), leak->processes);
	sheet_backtrace(CELL(row, leaks, backtrace), place->backtrace);
	if (sheet_text(sheet, CELL(row, leaks, call), place->function))
		return -ENOMEM;
	return sheet_text(sheet, CELL(row, leaks, example), leak->example);
}

static int put_suppressed(struct leaks_state *state, struct sheets *sheets)
{
	const struct suppress_pattern *pattern;
	struct sheet *sheet = NULL;

	for (size_t i = 0; (pattern = suppress_at(&state->suppress, i)) != NULL; i++) {
		struct sheet_cell *row;

		if (!pattern->sites)
			continue;
		sheet = sheets_begin(sheets, SHEET_suppressed);
		row = sheet_add(sheet);
		if (!row || sheet_text(sheet, CELL(row, suppressed, pattern), pattern->text) ||
		    sheet_text(sheet, CELL(row, suppressed, reason), pattern->about))
			return -ENOMEM;
		sheet_number(CELL(row, suppressed, sites), pattern->sites);
		sheet_number(CELL(row, suppressed, count), pattern->count);
		sheet_number(CELL(row, suppressed, bytes), pattern->bytes);
	}
	return 0;
}

/* Is part of another object, or nobody's fault. */
static bool is_left_out(struct leaks_state *state, uint32_t index, const struct leak *leak)
{
	const struct tally_place *place = tallies_place(&state->run->summary->tallies, index);
	struct suppress_pattern *pattern;

	if (!leak || !leak->count || place->is_part)
		return true;
	pattern = suppress_find(&state->suppress, state->run->naming, place->backtrace);
	if (!pattern)
		return false;
	pattern->sites++;
	pattern->count += leak->count;
	pattern->bytes += leak->bytes;
	return true;
}

/* All places are matched, so their names are looked up together. */
static void expect_names(struct leaks_state *state)
{
	const struct tallies *tallies = &state->run->summary->tallies;

	for (uint32_t i = 0; state->run->naming && i < tallies_count(tallies); i++)
		if (tally_of_place(state->tally, i))
			naming_expect(state->run->naming, tallies_place(tallies, i)->backtrace);
}

static int end(void *user, struct sheets *sheets, struct error *err)
{
	struct leaks_state *state = user;
	struct sheet *sheet = sheets_begin(sheets, SHEET_leaks);

	expect_names(state);
	for (uint32_t i = 0; i < tallies_count(&state->run->summary->tallies); i++) {
		const struct leak *leak = tally_of_place(state->tally, i);

		if (!is_left_out(state, i, leak) && put(state, sheet, i, leak))
			return report_no_memory(err);
	}
	return put_suppressed(state, sheets) ? report_no_memory(err) : 0;
}

const struct report report_leaks = {
	.wants_ledger = true,
	.begin = begin,
	.process = process,
	.end = end,
	.destroy = destroy,
};
