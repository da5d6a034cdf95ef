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

#include "hook_table.h"
#include "trace/state.h"

#define TRACE_RECOGNISE	      4096u /* bytes that tell text from anything else */
#define TRACE_SECONDS_TO_WORD 1

/*
 * The collector locks a file until it is complete. Whoever asks for it earlier (prog; postproc
 * FILE) wants all of it, so wait, and say so when it takes long.
 */
static int wait_for_writer(int fd, const char *path, const struct trace_options *options,
			   struct error *err)
{
	const struct timespec pause = { .tv_nsec = 10000000 };

	for (int i = 0; flock(fd, LOCK_SH | LOCK_NB) != 0; i++) {
		if (errno == EINTR || (errno == EWOULDBLOCK && nanosleep(&pause, NULL) != 0))
			return error_set(err, EINTR, "interrupted while its writer is at work");
		if (errno != EWOULDBLOCK)
			return 0; /* a file system without locks */
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
	if (!read_text_recognises(source_at(&trace->source), source_left(&trace->source)))
		return error_set(
			err, EBADMSG,
			"is no trace: neither .htr nor sp-rtrace packets nor text, plain or zstd");
	return read_text_open(trace, err);
}

static int trace_start(struct trace **result, int fd, bool owns_fd, const char *path,
		       const struct trace_options *options, struct error *err)
{
	static const struct trace_options no_options;
	struct trace *trace = calloc(1, sizeof(*trace));
	struct stat facts;
	int rc = 0;

	if (!trace) {
		if (owns_fd)
			close(fd);
		return error_system(err, ENOMEM, "reader");
	}
	if (!options)
		options = &no_options;
	trace->fd = fd;
	trace->owns_fd = owns_fd;
	registry_init(&trace->registry,
		      options->memory_max ? options->memory_max : TRACE_MEMORY_MAX);
	trace->scratch.limit = trace->registry.pool.limit;
	trace->wants_repeats = options->wants_repeats;
	trace->since_ns = options->since_ns;
	trace->until_ns = options->until_ns ? options->until_ns : UINT64_MAX;
	if (fstat(fd, &facts) == 0 && S_ISDIR(facts.st_mode))
		rc = error_set(err, EISDIR, "is a directory: name a trace file in it");
	else if (fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode) && !options->no_wait)
		rc = wait_for_writer(fd, path, options, err);
	if (rc == 0)
		rc = source_open(&trace->source, fd, err);
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
	return trace_start(trace, fd, false, "-", options, err);
}

int trace_open(struct trace **trace, const char *path, const struct trace_options *options,
	       struct error *err)
{
	int fd;

	if (!strcmp(path, "-"))
		return trace_open_fd(trace, STDIN_FILENO, options, err);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return error_system(err, errno, "cannot open");
	return trace_start(trace, fd, true, path, options, err);
}

static bool is_in_time(const struct trace *trace, const struct event *event)
{
	return event->kind != EVENT_CALL ||
	       (event->time_ns >= trace->since_ns && event->time_ns <= trace->until_ns);
}

int trace_next(struct trace *trace, const struct event **event, struct error *err)
{
	int rc;

	if (trace->has_ended)
		return trace->result < 0 ? error_set(err, -trace->result, "has ended") : 0;
	do
		rc = trace->next(trace, event, err);
	while (rc > 0 && !is_in_time(trace, *event));
	trace->tally.bytes = trace->source.offset;
	if (rc == 0 && trace->source.damage) {
		trace_add_damage(trace, trace->source.offset, 0, "%s", trace->source.damage);
		trace->tally.is_truncated = true;
	}
	trace->has_ended = rc <= 0;
	trace->result = rc;
	return rc;
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
	return !trace_is_damaged(trace) && !trace_tally(trace)->lost;
}

const struct trace_process *trace_process(const struct trace *trace)
{
	return trace->process;
}

const struct trace_mapping *trace_mapping_at(const struct trace *trace, uint64_t address)
{
	return registry_mapping_at(&trace->registry, address);
}

uint32_t trace_function_count(const struct trace *trace)
{
	return (uint32_t)trace->registry.function_list.count;
}

uint32_t trace_backtrace_count(const struct trace *trace)
{
	return (uint32_t)trace->registry.backtrace_list.count;
}

uint32_t trace_mapping_count(const struct trace *trace)
{
	return (uint32_t)trace->registry.mapping_list.count;
}

const struct function *trace_function(const struct trace *trace, uint32_t id)
{
	return id < trace_function_count(trace) ? trace->registry.function_list.items[id] : NULL;
}

const struct backtrace *trace_backtrace(const struct trace *trace, uint32_t id)
{
	return id < trace_backtrace_count(trace) ? trace->registry.backtrace_list.items[id] : NULL;
}

const struct trace_mapping *trace_mapping(const struct trace *trace, uint32_t id)
{
	return id < trace_mapping_count(trace) ? trace->registry.mapping_list.items[id] : NULL;
}

void trace_close(struct trace *trace)
{
	if (!trace)
		return;
	if (trace->close)
		trace->close(trace);
	source_close(&trace->source);
	registry_free(&trace->registry);
	pool_free(&trace->scratch);
	if (trace->owns_fd)
		close(trace->fd);
	free(trace);
}

/* for the readers */

int trace_begin_stream(struct trace *trace, struct error *err)
{
	struct trace_process *process = pool_zalloc(&trace->registry.pool, sizeof(*process));

	if (!process)
		return trace_no_memory(trace, err);
	process->depth = -1;
	process->parent_stream = WIRE_NO_STREAM;
	process->section = (unsigned)++trace->tally.sections;
	trace->tally.has_ended = false;
	trace->process = process;
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

const char *event_argument(const struct event *event, const char *name)
{
	for (uint32_t i = 0; i < event->argument_count; i++)
		if (!strcmp(event->arguments[i].name, name))
			return event->arguments[i].value;
	return NULL;
}

/* What the function's row says, unless the call says something else (realloc that frees). */
static enum operation operation_of(const struct event *event)
{
	static const struct {
		enum effect effect;
		enum operation operation;
	} by_type[] = {
		[CALL_TYPE_NONE] = { EFFECT_NEITHER, OPERATION_NONE },
		[CALL_TYPE_FREE] = { EFFECT_LOSES, OPERATION_FREE },
		[CALL_TYPE_ALLOC] = { EFFECT_GAINS, OPERATION_ALLOC },
	};
	const struct hook *hook = event->function->hook;

	if (hook && operation_table[hook->operation].effect == by_type[event->type].effect)
		return hook->operation;
	return by_type[event->type].operation;
}

/* ~lost says how many events its thread lost for one reason. */
static void count_note(struct trace *trace, const struct event *event)
{
	const char *count;

	trace->tally.notes++;
	if (!strcmp(event->function->name, "~end"))
		trace->tally.has_ended = true;
	if (strcmp(event->function->name, "~lost") != 0)
		return;
	count = event_argument(event, "count");
	trace->tally.lost += count ? strtoull(count, NULL, 0) : event->size;
}

void trace_finish_call(struct trace *trace, struct event *event)
{
	bool is_entry = event->moment == MOMENT_ENTER || event->moment == MOMENT_HALF;

	if (!event->has_tail) {
		event->operation = operation_of(event);
		event->time_ns = event->time_ms * 1000000ull;
	} else {
		event->time_ns = is_entry ? event->enter_ns : event->leave_ns;
	}
	if (event->function->name[0] == WIRE_NOTE_PREFIX) {
		event->kind = EVENT_NOTE;
		count_note(trace, event);
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
