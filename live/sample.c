/* SPDX-License-Identifier: MIT */
#include "live/top.h"

#include "base/array.h"
#include "base/order.h"
#include "process/proc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLACE_FRAMES 6 /* maximum number of frames in the text of a call site */

/* ---- rates ---- */

static double rate(uint64_t now, uint64_t then, double seconds)
{
	return seconds > 0 ? (double)(int64_t)(now - then) / seconds : 0;
}

void sample_tick(struct watched *const *processes, size_t count, double seconds)
{
	for (size_t k = 0; k < count; k++) {
		struct watched *watched = processes[k];

		watched_lock(watched);

		double passed = (double)(watched->time_ns - watched->seen_ns) / 1e9, span = seconds;

		/*
		 * The trace file may lag by up to a second, so the events of one second may be read
		 * only in the next second. If the times of the events advanced by about as much as
		 * our clock, the rate is computed from these times.
		 */
		if (watched->seen_ns && passed > seconds / 2 && passed < seconds * 2)
			span = passed;
		for (uint32_t i = 1; i < watched->sites.count; i++) {
			struct watched_site *site = &watched->sites.items[i];
			uint32_t class = sites_at(ledger_sites(watched->ledger), i)->class;
			bool has_bytes = ledger_class(watched->ledger, class)->has_bytes;

			site->acquired_rate =
				(float)rate(site->acquired, site->seen_acquired, span);
			site->growth_rate =
				(float)(has_bytes ? rate(site->bytes, site->seen_bytes, span)
						  : rate(site->count, site->seen_count, span));
			site->curve[watched->ticks % WATCHED_TICKS] =
				(float)(has_bytes ? site->bytes : site->count);
			site->seen_acquired = site->acquired;
			site->seen_count = site->count;
			site->seen_bytes = site->bytes;
		}
		watched->ticks++;
		watched->event_rate = rate(watched->events, watched->seen_events, span);
		watched->seen_events = watched->events;
		watched->seen_ns = watched->time_ns;
		watched_unlock(watched);
	}
}

/* ---- classes ---- */

static void add_classes(struct sample *sample, struct watched *watched)
{
	for (uint32_t i = 0; i < ledger_class_count(watched->ledger); i++) {
		const struct ledger_sum *sum = ledger_sum(watched->ledger, i);
		const struct ledger_class *known = ledger_class(watched->ledger, i);
		struct sample_row *class = sample->classes;
		struct sample_row *end = class + sample->class_count;

		while (class < end && strcmp(class->type, known->type) != 0)
			class ++;
		if (class == end && sample->class_count == SAMPLE_CLASSES)
			continue;
		if (class == end) {
			*class = (struct sample_row){ .type = known->type,
						      .has_bytes = known->has_bytes };
			sample->class_count++;
		}
		class->acquired += sum->acquired;
		class->count += (int64_t)sum->count;
		class->bytes += (int64_t)sum->bytes;
		class->variance += sum->variance;
		class->peak += sum->peak;
	}
}

/* ---- rows ---- */

static double weight(const struct sample_row *row, enum sample_order order)
{
	switch (order) {
	case SAMPLE_GROWTH:
		return row->growth_rate;
	case SAMPLE_RATE:
		return row->acquired_rate ? row->acquired_rate : (double)row->acquired * 1e-12;
	case SAMPLE_OBJECTS:
		return (double)row->count;
	case SAMPLE_HELD:
	case SAMPLE_ORDERS:
		break;
	}
	return row->has_bytes ? (double)row->bytes : (double)row->count;
}

static int by_weight(const void *left, const void *right, void *context)
{
	const struct sample_row *a = left, *b = right;
	const enum sample_order *order = context;
	double one = weight(a, *order), other = weight(b, *order);

	return ORDER(other, one)
		?: ORDER(weight(b, SAMPLE_HELD), weight(a, SAMPLE_HELD))
		?: ORDER(a->site, b->site);
}

struct list {
	struct sample_row *items;
	size_t count, capacity;
};

static void add_curve(float *sum, const float *curve)
{
	for (size_t i = 0; i < WATCHED_TICKS; i++)
		sum[i] += curve[i];
}

static void add_rows(struct list *list, struct watched *watched, bool since_base)
{
	for (uint32_t i = 1; i < watched->sites.count; i++) {
		const struct watched_site *site = &watched->sites.items[i];
		uint32_t number = sites_at(ledger_sites(watched->ledger), i)->class;
		const struct ledger_class *class = ledger_class(watched->ledger, number);

		struct sample_row *row;

		if (!site->acquired && !site->count)
			continue;
		row = ARRAY_ADD(list);
		*row = (struct sample_row){
			.type = class->type,
			.has_bytes = class->has_bytes,
			.acquired = site->acquired,
			.count = (int64_t)(site->count - (since_base ? site->base_count : 0)),
			.bytes = (int64_t)(site->bytes - (since_base ? site->base_bytes : 0)),
			.variance = site->variance,
			.acquired_rate = (double)site->acquired_rate,
			.growth_rate = (double)site->growth_rate,
			.watched = watched,
			.site = i,
		};
		for (size_t k = 0; k < WATCHED_TICKS; k++)
			row->curve[k] = site->curve[(watched->ticks + k) % WATCHED_TICKS];
	}
}

/* ---- names ---- */

static const struct trace_node *backtrace_of(const struct sample_row *row)
{
	struct watched *watched = row->watched;
	const struct site *site = sites_at(ledger_sites(watched->ledger), row->site);

	return site->backtrace ? space_backtrace(&watched->space, site->backtrace, site->index)
			       : NULL;
}

/*
 * Writes the texts of the rows' call sites and merges rows with equal texts, because processes of
 * the same program have the same call sites. Returns the number of rows that are left.
 */
static size_t merge_rows(struct sample_row *rows, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		watched_lock(rows[i].watched);
		naming_expect(rows[i].watched->naming, backtrace_of(&rows[i]));
		watched_unlock(rows[i].watched);
	}
	for (size_t i = 0; i < count; i++) {
		struct sample_row *sum = rows, *row = &rows[i];
		struct naming_line lines[PLACE_FRAMES];
		size_t used = 0, frames;

		watched_lock(row->watched);
		naming_site(row->watched->naming, backtrace_of(row), lines, PLACE_FRAMES, &frames);
		if (!frames)
			snprintf(row->site_text, sizeof(row->site_text), "%s",
				 sites_at(ledger_sites(row->watched->ledger), row->site)
					 ->function->name);
		watched_unlock(row->watched);
		for (size_t k = 0; k < frames && used < sizeof(row->site_text); k++)
			used += (size_t)snprintf(row->site_text + used,
						 sizeof(row->site_text) - used, "%s%s",
						 k ? " <- " : "", lines[k].text);
		while (sum < rows + kept &&
		       (strcmp(sum->type, row->type) || strcmp(sum->site_text, row->site_text)))
			sum++;
		if (sum == rows + kept) {
			rows[kept++] = *row;
			continue;
		}
		sum->acquired += row->acquired;
		sum->count += row->count;
		sum->bytes += row->bytes;
		sum->variance += row->variance;
		sum->acquired_rate += row->acquired_rate;
		sum->growth_rate += row->growth_rate;
		add_curve(sum->curve, row->curve);
	}
	return kept;
}

size_t sample_backtrace(const struct sample_row *row, struct naming_line *lines, size_t max)
{
	size_t count;

	watched_lock(row->watched);
	count = naming_lines(row->watched->naming, backtrace_of(row), lines, max);
	watched_unlock(row->watched);
	return count;
}

/* ---- the sample ---- */

void sample_take(struct sample *sample, struct watched *const *processes, size_t count,
		 const struct sample_options *options)
{
	enum sample_order order = options->order;
	struct list list = { 0 };
	size_t kept = 0;

	*sample = (struct sample){ 0 };
	/*
	 * add up the resident memory of all running processes; 0 if it is unknown for one of them,
	 * or if the pid of a process is uncertain
	 */
	for (size_t i = 0; i < count; i++) {
		struct watched *watched = processes[i];
		bool has_ended;
		int64_t kib;
		int32_t pid;

		watched_lock(watched);
		has_ended = watched->has_ended || watched->is_finished;
		pid = watched->is_unproven ? 0 : (int32_t)watched->pid;
		watched_unlock(watched);
		if (has_ended)
			continue;
		kib = pid ? proc_status(pid, 0, "VmRSS", 10) : 0;
		if (kib <= 0) {
			sample->resident_bytes = 0;
			break;
		}
		sample->resident_bytes += (uint64_t)kib << 10;
	}
	for (size_t i = 0; i < count; i++) {
		struct watched *watched = processes[i];

		watched_lock(watched);
		sample->events += watched->events;
		sample->event_rate += watched->event_rate;
		sample->dropped += watched->lost;
		sample->damages += watched->damages;
		sample->ended += watched->has_ended || watched->is_finished;
		sample->running += !watched->has_ended && !watched->is_finished;
		if (watched->ticks > sample->ticks)
			sample->ticks =
				watched->ticks < WATCHED_TICKS ? watched->ticks : WATCHED_TICKS;
		if (ledger_sample(watched->ledger) > sample->sample)
			sample->sample = ledger_sample(watched->ledger);
		/*
		 * the run begins with the start of its first process, and ends with the last event
		 */
		if (watched->start_ns &&
		    (!sample->start_ns || watched->start_ns < sample->start_ns))
			sample->start_ns = watched->start_ns;
		if (watched->time_ns > sample->end_ns)
			sample->end_ns = watched->time_ns;
		add_classes(sample, watched);
		add_rows(&list, watched, options->since_base);
		watched_unlock(watched);
	}
	for (size_t i = 0; i < list.count; i++) {
		const struct sample_row *row = &list.items[i];

		/* the rates of a class are the sums of the rates of all its call sites */
		for (size_t k = 0; k < sample->class_count; k++)
			if (!strcmp(sample->classes[k].type, row->type)) {
				sample->classes[k].acquired_rate += row->acquired_rate;
				sample->classes[k].growth_rate += row->growth_rate;
				add_curve(sample->classes[k].curve, row->curve);
			}
		if (!options->class || !strcmp(row->type, options->class))
			list.items[kept++] = *row;
	}
	list.count = kept;
	if (list.count)
		qsort_r(list.items, list.count, sizeof(*list.items), by_weight, &order);
	/* look up names for twice the requested rows, because some rows will be merged */
	sample->row_count = merge_rows(
		list.items, list.count < 2 * options->rows ? list.count : 2 * options->rows);
	if (sample->row_count)
		qsort_r(list.items, sample->row_count, sizeof(*list.items), by_weight, &order);
	if (sample->row_count > options->rows)
		sample->row_count = options->rows;
	sample->rows = list.items;
}

void sample_free(struct sample *sample)
{
	free(sample->rows);
	*sample = (struct sample){ 0 };
}

void sample_set_base(struct watched *const *processes, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		watched_lock(processes[i]);
		for (size_t k = 0; k < processes[i]->sites.count; k++) {
			struct watched_site *site = &processes[i]->sites.items[k];

			site->base_count = site->count;
			site->base_bytes = site->bytes;
		}
		watched_unlock(processes[i]);
	}
}
