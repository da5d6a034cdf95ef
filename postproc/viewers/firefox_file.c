/* SPDX-License-Identifier: MIT */
/*
 * Writes the Firefox Profiler's processed profile format (firefox-devtools/profiler, docs-developer
 * and src/types/profile.js), version 48. An artificial thread "memory" has the allocations and
 * frees of call sites. Each thread that waited has its waits as markers and as a call tree.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/order.h"
#include "firefox.h"

#define PROFILE_VERSION 48
#define GECKO_VERSION	27

/* An allocation (bytes > 0) or a free (bytes < 0). */
struct step {
	uint64_t time_ns, address;
	int64_t bytes;
	uint32_t place;
};

/* ---- JSON ---- */

static void put_null(struct firefox *file, const char *key)
{
	json_key(&file->json, key);
	json_null(&file->json);
}

/* Writes a time in ms since the start of the run. */
static void put_ms(struct firefox *file, uint64_t time_ns)
{
	json_real(&file->json, (double)report_time(file->run, time_ns) / 1e6);
}

static void put_constant(struct firefox *file, const char *key, size_t count, int64_t number)
{
	json_open(&file->json, key, '[');
	for (size_t i = 0; i < count; i++)
		if (number == INT64_MIN)
			json_null(&file->json);
		else
			json_signed(&file->json, number);
	json_end(&file->json);
}

#define NOTHING INT64_MIN

/* Writes a number, or null if it is unknown. */
static void put_known(struct firefox *file, bool is_known, uint64_t number)
{
	if (is_known)
		json_unsigned(&file->json, number);
	else
		json_null(&file->json);
}

/* Writes a column of a table: evaluates `put` for each `i` below `count`. */
#define COLUMN(file, key, count, put)                \
	do {                                         \
		json_open(&file->json, key, '[');    \
		for (size_t i = 0; i < (count); i++) \
			put;                         \
		json_end(&(file)->json);             \
	} while (0)

/* ---- stacks of a thread ---- */

/* Returns the index of a backtrace in the thread's table of stacks. */
static uint32_t stack_of(struct firefox *file, const struct trace_node *backtrace,
			 const char *called)
{
	size_t count = stacks_of(&file->stacks, backtrace, called);
	uint32_t node = 0;

	for (size_t i = count; i; i--) {
		const struct stacks_frame *frame = file->stacks.stack[i - 1];
		struct map_entry *known = map_put(&file->frames, 0, frame->number), *entry;
		uint64_t key;

		if (!known->value) {
			*ARRAY_ADD(&file->frame_list) = frame;
			known->value = (uint32_t)file->frame_list.count;
		}
		key = (uint64_t)node << 32 | known->value;
		entry = map_put(&file->nodes, 0, key);
		if (!entry->value) {
			*ARRAY_ADD(&file->node_list) = key;
			entry->value = (uint32_t)file->node_list.count;
		}
		node = entry->value;
	}
	return node ? node - 1 : 0;
}

/*
 * Writes the table of frames. Each frame has a function with the same index; strings 2i and 2i + 1
 * are the name and the file of function i.
 */
static void put_frame_tables(struct firefox *file)
{
	size_t count = file->frame_list.count;

	json_open(&file->json, "frameTable", '{');
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
	json_add_unsigned(&file->json, "length", count);
	json_end(&file->json);
}

static void put_empty(struct firefox *file, const char *key, const char *const *columns)
{
	json_open(&file->json, key, '{');
	for (; *columns; columns++) {
		json_open(&file->json, *columns, '[');
		json_end(&file->json);
	}
	json_add_unsigned(&file->json, "length", 0);
	json_end(&file->json);
}

/*
 * Writes the remaining tables. In the table of strings, the names of markers follow those of
 * functions and files.
 */
static void put_tables(struct firefox *file)
{
	static const char *const resources[] = { "lib", "name", "host", "type", NULL };
	static const char *const symbols[] = { "libIndex", "address", "name", "functionSize",
					       NULL };
	size_t nodes = file->node_list.count, frames = file->frame_list.count;

	json_open(&file->json, "stackTable", '{');
	COLUMN(file, "frame", nodes,
	       json_unsigned(&file->json, (uint32_t)file->node_list.items[i] - 1));
	COLUMN(file, "prefix", nodes,
	       put_known(file, file->node_list.items[i] >> 32,
			 (file->node_list.items[i] >> 32) - 1));
	put_constant(file, "category", nodes, 0);
	put_constant(file, "subcategory", nodes, 0);
	json_add_unsigned(&file->json, "length", nodes);
	json_end(&file->json);
	put_frame_tables(file);
	json_open(&file->json, "funcTable", '{');
	COLUMN(file, "name", frames, json_unsigned(&file->json, 2 * i));
	COLUMN(file, "isJS", frames, json_bool(&file->json, false));
	COLUMN(file, "relevantForJS", frames, json_bool(&file->json, false));
	put_constant(file, "resource", frames, -1);
	COLUMN(file, "fileName", frames,
	       put_known(file, *file->frame_list.items[i]->function->file, 2 * i + 1));
	put_constant(file, "lineNumber", frames, NOTHING);
	put_constant(file, "columnNumber", frames, NOTHING);
	json_add_unsigned(&file->json, "length", frames);
	json_end(&file->json);
	put_empty(file, "resourceTable", resources);
	put_empty(file, "nativeSymbols", symbols);
	json_open(&file->json, "stringArray", '[');
	for (size_t i = 0; i < file->frame_list.count; i++) {
		const struct stacks_function *function = file->frame_list.items[i]->function;

		json_text(&file->json, function->name);
		json_text(&file->json, function->file);
	}
	for (unsigned kind = 0; kind < LANE_KINDS; kind++)
		json_text(&file->json, lane_word((enum lane_kind)kind));
	json_end(&file->json);
	map_clear(&file->nodes);
	map_clear(&file->frames);
	file->node_list.count = file->frame_list.count = 0;
}

/* ---- threads ---- */

ORDER_FUNCTION(by_number, struct firefox_name, ORDER(a->pid, b->pid) ?: ORDER(a->tid, b->tid))

/* Returns the name of a thread, or of the process if tid is 0. NULL: unknown. */
static const char *name_of(const struct firefox *file, uint32_t pid, uint32_t tid)
{
	struct firefox_name wanted = { .pid = pid, .tid = tid };
	const struct firefox_name *found =
		file->names.count ? bsearch(&wanted, file->names.items, file->names.count,
					    sizeof(wanted), by_number)
				  : NULL;

	return found ? found->name : NULL;
}

/*
 * Begins a thread in the file. The first thread that is written for a process becomes its main
 * thread, to which the counters of the process belong.
 */
static void begin_thread(struct firefox *file, const char *name, uint32_t pid, uint32_t tid)
{
	struct map_entry *main_thread = map_put(&file->main_threads, 0, pid);
	bool is_main = !main_thread->value;
	const char *process = name_of(file, pid, 0);
	char number[16];

	file->threads++;
	if (is_main)
		main_thread->value = file->threads;

	snprintf(number, sizeof(number), "%" PRIu32, pid);
	json_begin(&file->json, '{');
	json_add_text(&file->json, "name", name);
	json_add_bool(&file->json, "isMainThread", is_main);
	json_add_text(&file->json, "processType", "default");
	json_add_text(&file->json, "processName", process ? process : "");
	json_add_unsigned(&file->json, "processStartupTime", 0);
	put_null(file, "processShutdownTime");
	json_add_unsigned(&file->json, "registerTime", 0);
	put_null(file, "unregisterTime");
	json_open(&file->json, "pausedRanges", '[');
	json_end(&file->json);
	json_add_text(&file->json, "pid", number);
	json_add_unsigned(&file->json, "tid", tid);
	json_add_bool(&file->json, "showMarkersInTimeline", true);
}

static int by_thread_and_time(const void *a, const void *b)
{
	const struct firefox_wait *x = a, *y = b;

	return ORDER(x->pid, y->pid)
		?: ORDER(x->facts.thread, y->facts.thread)
		?: ORDER(x->facts.since_ns, y->facts.since_ns)
		?: ORDER(x->facts.until_ns, y->facts.until_ns);
}

static void put_marker(struct firefox *file, const struct firefox_wait *wait, uint32_t stack)
{
	const struct lane_wait *facts = &wait->facts;
	char text[64];

	json_begin(&file->json, '{');
	json_add_text(&file->json, "type", "Wait");
	json_add_text(&file->json, "kind", lane_word(facts->kind));
	json_add_text(&file->json, "call", facts->function);
	snprintf(text, sizeof(text), "0x%" PRIx64, facts->object);
	json_add_text(&file->json, "object", text);
	json_add_unsigned(&file->json, "ns", firefox_length_ns(facts));
	json_add_text(&file->json, "end", facts->is_open ? "has not ended" : facts->end);
	snprintf(text, sizeof(text), "%" PRIu32, facts->waker_thread);
	json_add_text(&file->json, "waker", facts->waker_thread ? text : "unknown");
	if (facts->waker) {
		const char *line = stacks_line(&file->stacks, facts->waker, "?");

		json_add_text(&file->json, "wakerStack", line);
	}
	json_open(&file->json, "cause", '{');
	json_add_unsigned(&file->json, "stack", stack);
	json_key(&file->json, "time");
	put_ms(file, facts->since_ns);
	json_ends(&file->json, 2);
}

/*
 * Writes waits as markers. In the table of strings, the names of markers follow those of functions
 * and files, so all stacks must have numbers before this call.
 */
static void put_markers(struct firefox *file, const struct firefox_wait *waits, size_t count,
			const uint32_t *stacks)
{
	json_open(&file->json, "markers", '{');
	COLUMN(file, "data", count, put_marker(file, &waits[i], stacks[i]));
	COLUMN(file, "name", count,
	       json_unsigned(&file->json, 2 * file->frame_list.count + waits[i].facts.kind));
	COLUMN(file, "startTime", count, put_ms(file, waits[i].facts.since_ns));
	COLUMN(file, "endTime", count,
	       put_ms(file, waits[i].facts.since_ns + firefox_length_ns(&waits[i].facts)));
	put_constant(file, "phase", count, 1);
	put_constant(file, "category", count, 1);
	json_add_unsigned(&file->json, "length", count);
	json_end(&file->json);
}

/*
 * Writes waits as samples, so that the viewer shows a call tree of waits. The weight of a sample is
 * the duration of its wait.
 */
static void put_samples(struct firefox *file, const struct firefox_wait *waits, size_t count,
			const uint32_t *stacks)
{
	json_open(&file->json, "samples", '{');
	COLUMN(file, "stack", count, json_unsigned(&file->json, stacks[i]));
	COLUMN(file, "time", count, put_ms(file, waits[i].facts.since_ns));
	COLUMN(file, "weight", count,
	       json_real(&file->json, (double)firefox_length_ns(&waits[i].facts) / 1e6));
	json_add_text(&file->json, "weightType", "tracing-ms");
	json_add_unsigned(&file->json, "length", count);
	json_end(&file->json);
}

static void put_thread(struct firefox *file, const struct firefox_wait *waits, size_t count)
{
	uint32_t *stacks = memory_zalloc(count + 1, sizeof(*stacks));
	uint32_t pid = waits->pid, tid = waits->facts.thread;
	const char *known = name_of(file, pid, tid) ?: tid == pid ? name_of(file, pid, 0) : NULL;
	char name[80];

	for (size_t i = 0; i < count; i++)
		stacks[i] = stack_of(file, waits[i].facts.waiter, waits[i].facts.function);
	snprintf(name, sizeof(name), "%.60s", known ?: "thread");
	begin_thread(file, name, pid, tid);
	put_samples(file, waits, count, stacks);
	put_markers(file, waits, count, stacks);
	put_tables(file);
	json_end(&file->json);
	free(stacks);
}

/* ---- the thread of memory ---- */

static int by_time(const void *a, const void *b)
{
	const struct step *x = a, *y = b;

	return ORDER(x->time_ns, y->time_ns)
		?: ORDER(x->address, y->address)
		?: ORDER(y->bytes, x->bytes);
}

/*
 * Makes the steps of the thread "memory": each span becomes an allocation and, if it ended, a free.
 * The address of a step is not real: it only connects a free with its allocation.
 */
static struct step *make_steps(struct firefox *file, size_t *count)
{
	const struct spans *spans = &file->drawn;
	struct step *steps = memory_zalloc(spans->list.count * 2 + 1, sizeof(*steps));

	for (size_t i = 0; i < spans->list.count; i++) {
		const struct span *span = spans->list.items[i];
		struct step step = { .time_ns = span->acquired << spans->shift,
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
	qsort(steps, *count, sizeof(*steps), by_time);
	return steps;
}

static void put_memory(struct firefox *file)
{
	const struct summary_process *first = summary_process_at(file->run->summary, 0);
	uint32_t pid = first ? first->pid : 0;
	size_t count = 0;
	struct step *steps = make_steps(file, &count);

	begin_thread(file, "memory", pid, pid);
	put_samples(file, NULL, 0, NULL);
	put_markers(file, NULL, 0, NULL);
	json_open(&file->json, "nativeAllocations", '{');
	COLUMN(file, "time", count, put_ms(file, steps[i].time_ns));
	COLUMN(file, "weight", count, json_signed(&file->json, steps[i].bytes));
	json_add_text(&file->json, "weightType", "bytes");
	COLUMN(file, "stack", count,
	       json_unsigned(&file->json, stack_of(file, file->places.items[steps[i].place], "?")));
	COLUMN(file, "memoryAddress", count, json_unsigned(&file->json, steps[i].address));
	put_constant(file, "threadId", count, pid);
	json_add_unsigned(&file->json, "length", count);
	json_end(&file->json);
	put_tables(file);
	json_end(&file->json);
	free(steps);
}

/* ---- the file ---- */

static void put_field(struct firefox *file, const char *key, const char *label, const char *format)
{
	json_begin(&file->json, '{');
	json_add_text(&file->json, "key", key);
	json_add_text(&file->json, "label", label);
	json_add_text(&file->json, "format", format);
	json_add_bool(&file->json, "searchable", true);
	json_end(&file->json);
}

static void put_schema(struct firefox *file)
{
	static const char *const places[] = { "marker-chart", "marker-table", "timeline-overview" };

	json_open(&file->json, "markerSchema", '[');
	json_begin(&file->json, '{');
	json_add_text(&file->json, "name", "Wait");
	json_add_text(&file->json, "tooltipLabel",
		      "Waits for {marker.data.kind} {marker.data.object}");
	json_add_text(
		&file->json, "tableLabel",
		"{marker.data.kind} {marker.data.object}, ended by thread {marker.data.waker}");
	json_add_text(&file->json, "chartLabel", "{marker.data.kind} {marker.data.object}");
	COLUMN(file, "display", sizeof(places) / sizeof(*places),
	       json_text(&file->json, places[i]));
	json_open(&file->json, "data", '[');
	put_field(file, "kind", "Waits for", "string");
	put_field(file, "call", "Call", "string");
	put_field(file, "object", "Object", "string");
	put_field(file, "ns", "Waited", "nanoseconds");
	put_field(file, "end", "End", "string");
	put_field(file, "waker", "Ended by thread", "string");
	put_field(file, "wakerStack", "Locked or woken at", "string");
	json_ends(&file->json, 3);
}

static void put_category(struct firefox *file, const char *name, const char *colour)
{
	json_begin(&file->json, '{');
	json_add_text(&file->json, "name", name);
	json_add_text(&file->json, "color", colour);
	json_open(&file->json, "subcategories", '[');
	json_text(&file->json, "Other");
	json_ends(&file->json, 2);
}

static void put_meta(struct firefox *file)
{
	static const char *const extensions[] = { "id", "name", "baseURL", NULL };
	const struct summary *run = file->run->summary;
	char samples[SUMMARY_SAMPLES_MAX];

	json_open(&file->json, "meta", '{');
	json_add_unsigned(&file->json, "interval", 1);
	json_add_unsigned(&file->json, "startTime", (run->start_ns + file->wall_ns) / 1000000);
	json_add_unsigned(&file->json, "processType", 0);
	json_add_text(&file->json, "product", "holdtrace");
	json_add_text(&file->json, "importedFrom", "holdtrace " PACKAGE_VERSION);
	if (*summary_say_samples(run, samples))
		json_add_text(&file->json, "sampling", samples);
	json_add_unsigned(&file->json, "stackwalk", 1);
	json_add_unsigned(&file->json, "version", GECKO_VERSION);
	json_add_unsigned(&file->json, "preprocessedProfileVersion", PROFILE_VERSION);
	json_add_bool(&file->json, "symbolicated", true);
	json_add_bool(&file->json, "symbolicationNotSupported", true);
	if (file->left_out) {
		json_add_unsigned(&file->json, "waitsLeftOut", file->left_out);
		json_add_unsigned(&file->json, "waitsLeftOutNs", file->left_out_ns);
	}
	json_open(&file->json, "categories", '[');
	put_category(file, "Other", "grey");
	put_category(file, "Wait", "red");
	json_end(&file->json);
	put_schema(file);
	put_empty(file, "extensions", extensions);
	json_end(&file->json);
}

static void put_counter(struct firefox *file, const struct firefox_counter *counter)
{
	const struct map_entry *main_thread = map_find(&file->main_threads, 0, counter->pid);
	uint64_t before = 0;
	char pid[16];

	snprintf(pid, sizeof(pid), "%" PRIu32, counter->pid);
	json_begin(&file->json, '{');
	json_add_text(&file->json, "name", "malloc");
	json_add_text(&file->json, "category", "Memory");
	json_add_text(&file->json, "description",
		      file->run->summary->sample
			      ? "Bytes of live memory, estimated by samples: see meta.sampling"
			      : "Bytes of live memory");
	json_add_text(&file->json, "pid", pid);
	json_add_unsigned(&file->json, "mainThreadIndex", main_thread ? main_thread->value - 1 : 0);
	json_open(&file->json, "samples", '{');
	COLUMN(file, "time", counter->points.count, put_ms(file, counter->points.items[i].time_ns));
	put_constant(file, "number", counter->points.count, 1);
	json_open(&file->json, "count", '[');
	for (size_t i = 0; i < counter->points.count; i++) {
		uint64_t amount = counter->points.items[i].amount;

		json_signed(&file->json, (int64_t)(amount - before));
		before = amount;
	}
	json_end(&file->json);
	json_add_unsigned(&file->json, "length", counter->points.count);
	json_ends(&file->json, 2);
}

void firefox_write(struct firefox *file, struct out *out)
{
	static const char *const lists[] = { "libs", "pages", "profilingLog",
					     "profileGatheringLog" };
	size_t from = 0;

	ARRAY_SORT(&file->names, by_number);
	json_start(&file->json, out, false);
	json_begin(&file->json, '{');
	put_meta(file);
	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
		json_open(&file->json, lists[i], '[');
		json_end(&file->json);
	}
	json_open(&file->json, "threads", '[');
	put_memory(file);
	ARRAY_SORT(&file->waits, by_thread_and_time);
	for (size_t i = 1; i <= file->waits.count; i++) {
		const struct firefox_wait *first = &file->waits.items[from],
					  *wait = first + (i - from);

		if (i < file->waits.count && wait->pid == first->pid &&
		    wait->facts.thread == first->facts.thread)
			continue;
		put_thread(file, first, i - from);
		from = i;
	}
	/*
	 * a counter must belong to a thread. If a process has a counter, but no thread that waited,
	 * write an empty thread for it
	 */
	for (size_t i = 0; i < file->counters.count; i++) {
		uint32_t pid = file->counters.items[i].pid;

		if (map_find(&file->main_threads, 0, pid))
			continue;
		begin_thread(file, name_of(file, pid, 0) ?: "process", pid, pid);
		put_samples(file, NULL, 0, NULL);
		put_markers(file, NULL, 0, NULL);
		put_tables(file);
		json_end(&file->json);
	}
	json_end(&file->json);
	COLUMN(file, "counters", file->counters.count, put_counter(file, &file->counters.items[i]));
	json_end(&file->json);
	json_finish(&file->json);
}
