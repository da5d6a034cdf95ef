/* SPDX-License-Identifier: MIT */
#define _FILE_OFFSET_BITS 64
#include "scan/moment.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "notes.h"
#include "trace/bundle.h"
#include "trace/trace.h"

/* The facts about a process that one stream contains. */
struct examined {
	const struct process *process;
	struct core_stream stream;
	bool is_of_pid;
	/* number of the stream's modules that the core file has (equal) or lacks (other) */
	unsigned equal, other;
	char different[256]; /* path of a module with another build-id; "": none */
	uint64_t start_ns, realtime_ns, end_ns; /* end_ns 0: the stream has no end */
	int signal;				/* the signal that ended the process; 0: none */
	/* number of dropped events, and of events whose calls never completed */
	uint64_t dropped, abandoned;
};

/* ---- modules ---- */

static void examine_module(struct examined *examined, const struct trace_mapping *module)
{
	const struct process *process = examined->process;
	const struct mapping *mapping = maps_at(&process->subject.maps, module->code);
	uint8_t id[CORE_BUILD_ID_MAX];
	char text[2 * CORE_BUILD_ID_MAX + 1] = "";
	uint32_t size;

	if (!module->has_tail || *module->path != '/')
		return;
	if (!mapping || !mapping->inode ||
	    mapping->offset + (module->code - mapping->from) != module->offset) {
		examined->other++;
		return;
	}
	examined->equal++;
	size = core_build_id(&process->subject, -1, maps_base(&process->subject.maps, mapping), id);
	for (uint32_t i = 0; i < size; i++)
		snprintf(text + 2 * (size_t)i, 3, "%02x", id[i]);
	if (size && *module->build_id && strcmp(text, module->build_id) != 0)
		snprintf(examined->different, sizeof(examined->different), "%s", mapping->path);
}

/* ---- a stream ---- */

/* Reads a stream without its calls. Stops immediately if the stream belongs to another process. */
static void examine(struct examined *examined, const char *path,
		    const struct trace_options *options)
{
	const struct event *event;
	struct trace *trace;

	examined->stream.path = path;
	if (trace_open(&trace, path, options, NULL))
		return;
	while (trace_next(trace, &event, NULL) == 1) {
		const struct trace_process *of = event->process;

		if (event->kind == EVENT_PROCESS) {
			examined->is_of_pid = of->pid == (uint32_t)examined->process->pid;
			if (!examined->is_of_pid || !of->has_tails)
				break;
			memcpy(examined->stream.session, of->session, sizeof(of->session));
			examined->stream.stream = of->stream;
			examined->start_ns = of->start_ns;
			examined->realtime_ns = of->realtime_ns;
		}
		if (event->kind == EVENT_MAPPING)
			examine_module(examined, event->mapping);
		if (event->kind != EVENT_NOTE)
			continue;

		const char *name = event->function->name;

		if (!strcmp(name, NOTE_FUNCTIONS) && event_argument(event, "malloc"))
			examined->stream.malloc_at = event_number(event, "malloc");
		if (!strcmp(name, NOTE_SCAN) &&
		    event_number(event, "number") > examined->stream.scans)
			examined->stream.scans = (unsigned)event_number(event, "number");
		if (!strcmp(name, NOTE_DROPPED) && !trace_lost_notes(event)) {
			const char *reason = event_argument(event, "reason");
			bool is_open = reason && !strcmp(reason, "abandoned");

			*(is_open ? &examined->abandoned : &examined->dropped) +=
				event_number(event, "count");
		}
		if (!strcmp(name, NOTE_END)) {
			examined->end_ns = event->time_ns;
			examined->signal = (int)event_number(event, "signal");
		}
	}
	/*
	 * when a signal ended the process, each thread was in at most one call; these calls are
	 * ignored, because the scan of a running process does not see them either
	 */
	if (examined->signal && examined->abandoned <= examined->process->threads.count)
		examined->abandoned = 0;
	if (trace_is_damaged(trace))
		examined->stream.doubt = "the trace is damaged";
	else if (examined->dropped || examined->abandoned)
		examined->stream.doubt = "events were dropped";
	trace_close(trace);
}

/* ---- the moment ---- */

/*
 * Finds the moment of the core file. If the kernel wrote the file because a signal ended the
 * process, the moment is the end of the stream. Otherwise gcore wrote the file while the process
 * was stopped, so the moment is before the last write to the file.
 */
static int find_moment(struct examined *examined, struct error *err)
{
	const struct core *core = &examined->process->core;
	struct stat status;
	uint64_t written_ns;

	examined->stream.until_ns = UINT64_MAX;
	if (core->signal && core->signal == examined->signal)
		return 0;
	if (fstat(core->fd, &status))
		return error_system(err, errno, "cannot read its time");
	written_ns = (uint64_t)status.st_mtim.tv_sec * 1000000000 +
		     (uint64_t)status.st_mtim.tv_nsec - examined->realtime_ns;
	if (written_ns >= examined->start_ns &&
	    (!examined->end_ns || written_ns <= examined->end_ns)) {
		examined->stream.until_ns = written_ns;
		return 0;
	}
	return error_set(
		err, EINVAL,
		"was last written when process %d was not running, so the moment of the "
		"core file is unknown: if it is a copy, restore its time (cp -p, touch -r)",
		core->pid);
}

int core_stream_find(struct core_stream *found, const struct process *process,
		     const char *const *paths, size_t count, struct error *err)
{
	struct trace_options options = { .no_wait = true,
					 .skips_calls = true,
					 .bundles = bundles_create() };
	struct examined examined, best = { 0 };
	struct inputs inputs;
	int rc = inputs_expand(&inputs, paths, count, &options, err);

	if (rc)
		return rc;
	for (size_t i = 0; i < inputs.count; i++) {
		examined = (struct examined){ .process = process };
		examine(&examined, inputs.items[i], &options);
		if (examined.is_of_pid && (!best.is_of_pid || examined.equal >= best.equal))
			best = examined;
	}
	if (!best.is_of_pid)
		return error_set(err, ESRCH, "belongs to process %d, which is not in the trace",
				 process->pid);
	if (*best.different)
		return error_set(err, EINVAL,
				 "belongs to a program other than that of the trace: the build-ids "
				 "of %s differ",
				 best.different);
	if (!best.equal)
		return error_set(err, EINVAL,
				 "does not belong to process %d of the trace: it has no module at "
				 "the same address",
				 process->pid);
	rc = find_moment(&best, err);
	*found = best.stream;
	return rc;
}
