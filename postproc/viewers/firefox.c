/* SPDX-License-Identifier: MIT */
/*
 * The Firefox Profiler's processed profile (firefox-devtools/profiler, docs-developer and
 * src/types/profile.js), version 48: a thread "memory" with what places gained and lost, by steps
 * of time, and one for each thread that waited, with its waits as markers and as a call tree.
 * Bounded: of waits the longest are told one by one, the others are added up.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/json.h"
#include "postproc/viewers/stacks.h"
#include "postproc/viewers/viewers.h"
#include "postproc/views/curve.h"
#include "postproc/views/lanes.h"
#include "postproc/views/spans.h"

#define PROFILE_VERSION 48
#define GECKO_VERSION	27
#define SPANS_MOST	100000u
#define WAITS_MOST	50000u

/* A wait that is told of. */
struct wait {
	struct lane_wait facts; /* its texts are the pool's, or do not change */
	uint32_t pid;
};

struct point {
	uint64_t time_ns, amount;
};

/* What a process held of a class over time. */
struct counter {
	const char *name;
	uint32_t pid;
	ARRAY_OF(struct point) points;
};

/* A gain or a loss of the profile. */
struct step {
	uint64_t time_ns, address;
	int64_t bytes;
	uint32_t place;
};

struct firefox {
	struct report_run *run;
	struct lanes lanes;
	struct stacks stacks;
	struct pool pool;
	struct table texts;
	/* memory */
	struct spans spans, drawn; /* drawn: as many as there may be, places for sites */
	struct map numbers;	   /* of the process: by site, number of its place */
	ARRAY_OF(const struct trace_node *) places; /* by number; 0: none */
	uint32_t first;				    /* number of the first place of the process */
	struct curve curve;
	uint64_t now;
	ARRAY_OF(struct counter) counters;
	/* waits: a heap, the shortest on top */
	ARRAY_OF(struct wait) waits;
	uint64_t left_out, left_out_ns, wall_ns;
	/* of a thread of the file */
	struct json json;
	struct map nodes, frames;     /* by prefix and frame: number of the stack; by frame: here */
	ARRAY_OF(uint64_t) node_list; /* prefix + 1 and frame of each stack */
	ARRAY_OF(const struct stacks_frame *) frame_list;
	int error;
};

/* ---- memory ---- */

/* The number of the place of a site; 0: no memory. */
static uint32_t place_of(struct firefox *file, uint32_t index)
{
	struct map_entry *entry = map_put(&file->numbers, 0, index);
	const struct site *site = sites_at(ledger_sites(file->run->ledger), index);
	const struct trace_node **place;

	if (!entry || entry->value)
		return entry ? entry->value : 0;
	place = ARRAY_ADD(&file->places);
	if (!place)
		return 0;
	*place = atlas_backtrace(&file->run->summary->atlas, site->backtrace, site->index);
	entry->value = (uint32_t)file->places.count - 1;
	return *place ? entry->value : 0;
}

static int on_move(void *user, const struct ledger_move *move, struct error *err)
{
	struct firefox *file = user;
	int64_t bytes = (int64_t)move->bytes, count = move->count;
	uint64_t gained = move->item->gained_ns, now = move->event->time_ns;
	uint32_t place;
	int rc;

	if (ledger_class(file->run->ledger, move->class)->known != RESOURCE_MEMORY)
		return 0;
	place = place_of(file, move->site);
	file->now += move->is_gain ? move->bytes : -move->bytes;
	curve_add(&file->curve, now, file->now);
	if (!place)
		return report_no_memory(err);
	if (move->is_gain) {
		rc = spans_add(&file->spans, place, now, SPANS_NEVER, count, bytes);
		return rc ? report_no_memory(err) : 0;
	}
	rc = spans_add(&file->spans, place, gained, SPANS_NEVER, count, -bytes);
	if (rc == 0)
		rc = spans_add(&file->spans, place, gained, now, -count, bytes);
	return rc ? report_no_memory(err) : 0;
}

static int keep_curve(struct firefox *file, uint32_t pid)
{
	struct counter *counter = file->curve.has_begun ? ARRAY_ADD(&file->counters) : NULL;
	struct point point;
	size_t at = 0;

	if (!counter)
		return file->curve.has_begun ? -ENOMEM : 0;
	*counter = (struct counter){ .name = "memory", .pid = pid };
	while (curve_next(&file->curve, &at, &point.time_ns, &point.amount)) {
		struct point *place = ARRAY_ADD(&counter->points);

		if (!place)
			return -ENOMEM;
		*place = point;
	}
	return 0;
}

/* ---- waits ---- */

static uint64_t length_of(const struct lane_wait *wait)
{
	return wait->until_ns > wait->since_ns ? wait->until_ns - wait->since_ns : 0;
}

static bool is_shorter(const struct wait *a, const struct wait *b)
{
	return length_of(&a->facts) < length_of(&b->facts);
}

/* Puts the item at a place of the heap where it belongs, from there downwards. */
static void sift_down(struct firefox *file, size_t at)
{
	struct wait *items = file->waits.items, item = items[at];
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

static void sift_up(struct firefox *file, size_t at)
{
	struct wait *items = file->waits.items, item = items[at];

	while (at && is_shorter(&item, &items[(at - 1) / 2])) {
		items[at] = items[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	items[at] = item;
}

static bool is_text(const void *item, const void *key)
{
	return !strcmp(item, key);
}

/* A copy of a text that there is once. */
static const char *keep_text(struct firefox *file, const char *text)
{
	uint64_t hash = hash_bytes(file->texts.seed, text, strlen(text));
	char *copy = table_find(&file->texts, hash, is_text, text);

	if (copy)
		return copy;
	copy = pool_text(&file->pool, text, strlen(text));
	return copy && table_add(&file->texts, hash, copy) == 0 ? copy : NULL;
}

static int on_wait(void *user, const struct lane_wait *facts)
{
	struct firefox *file = user;
	struct wait wait = { .facts = *facts, .pid = summary_current(file->run->summary)->pid },
		    *place;

	wait.facts.function = keep_text(file, facts->function);
	if (!wait.facts.function)
		return -ENOMEM;
	if (file->waits.count == WAITS_MOST) {
		bool is_kept = is_shorter(&file->waits.items[0], &wait);

		file->left_out++;
		file->left_out_ns += length_of(is_kept ? &file->waits.items[0].facts : &wait.facts);
		if (is_kept)
			file->waits.items[0] = wait;
		sift_down(file, 0);
		return 0;
	}
	place = ARRAY_ADD(&file->waits);
	if (!place)
		return -ENOMEM;
	*place = wait;
	sift_up(file, file->waits.count - 1);
	return 0;
}

/* ---- the fold ---- */

static int begin(void *user, struct report_run *run, struct error *err)
{
	struct firefox *file = user;
	struct lanes_listener listener = { .wait = on_wait, .user = file };
	const struct trace_node **none;

	table_init(&file->texts);
	map_init(&file->numbers);
	map_init(&file->nodes);
	map_init(&file->frames);
	spans_init(&file->spans);
	lanes_begin(&file->lanes, run, &listener);
	ledger_listen(run->ledger, on_move, file);
	none = ARRAY_ADD(&file->places);
	if (!none || stacks_init(&file->stacks, run->naming))
		return report_no_memory(err);
	*none = NULL;
	file->first = 1;
	return 0;
}

static int event(void *state, const struct event *event, struct error *err)
{
	struct firefox *file = state;

	if (!file->wall_ns)
		file->wall_ns = event->process->realtime_ns;
	return lanes_event(&file->lanes, event, err);
}

static int note(void *state, const struct event *event, struct error *err)
{
	return lanes_note(&((struct firefox *)state)->lanes, event, err);
}

static int process(void *state, struct error *err)
{
	struct firefox *file = state;
	const struct summary_process *process = summary_current(file->run->summary);
	int rc = lanes_process(&file->lanes, err);

	lanes_clear(&file->lanes);
	if (rc)
		return rc;
	if (process->end == SUMMARY_EXEC)
		rc = spans_lose(&file->spans, file->first, process->end_ns);
	if (process->end == SUMMARY_EXEC && file->curve.has_begun)
		curve_add(&file->curve, process->end_ns, 0);
	if (rc == 0)
		rc = keep_curve(file, process->pid);
	file->first = (uint32_t)file->places.count;
	file->curve = (struct curve){ 0 };
	file->now = 0;
	map_clear(&file->numbers);
	return rc ? report_no_memory(err) : 0;
}

static void destroy(void *state)
{
	struct firefox *file = state;

	for (size_t i = 0; i < file->counters.count; i++)
		free(file->counters.items[i].points.items);
	free(file->counters.items);
	free(file->places.items);
	free(file->waits.items);
	free(file->node_list.items);
	free(file->frame_list.items);
	map_clear(&file->numbers);
	map_clear(&file->nodes);
	map_clear(&file->frames);
	table_free(&file->texts);
	pool_free(&file->pool);
	spans_free(&file->drawn);
	spans_free(&file->spans);
	lanes_free(&file->lanes);
	stacks_free(&file->stacks);
}

/* ---- JSON ---- */

static void put_number(struct firefox *file, const char *key, uint64_t number)
{
	json_add_unsigned(&file->json, key, number);
}

static void put_text(struct firefox *file, const char *key, const char *text)
{
	json_add_text(&file->json, key, text);
}

static void put_null(struct firefox *file, const char *key)
{
	json_key(&file->json, key);
	json_null(&file->json);
}

/* A time in ms since the start of the run. */
static void put_ms(struct firefox *file, uint64_t time_ns)
{
	json_real(&file->json, (double)report_time(file->run, time_ns) / 1e6);
}

static void begin_list(struct firefox *file, const char *key)
{
	json_key(&file->json, key);
	json_begin(&file->json, '[');
}

static void begin_object(struct firefox *file, const char *key)
{
	json_key(&file->json, key);
	json_begin(&file->json, '{');
}

static void put_constant(struct firefox *file, const char *key, size_t count, int64_t number)
{
	begin_list(file, key);
	for (size_t i = 0; i < count; i++)
		if (number == INT64_MIN)
			json_null(&file->json);
		else
			json_signed(&file->json, number);
	json_end(&file->json);
}

#define NOTHING INT64_MIN

/* A number, or null where none is known. */
static void put_known(struct firefox *file, bool is_known, uint64_t number)
{
	if (is_known)
		json_unsigned(&file->json, number);
	else
		json_null(&file->json);
}

/* A column of a table: what put writes for each i. */
#define COLUMN(file, key, count, put)                \
	do {                                         \
		begin_list(file, key);               \
		for (size_t i = 0; i < (count); i++) \
			put;                         \
		json_end(&(file)->json);             \
	} while (0)

/* ---- stacks of a thread ---- */

static uint32_t frame_of(struct firefox *file, const struct stacks_frame *frame)
{
	struct map_entry *entry = map_put(&file->frames, 0, frame->number);
	const struct stacks_frame **place;

	if (!entry || entry->value)
		return entry ? entry->value : 0;
	place = ARRAY_ADD(&file->frame_list);
	if (!place)
		return 0;
	*place = frame;
	entry->value = (uint32_t)file->frame_list.count;
	return entry->value;
}

/* The number of a backtrace in the thread's table, from 0. */
static uint32_t stack_of(struct firefox *file, const struct trace_node *backtrace,
			 const char *called)
{
	size_t count = stacks_of(&file->stacks, backtrace, called);
	uint32_t node = 0;

	if (!count)
		file->error = -ENOMEM;
	for (size_t i = count; i; i--) {
		uint32_t frame = frame_of(file, file->stacks.stack[i - 1]);
		uint64_t key = (uint64_t)node << 32 | frame;
		struct map_entry *entry = frame ? map_put(&file->nodes, 0, key) : NULL;
		uint64_t *place = entry && !entry->value ? ARRAY_ADD(&file->node_list) : NULL;

		if (!entry || (!entry->value && !place)) {
			file->error = -ENOMEM;
			return 0;
		}
		if (place) {
			*place = key;
			entry->value = (uint32_t)file->node_list.count;
		}
		node = entry->value;
	}
	return node ? node - 1 : 0;
}

static void forget_stacks(struct firefox *file)
{
	map_clear(&file->nodes);
	map_clear(&file->frames);
	file->node_list.count = file->frame_list.count = 0;
}

static void put_stack_table(struct firefox *file)
{
	size_t count = file->node_list.count;

	begin_object(file, "stackTable");
	COLUMN(file, "frame", count,
	       json_unsigned(&file->json, (uint32_t)file->node_list.items[i] - 1));
	COLUMN(file, "prefix", count,
	       put_known(file, file->node_list.items[i] >> 32,
			 (file->node_list.items[i] >> 32) - 1));
	put_constant(file, "category", count, 0);
	put_constant(file, "subcategory", count, 0);
	put_number(file, "length", count);
	json_end(&file->json);
}

/* Each frame is a function of its own number: strings 2i and 2i + 1 are its name and file. */
static void put_frame_tables(struct firefox *file)
{
	size_t count = file->frame_list.count;

	begin_object(file, "frameTable");
	put_constant(file, "address", count, -1);
	put_constant(file, "inlineDepth", count, 0);
	put_constant(file, "category", count, 0);
	put_constant(file, "subcategory", count, 0);
	COLUMN(file, "func", count, json_unsigned(&file->json, i));
	put_constant(file, "nativeSymbol", count, NOTHING);
	put_constant(file, "innerWindowID", count, 0);
	COLUMN(file, "line", count,
	       put_known(file, file->frame_list.items[i]->line, file->frame_list.items[i]->line));
	put_constant(file, "column", count, NOTHING);
	put_constant(file, "implementation", count, NOTHING);
	put_number(file, "length", count);
	json_end(&file->json);
}

static void put_function_table(struct firefox *file)
{
	size_t count = file->frame_list.count;

	begin_object(file, "funcTable");
	COLUMN(file, "name", count, json_unsigned(&file->json, 2 * i));
	COLUMN(file, "isJS", count, json_bool(&file->json, false));
	COLUMN(file, "relevantForJS", count, json_bool(&file->json, false));
	put_constant(file, "resource", count, -1);
	COLUMN(file, "fileName", count,
	       put_known(file, *file->frame_list.items[i]->function->file, 2 * i + 1));
	put_constant(file, "lineNumber", count, NOTHING);
	put_constant(file, "columnNumber", count, NOTHING);
	put_number(file, "length", count);
	json_end(&file->json);
}

static void put_empty(struct firefox *file, const char *key, const char *const *columns)
{
	begin_object(file, key);
	for (; *columns; columns++) {
		begin_list(file, *columns);
		json_end(&file->json);
	}
	put_number(file, "length", 0);
	json_end(&file->json);
}

/* names: of markers, behind those of functions. */
static void put_tables(struct firefox *file)
{
	static const char *const resources[] = { "lib", "name", "host", "type", NULL };
	static const char *const symbols[] = { "libIndex", "address", "name", "functionSize",
					       NULL };

	put_stack_table(file);
	put_frame_tables(file);
	put_function_table(file);
	put_empty(file, "resourceTable", resources);
	put_empty(file, "nativeSymbols", symbols);
	begin_list(file, "stringArray");
	for (size_t i = 0; i < file->frame_list.count; i++) {
		const struct stacks_function *function = file->frame_list.items[i]->function;

		json_text(&file->json, function->name);
		json_text(&file->json, function->file);
	}
	for (unsigned kind = 0; kind < LANE_KINDS; kind++)
		json_text(&file->json, lane_word((enum lane_kind)kind));
	json_end(&file->json);
	forget_stacks(file);
}

/* ---- threads ---- */

static void begin_thread(struct firefox *file, const char *name, bool is_main, uint32_t pid,
			 uint32_t tid)
{
	const struct summary_process *first = summary_process_at(file->run->summary, 0);
	char number[16];

	snprintf(number, sizeof(number), "%" PRIu32, pid);
	json_begin(&file->json, '{');
	put_text(file, "name", name);
	json_add_bool(&file->json, "isMainThread", is_main);
	put_text(file, "processType", "default");
	put_text(file, "processName", first && first->name ? first->name : "");
	put_number(file, "processStartupTime", 0);
	put_null(file, "processShutdownTime");
	put_number(file, "registerTime", 0);
	put_null(file, "unregisterTime");
	begin_list(file, "pausedRanges");
	json_end(&file->json);
	put_text(file, "pid", number);
	put_number(file, "tid", tid);
	json_add_bool(&file->json, "showMarkersInTimeline", true);
}

static int by_thread_and_time(const void *a, const void *b)
{
	const struct wait *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->facts.thread != y->facts.thread)
		return x->facts.thread < y->facts.thread ? -1 : 1;
	if (x->facts.since_ns != y->facts.since_ns)
		return x->facts.since_ns < y->facts.since_ns ? -1 : 1;
	return x->facts.until_ns < y->facts.until_ns ? -1 : x->facts.until_ns > y->facts.until_ns;
}

static void put_marker(struct firefox *file, const struct wait *wait, uint32_t stack)
{
	const struct lane_wait *facts = &wait->facts;
	char text[64];

	json_begin(&file->json, '{');
	put_text(file, "type", "Wait");
	put_text(file, "kind", lane_word(facts->kind));
	put_text(file, "call", facts->function);
	snprintf(text, sizeof(text), "0x%" PRIx64, facts->object);
	put_text(file, "object", text);
	put_number(file, "ns", length_of(facts));
	put_text(file, "end", facts->is_open ? "has not ended" : facts->end);
	snprintf(text, sizeof(text), "%" PRIu32, facts->waker_thread);
	put_text(file, "waker", facts->waker_thread ? text : "not known");
	if (facts->waker) {
		const char *line = stacks_line(&file->stacks, facts->waker, "?");

		if (!line)
			file->error = -ENOMEM;
		put_text(file, "wakerStack", line);
	}
	begin_object(file, "cause");
	put_number(file, "stack", stack);
	json_key(&file->json, "time");
	put_ms(file, facts->since_ns);
	json_end(&file->json);
	json_end(&file->json);
}

/* Marker names stand behind those of functions and files, which are known when all stacks are. */
static void put_markers(struct firefox *file, const struct wait *waits, size_t count,
			const uint32_t *stacks)
{
	begin_object(file, "markers");
	COLUMN(file, "data", count, put_marker(file, &waits[i], stacks[i]));
	COLUMN(file, "name", count,
	       json_unsigned(&file->json, 2 * file->frame_list.count + waits[i].facts.kind));
	COLUMN(file, "startTime", count, put_ms(file, waits[i].facts.since_ns));
	COLUMN(file, "endTime", count,
	       put_ms(file, waits[i].facts.since_ns + length_of(&waits[i].facts)));
	put_constant(file, "phase", count, 1);
	put_constant(file, "category", count, 1);
	put_number(file, "length", count);
	json_end(&file->json);
}

/* Waits as samples that weigh what they took: a call tree of them. */
static void put_samples(struct firefox *file, const struct wait *waits, size_t count,
			const uint32_t *stacks)
{
	begin_object(file, "samples");
	COLUMN(file, "stack", count, json_unsigned(&file->json, stacks[i]));
	COLUMN(file, "time", count, put_ms(file, waits[i].facts.since_ns));
	COLUMN(file, "weight", count,
	       json_real(&file->json, (double)length_of(&waits[i].facts) / 1e6));
	put_text(file, "weightType", "tracing-ms");
	put_number(file, "length", count);
	json_end(&file->json);
}

static void put_thread(struct firefox *file, const struct wait *waits, size_t count)
{
	uint32_t *stacks = calloc(count + 1, sizeof(*stacks));
	char name[40];

	if (!stacks) {
		file->error = -ENOMEM;
		return;
	}
	for (size_t i = 0; i < count; i++)
		stacks[i] = stack_of(file, waits[i].facts.waiter, waits[i].facts.function);
	snprintf(name, sizeof(name), "thread %" PRIu32, waits->facts.thread);
	begin_thread(file, name, false, waits->pid, waits->facts.thread);
	put_samples(file, waits, count, stacks);
	put_markers(file, waits, count, stacks);
	put_tables(file);
	json_end(&file->json);
	free(stacks);
}

static void put_threads(struct firefox *file)
{
	size_t from = 0;

	if (file->waits.count)
		qsort(file->waits.items, file->waits.count, sizeof(*file->waits.items),
		      by_thread_and_time);
	for (size_t i = 1; i <= file->waits.count; i++) {
		const struct wait *first = &file->waits.items[from], *wait = first + (i - from);

		if (i < file->waits.count && wait->pid == first->pid &&
		    wait->facts.thread == first->facts.thread)
			continue;
		put_thread(file, first, i - from);
		from = i;
	}
}

/* ---- the thread of memory ---- */

static int by_time(const void *a, const void *b)
{
	const struct step *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->bytes > y->bytes ? -1 : x->bytes < y->bytes;
}

/* Each span as one gain, and one loss where it was lost; addresses only say which belong together.
 */
static struct step *make_steps(struct firefox *file, size_t *count)
{
	const struct spans *spans = &file->drawn;
	struct step *steps = calloc(spans->list.count * 2 + 1, sizeof(*steps));

	for (size_t i = 0; steps && i < spans->list.count; i++) {
		const struct span *span = spans->list.items[i];
		struct step step = { .time_ns = span->gained << spans->shift,
				     .address = (i + 1) << 4,
				     .bytes = span->bytes,
				     .place = span->site };

		if (span->bytes <= 0)
			continue;
		steps[(*count)++] = step;
		if (span->lost == SPANS_NEVER)
			continue;
		step.time_ns = span->lost << spans->shift;
		step.bytes = -span->bytes;
		steps[(*count)++] = step;
	}
	if (steps)
		qsort(steps, *count, sizeof(*steps), by_time);
	return steps;
}

static void put_allocations(struct firefox *file, const struct step *steps, size_t count,
			    uint32_t tid)
{
	begin_object(file, "nativeAllocations");
	COLUMN(file, "time", count, put_ms(file, steps[i].time_ns));
	COLUMN(file, "weight", count, json_signed(&file->json, steps[i].bytes));
	put_text(file, "weightType", "bytes");
	COLUMN(file, "stack", count,
	       json_unsigned(&file->json, stack_of(file, file->places.items[steps[i].place], "?")));
	COLUMN(file, "memoryAddress", count, json_unsigned(&file->json, steps[i].address));
	put_constant(file, "threadId", count, tid);
	put_number(file, "length", count);
	json_end(&file->json);
}

static void put_memory(struct firefox *file)
{
	const struct summary_process *first = summary_process_at(file->run->summary, 0);
	uint32_t pid = first ? first->pid : 0;
	size_t count = 0;
	struct step *steps = make_steps(file, &count);

	if (!steps) {
		file->error = -ENOMEM;
		return;
	}
	begin_thread(file, "memory", true, pid, pid);
	put_samples(file, NULL, 0, NULL);
	put_markers(file, NULL, 0, NULL);
	put_allocations(file, steps, count, pid);
	put_tables(file);
	json_end(&file->json);
	free(steps);
}

/* ---- the file ---- */

static void put_field(struct firefox *file, const char *key, const char *label, const char *format)
{
	json_begin(&file->json, '{');
	put_text(file, "key", key);
	put_text(file, "label", label);
	put_text(file, "format", format);
	json_add_bool(&file->json, "searchable", true);
	json_end(&file->json);
}

static void put_schema(struct firefox *file)
{
	static const char *const places[] = { "marker-chart", "marker-table", "timeline-overview" };

	begin_list(file, "markerSchema");
	json_begin(&file->json, '{');
	put_text(file, "name", "Wait");
	put_text(file, "tooltipLabel", "Waits for {marker.data.kind} {marker.data.object}");
	put_text(file, "tableLabel",
		 "{marker.data.kind} {marker.data.object}, ended by thread {marker.data.waker}");
	put_text(file, "chartLabel", "{marker.data.kind} {marker.data.object}");
	COLUMN(file, "display", sizeof(places) / sizeof(*places),
	       json_text(&file->json, places[i]));
	begin_list(file, "data");
	put_field(file, "kind", "Waits for", "string");
	put_field(file, "call", "Call", "string");
	put_field(file, "object", "Object", "string");
	put_field(file, "ns", "Waited", "nanoseconds");
	put_field(file, "end", "End", "string");
	put_field(file, "waker", "Ended by thread", "string");
	put_field(file, "wakerStack", "That one took it, or woke, at", "string");
	json_end(&file->json);
	json_end(&file->json);
	json_end(&file->json);
}

static void put_category(struct firefox *file, const char *name, const char *colour)
{
	json_begin(&file->json, '{');
	put_text(file, "name", name);
	put_text(file, "color", colour);
	begin_list(file, "subcategories");
	json_text(&file->json, "Other");
	json_end(&file->json);
	json_end(&file->json);
}

static void put_meta(struct firefox *file)
{
	static const char *const extensions[] = { "id", "name", "baseURL", NULL };
	const struct summary *run = file->run->summary;

	begin_object(file, "meta");
	put_number(file, "interval", 1);
	json_add_unsigned(&file->json, "startTime", (run->start_ns + file->wall_ns) / 1000000);
	put_number(file, "processType", 0);
	put_text(file, "product", "holdtrace");
	put_text(file, "importedFrom", "holdtrace " PACKAGE_VERSION);
	put_number(file, "stackwalk", 1);
	put_number(file, "version", GECKO_VERSION);
	put_number(file, "preprocessedProfileVersion", PROFILE_VERSION);
	json_add_bool(&file->json, "symbolicated", true);
	json_add_bool(&file->json, "symbolicationNotSupported", true);
	if (file->left_out) {
		put_number(file, "waitsLeftOut", file->left_out);
		put_number(file, "waitsLeftOutNs", file->left_out_ns);
	}
	begin_list(file, "categories");
	put_category(file, "Other", "grey");
	put_category(file, "Wait", "red");
	json_end(&file->json);
	put_schema(file);
	put_empty(file, "extensions", extensions);
	json_end(&file->json);
}

static void put_counter(struct firefox *file, const struct counter *counter)
{
	uint64_t before = 0;
	char pid[16];

	snprintf(pid, sizeof(pid), "%" PRIu32, counter->pid);
	json_begin(&file->json, '{');
	put_text(file, "name", "malloc");
	put_text(file, "category", "Memory");
	put_text(file, "description", "Bytes of memory that are held");
	put_text(file, "pid", pid);
	put_number(file, "mainThreadIndex", 0);
	begin_object(file, "samples");
	COLUMN(file, "time", counter->points.count, put_ms(file, counter->points.items[i].time_ns));
	put_constant(file, "number", counter->points.count, 1);
	begin_list(file, "count");
	for (size_t i = 0; i < counter->points.count; i++) {
		uint64_t amount = counter->points.items[i].amount;

		json_signed(&file->json, (int64_t)(amount - before));
		before = amount;
	}
	json_end(&file->json);
	put_number(file, "length", counter->points.count);
	json_end(&file->json);
	json_end(&file->json);
}

static void expect_names(const struct firefox *file)
{
	for (size_t i = 1; file->run->naming && i < file->places.count; i++)
		naming_expect(file->run->naming, file->places.items[i]);
	for (size_t i = 0; file->run->naming && i < file->waits.count; i++) {
		naming_expect(file->run->naming, file->waits.items[i].facts.waiter);
		naming_expect(file->run->naming, file->waits.items[i].facts.waker);
	}
}

/* The same place of several processes is one: that of the first. */
static int settle(struct firefox *file)
{
	uint32_t *renumber = calloc(file->places.count, sizeof(*renumber));
	int rc = renumber ? 0 : -ENOMEM;

	map_clear(&file->numbers);
	for (uint32_t i = 1; rc == 0 && i < file->places.count; i++) {
		struct map_entry *entry =
			map_put(&file->numbers, 0, (uintptr_t)file->places.items[i]);

		if (!entry)
			rc = -ENOMEM;
		else if (!entry->value)
			entry->value = i;
		renumber[i] = entry ? entry->value : 0;
	}
	if (rc == 0)
		rc = spans_settle(&file->spans, renumber, SPANS_MOST, &file->drawn);
	free(renumber);
	return rc;
}

static int print(void *state, struct out *out, struct error *err)
{
	static const char *const lists[] = { "libs", "pages", "profilingLog",
					     "profileGatheringLog" };
	struct firefox *file = state;

	if (settle(file))
		return report_no_memory(err);
	expect_names(file);
	json_start(&file->json, out, false);
	json_begin(&file->json, '{');
	put_meta(file);
	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
		begin_list(file, lists[i]);
		json_end(&file->json);
	}
	begin_list(file, "threads");
	put_memory(file);
	put_threads(file);
	json_end(&file->json);
	COLUMN(file, "counters", file->counters.count, put_counter(file, &file->counters.items[i]));
	json_end(&file->json);
	json_finish(&file->json);
	return file->error ? report_no_memory(err) : 0;
}

const struct report viewer_firefox = {
	.wants_ledger = true,
	.wants_summary = true,
	.state_size = sizeof(struct firefox),
	.begin = begin,
	.event = event,
	.note = note,
	.process = process,
	.print = print,
	.destroy = destroy,
};
