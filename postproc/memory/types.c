/* SPDX-License-Identifier: MIT */
/*
 * The report `types`: blocks by type. The type is known if the names of the functions that
 * allocated a block contain it, or if the debug information shows it. --by selects the measure, as
 * for the report `tree`.
 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "base/hash_table.h"
#include "base/pool.h"
#include "measure.h"
#include "postproc/report/report.h"

/* Sums of all blocks of a type. */
struct type_sum {
	const char *name; /* "": unknown */
	uint64_t amount, count, sites;
	double variance;
	bool has_bytes;
};

struct types_state {
	struct report_run *run;
	struct measure *measure;
	struct pool pool;
	struct hash_table by_name;
	ARRAY_OF(struct type_sum *) sums;
};

static int types_begin(void *user, struct report_run *run, struct error *err)
{
	struct types_state *state = user;

	hash_table_init(&state->by_name);
	return measure_begin(&state->measure, run, MEASURE_HELD, false, err);
}

static bool is_sum(const void *item, const void *key)
{
	return !strcmp(((const struct type_sum *)item)->name, key);
}

static struct type_sum *sum_of(struct types_state *state, const char *name)
{
	uint64_t hash = hash_bytes(state->by_name.seed, name, strlen(name));
	struct type_sum *sum = hash_table_find(&state->by_name, hash, is_sum, name);

	if (sum)
		return sum;
	sum = pool_zalloc(&state->pool, sizeof(*sum));
	hash_table_add(&state->by_name, hash, sum);
	sum->name = pool_copy(&state->pool, name);
	*ARRAY_ADD(&state->sums) = sum;
	return sum;
}

static void types_end(void *user, struct tables *tables)
{
	struct types_state *state = user;
	struct table *table = tables_begin(tables, TABLE_types);
	struct measure_place place;
	uint64_t total = 0, known = 0;

	for (size_t at = 0; measure_next(state->measure, &at, &place);)
		if (state->run->naming && place.amount[0] && !strcmp(place.class, "memory"))
			naming_expect(state->run->naming, place.backtrace);
	for (size_t at = 0; measure_next(state->measure, &at, &place);) {
		struct table_cell type = { 0 };
		struct type_sum *sum;

		if (!place.amount[0] || strcmp(place.class, "memory") != 0)
			continue;
		report_type(state->run, table, &type, place.backtrace);
		sum = sum_of(state, type.is_set ? type.text : "");
		sum->amount += place.amount[0];
		sum->count += place.count[0];
		sum->variance += place.variance[0];
		sum->has_bytes = place.has_bytes;
		sum->sites++;
	}
	for (size_t i = 0; i < state->sums.count; i++) {
		total += state->sums.items[i]->amount;
		known += *state->sums.items[i]->name ? state->sums.items[i]->amount : 0;
	}
	for (size_t i = 0; i < state->sums.count; i++) {
		const struct type_sum *sum = state->sums.items[i];
		struct table_cell *row = table_add(table);

		table_text(table, CELL(row, types, type), sum->name);
		table_amount(CELL(row, types, amount), sum->amount, sum->has_bytes);
		table_error(CELL(row, types, amount_error), sum->variance, sum->has_bytes);
		table_number(CELL(row, types, count), sum->count);
		table_number(CELL(row, types, sites), sum->sites);
		table_percent(CELL(row, types, share), sum->amount, total);
	}
	if (total)
		table_note(table,
			   "by %s; %.0f %% has a known type: types are known for containers of "
			   "C++, Qt 5 and Rust, and for `new` if a constructor is called, with "
			   "debug information; not for malloc",
			   measure_word(measure_kind(state->measure)),
			   100.0 * (double)known / (double)total);
	report_note_samples(state->run, table, REPORT_SAMPLED_AMOUNTS);
}

static void types_destroy(void *user)
{
	struct types_state *state = user;

	hash_table_free(&state->by_name);
	free(state->sums.items);
	pool_free(&state->pool);
	measure_free(state->measure);
}

const struct report report_types = {
	.wants_ledger = true,
	.takes_by = true,
	.state_size = sizeof(struct types_state),
	.begin = types_begin,
	.event = measure_event,
	.process = measure_process,
	.end = types_end,
	.destroy = types_destroy,
};
