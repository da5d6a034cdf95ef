/* SPDX-License-Identifier: MIT */
#include "trace/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/memory.h"
#include "hook_table.h"
#include "notes.h"
#include "trace/bundle.h"
#include "trace/state.h"

#define TRACE_RECOGNISE	      4096u /* number of bytes needed to recognise text */
#define TRACE_SECONDS_TO_WORD 1
#define ALL_STREAMS	      SIZE_MAX

/*
 * A flight recorder replaces its file by a new file. If the file of `fd` was unlinked, makes `fd`
 * refer to the file that is now at `path`. "-" is not a path. Returns true if `fd` was changed.
 */
static bool follow_name(int fd, const char *path)
{
	struct stat own, other;
	cleanup_fd int named = -1;

	if (!strcmp(path, "-") || fstat(fd, &own) || own.st_nlink)
		return false;
	named = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (named < 0 || fstat(named, &other) || !S_ISREG(other.st_mode))
		return false;
	/* a name such as /proc/self/fd/N still leads to the unlinked file */
	if (other.st_dev == own.st_dev && other.st_ino == own.st_ino)
		return false;
	return dup3(named, fd, O_CLOEXEC) >= 0;
}

/*
 * The collector keeps a file locked until the file is complete. A reader needs the whole file, so
 * it waits for the lock, and calls options->waiting after a second.
 */
int trace_wait(int fd, const char *path, const struct trace_options *options, bool *is_live,
	       struct error *err)
{
	const struct timespec pause = { .tv_nsec = 10000000 };

	*is_live = false;
	for (int i = 0;; i++) {
		if (flock(fd, LOCK_SH | LOCK_NB) == 0) {
			if (!follow_name(fd, path))
				break;
			continue;
		}
		*is_live = errno == EWOULDBLOCK && options->no_wait;
		if (*is_live)
			return 0;
		if (errno == EINTR || (errno == EWOULDBLOCK && nanosleep(&pause, NULL) != 0))
			return error_set(err, EINTR,
					 "interrupted while waiting for the end of the recording");
		if (errno != EWOULDBLOCK)
			return 0; /* the file system does not support locks */
		if (i == TRACE_SECONDS_TO_WORD * 100 && options->waiting)
			options->waiting(options->user, path);
	}
	flock(fd, LOCK_UN);
	return 0;
}

static int recognise(struct trace *trace, struct error *err)
{
	int rc = source_need(&trace->source, 1, err);

	if (rc)
		return rc;
	if (*source_at(&trace->source) == WIRE_HANDSHAKE)
		return read_binary_open(trace, err);
	if (read_htr_recognises(source_at(&trace->source), source_left(&trace->source)))
		return read_htr_open(trace, err);
	rc = source_need(&trace->source, TRACE_RECOGNISE, err);
	if (rc)
		return rc;
	if (bundle_recognises(source_at(&trace->source), source_left(&trace->source)))
		return error_set(err, ESPIPE,
				 "contains several streams, so it cannot be read through a pipe: "
				 "name the file, or save the input to a file first");
	if (!read_text_recognises(source_at(&trace->source), source_left(&trace->source)))
		return error_set(err, EBADMSG,
				 "not a trace: expected .htr, sp-rtrace packets or text, plain or "
				 "compressed by zstd");
	return read_text_open(trace, err);
}

struct trace *trace_create(const struct trace_options *options)
{
	struct trace *trace = memory_zalloc(1, sizeof(*trace));

	if (!trace)
		return NULL;
	registry_init(&trace->registry,
		      options->memory_max ? options->memory_max : TRACE_MEMORY_MAX);
	trace->scratch.limit = trace->registry.pool.limit;
	trace->wants_repeats = options->wants_repeats;
	trace->skips_calls = options->skips_calls;
	trace->until_ns = UINT64_MAX;
	trace->progress = options->progress;
	trace->user = options->user;
	trace->notes = options->notes;
	return trace;
}

/* Opens one stream of a file, or all streams if `stream` is ALL_STREAMS. */
static int open_parts(struct trace *trace, const struct bundle *bundle, size_t stream,
		      struct error *err)
{
	const struct bundle_stream *part =
		stream == ALL_STREAMS ? bundle->streams : bundle_stream_at(bundle, stream);
	uint64_t missing = 0, at = 0;

	if (!part)
		return error_set(err, ENOENT, "has no stream %zu among its %zu streams", stream,
				 bundle->stream_count);
	if (!part->has_start)
		return error_set(err, EBADMSG, "is damaged: its beginning is missing");
	for (size_t i = 0; i < (stream == ALL_STREAMS ? bundle->stream_count : 1); i++) {
		at = missing ? at : part[i].missing_at;
		missing += part[i].missing;
	}
	if (missing)
		trace_add_damage(trace, at, missing, "a piece of the stream is missing");
	return source_open_parts(&trace->source, trace->fd, bundle->extents + part->first,
				 stream == ALL_STREAMS ? bundle->extent_count : part->count, err);
}

static int open_source(struct trace *trace, size_t stream, const struct trace_options *options,
		       struct error *err)
{
	struct bundles *bundles = options->bundles;
	const struct bundle *bundle;
	int rc;

	if (!bundles)
		bundles = trace->bundles = bundles_create();
	if (!bundles)
		return error_system(err, ENOMEM, "cannot store the list of streams");
	rc = bundles_find(bundles, trace->fd, trace->is_live, &bundle, err);
	if (rc)
		return rc;
	if (bundle)
		return open_parts(trace, bundle, stream, err);
	if (stream != ALL_STREAMS)
		return error_set(err, ENOENT, "is not a file with several streams");
	rc = source_open(&trace->source, trace->fd, err);
	trace->source.taken = options->taken;
	return rc;
}

static int trace_start(struct trace **result, int fd, bool owns_fd, const char *path, size_t stream,
		       const struct trace_options *options, struct error *err)
{
	static const struct trace_options no_options;
	struct trace_window *window;
	struct trace *trace;
	struct stat facts;
	int rc = 0;

	if (!options)
		options = &no_options;
	trace = trace_create(options);
	if (!trace) {
		if (owns_fd)
			close(fd);
		return error_system(err, ENOMEM, "reader");
	}
	trace->fd = fd;
	trace->owns_fd = owns_fd;
	window = &trace->window;
	window->since_ns = trace->since_ns = options->since_ns;
	window->until_ns = trace->until_ns = options->until_ns ? options->until_ns : UINT64_MAX;
	window->since = options->since;
	window->until = options->until;
	window->is_wanted =
		options->since.kind != INSTANT_NONE || options->until.kind != INSTANT_NONE;
	trace->has_window = window->is_wanted || trace->since_ns || trace->until_ns != UINT64_MAX;
	/* the index has counts only for the whole trace, not for a window of time */
	trace->skips_calls &= !trace->has_window;
	if (options->opened)
		options->opened(options->user, fd);
	if (fstat(fd, &facts) == 0 && S_ISDIR(facts.st_mode))
		rc = error_set(err, EISDIR,
			       "is a directory: name a trace file in it, or add --merge");
	else if (fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode))
		rc = trace_wait(fd, path, options, &trace->is_live, err);
	if (rc == 0)
		rc = open_source(trace, stream, options, err);
	if (rc == 0)
		rc = recognise(trace, err);
	if (rc) {
		trace_close(trace);
		return rc;
	}
	*result = trace;
	return 0;
}

int trace_open_fd(struct trace **trace, int fd, const struct trace_options *options,
		  struct error *err)
{
	return trace_start(trace, fd, false, "-", ALL_STREAMS, options, err);
}

int trace_open(struct trace **trace, const char *path, const struct trace_options *options,
	       struct error *err)
{
	cleanup_free char *file = NULL;
	size_t length, number, stream = ALL_STREAMS;
	int fd;

	if (!strcmp(path, "-"))
		return trace_open_fd(trace, STDIN_FILENO, options, err);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0 && errno == ENOENT) {
		/* FILE#N is stream N of FILE */
		if (bundle_split_name(path, &length, &number))
			file = memory_text_part(path, length);
		errno = ENOENT;
		if (file) {
			stream = number;
			fd = open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY);
		}
	}
	if (fd < 0)
		return error_system(err, errno, "cannot open");
	return trace_start(trace, fd, true, file ? file : path, stream, options, err);
}

/*
 * A stream without tails does not state when the run started. The first call then counts as the
 * start, and the time in the stream's header as the time of this call.
 */
bool trace_base(const struct trace *trace, const struct event *event, struct instant_base *base)
{
	const struct trace_process *process = trace->process;

	*base = (struct instant_base){ process->start_ns, process->realtime_ns };
	if (process->has_tails)
		return true;
	base->start_ns = event->time_ns;
	base->realtime_ns =
		process->seconds * 1000000000ull + process->microseconds * 1000ull - event->time_ns;
	return event->kind == EVENT_CALL;
}

void trace_forget_window(struct trace *trace)
{
	trace->since_ns = trace->window.since_ns;
	trace->until_ns = trace->window.until_ns;
	trace->window.process = NULL;
}

/* Converts the time window to the stream's time. From then on, it excludes calls outside. */
static void find_window(struct trace *trace, const struct event *event)
{
	struct trace_window *window = &trace->window;
	uint64_t since = 0, until = UINT64_MAX;
	struct instant_base base;

	if ((!trace->process->has_process && event->kind != EVENT_CALL) ||
	    !trace_base(trace, event, &base))
		return;
	if (window->run_start &&
	    ((!window->session[0] && !window->session[1]) ||
	     !memcmp(window->session, trace->process->session, sizeof(window->session)))) {
		uint64_t later = base.start_ns + base.realtime_ns - window->run_start;

		base.start_ns = later < base.start_ns ? base.start_ns - later : 0;
	}
	if (window->since.kind != INSTANT_NONE)
		since = instant_at(&window->since, &base);
	/* an event at exactly `since` belongs to the window that ends there */
	since += since > base.start_ns;
	if (window->until.kind != INSTANT_NONE)
		until = instant_at(&window->until, &base);
	trace->since_ns = since > window->since_ns ? since : window->since_ns;
	trace->until_ns = until < window->until_ns ? until : window->until_ns;
	window->process = trace->process;
}

void trace_count_from(struct trace *trace, const struct trace_process *first)
{
	trace->window.run_start = first->start_ns + first->realtime_ns;
	memcpy(trace->window.session, first->session, sizeof(trace->window.session));
}

static bool is_of_its_time(const struct event *note)
{
	static const char *const of_their_time[] = {
		NOTE_MARK,   NOTE_SCAN,	  NOTE_ROOT,	NOTE_BLOCK,	 NOTE_HANDLE,
		NOTE_SAMPLE, NOTE_THREAD, NOTE_WAITING, NOTE_THREAD_END, NOTE_RECORDING,
	};

	for (size_t i = 0; i < sizeof(of_their_time) / sizeof(*of_their_time); i++)
		if (!strcmp(note->function->name, of_their_time[i]))
			return true;
	return false;
}

/*
 * Decides whether to keep a note after the end of the window. A note about the whole process is
 * kept, and its time becomes the end of the window. A note that is only about its own time (a mark,
 * a sample ...) is dropped, and so is the ~open note of a call that began after the window. The
 * reader's event must not be changed, so *event is set to a changed copy in trace->event.
 */
static bool keep_late_note(struct trace *trace, const struct event **event)
{
	struct event *note = &trace->event;

	if (is_of_its_time(*event))
		return false;
	if (!strcmp((*event)->function->name, NOTE_OPEN) && (*event)->enter_ns > trace->until_ns)
		return false;
	if (*event != note)
		*note = **event;
	note->time_ns = trace->until_ns;
	if (note->leave_ns > trace->until_ns)
		note->leave_ns = trace->until_ns;
	if (note->enter_ns > note->leave_ns)
		note->enter_ns = note->leave_ns;
	*event = note;
	return true;
}

/*
 * True if trace_next() returns the event, because it lies in the time window, is not a call, or is
 * a late note that is kept.
 */
static __attribute__((noinline)) bool is_in_time(struct trace *trace, const struct event **next)
{
	const struct event *event = *next;

	if (trace->window.is_wanted && trace->window.process != trace->process)
		find_window(trace, event);
	if (event->kind == EVENT_NOTE && event->time_ns > trace->until_ns)
		return keep_late_note(trace, next);
	return event->kind != EVENT_CALL ||
	       (event->time_ns >= trace->since_ns && event->time_ns <= trace->until_ns);
}

/* Ends the trace after its last event or an error. Returns rc. */
static int end_trace(struct trace *trace, int rc)
{
	struct trace_tally *tally = &trace->tally;

	tally->bytes = trace->part ? tally->bytes : trace->source.offset;
	if (rc == 0 && trace->source.damage) {
		trace_add_damage(trace, trace->source.offset, 0, "%s", trace->source.damage);
		tally->is_truncated = true;
	}
	/* a file that is still being written may end early: this end is not counted as damage */
	tally->is_growing = trace->is_live;
	if (trace->is_live && tally->is_truncated) {
		tally->is_truncated = false;
		tally->damages -= tally->damages != 0;
	}
	trace->has_ended = true;
	trace->result = rc;
	if (trace->progress)
		trace->progress(trace->user, NULL);
	return rc;
}

/*
 * Does not return ~waiting notes. At the end of the trace, returns an ~open note for each call that
 * is still blocked. rc: the reader's result for *event.
 */
static __attribute__((noinline)) int pass_waiting(struct trace *trace, int rc,
						  const struct event **event, struct error *err)
{
	for (; rc > 0 && (*event)->kind == EVENT_NOTE &&
	       !strcmp((*event)->function->name, NOTE_WAITING);
	     rc = trace->next(trace, event, err)) {
		trace->tally.notes--;
		if (waiting_add(&trace->waiting, *event))
			return trace_no_memory(trace, err);
	}
	if (rc > 0)
		waiting_forget(&trace->waiting, *event);
	if (rc)
		return rc;
	rc = waiting_next(&trace->waiting, &trace->registry, event);
	trace->tally.notes += rc > 0;
	return rc < 0 ? trace_no_memory(trace, err) : rc;
}

/* The slow path of trace_next(): reads until an event passes the filters. rc: result for *event. */
static __attribute__((noinline)) int pass_on(struct trace *trace, int rc,
					     const struct event **event, struct error *err)
{
	for (;; rc = trace->next(trace, event, err)) {
		if (rc <= 0 || (*event)->kind == EVENT_NOTE || trace->waiting.count)
			rc = pass_waiting(trace, rc, event, err);
		if (trace->progress && ++trace->until_progress == TRACE_PROGRESS_EVENTS) {
			trace->until_progress = 0;
			trace->progress(trace->user, trace);
		}
		if (rc <= 0)
			return end_trace(trace, rc);
		if (!trace->has_window || is_in_time(trace, event))
			break;
	}
	if (trace->part)
		trace->process = (struct trace_process *)trace->event.process;
	else
		trace->tally.bytes = trace->source.offset;
	return 1;
}

static int next_read(struct trace *trace, const struct event **event, struct error *err)
{
	int rc;

	if (trace->has_ended)
		return trace->result < 0 ? error_set(err, -trace->result, "has ended") : 0;
	rc = trace->next(trace, event, err);
	/* nearly all events need no filter */
	if (rc <= 0 || (*event)->kind == EVENT_NOTE || trace->waiting.count || trace->has_window ||
	    trace->part || trace->progress)
		return pass_on(trace, rc, event, err);
	trace->tally.bytes = trace->source.offset;
	return 1;
}

/* Whether the event is a note that an inserted note with the same name replaces. */
static bool is_replaced(const struct trace *trace, const struct event *event)
{
	if (event->kind != EVENT_NOTE)
		return false;
	for (size_t i = 0; i < trace->notes->count; i++)
		if (!strcmp(trace->notes->items[i].name, event->function->name))
			return true;
	return false;
}

/* Returns the notes of the options one by one, and then the event that they precede. */
static __attribute__((noinline)) int next_inserted(struct trace *trace, const struct event **event,
						   struct error *err)
{
	const struct trace_notes *notes = trace->notes;
	const struct trace_note *from;

	if (!trace->is_inserting) {
		const struct trace_process *process;

		trace->held_rc = next_read(trace, &trace->held, err);
		*event = trace->held;
		process = trace->process;
		/* the notes precede the event that was read, or the end of the trace */
		trace->is_inserting =
			!trace->part && process && process->stream == notes->stream &&
			!memcmp(process->session, notes->session, sizeof(notes->session)) &&
			(trace->held_rc == 0 || (trace->held_rc > 0 && event_is_call(trace->held) &&
						 trace->held->index >= notes->index));
		if (!trace->is_inserting)
			return trace->held_rc;
	}
	if (trace->inserted == notes->count) {
		int rc = trace->held_rc;

		*event = trace->held;
		if (trace->is_returned)
			rc = next_read(trace, event, err);
		trace->is_returned = true;
		while (rc > 0 && is_replaced(trace, *event))
			rc = next_read(trace, event, err);
		return rc;
	}
	from = &notes->items[trace->inserted++];
	trace->note = (struct event){
		.kind = EVENT_NOTE,
		.process = trace->process,
		.index = notes->index,
		.function = registry_function(&trace->registry, from->name, strlen(from->name)),
		.resource = registry_resource(&trace->registry, 0),
		.argument_count = from->count,
		.arguments = from->values,
		.has_tail = true,
		.cpu = UINT32_MAX,
	};
	if (!trace->note.function || !trace->note.resource)
		return trace_no_memory(trace, err);
	if (trace->held_rc > 0)
		trace->note.time_ns = trace->held->time_ns;
	else
		trace->note.time_ns = trace->event.time_ns;
	trace->note.enter_ns = trace->note.leave_ns = trace->note.time_ns;
	*event = &trace->note;
	return 1;
}

int trace_next(struct trace *trace, const struct event **event, struct error *err)
{
	return __builtin_expect(trace->notes != NULL, 0) ? next_inserted(trace, event, err)
							 : next_read(trace, event, err);
}

int trace_progress(const struct trace *trace)
{
	uint64_t done = trace->source.zstd ? trace->source.packed_offset : trace->source.offset;
	uint64_t size;

	if (trace->part)
		return merge_progress(trace);
	size = source_size(&trace->source);
	if (!size)
		return -1;
	return done > size ? 1000 : (int)(done * 1000 / size);
}

const struct trace_tally *trace_tally(const struct trace *trace)
{
	return &trace->tally;
}

bool trace_is_damaged(const struct trace *trace)
{
	return trace->tally.damages || trace->tally.is_truncated;
}

bool trace_is_whole(const struct trace *trace)
{
	return !trace_is_damaged(trace) && !trace_tally(trace)->lost &&
	       !trace_tally(trace)->lost_notes;
}

const struct trace_process *trace_process(const struct trace *trace)
{
	return trace->process;
}

const struct trace_mapping *trace_mapping_at(const struct trace *trace, uint64_t address)
{
	if (trace->part)
		return merge_mapping(trace, registry_mapping_at(&trace->part->registry, address));
	return registry_mapping_at(&trace->registry, address);
}

const struct trace_mapping *trace_mapping_of(const struct trace *trace,
					     const struct backtrace *backtrace, uint64_t address)
{
	return trace->part ? NULL : registry_mapping_of(&trace->registry, backtrace, address);
}

bool trace_has_contests(const struct trace *trace)
{
	return trace->registry.contests.count != 0;
}

const struct trace_process *trace_section(const struct trace *trace, unsigned section)
{
	return section && section <= trace->sections.count ? trace->sections.items[section - 1]
							   : NULL;
}

const struct function *trace_function(const struct trace *trace, uint32_t id)
{
	return id < trace->registry.function_list.count ? trace->registry.function_list.items[id]
							: NULL;
}

const struct backtrace *trace_backtrace(const struct trace *trace, uint32_t id)
{
	return id < trace->registry.backtrace_list.count ? trace->registry.backtrace_list.items[id]
							 : NULL;
}

const struct trace_mapping *trace_mapping(const struct trace *trace, uint32_t id)
{
	return id < trace->registry.mapping_list.count ? trace->registry.mapping_list.items[id]
						       : NULL;
}

void trace_wants_calls(struct trace *trace)
{
	trace->skips_calls = false;
	trace->tally.skipped = 0;
}

uint64_t trace_until_ns(const struct trace *trace)
{
	return trace->part ? trace->part->until_ns : trace->until_ns;
}

void trace_shed(struct trace *trace)
{
	if (trace->close)
		trace->close(trace);
	trace->close = NULL;
	trace->reader = trace->container = NULL;
	source_close(&trace->source);
	bundles_free(trace->bundles);
	trace->bundles = NULL;
	pool_free(&trace->scratch);
	if (trace->owns_fd)
		close(trace->fd);
	trace->owns_fd = false;
}

void trace_close(struct trace *trace)
{
	if (!trace)
		return;
	trace_shed(trace);
	waiting_free(&trace->waiting);
	registry_free(&trace->registry);
	free(trace->sections.items);
	free(trace);
}

/* ---- functions for the readers of formats ---- */

int trace_add_section(struct trace *trace, struct trace_process *process)
{
	struct trace_process **place = ARRAY_ADD(&trace->sections);

	if (!place)
		return -ENOMEM;
	*place = process;
	process->section = (unsigned)++trace->tally.sections;
	return 0;
}

int trace_begin_stream(struct trace *trace, struct error *err)
{
	struct trace_process *process = pool_zalloc(&trace->registry.pool, sizeof(*process));

	if (!process)
		return trace_no_memory(trace, err);
	process->depth = -1;
	process->parent_stream = WIRE_NO_STREAM;
	if (trace_add_section(trace, process))
		return trace_no_memory(trace, err);
	trace->tally.has_ended = false;
	trace->process = process;
	trace_forget_window(trace);
	registry_begin_stream(&trace->registry);
	return 0;
}

struct event *trace_new_event(struct trace *trace, enum event_kind kind)
{
	memset(&trace->event, 0, sizeof(trace->event));
	trace->event.kind = kind;
	trace->event.process = trace->process;
	return &trace->event;
}

bool trace_lost_notes(const struct event *event)
{
	const char *reason = event_argument(event, "reason");

	return reason && !strcmp(reason, "note");
}

/* A ~dropped note counts the events (or notes) of a thread that were dropped for one reason. */
void trace_count_note(struct trace *trace, const struct event *event)
{
	const char *name = event->function->name, *count;

	trace->tally.notes++;
	/* only versions before the first release wrote these notes, which no report understands */
	if (!strcmp(name, "~lost") || !strcmp(name, "~left-out") ||
	    (!strcmp(name, NOTE_END) && event_argument(event, "lost")))
		trace_add_damage(trace, trace->source.offset, 0,
				 "%s comes from a version before the first release: record the "
				 "program again",
				 name);
	if (!strcmp(name, NOTE_END))
		trace->tally.has_ended = true;
	if (strcmp(name, NOTE_DROPPED) != 0)
		return;
	count = event_argument(event, "count");
	*(trace_lost_notes(event) ? &trace->tally.lost_notes : &trace->tally.lost) +=
		count ? strtoull(count, NULL, 0) : event->size;
}

void trace_finish_call(struct trace *trace, struct event *event)
{
	static const struct {
		enum effect effect;
		enum operation operation;
	} by_type[] = {
		[CALL_TYPE_NONE] = { EFFECT_NEITHER, OPERATION_NONE },
		[CALL_TYPE_FREE] = { EFFECT_RELEASES, OPERATION_FREE },
		[CALL_TYPE_ALLOC] = { EFFECT_ACQUIRES, OPERATION_ALLOC },
	};
	bool is_entry = event->moment == MOMENT_ENTER || event->moment == MOMENT_HALF;
	const struct hook *hook = event->function->hook;

	if (!event->has_tail) {
		/*
		 * uses the operation of the function's hook, unless the call did something else,
		 * such as a realloc() that freed the block
		 */
		event->operation = hook && operation_table[hook->operation].effect ==
							   by_type[event->type].effect
					   ? hook->operation
					   : by_type[event->type].operation;
		event->time_ns = event->time_ms * 1000000ull;
	} else {
		event->time_ns = is_entry ? event->enter_ns : event->leave_ns;
	}
	if (event->function->name[0] == WIRE_NOTE_PREFIX) {
		event->kind = EVENT_NOTE;
		trace_count_note(trace, event);
		return;
	}
	trace->tally.calls++;
}

void trace_add_damage(struct trace *trace, uint64_t offset, uint64_t skipped, const char *format,
		      ...)
{
	struct trace_tally *tally = &trace->tally;

	tally->damaged_bytes += skipped;
	if (tally->damages++ == 0) {
		va_list args;

		tally->damage_offset = offset;
		va_start(args, format);
		vsnprintf(tally->damage_text, sizeof(tally->damage_text), format, args);
		va_end(args);
	}
}

int trace_no_memory(struct trace *trace, struct error *err)
{
	return error_set(err, ENOMEM,
			 "needs more than %llu MiB for names and backtraces: raise --max-memory",
			 (unsigned long long)(trace->registry.pool.limit >> 20));
}
