/* SPDX-License-Identifier: MIT */
/*
 * Collects what the Firefox Profiler shows: the allocations and frees of each call site by time
 * step, the live memory of each process, and the waits of each thread. Only the WAITS_MOST longest
 * waits are shown one by one; the shorter waits are only counted and added up.
 */
#include "firefox.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "viewers.h"

#define SPANS_MOST 100000u
#define WAITS_MOST 50000u

/* ---- memory ---- */

static void firefox_move(void *user, const struct ledger_move *move)
{
	struct firefox *file = user;
	int64_t bytes = (int64_t)move->bytes, count = move->count;
	uint64_t acquired = move->item->acquired_ns, now = move->event->time_ns;
	struct map_entry *place;

	if (ledger_class(file->run->ledger, move->class)->known != RESOURCE_MEMORY)
		return;
	place = map_put(&file->numbers, 0, move->site);
	if (!place->value) {
		place->value = (uint32_t)file->places.count;
		*ARRAY_ADD(&file->places) = report_site(
			file->run, sites_at(ledger_sites(file->run->ledger), move->site));
	}
	file->now += move->is_acquisition ? move->bytes : -move->bytes;
	curve_add(&file->curve, now, file->now);
	if (move->is_acquisition) {
		spans_add(&file->spans, place->value, now, SPANS_NEVER, count, bytes);
		return;
	}
	spans_add(&file->spans, place->value, acquired, SPANS_NEVER, count, -bytes);
	spans_add(&file->spans, place->value, acquired, now, -count, bytes);
}

/* ---- waits ---- */

static bool is_shorter(const struct firefox_wait *a, const struct firefox_wait *b)
{
	return firefox_length_ns(&a->facts) < firefox_length_ns(&b->facts);
}

/* Moves the wait at index `at` down the heap until the heap is ordered again. */
static void sift_down(struct firefox *file, size_t at)
{
	struct firefox_wait *items = file->waits.items, item = items[at];
	size_t count = file->waits.count;

	for (size_t child; (child = at * 2 + 1) < count; at = child) {
		if (child + 1 < count && is_shorter(&items[child + 1], &items[child]))
			child++;
		if (!is_shorter(&items[child], &item))
			break;
		items[at] = items[child];
	}
	items[at] = item;
}

static bool is_text(const void *item, const void *key)
{
	return !strcmp(item, key);
}

/* Returns the stored copy of a text; equal texts share one copy. */
static const char *keep_text(struct firefox *file, const char *text)
{
	uint64_t hash = hash_bytes(file->texts.seed, text, strlen(text));
	char *copy = hash_table_find(&file->texts, hash, is_text, text);

	if (copy)
		return copy;
	copy = pool_copy(&file->pool, text);
	hash_table_add(&file->texts, hash, copy);
	return copy;
}

static void firefox_on_wait(void *user, const struct lane_wait *facts)
{
	struct firefox *file = user;
	struct firefox_wait wait = { .facts = *facts,
				     .pid = summary_current(file->run->summary)->pid };
	struct firefox_wait *items;
	size_t at;

	wait.facts.function = keep_text(file, facts->function);
	if (file->waits.count == WAITS_MOST) {
		bool is_kept = is_shorter(&file->waits.items[0], &wait);

		file->left_out++;
		file->left_out_ns +=
			firefox_length_ns(is_kept ? &file->waits.items[0].facts : &wait.facts);
		if (is_kept)
			file->waits.items[0] = wait;
		sift_down(file, 0);
		return;
	}
	*ARRAY_ADD(&file->waits) = wait;
	at = file->waits.count - 1;
	items = file->waits.items;
	for (; at && is_shorter(&wait, &items[(at - 1) / 2]); at = (at - 1) / 2)
		items[at] = items[(at - 1) / 2];
	items[at] = wait;
}

/* ---- the fold ---- */

static void keep_name(struct firefox *file, uint32_t pid, uint32_t tid, const char *name)
{
	if (name && *name)
		*ARRAY_ADD(&file->names) = (struct firefox_name){ .pid = pid,
								  .tid = tid,
								  .name = keep_text(file, name) };
}

static int firefox_begin(void *user, struct report_run *run, struct error *err)
{
	struct firefox *file = user;
	struct lanes_listener listener = { .wait = firefox_on_wait, .user = file };

	(void)err;
	hash_table_init(&file->texts);
	spans_init(&file->spans);
	lanes_begin(&file->lanes, run, &listener);
	ledger_listen(run->ledger, firefox_move, file);
	stacks_init(&file->stacks, run->naming);
	*ARRAY_ADD(&file->places) = NULL; /* index 0 is unused */
	file->first = 1;
	return 0;
}

static void firefox_event(void *state, const struct event *event)
{
	struct firefox *file = state;

	if (!file->wall_ns)
		file->wall_ns = event->process->realtime_ns;
	lanes_event(&file->lanes, event);
}

static void firefox_note(void *state, const struct event *event)
{
	lanes_note(&((struct firefox *)state)->lanes, event);
}

static void firefox_process(void *state)
{
	struct firefox *file = state;
	const struct summary_process *process = summary_current(file->run->summary);
	const struct threads *threads = &file->lanes.threads;

	lanes_process(&file->lanes);
	keep_name(file, process->pid, 0, process->name);
	for (size_t i = 0; i < threads->list.count; i++)
		keep_name(file, process->pid, threads->list.items[i].tid,
			  threads->list.items[i].name);
	lanes_clear(&file->lanes);
	if (process->end == SUMMARY_EXEC)
		spans_release(&file->spans, file->first, process->end_ns, false);
	if (file->curve.has_begun) {
		struct firefox_counter *counter = ARRAY_ADD(&file->counters);
		struct firefox_point point;
		size_t at = 0;

		*counter = (struct firefox_counter){ .pid = process->pid };
		if (summary_has_ended(process))
			curve_add(&file->curve, process->end_ns, 0);
		while (curve_next(&file->curve, &at, &point.time_ns, &point.amount))
			*ARRAY_ADD(&counter->points) = point;
	}
	file->first = (uint32_t)file->places.count;
	file->curve = (struct curve){ 0 };
	file->now = 0;
	map_clear(&file->numbers);
}

static void firefox_destroy(void *state)
{
	struct firefox *file = state;

	for (size_t i = 0; i < file->counters.count; i++)
		free(file->counters.items[i].points.items);
	free(file->counters.items);
	free(file->names.items);
	free(file->places.items);
	free(file->waits.items);
	free(file->node_list.items);
	free(file->frame_list.items);
	map_clear(&file->numbers);
	map_clear(&file->main_threads);
	map_clear(&file->nodes);
	map_clear(&file->frames);
	hash_table_free(&file->texts);
	pool_free(&file->pool);
	spans_free(&file->drawn);
	spans_free(&file->spans);
	lanes_free(&file->lanes);
	stacks_free(&file->stacks);
}

/* ---- the end ---- */

static int firefox_print(void *state, struct out *out, struct error *err)
{
	struct firefox *file = state;
	uint32_t *renumber = memory_zalloc(file->places.count, sizeof(*renumber));

	(void)err;
	/* merge equal call sites of several processes */
	map_clear(&file->numbers);
	for (uint32_t i = 1; i < file->places.count; i++) {
		struct map_entry *entry =
			map_put(&file->numbers, 0, (uintptr_t)file->places.items[i]);

		if (!entry->value)
			entry->value = i;
		renumber[i] = entry->value;
	}
	spans_settle(&file->spans, renumber, SPANS_MOST, &file->drawn);
	free(renumber);
	for (size_t i = 1; file->run->naming && i < file->places.count; i++)
		naming_expect(file->run->naming, file->places.items[i]);
	for (size_t i = 0; file->run->naming && i < file->waits.count; i++) {
		naming_expect(file->run->naming, file->waits.items[i].facts.waiter);
		naming_expect(file->run->naming, file->waits.items[i].facts.waker);
	}
	firefox_write(file, out);
	return 0;
}

const struct report viewer_firefox = {
	.wants_ledger = true,
	.wants_summary = true,
	.state_size = sizeof(struct firefox),
	.begin = firefox_begin,
	.event = firefox_event,
	.note = firefox_note,
	.process = firefox_process,
	.print = firefox_print,
	.destroy = firefox_destroy,
};
