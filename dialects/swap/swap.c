/* SPDX-License-Identifier: MIT */
/*
 * SWAP messages (the data channel's document of the Tizen SWAP tools): holdtrace-swap(5). Events
 * become messages in any order; sequence numbers are assigned after sorting by time.
 */
#include "dialects/swap/swap.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "formats/writers.h"
#include "notes.h"

#define DAY_NS 86400000000000ull

/* ---- state ---- */

int write_swap_begin(void **state, const struct trace *trace, const struct writer_options *options,
		     struct error *err)
{
	struct swap *swap = memory_zalloc(1, sizeof(*swap));
	int rc;

	swap->trace = trace;
	if (format_has_word(options->words, "tizen"))
		swap->dialect = SWAP_DIALECT_TIZEN;
	swap->is_merged = options->is_merged;
	rc = outdir_open(&swap->directory, options->directory, options->force || swap_has_written(),
			 err);
	if (rc) {
		free(swap);
		return rc;
	}
	timesort_init(&swap->sort, swap->directory.fd, 0);
	swap_apis_init(&swap->apis);
	swap_shared_init(swap);
	*state = swap;
	return 0;
}

/* A stream without tails starts at the time in its header. */
static uint64_t start_of(const struct trace_process *process)
{
	if (process->has_tails)
		return process->start_ns + process->realtime_ns;
	return process->seconds * 1000000000ull + process->microseconds * 1000ull;
}

static void see_start(struct swap_process *process, const struct trace_process *from)
{
	process->start_ns = start_of(from);
	if (process->start_ns < process->least_ns)
		process->start_ns = process->least_ns;
	process->last_ns = process->start_ns;
}

static struct swap_process *add_process(struct swap *swap, const struct trace_process *from)
{
	struct swap_process **place = ARRAY_ADD(&swap->processes);
	struct swap_process *process = memory_zalloc(1, sizeof(*process));

	process->process = from;
	process->number = (uint32_t)(swap->processes.count - 1);
	process->start_ns = process->last_ns = start_of(from);
	hash_table_init(&process->by_thread);
	load_init(&process->load);
	return *place = process;
}

static struct swap_process *process_of(struct swap *swap, const struct trace_process *from)
{
	if (swap->last && swap->last->process == from)
		return swap->last;
	for (size_t i = swap->processes.count; i-- > 0;)
		if (swap->processes.items[i]->process == from)
			return swap->last = swap->processes.items[i];
	return swap->last = add_process(swap, from);
}

static bool thread_is(const void *item, const void *key)
{
	return ((const struct swap_thread *)item)->id == *(const uint32_t *)key;
}

struct swap_thread *swap_thread(struct swap_process *process, uint32_t id)
{
	uint64_t hash = hash_two(process->by_thread.seed, id, 0);
	struct swap_thread *thread = hash_table_find(&process->by_thread, hash, thread_is, &id),
			   **place;

	if (thread)
		return thread;
	place = ARRAY_ADD(&process->threads);
	thread = memory_zalloc(1, sizeof(*thread));
	*place = thread;
	thread->id = id;
	hash_table_add(&process->by_thread, hash, thread);
	return thread;
}

/* ---- messages ---- */

uint64_t swap_unix(const struct swap_process *process, uint64_t time_ns)
{
	uint64_t sum;

	if (process->process->has_tails)
		return __builtin_add_overflow(time_ns, process->process->realtime_ns, &sum)
			       ? UINT64_MAX / 2
			       : sum;
	return process->start_ns + process->day_ns + time_ns - process->zero_ns;
}

int swap_new(struct swap *swap, struct swap_process *process, struct swap_message *message,
	     enum swap_id id, uint64_t *unix_ns, size_t most, struct error *err)
{
	char *room = timesort_reserve(&swap->sort, SWAP_HEADER_SIZE + most, err);

	if (!room)
		return -ENOMEM;
	/* PROCESS_INFO comes first, although clocks are measured and may differ by some ns. */
	if (*unix_ns < process->start_ns)
		*unix_ns = process->start_ns;
	/* exec ended the image before the collector noticed. */
	if (process->has_ended && *unix_ns > process->last_ns)
		*unix_ns = process->last_ns;
	if (process->last_ns < *unix_ns)
		process->last_ns = *unix_ns;
	swap_begin(message, room, swap->dialect, id, *unix_ns);
	return 0;
}

void swap_add(struct swap *swap, struct swap_process *process, struct swap_message *message,
	      uint64_t unix_ns, enum swap_rank rank)
{
	(void)process;
	timesort_commit(&swap->sort, unix_ns, rank, swap_end(message));
}

/* MSG_ERROR. */
static int swap_error(struct swap *swap, struct swap_process *process, uint64_t unix_ns,
		      const char *text, struct error *err)
{
	struct swap_message message;
	int rc = swap_new(swap, process, &message, SWAP_ERROR, &unix_ns, strlen(text) + 1, err);

	if (rc)
		return rc;
	swap_put_text(&message, text);
	swap_add(swap, process, &message, unix_ns, SWAP_RANK_EVENT);
	return 0;
}

/* Adds a sentence about something missing to the messages and to the JSON file. */
static int miss(struct swap *swap, struct swap_process *process, const char *text,
		struct error *err)
{
	char **place = ARRAY_ADD(&swap->missing);

	*place = memory_text(text);
	return swap_error(swap, process, process->last_ns, text, err);
}

/* ---- events ---- */

static void take_mapping(struct swap *swap, struct swap_process *process,
			 const struct trace_mapping *mapping)
{
	const struct trace_mapping **place = ARRAY_ADD(&process->mappings);

	*place = mapping;
	memset(swap->callers, 0, sizeof(swap->callers));
}

static void take_context(struct swap_process *process, const struct trace_context *context)
{
	size_t number = context->bit ? (size_t)__builtin_ctz(context->bit) : 0;
	char **place = ARRAY_AT(&process->contexts, number);

	free(*place);
	*place = memory_text(context->name);
}

static void take_identity(struct swap_process *process, const struct event *event)
{
	const char *executable = event_argument(event, "executable");

	if (executable) {
		free(process->executable);
		process->executable = memory_text(executable);
	}
	for (uint32_t i = 0; i < event->argument_count; i++) {
		const struct wire_value *pair = &event->arguments[i];
		char **place;

		if (strncmp(pair->name, "argv", 4) != 0)
			continue;
		place = ARRAY_ADD(&process->arguments);
		*place = memory_text(pair->value);
	}
}

static void take_fd(struct swap_process *process, const struct event *event)
{
	const char *fd = event_argument(event, "fd"), *path = event_argument(event, "path");
	const char *size = event_argument(event, "size");
	struct swap_fd *place = ARRAY_ADD(&process->fds);

	*place = (struct swap_fd){ .fd = fd ? (uint32_t)strtoul(fd, NULL, 10) : UINT32_MAX,
				   .size = size ? strtoull(size, NULL, 10) : 0,
				   .path = memory_text(path ? path : "") };
}

static int take_loss(struct swap *swap, struct swap_process *process, const struct event *event,
		     struct error *err)
{
	const char *reason = event_argument(event, "reason");
	const char *count = event_argument(event, "count");
	char text[160];

	snprintf(text, sizeof(text), "%.24s events of thread %" PRIu32 " were lost: %.32s",
		 count ? count : "some", event->thread, reason ? reason : "unknown");
	return miss(swap, process, text, err);
}

static int take_pause(struct swap *swap, struct swap_process *process, const struct event *event,
		      struct error *err)
{
	const char *state = event_argument(event, "state");

	return swap_error(swap, process, swap_unix(process, event->time_ns),
			  state && !strcmp(state, "off")
				  ? "recording was stopped: no call is seen from here on"
				  : "recording was started",
			  err);
}

/* Writes the messages about a process when all facts about its start were read. */
static int start(struct swap *swap, struct swap_process *process, uint64_t time_ns,
		 struct error *err)
{
	int rc;

	if (process->has_started)
		return swap_process_maps(swap, process, swap_unix(process, time_ns), err);
	process->zero_ns = time_ns;
	rc = swap_process_info(swap, process, err);
	if (rc == 0 && !process->process->has_tails)
		rc = miss(swap, process,
			  "the trace is not holdtrace's: it says neither threads, processors, "
			  "results nor errors of its calls, and times in ms; waits have no start",
			  err);
	return rc;
}

/*
 * Another program starts in the same process, by exec. The collector notices the end of the
 * previous one later.
 */
static int end_image_before(struct swap *swap, struct swap_process *process, struct error *err)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < swap->processes.count; i++) {
		struct swap_process *other = swap->processes.items[i];

		if (other == process || other->has_ended ||
		    other->process->pid != process->process->pid)
			continue;
		if (!other->has_started)
			rc = start(swap, other, 0, err);
		if (process->start_ns <= other->last_ns)
			process->start_ns = process->least_ns = other->last_ns + 1;
		if (rc == 0)
			rc = swap_terminate(swap, other, process->start_ns - 1, err);
	}
	return rc;
}

static void take_file(struct swap_process *process, const struct event *event)
{
	const char *fd = event_argument(event, "fd"), *size = event_argument(event, "size");
	const char *path = event_argument(event, "path");
	struct swap_thread *thread = swap_thread(process, event->thread);

	thread->file.fd = fd ? strtoull(fd, NULL, 10) : SWAP_FD_UNKNOWN;
	thread->file.size = size ? strtoull(size, NULL, 10) : 0;
	path_set(&thread->file.path, path ? path : "", path ? strlen(path) : 0);
}

/* When the process announced its end, else when the collector noticed it. */
static uint64_t end_of(const struct event *event)
{
	uint64_t seconds, ns;
	const char *at = event_argument(event, "at");

	if (!at || sscanf(at, "%" SCNu64 ".%9" SCNu64, &seconds, &ns) != 2 ||
	    seconds >= event->time_ns / 1000000000 + 1)
		return event->time_ns;
	return seconds * 1000000000 + ns;
}

static int take_note(struct swap *swap, struct swap_process *process, const struct event *event,
		     struct error *err)
{
	const char *name = event->function->name, *text;
	int rc;

	if (!strcmp(name, NOTE_PROCESS)) {
		take_identity(process, event);
		return 0;
	}
	if (!strcmp(name, NOTE_FD)) {
		take_fd(process, event);
		return 0;
	}
	if (!strcmp(name, NOTE_RECORDING))
		return take_pause(swap, process, event, err);
	if (!strcmp(name, NOTE_SAMPLE))
		return swap_sample(swap, process, event, err);
	rc = start(swap, process, event->time_ns, err);
	if (rc)
		return rc;
	if (!strcmp(name, NOTE_UNMAP))
		return swap_process_unmap(swap, process, event, err);
	if (!strcmp(name, NOTE_LOST))
		return take_loss(swap, process, event, err);
	if (!strcmp(name, NOTE_OPEN))
		return swap_open_call(swap, process, event, err);
	if (!strcmp(name, NOTE_THREAD))
		return swap_thread_start(swap, process, event, err);
	if (!strcmp(name, NOTE_FILE)) {
		take_file(process, event);
		return 0;
	}
	if (!strcmp(name, NOTE_THREAD_END))
		return swap_thread_end(swap, process, event, err);
	if (!strcmp(name, NOTE_FUNCTIONS)) {
		swap_functions_take(swap, process, event);
		return 0;
	}
	if (!strcmp(name, NOTE_END))
		return process->has_ended ? 0
					  : swap_terminate(swap, process,
							   swap_unix(process, end_of(event)), err);
	text = strcmp(name, NOTE_MARK) ? NULL : event_argument(event, "text");
	return text ? swap_mark(swap, process, event, text, err) : 0;
}

/* Times in ms restart each day. */
static void see_day(struct swap_process *process, const struct event *event)
{
	if (event->has_tail)
		return;
	if (event->time_ns + DAY_NS / 2 < process->previous_ns)
		process->day_ns += DAY_NS;
	process->previous_ns = event->time_ns;
}

static int take_call(struct swap *swap, struct swap_process *process, const struct event *event,
		     struct error *err)
{
	int rc;

	see_day(process, event);
	rc = start(swap, process, event->has_tail ? event->enter_ns : event->time_ns, err);
	if (rc == 0 && (event->context || process->contexts.count))
		rc = swap_context_change(swap, process, event, err);
	if (rc == 0)
		rc = swap_call(swap, process, event, err);
	if (!rc)
		load_event(&process->load, event);
	return rc;
}

static int take_event(struct swap *swap, const struct event *event, struct error *err)
{
	struct swap_process *process = process_of(swap, event->process);
	int rc = 0;

	/* The process is known only after its packet, which follows the start of the stream. */
	if (!process->has_started)
		see_start(process, event->process);
	if (swap->is_merged && process->kin == SWAP_KIN_UNKNOWN && event->process->has_process)
		rc = end_image_before(swap, process, err);
	if (rc)
		return rc;
	swap_shared_see(swap, process, event);
	if (event->kind == EVENT_MAPPING) {
		take_mapping(swap, process, event->mapping);
		return 0;
	}
	if (event->kind == EVENT_CONTEXT) {
		take_context(process, event->call_context);
		return 0;
	}
	if (event->kind == EVENT_NOTE)
		return take_note(swap, process, event, err);
	return event->kind == EVENT_CALL ? take_call(swap, process, event, err) : 0;
}

int write_swap_event(void *state, const struct event *event, struct error *err)
{
	struct swap *swap = state;
	int rc = take_event(swap, event, err);

	swap->has_failed |= rc != 0;
	return rc;
}

/* ---- the end ---- */

static int end_process(struct swap *swap, struct swap_process *process, struct error *err)
{
	int rc = 0;

	if (!process->has_started)
		rc = start(swap, process, 0, err);
	if (rc == 0 && !process->has_ended && process->process->has_tails)
		rc = miss(swap, process, "the trace does not say how the process ended", err);
	return rc;
}

static int tell_damage(struct swap *swap, struct swap_process *process, struct error *err)
{
	const struct trace_tally *tally = trace_tally(swap->trace);
	char text[256];

	if (!trace_is_damaged(swap->trace))
		return 0;
	snprintf(text, sizeof(text),
		 "the trace is damaged at byte %" PRIu64 " (%.120s): the rest was used",
		 tally->damage_offset, tally->damage_text);
	return miss(swap, process, text, err);
}

int write_swap_end(void *state, struct error *err)
{
	struct swap *swap = state;
	int rc = 0;

	if (swap->has_failed)
		return 0; /* already reported */
	if (!swap->processes.count)
		return error_set(err, ENODATA, "has no process to tell of");
	/* Before TERMINATE messages, which come last. */
	for (size_t i = 0; rc == 0 && i < swap->processes.count; i++)
		rc = end_process(swap, swap->processes.items[i], err);
	if (rc == 0)
		rc = tell_damage(swap, swap->processes.items[0], err);
	return rc ? rc : swap_write_files(swap, err);
}

#define FREE_ITEMS(array)                                                 \
	do {                                                              \
		for (size_t number = 0; number < (array).count; number++) \
			free((array).items[number]);                      \
		free((array).items);                                      \
	} while (0)

static void free_process(struct swap_process *process)
{
	for (size_t i = 0; i < process->fds.count; i++)
		free(process->fds.items[i].path);
	free(process->fds.items);
	FREE_ITEMS(process->arguments);
	FREE_ITEMS(process->contexts);
	for (size_t i = 0; i < process->threads.count; i++)
		path_free(&process->threads.items[i]->file.path);
	FREE_ITEMS(process->threads);
	free(process->mappings.items);
	free(process->gone.items);
	free(process->functions.items);
	free(process->executable);
	hash_table_free(&process->by_thread);
	load_free(&process->load);
	places_free(&process->places);
	free(process);
}

void write_swap_destroy(void *state)
{
	struct swap *swap = state;

	for (size_t i = 0; i < swap->processes.count; i++)
		free_process(swap->processes.items[i]);
	free(swap->processes.items);
	FREE_ITEMS(swap->missing);
	FREE_ITEMS(swap->strangers);
	free(swap->functions.items);
	swap_shared_free(swap);
	timesort_free(&swap->sort);
	outdir_close(&swap->directory);
	free(swap);
}
