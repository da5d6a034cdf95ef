/* SPDX-License-Identifier: MIT */
#include "costs.h"

/* Sums of a place. */
struct entry {
	struct peaks_amount gained, held, now, most;
	uint64_t held_ns;
};

static void add(struct peaks_amount *sum, const struct peaks_amount *more)
{
	sum->count += more->count;
	sum->bytes += more->bytes;
}

static void merge(void *user, void *of_run, const void *of_process)
{
	struct entry *run = of_run;
	const struct entry *process = of_process;

	(void)user;
	add(&run->gained, &process->gained);
	add(&run->held, &process->held);
	run->held_ns += process->held_ns;
	if (process->most.bytes > run->most.bytes ||
	    (process->most.bytes == run->most.bytes && process->most.count > run->most.count))
		run->most = process->most;
}

static uint64_t since(uint64_t then_ns, uint64_t now_ns)
{
	return now_ns > then_ns ? now_ns - then_ns : 0;
}

static void gain(struct entry *entry, const struct ledger_move *move)
{
	entry->now.count += (uint64_t)(int64_t)move->count;
	entry->now.bytes += move->bytes;
	if (entry->now.bytes > entry->most.bytes ||
	    (entry->now.bytes == entry->most.bytes && entry->now.count > entry->most.count))
		entry->most = entry->now;
	if (move->is_no_call)
		return;
	entry->gained.count += (uint64_t)move->count;
	entry->gained.bytes += move->bytes;
}

static void lose(struct entry *entry, const struct ledger_move *move)
{
	entry->now.count += (uint64_t)(int64_t)move->count;
	entry->now.bytes -= move->bytes;
	if (move->count < 0)
		entry->held_ns += since(move->item->gained_ns, move->event->time_ns);
}

static void on_move(void *user, const struct ledger_move *move)
{
	struct entry *entry = tally_entry(((struct costs *)user)->tally, move->site);

	if (move->is_gain)
		gain(entry, move);
	else
		lose(entry, move);
}

void costs_begin(struct costs *costs, struct report_run *run)
{
	*costs = (struct costs){ .run = run };
	peaks_init(&costs->peaks, run->ledger);
	costs->peaks.tally = report_listen(run, sizeof(struct peaks_entry), peaks_merge, peaks_move,
					   &costs->peaks);
	costs->tally = report_listen(run, sizeof(struct entry), merge, on_move, costs);
}

/* An object that is part of another one is held by that. */
static void add_held(struct costs *costs, const struct ledger_held *held, uint64_t end_ns)
{
	struct entry *entry = tally_entry(costs->tally, held->site);

	entry->held_ns += since(held->item->gained_ns, end_ns);
	if (!held->is_part)
		add(&entry->held,
		    &(struct peaks_amount){ .count = held->count, .bytes = held->bytes });
}

void costs_process(struct costs *costs)
{
	const struct summary_process *process = summary_current(costs->run->summary);
	struct ledger_held held;
	size_t at = 0;

	while (ledger_held(costs->run->ledger, &at, &held))
		add_held(costs, &held, process->end_ns);
	peaks_process(&costs->peaks, process->pid, process->name);
}

bool costs_next(const struct costs *costs, uint32_t *at, struct costs_place *place)
{
	const struct tallies *tallies = &costs->run->summary->tallies;

	for (; *at < tallies_count(tallies); ++*at) {
		const struct entry *entry = tally_of_place(costs->tally, *at);

		if (!entry)
			continue;
		place->place = tallies_place(tallies, *at);
		place->class = ledger_class(costs->run->ledger, place->place->class);
		place->gained = entry->gained;
		place->held = entry->held;
		place->most = entry->most;
		place->held_ns = entry->held_ns;
		if (!peaks_at(&costs->peaks, place->place->class, *at, &place->peak))
			place->peak = (struct peaks_amount){ 0 };
		++*at;
		return true;
	}
	return false;
}

bool costs_peak(const struct costs *costs, uint32_t class, uint64_t *time_ns,
		struct peaks_amount *most)
{
	const struct peaks_run *peak = &costs->peaks.classes[class].run;

	if (!peak->generation)
		return false;
	*time_ns = report_time(costs->run, peak->at_ns);
	*most = peak->most;
	return true;
}
