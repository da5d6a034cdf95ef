/* SPDX-License-Identifier: MIT */
#include "measure.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "base/suggest.h"
#include "hook_table.h"
#include "account/sites.h"
#include "postproc/totals/peaks.h"

static const char *const words[] = {
	[MEASURE_BYTES] = "bytes",    [MEASURE_COUNT] = "count",    [MEASURE_HELD] = "live",
	[MEASURE_PEAK] = "peak",      [MEASURE_TEMP] = "temporary", [MEASURE_HOLD] = "hold_time",
	[MEASURE_WAIT] = "wait_time",
};

/*
 * The sums of a call site, in a process or in the run. If two runs are compared, index 1 is the
 * older one; otherwise only index 0 is used.
 */
struct entry {
	uint64_t amount[2], count[2];
	double variance[2];
};

/*
 * The waits at a call site. Waits have their own list of call sites, because the ledger has only
 * call sites of acquisitions.
 */
struct wait {
	enum resource class;
	const struct trace_node *backtrace;
	const char *function;
	struct entry entry;
};

struct measure {
	struct report_run *run;
	enum measure_kind kind;
	struct tally *tally;
	struct peaks peaks; /* for MEASURE_PEAK */
	uint64_t sample[2]; /* largest sampling interval of each run, in bytes */
	/* the following members are for MEASURE_WAIT */
	struct sites sites;
	ARRAY_OF(struct entry) of_process; /* sums of the current process, indexed by site */
	struct pool pool;
	struct hash_table table;
	ARRAY_OF(struct wait *) waits;
};

enum measure_kind measure_kind(const struct measure *measure)
{
	return measure->kind;
}

const char *measure_word(enum measure_kind kind)
{
	return words[kind];
}

/* ---- acquisitions ---- */

static void add_entry(struct entry *to, const struct entry *from)
{
	for (int i = 0; i < 2; i++) {
		to->amount[i] += from->amount[i];
		to->count[i] += from->count[i];
		to->variance[i] += from->variance[i];
	}
}

static void measure_merge(void *user, void *of_run, const void *of_process)
{
	(void)user;
	add_entry(of_run, of_process);
}

/*
 * Adds an amount to a site. objects: 1 or, with sampling, the number of objects that the sample
 * represents.
 */
static void count_objects(struct measure *measure, uint32_t site, uint64_t objects, uint64_t amount,
			  double variance)
{
	struct entry *entry = tally_entry(measure->tally, site);

	entry->amount[measure->run->is_base] += amount;
	entry->variance[measure->run->is_base] += variance;
	entry->count[measure->run->is_base] += objects;
}

static void on_loss(void *user, const struct ledger_move *move)
{
	struct measure *measure = user;
	const struct ledger_class *class = ledger_class(measure->run->ledger, move->class);
	uint64_t since = move->item->acquired_ns, now = move->event->time_ns;

	if (measure->kind == MEASURE_TEMP) {
		if (ledger_move_is_temporary(measure->run->ledger, move,
					     measure->run->options->within))
			count_objects(measure, move->site, 1,
				      class->has_bytes ? move->bytes : (uint64_t)-move->count, 0);
		return;
	}
	if (move->is_acquisition || move->is_part || class->known != RESOURCE_LOCK)
		return;
	count_objects(measure, move->site, 1, now > since ? now - since : 0, 0);
}

static void on_move(void *user, const struct ledger_move *move)
{
	struct measure *measure = user;
	uint64_t objects = move->count > 1 ? (uint64_t)move->count : 1;

	if (!move->is_acquisition || move->is_part)
		return;
	if (measure->kind == MEASURE_COUNT)
		count_objects(measure, move->site, objects, (uint64_t)move->count,
			      move->count_variance);
	else
		count_objects(measure, move->site, objects, move->bytes, move->variance);
}

/*
 * For MEASURE_HELD: adds the objects that are live at the end. For MEASURE_HOLD: adds the time
 * until the end for locks that were never released.
 */
static void count_held(struct measure *measure)
{
	struct ledger *ledger = measure->run->ledger;
	uint64_t end_ns = summary_current(measure->run->summary)->end_ns;
	struct ledger_held held;
	size_t at = 0;

	while (ledger_held(ledger, &at, &held)) {
		const struct ledger_class *class = ledger_class(ledger, held.class);

		if (held.is_part)
			continue;
		if (measure->kind == MEASURE_HELD)
			count_objects(measure, held.site, held.count,
				      class->has_bytes ? held.bytes : held.count, held.variance);
		else if (class->known == RESOURCE_LOCK && end_ns > held.item->acquired_ns)
			count_objects(measure, held.site, 1, end_ns - held.item->acquired_ns, 0);
	}
}

/* ---- waits ---- */

/*
 * Whether the event is a call that may wait. A call that waits for a condition has further events
 * for its mutex, and a join has one for the thread; these events do not count.
 */
static bool is_wait(const struct event *event)
{
	const struct hook *hook = event->function->hook;

	if (event->part || event->moment == MOMENT_HALF || event->leave_ns <= event->enter_ns)
		return false;
	if (event->resource->known == RESOURCE_LOCK && hook && hook->operation == OPERATION_WAIT)
		return false;
	return event->operation == OPERATION_ACQUIRE || event->operation == OPERATION_WAIT;
}

void measure_event(void *state, const struct event *event)
{
	struct measure *measure = ((struct measured *)state)->measure;
	struct entry *entry;
	uint32_t site;

	if (measure->kind != MEASURE_WAIT || !is_wait(event))
		return;
	site = sites_of(&measure->sites, (uint8_t)event->resource->known, event);
	entry = ARRAY_AT(&measure->of_process, site);
	entry->amount[measure->run->is_base] += event->leave_ns - event->enter_ns;
	entry->count[measure->run->is_base]++;
}

static bool is_same(const void *item, const void *key)
{
	const struct wait *a = item, *b = key;

	return a->class == b->class && a->backtrace == b->backtrace &&
	       (a->backtrace->count || !strcmp(a->function, b->function));
}

static void merge_wait(struct measure *measure, const struct site *site, const struct entry *entry)
{
	struct wait wanted = {
		.class = site->class,
		.backtrace = report_site(measure->run, site),
		.function = site->function->name,
	};
	uint64_t hash = hash_two(measure->table.seed, (uintptr_t)wanted.backtrace, site->class);
	struct wait *wait;

	wait = hash_table_find(&measure->table, hash, is_same, &wanted);
	if (!wait) {
		wait = pool_alloc(&measure->pool, sizeof(*wait));
		*wait = wanted;
		wait->function = pool_copy(&measure->pool, wanted.function);
		hash_table_add(&measure->table, hash, wait);
		*ARRAY_ADD(&measure->waits) = wait;
	}
	add_entry(&wait->entry, entry);
}

/* ---- begin and end ---- */

void measure_process(void *state)
{
	struct measure *measure = ((struct measured *)state)->measure;
	uint64_t sample = ledger_sample(measure->run->ledger);
	uint64_t *most = &measure->sample[measure->run->is_base];

	*most = sample > *most ? sample : *most;
	if (measure->kind == MEASURE_HELD || measure->kind == MEASURE_HOLD)
		count_held(measure);
	if (measure->kind == MEASURE_PEAK)
		peaks_process(&measure->peaks, 0, NULL);
	if (measure->kind != MEASURE_WAIT)
		return;
	for (size_t i = 1; i < measure->of_process.count; i++)
		merge_wait(measure, sites_at(&measure->sites, (uint32_t)i),
			   &measure->of_process.items[i]);
	sites_clear(&measure->sites);
	measure->of_process.count = 0;
}

static bool next_wait(const struct measure *measure, size_t *at, struct measure_place *place)
{
	const struct wait *wait;

	if (*at == measure->waits.count)
		return false;
	wait = measure->waits.items[(*at)++];
	*place = (struct measure_place){
		.class = wait->class == RESOURCE_NONE ? "other" : resource_table[wait->class].type,
		.rank = wait->class,
		.has_ns = true,
		.backtrace = wait->backtrace,
		.function = wait->function,
	};
	memcpy(place->amount, wait->entry.amount, sizeof(place->amount));
	memcpy(place->count, wait->entry.count, sizeof(place->count));
	return true;
}

uint64_t measure_error(const struct measure_place *place, int run)
{
	return place->sample[run] && !place->count[run] ? estimate_unseen(place->sample[run])
							: estimate_error(place->variance[run]);
}

/* Computes the sums of a call site. Returns false if the measure counts nothing for it. */
static bool sums_of(const struct measure *measure, uint32_t index, struct entry *sums)
{
	const struct tally_place *place = tallies_place(&measure->run->summary->tallies, index);
	const struct entry *entry = tally_of_place(measure->tally, index);
	struct peaks_amount amount;

	if (measure->kind != MEASURE_PEAK) {
		*sums = entry ? *entry : (struct entry){ 0 };
		return sums->count[0] | sums->count[1];
	}
	if (!peaks_at(&measure->peaks, place->class, index, &amount))
		return false;
	*sums = (struct entry){
		.amount[0] = peaks_weight(&measure->peaks, place->class, amount),
		.count[0] = amount.count,
		.variance[0] = amount.variance,
	};
	return true;
}

bool measure_next(const struct measure *measure, size_t *at, struct measure_place *result)
{
	const struct tallies *tallies = &measure->run->summary->tallies;
	const struct ledger *ledger = measure->run->ledger;

	if (measure->kind == MEASURE_WAIT)
		return next_wait(measure, at, result);
	while (*at < tallies_count(tallies)) {
		uint32_t index = (uint32_t)(*at)++;
		const struct tally_place *place = tallies_place(tallies, index);
		const struct ledger_class *class = ledger_class(ledger, place->class);
		struct entry sums;

		if (!sums_of(measure, index, &sums) ||
		    (measure->kind == MEASURE_BYTES && !class->has_bytes))
			continue;
		*result = (struct measure_place){
			.class = class->type,
			.rank = class->rank,
			.has_bytes = class->has_bytes && measure->kind != MEASURE_COUNT &&
				     measure->kind != MEASURE_HOLD,
			.has_ns = measure->kind == MEASURE_HOLD,
			.backtrace = place->backtrace,
			.function = place->function,
		};
		memcpy(result->amount, sums.amount, sizeof(result->amount));
		memcpy(result->count, sums.count, sizeof(result->count));
		memcpy(result->variance, sums.variance, sizeof(result->variance));
		if (class->known == RESOURCE_MEMORY)
			memcpy(result->sample, measure->sample, sizeof(result->sample));
		return true;
	}
	return false;
}

static int parse(const char *word, bool has_base, enum measure_kind *kind, struct error *err)
{
	struct suggest suggest;

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		if (strcmp(words[i], word) != 0 || (has_base && i == MEASURE_PEAK))
			continue;
		*kind = (enum measure_kind)i;
		return 0;
	}
	suggest_begin(&suggest, word, strlen(word));
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (!has_base || i != MEASURE_PEAK)
			suggest_try(&suggest, words[i]);
	return error_set(
		err, EINVAL,
		"--by=%s: expected bytes, count, live,%s temporary, hold_time or wait_time%s", word,
		has_base ? "" : " peak,", suggest_text(&suggest));
}

/*
 * Registers a listener for the measures that need moves of the ledger. Other measures count waits
 * from events, or read the objects held at the end from the ledger.
 */
static void listen(struct measure *measure)
{
	struct report_run *run = measure->run;

	switch (measure->kind) {
	case MEASURE_BYTES:
	case MEASURE_COUNT:
		ledger_listen(run->ledger, on_move, measure);
		break;
	case MEASURE_TEMP:
	case MEASURE_HOLD:
		ledger_listen(run->ledger, on_loss, measure);
		break;
	case MEASURE_PEAK:
		peaks_init(&measure->peaks, run->ledger);
		measure->peaks.tally = report_listen(run, sizeof(struct peaks_entry), peaks_merge,
						     peaks_move, &measure->peaks);
		break;
	case MEASURE_HELD:
	case MEASURE_WAIT:
		break;
	}
}

int measure_begin(struct measure **result, struct report_run *run, enum measure_kind fallback,
		  bool has_base, struct error *err)
{
	struct measure *measure = memory_zalloc(1, sizeof(*measure));
	int rc = 0;

	*result = measure;
	measure->run = run;
	measure->kind = fallback;
	hash_table_init(&measure->table);
	if (run->options->by)
		rc = parse(run->options->by, has_base, &measure->kind, err);
	measure->tally =
		tallies_add(&run->summary->tallies, sizeof(struct entry), measure_merge, NULL);
	if (rc == 0)
		listen(measure);
	return rc;
}

void measure_free(struct measure *measure)
{
	if (!measure)
		return;
	sites_free(&measure->sites);
	free(measure->of_process.items);
	free(measure->waits.items);
	hash_table_free(&measure->table);
	pool_free(&measure->pool);
	free(measure);
}
