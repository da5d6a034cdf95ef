/* SPDX-License-Identifier: MIT */
/*
 * Writes SWAP messages (see holdtrace-swap(5)). Their format is defined by the Tizen SWAP tools'
 * document about the data channel. Messages are added in any order; at the end, they are sorted by
 * time and numbered.
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

#define FIXED_MOST 512 /* maximum size in bytes of a message without its texts */
#define DAY_NS	   86400000000000ull

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
	spill_sort_init(&swap->sort, swap->directory.fd, 0);
	swap_apis_init(&swap->apis);
	swap_shared_init(swap);
	*state = swap;
	return 0;
}

/*
 * Returns the start of a process, in ns since 1970. A trace without tails (holdtrace's additional
 * fields) has it only in the header of its stream.
 */
static uint64_t start_of(const struct trace_process *process)
{
	if (process->has_tails)
		return process->start_ns + process->realtime_ns;
	return process->seconds * 1000000000ull + process->microseconds * 1000ull;
}

static struct swap_process *process_of(struct swap *swap, const struct trace_process *from)
{
	struct swap_process *process;

	if (swap->last && swap->last->process == from)
		return swap->last;
	for (size_t i = swap->processes.count; i-- > 0;)
		if (swap->processes.items[i]->process == from)
			return swap->last = swap->processes.items[i];
	process = memory_zalloc(1, sizeof(*process));
	*ARRAY_ADD(&swap->processes) = process;
	process->process = from;
	process->number = (uint32_t)(swap->processes.count - 1);
	process->start_ns = process->last_ns = start_of(from);
	hash_table_init(&process->by_thread);
	load_init(&process->load);
	return swap->last = process;
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

void swap_new(struct swap *swap, struct swap_process *process, struct swap_message *message,
	      enum swap_id id, uint64_t *unix_ns, size_t most)
{
	char *room = spill_sort_reserve(&swap->sort, SWAP_HEADER_SIZE + most);

	/*
	 * No message may be earlier than PROCESS_INFO. But the start of the process and the times
	 * of events are from clocks that can differ by some ns.
	 */
	if (*unix_ns < process->start_ns)
		*unix_ns = process->start_ns;
	/*
	 * No message may be later than the end of its process image. The collector notices an exec
	 * late, so notes about the replaced image can have later times.
	 */
	if (process->has_ended && *unix_ns > process->last_ns)
		*unix_ns = process->last_ns;
	if (process->last_ns < *unix_ns)
		process->last_ns = *unix_ns;
	swap_begin(message, room, swap->dialect, id, *unix_ns);
}

void swap_add(struct swap *swap, struct swap_message *message, uint64_t unix_ns,
	      enum swap_rank rank)
{
	spill_sort_commit(&swap->sort, (struct spill_key){ .first = unix_ns, .second = rank },
			  swap_end(message));
}

static void swap_error(struct swap *swap, struct swap_process *process, uint64_t unix_ns,
		       const char *text)
{
	struct swap_message message;

	swap_new(swap, process, &message, SWAP_ERROR, &unix_ns, strlen(text) + 1);
	swap_put_text(&message, text);
	swap_add(swap, &message, unix_ns, SWAP_RANK_EVENT);
}

/* Reports that the trace lacks facts: adds the text to the messages and to the JSON file. */
static void swap_miss(struct swap *swap, struct swap_process *process, const char *text)
{
	*ARRAY_ADD(&swap->missing) = memory_text(text);
	swap_error(swap, process, process->last_ns, text);
}

/* ---- marks, contexts and samples ---- */

/*
 * PROBE_CUSTOM: the marks and contexts that the program sets by holdtrace.h. A mark is written as
 * SWAP's da_mark. Entering or leaving a context is written as a call to one of holdtrace's own
 * functions (SWAP_CONTEXT_ENTER, SWAP_CONTEXT_LEAVE), with the context's bit as the handle. The
 * trace has no event for a change of contexts, so the change is written at the thread's next call.
 */

struct custom {
	uint32_t api, thread, handle;
	const char *text;
};

static void add_custom(struct swap *swap, struct swap_process *process, const struct custom *custom,
		       uint64_t unix_ns)
{
	struct swap_message message;

	swap_new(swap, process, &message, SWAP_PROBE_CUSTOM, &unix_ns,
		 FIXED_MOST + 2 * strlen(custom->text));
	swap_put_u32(&message, custom->api);
	swap_put_u32(&message, process->process->pid);
	swap_put_u32(&message, custom->thread);
	swap_put_u32(&message, 1);
	swap_put_char(&message, 's');
	swap_put_text(&message, custom->text);
	swap_put_char(&message, 'd');
	swap_put_u32(&message, 0);
	swap_put_u64(&message, 0); /* errno */
	swap_put_u32(&message, swap->dialect == SWAP_DIALECT_DOC ? UINT32_MAX : 0);
	swap_put_u64(&message, 0); /* caller; it is not recorded */
	swap_put_u64(&message, 0); /* reserved */
	swap_put_u32(&message, custom->handle);
	swap_put_u32(&message, 0); /* type: auto */
	swap_put_text(&message, custom->text);
	swap_put_u32(&message, 0); /* colour: auto */
	swap_put_u64(&message, 0); /* value: 0.0 */
	swap_add(swap, &message, unix_ns, SWAP_RANK_EVENT);
}

static void swap_mark(struct swap *swap, struct swap_process *process, const struct event *event)
{
	const struct custom custom = { .api = SWAP_API_MARK,
				       .thread = event->thread,
				       .text = event_argument(event, "text") };

	if (custom.text)
		add_custom(swap, process, &custom, swap_unix(process, event->time_ns));
}

static void swap_context_change(struct swap *swap, struct swap_process *process,
				const struct event *event)
{
	struct swap_thread *thread = swap_thread(process, event->thread);
	uint32_t changed;

	changed = thread->context ^ event->context;
	thread->context = event->context;
	for (; changed; changed &= changed - 1) {
		uint32_t bit = changed & -changed;
		struct custom custom = {
			.api = swap_api_id(event->context & bit ? SWAP_CONTEXT_ENTER
								: SWAP_CONTEXT_LEAVE),
			.thread = event->thread,
			.handle = bit,
			.text = "",
		};
		size_t number = (size_t)__builtin_ctz(bit);

		if (number < process->contexts.count && process->contexts.items[number])
			custom.text = process->contexts.items[number];
		add_custom(swap, process, &custom,
			   swap_unix(process, event->has_tail ? event->enter_ns : event->time_ns));
	}
}

/*
 * MSG_SYSTEM and MSG_SAMPLE, from the state in load.h. Energy and values that only Tizen devices
 * have (WiFi, brightness, voltage ...) are 0. Other processes are not included. The number of
 * processors is not in the message but in the JSON file.
 */

#define DEVICE_WORDS 13 /* number of words for WiFi, BT, GPS, brightness ... DNet */

static void add_system(struct swap *swap, struct swap_process *process, uint64_t unix_ns)
{
	const struct load *load = &process->load;
	struct swap_message message;

	swap_new(swap, process, &message, SWAP_SYSTEM, &unix_ns,
		 FIXED_MOST + 8 * (load->cpus.count + load->threads.count));
	for (size_t i = 0; i < load->cpus.count; i++)
		swap_put_f32(&message, load->cpus.items[i].khz);
	for (size_t i = 0; i < load->cpus.count; i++)
		swap_put_f32(&message, load->cpus.items[i].percent);
	swap_put_u64(&message, load->memory_bytes);
	swap_put_u32(&message, 1);
	swap_put_u32(&message, process->process->pid);
	swap_put_f32(&message, load->percent);
	swap_put_u64(&message, load->virtual_bytes);
	swap_put_u64(&message, load->resident_bytes);
	swap_put_u64(&message, load->shared_bytes);
	swap_put_u64(&message, load->pss_bytes);
	swap_put_u64(&message, load->held_bytes);
	swap_put_u32(&message, (uint32_t)load->threads.count);
	for (size_t i = 0; i < load->threads.count; i++) {
		swap_put_u32(&message, load->threads.items[i].id);
		swap_put_f32(&message, load->threads.items[i].percent);
	}
	swap_put_u32(&message, 0); /* number of other processes */
	swap_put_u32(&message, (uint32_t)load->drive_mib);
	for (int i = 0; i < LOAD_COUNTERS; i++)
		swap_put_u32(&message, load->differences[i] < UINT32_MAX
					       ? (uint32_t)load->differences[i]
					       : UINT32_MAX);
	for (int i = 0; i < DEVICE_WORDS; i++)
		swap_put_u32(&message, 0);
	swap_put_u32(&message, 0); /* energy; no values of devices follow */
	swap_add(swap, &message, unix_ns, SWAP_RANK_EVENT);
}

static void swap_sample(struct swap *swap, struct swap_process *process, const struct event *event)
{
	uint64_t unix_ns;

	load_sample(&process->load, event);
	unix_ns = swap_unix(process, process->load.time_ns);
	add_system(swap, process, unix_ns);
	/* the program counter is 0, because only a timer inside the program could record it */
	for (size_t i = 0; i < process->load.threads.count; i++) {
		const struct load_thread *thread = &process->load.threads.items[i];
		struct swap_message message;

		if (thread->state != 'R')
			continue;
		swap_new(swap, process, &message, SWAP_SAMPLE, &unix_ns, FIXED_MOST);
		swap_put_u32(&message, process->process->pid);
		swap_put_u64(&message, 0);
		swap_put_u32(&message, thread->id);
		swap_put_u32(&message, thread->cpu);
		swap_add(swap, &message, unix_ns, SWAP_RANK_EVENT);
	}
}

/* ---- events ---- */

static void note_process(struct swap *swap, struct swap_process *process, const struct event *event)
{
	const char *executable = event_argument(event, "executable");

	(void)swap;
	if (executable) {
		free(process->executable);
		process->executable = memory_text(executable);
	}
	for (uint32_t i = 0; i < event->argument_count; i++)
		if (!strncmp(event->arguments[i].name, "argv", 4))
			*ARRAY_ADD(&process->arguments) = memory_text(event->arguments[i].value);
}

static void note_fd(struct swap *swap, struct swap_process *process, const struct event *event)
{
	const char *fd = event_argument(event, "fd"), *path = event_argument(event, "path");
	const char *size = event_argument(event, "size");

	(void)swap;
	*ARRAY_ADD(&process->fds) =
		(struct swap_fd){ .fd = fd ? (uint32_t)strtoul(fd, NULL, 10) : UINT32_MAX,
				  .size = size ? strtoull(size, NULL, 10) : 0,
				  .path = memory_text(path ? path : "") };
}

static void note_lost(struct swap *swap, struct swap_process *process, const struct event *event)
{
	const char *reason = event_argument(event, "reason");
	const char *count = event_argument(event, "count");
	char text[160];

	snprintf(text, sizeof(text), "%.24s events of thread %" PRIu32 " were dropped: %.32s",
		 count ? count : "some", event->thread, reason ? reason : "unknown");
	swap_miss(swap, process, text);
}

static void note_recording(struct swap *swap, struct swap_process *process,
			   const struct event *event)
{
	const char *state = event_argument(event, "state");

	swap_error(swap, process, swap_unix(process, event->time_ns),
		   state && !strcmp(state, "off")
			   ? "recording was stopped: later calls were not recorded"
			   : "recording was started");
}

/*
 * Writes the messages about the start of a process or, if these were written before, only new
 * mappings. Must be called after all notes about the start have been read.
 */
static void write_start(struct swap *swap, struct swap_process *process, uint64_t time_ns)
{
	if (process->has_started) {
		swap_process_maps(swap, process, swap_unix(process, time_ns));
		return;
	}
	process->zero_ns = time_ns;
	swap_process_info(swap, process);
	if (!process->process->has_tails)
		swap_miss(swap, process,
			  "the trace was not recorded by holdtrace: it lacks threads, processors, "
			  "and the results and errors of calls; times are in ms, and waits have no "
			  "start");
}

/*
 * If the process has executed another program, ends its previous image now, because the note about
 * that image's end comes too late.
 */
static void end_image_before(struct swap *swap, struct swap_process *process)
{
	for (size_t i = 0; i < swap->processes.count; i++) {
		struct swap_process *other = swap->processes.items[i];

		if (other == process || other->has_ended ||
		    other->process->pid != process->process->pid)
			continue;
		if (!other->has_started)
			write_start(swap, other, 0);
		if (process->start_ns <= other->last_ns)
			process->start_ns = process->least_ns = other->last_ns + 1;
		swap_terminate(swap, other, process->start_ns - 1);
	}
}

static void note_file(struct swap *swap, struct swap_process *process, const struct event *event)
{
	const char *fd = event_argument(event, "fd"), *size = event_argument(event, "size");
	const char *path = event_argument(event, "path");
	struct swap_thread *thread = swap_thread(process, event->thread);

	(void)swap;
	thread->file.fd = fd ? strtoull(fd, NULL, 10) : SWAP_FD_UNKNOWN;
	thread->file.size = size ? strtoull(size, NULL, 10) : 0;
	path_set(&thread->file.path, path ? path : "", path ? strlen(path) : 0);
}

static void note_end(struct swap *swap, struct swap_process *process, const struct event *event)
{
	if (!process->has_ended)
		swap_terminate(swap, process, swap_unix(process, event_end_ns(event)));
}

static const struct {
	const char *name;
	void (*take)(struct swap *swap, struct swap_process *process, const struct event *event);
	bool is_of_start; /* whether the note states a fact about the start of the process */
} notes[] = {
	{ NOTE_PROCESS, note_process, true },
	{ NOTE_FD, note_fd, true },
	{ NOTE_RECORDING, note_recording, true },
	{ NOTE_SAMPLE, swap_sample, true },
	{ NOTE_UNMAP, swap_process_unmap, false },
	{ NOTE_DROPPED, note_lost, false },
	{ NOTE_OPEN, swap_open_call, false },
	{ NOTE_THREAD, swap_thread_start, false },
	{ NOTE_FILE, note_file, false },
	{ NOTE_THREAD_END, swap_thread_end, false },
	{ NOTE_FUNCTIONS, swap_functions_take, false },
	{ NOTE_END, note_end, false },
	{ NOTE_MARK, swap_mark, false },
};

int write_swap_event(void *state, const struct event *event, struct error *err)
{
	struct swap *swap = state;
	struct swap_process *process = process_of(swap, event->process);

	/*
	 * a process's facts are known only once its packet has been read, and this packet is not
	 * the first of the stream
	 */
	if (!process->has_started) {
		process->start_ns = start_of(event->process);
		if (process->start_ns < process->least_ns)
			process->start_ns = process->least_ns;
		process->last_ns = process->start_ns;
	}
	if (swap->is_merged && process->kin == SWAP_KIN_UNKNOWN && event->process->has_process)
		end_image_before(swap, process);
	swap_shared_see(swap, process, event);
	if (event->kind == EVENT_MAPPING) {
		*ARRAY_ADD(&process->mappings) = event->mapping;
		memset(swap->callers, 0, sizeof(swap->callers));
	} else if (event->kind == EVENT_CONTEXT) {
		uint32_t bit = event->call_context->bit;
		size_t number = bit ? (size_t)__builtin_ctz(bit) : 0;
		char **place = ARRAY_AT(&process->contexts, number);

		free(*place);
		*place = memory_text(event->call_context->name);
	} else if (event->kind == EVENT_NOTE) {
		size_t i = 0, count = sizeof(notes) / sizeof(*notes);

		while (i < count && strcmp(notes[i].name, event->function->name) != 0)
			i++;
		if (i == count || !notes[i].is_of_start)
			write_start(swap, process, event->time_ns);
		if (i < count)
			notes[i].take(swap, process, event);
	} else if (event->kind == EVENT_CALL) {
		/* times in ms restart at midnight */
		if (!event->has_tail && event->time_ns + DAY_NS / 2 < process->previous_ns)
			process->day_ns += DAY_NS;
		if (!event->has_tail)
			process->previous_ns = event->time_ns;
		write_start(swap, process, event->has_tail ? event->enter_ns : event->time_ns);
		if (event->context || process->contexts.count)
			swap_context_change(swap, process, event);
		swap_call(swap, process, event);
		load_event(&process->load, event);
	}
	return spill_error(&swap->sort.spill, err);
}

/* ---- the end ---- */

int write_swap_end(void *state, struct error *err)
{
	struct swap *swap = state;

	if (swap->sort.spill.failure.number)
		return 0; /* the error was already reported */
	if (!swap->processes.count)
		return error_set(err, ENODATA, "contains no process");
	/* add these messages before the TERMINATE messages, which come last */
	for (size_t i = 0; i < swap->processes.count; i++) {
		struct swap_process *process = swap->processes.items[i];

		if (!process->has_started)
			write_start(swap, process, 0);
		if (!process->has_ended && process->process->has_tails)
			swap_miss(swap, process, "the trace does not say how the process ended");
	}
	if (trace_is_damaged(swap->trace)) {
		const struct trace_tally *tally = trace_tally(swap->trace);
		char text[256];

		snprintf(text, sizeof(text),
			 "the trace is damaged at byte %" PRIu64 " (%.120s): the rest was used",
			 tally->damage_offset, tally->damage_text);
		swap_miss(swap, swap->processes.items[0], text);
	}
	return swap_write_files(swap, err);
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
	spill_sort_free(&swap->sort);
	outdir_close(&swap->directory);
	free(swap);
}
