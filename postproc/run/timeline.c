/* SPDX-License-Identifier: MIT */
#include "timeline.h"

#include <string.h>

#include "postproc/report/report.h"

#define SHIFT_FIRST 12u /* log2 of the initial length of a step in ns: 4096 ns */

static void raise_step(struct timeline_step *step, const struct timeline_step *other)
{
	if (other->most[TIMELINE_MEMORY] > step->most[TIMELINE_MEMORY])
		step->variance = other->variance;
	for (int level = 0; level < TIMELINE_LEVELS; level++)
		if (other->most[level] > step->most[level])
			step->most[level] = other->most[level];
}

/*
 * Merges pairs of steps. Step numbers count from time 0, so in timelines with the same shift all
 * steps begin and end at the same times.
 */
static void widen(struct timeline *timeline)
{
	uint64_t first = timeline->first / 2;
	uint32_t count = timeline->count;

	timeline->count = 0;
	timeline->shift++;
	for (uint32_t i = 0; i < count; i++) {
		uint64_t to = (timeline->first + i) / 2 - first;

		if (to < timeline->count)
			raise_step(&timeline->steps[to], &timeline->steps[i]);
		else
			timeline->steps[timeline->count++] = timeline->steps[i];
	}
	timeline->first = first;
}

void timeline_advance(struct timeline *timeline, uint64_t time_ns)
{
	if (!timeline->shift) {
		timeline->shift = SHIFT_FIRST;
		timeline->first = time_ns >> SHIFT_FIRST;
	}
	while (time_ns >> timeline->shift >= timeline->first + TIMELINE_STEPS)
		widen(timeline);
	while (timeline->first + timeline->count <= time_ns >> timeline->shift)
		timeline->steps[timeline->count++] = timeline->now;
}

void timeline_change(struct timeline *timeline, enum timeline_level level, int64_t change,
		     double variance, uint64_t time_ns)
{
	uint64_t *now = &timeline->now.most[level];

	timeline_advance(timeline, time_ns);
	timeline->now.variance += change < 0 ? -variance : variance;
	*now = change < 0 && *now < -(uint64_t)change ? 0 : *now + (uint64_t)change;
	raise_step(&timeline->steps[timeline->count - 1], &timeline->now);
}

void timeline_add(struct timeline *timeline, struct timeline *other)
{
	uint64_t first, end;
	size_t before;

	if (!other->shift)
		return;
	if (!timeline->shift) {
		*timeline = *other;
		return;
	}
	for (;; widen(timeline)) {
		while (other->shift < timeline->shift)
			widen(other);
		while (timeline->shift < other->shift)
			widen(timeline);
		first = timeline->first < other->first ? timeline->first : other->first;
		end = timeline->first + timeline->count;
		if (end < other->first + other->count)
			end = other->first + other->count;
		if (end - first <= TIMELINE_STEPS)
			break;
	}
	/* insert empty steps before the first and after the last step */
	before = timeline->first - first;
	memmove(timeline->steps + before, timeline->steps,
		timeline->count * sizeof(*timeline->steps));
	memset(timeline->steps, 0, before * sizeof(*timeline->steps));
	memset(timeline->steps + before + timeline->count, 0,
	       (end - first - before - timeline->count) * sizeof(*timeline->steps));
	timeline->first = first;
	timeline->count = (uint32_t)(end - first);
	for (uint32_t i = 0; i < other->count; i++) {
		struct timeline_step *step = &timeline->steps[other->first - first + i];

		for (int level = 0; level < TIMELINE_LEVELS; level++)
			step->most[level] += other->steps[i].most[level];
		step->variance += other->steps[i].variance;
	}
}

/*
 * The report on live objects over time: bytes of memory, descriptors, threads and locks. In the
 * text format it is a chart.
 */

struct timeline_state {
	struct report_run *run;
	struct timeline process, all;
};

/* For each class: its enum timeline_level plus 1; 0: the class has no level. */
static const unsigned char levels[RESOURCE_COUNT] = {
	[RESOURCE_MEMORY] = TIMELINE_MEMORY + 1,
	[RESOURCE_FD] = TIMELINE_DESCRIPTORS + 1,
	[RESOURCE_THREAD] = TIMELINE_THREADS + 1,
	[RESOURCE_LOCK] = TIMELINE_LOCKS + 1,
};

static void on_move(void *user, const struct ledger_move *move)
{
	struct timeline_state *state = user;
	const struct ledger_class *class = ledger_class(state->run->ledger, move->class);
	int64_t change = move->count;

	if (!levels[class->known])
		return;
	if (class->has_bytes) {
		change = move->bytes < INT64_MAX ? (int64_t)move->bytes : INT64_MAX;
		change = move->is_acquisition ? change : -change;
	}
	timeline_change(&state->process, (enum timeline_level)(levels[class->known] - 1), change,
			class->known == RESOURCE_MEMORY ? move->variance : 0, move->event->time_ns);
}

static void timeline_report_process(void *user)
{
	struct timeline_state *state = user;
	const struct summary_process *current = summary_current(state->run->summary);

	if (state->process.shift)
		timeline_advance(&state->process, current->end_ns);
	timeline_add(&state->all, &state->process);
	memset(&state->process, 0, sizeof(state->process));
}

static void timeline_report_end(void *user, struct tables *tables)
{
	struct timeline_state *state = user;
	struct table *table = tables_begin(tables, TABLE_timeline);

	for (uint32_t i = 0; i < state->all.count; i++) {
		const struct timeline_step *of = &state->all.steps[i];
		struct table_cell *row = table_add(table);

		table_number(CELL(row, timeline, time),
			     report_time(state->run, (state->all.first + i) << state->all.shift));
		table_number(CELL(row, timeline, memory), of->most[TIMELINE_MEMORY]);
		table_error(CELL(row, timeline, memory_bytes_error), of->variance, true);
		table_number(CELL(row, timeline, descriptors), of->most[TIMELINE_DESCRIPTORS]);
		table_number(CELL(row, timeline, threads), of->most[TIMELINE_THREADS]);
		table_number(CELL(row, timeline, locks), of->most[TIMELINE_LOCKS]);
	}
	if (state->run->summary->processes.count > 1)
		table->note =
			"sums over all processes: each process adds its maximum in the time step";
}

const struct report report_timeline = {
	.wants_ledger = true,
	.state_size = sizeof(struct timeline_state),
	.move = on_move,
	.process = timeline_report_process,
	.end = timeline_report_end,
};
