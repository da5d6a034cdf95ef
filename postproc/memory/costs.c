/* SPDX-License-Identifier: MIT */
#include "costs.h"

/* The sums of a call site, in a process or in the run. */
struct entry {
	struct peaks_amount acquired, held, now, most;
	uint64_t held_ns;
	double held_variance;
};

static bool is_more(const struct peaks_amount *a, const struct peaks_amount *b)
{
	return a->bytes > b->bytes || (a->bytes == b->bytes && a->count > b->count);
}

static void merge(void *user, void *of_run, const void *of_process)
{
	struct entry *run = of_run;
	const struct entry *process = of_process;

	(void)user;
	run->acquired.count += process->acquired.count;
	run->acquired.bytes += process->acquired.bytes;
	run->held.count += process->held.count;
	run->held.bytes += process->held.bytes;
	run->held_ns += process->held_ns;
	run->held_variance += process->held_variance;
	if (is_more(&process->most, &run->most))
		run->most = process->most;
}

static uint64_t since(uint64_t then_ns, uint64_t now_ns)
{
	return now_ns > then_ns ? now_ns - then_ns : 0;
}

static void on_move(void *user, const struct ledger_move *move)
{
	struct entry *entry = tally_entry(((struct costs *)user)->tally, move->site);

	entry->now.count += (uint64_t)(int64_t)move->count;
	entry->now.bytes += move->is_acquisition ? move->bytes : -move->bytes;
	if (move->count < 0 && !move->is_acquisition)
		entry->held_ns += since(move->item->acquired_ns, move->event->time_ns);
	if (!move->is_acquisition)
		return;
	if (is_more(&entry->now, &entry->most))
		entry->most = entry->now;
	if (move->is_no_call)
		return;
	entry->acquired.count += (uint64_t)move->count;
	entry->acquired.bytes += move->bytes;
}

void costs_begin(struct costs *costs, struct report_run *run)
{
	*costs = (struct costs){ .run = run };
	peaks_init(&costs->peaks, run->ledger);
	costs->peaks.tally = report_listen(run, sizeof(struct peaks_entry), peaks_merge, peaks_move,
					   &costs->peaks);
	costs->tally = report_listen(run, sizeof(struct entry), merge, on_move, costs);
}

void costs_process(struct costs *costs)
{
	const struct summary_process *process = summary_current(costs->run->summary);
	struct ledger_held held;
	size_t at = 0;

	while (ledger_held(costs->run->ledger, &at, &held)) {
		struct entry *entry = tally_entry(costs->tally, held.site);

		entry->held_ns += since(held.item->acquired_ns, process->end_ns);
		/* do not count an object that is part of another object */
		entry->held.count += held.is_part ? 0 : held.count;
		entry->held.bytes += held.is_part ? 0 : held.bytes;
		entry->held_variance += held.is_part ? 0 : held.variance;
	}
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
		place->acquired = entry->acquired;
		place->held = entry->held;
		place->held_variance = entry->held_variance;
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
