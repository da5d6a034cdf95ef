/* SPDX-License-Identifier: MIT */
/*
 * Scaler's invocation trees (its data format document of July 2021): for each thread a file
 * thread_0x<pthread_t>.bin, which lists its hooked calls breadth-first after a root, and two JSON
 * files with names. Where the document is unclear: fileID is the calling file (or, as an option,
 * the called one); funcID numbers a file's functions by name; a call that did not return ends with
 * the trace; all threads with the same pthread_t share a file; siblings are ordered by time, oldest
 * first; empty fields are 0. All numbers are little-endian. With several processes each gets its
 * own directory.
 */
#include "dialects/scaler/scaler.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "formats/writers.h"
#include "notes.h"

/* The processes that this program has written so far: a second one moves the files of the first. */
static struct {
	ARRAY_OF(uint32_t) processes; /* process ids */
} run;

/* ---- events ---- */

int write_scaler_begin(void **state, const struct trace *trace,
		       const struct writer_options *options, struct error *err)
{
	struct scaler *scaler = memory_zalloc(1, sizeof(*scaler));
	int rc;

	scaler->trace = trace;
	scaler->force = options->force;
	scaler->is_by_callee = format_has_word(options->words, "callee");
	scaler->has_frames = format_has_word(options->words, "frames");
	rc = outdir_open(&scaler->directory, options->directory,
			 options->force || run.processes.count, err);
	if (rc) {
		free(scaler);
		return rc;
	}
	callees_init(&scaler->callees);
	scaler_frames_init(&scaler->frames);
	calltree_init(&scaler->tree, scaler->directory.fd);
	*state = scaler;
	return 0;
}

static int refuse(struct error *err)
{
	return error_set(
		err, ENOTSUP,
		"has no call trees: its calls say neither their thread nor their depth, "
		"entry and return, which only holdtrace writes (as protocol 2.0, not 1.4); "
		"record the program with holdtrace");
}

/*
 * The mapping that the call came from. The return address may be after the end of the caller's
 * mapping, hence -1.
 */
static const struct trace_mapping *caller_of(const struct scaler *scaler, const struct event *event)
{
	const struct trace_mapping *mapping;
	uint64_t address;

	if (!event->backtrace || !event->backtrace->count)
		return NULL;
	address = event->backtrace->node->address;
	mapping = trace_mapping_at(scaler->trace, address - 1);
	return mapping ? mapping : trace_mapping_at(scaler->trace, address);
}

/* All hooked functions are in the C library. */
static bool is_libc(const struct trace_mapping *mapping)
{
	const char *slash = strrchr(mapping->path, '/');
	const char *name = slash ? slash + 1 : mapping->path;

	return !strncmp(name, "libc.so", 7) || !strncmp(name, "libc-", 5);
}

static void take_mapping(struct scaler *scaler, const struct trace_mapping *mapping)
{
	if (!scaler->libc && is_libc(mapping))
		scaler->libc = mapping;
	if (scaler->has_frames)
		space_map(&scaler->frames.space, mapping);
	callees_map(&scaler->callees, mapping);
}

static void take_call(struct scaler *scaler, const struct event *event, const char *name)
{
	uint64_t extra[2] = { event->object, event->related };
	uint32_t symbol, way = 0;

	if (!*name)
		name = "func0"; /* Scaler's name for a function without one */
	/* For a wait, the lock is a separate part, with the condition as the related object. */
	if (event->part && event->resource->known == RESOURCE_LOCK) {
		extra[0] = event->related;
		extra[1] = event->object;
	}
	symbol = callees_add(&scaler->callees,
			     scaler->is_by_callee ? scaler->libc : caller_of(scaler, event), name);
	if (scaler->has_frames)
		scaler_frames_see(&scaler->frames, event, &way);
	calltree_add(&scaler->tree, event, symbol, way, extra);
}

static void take_note(struct scaler *scaler, const struct event *event)
{
	const char *name = event->function->name;
	const char *value;

	calltree_see_time(&scaler->tree, event->time_ns);
	if (!strcmp(name, NOTE_THREAD)) {
		calltree_begin_thread(&scaler->tree, event);
	} else if (!strcmp(name, NOTE_OPEN)) {
		value = event_argument(event, "call");
		if (value)
			take_call(scaler, event, value);
	} else if (!strcmp(name, NOTE_PROCESS)) {
		value = event_argument(event, "executable");
		if (value && *value)
			callees_set_executable(&scaler->callees, value);
	}
}

static int take_event(struct scaler *scaler, const struct event *event, struct error *err)
{
	if (scaler->process && scaler->process != event->process)
		return error_set(err, EINVAL, "trees are of one process each: remove --merge");
	scaler->process = event->process;
	if (event_is_call(event) && !event->process->has_tails)
		return refuse(err);
	if (event->kind == EVENT_MAPPING)
		take_mapping(scaler, event->mapping);
	else if (event->kind == EVENT_NOTE && event->has_tail) /* else damaged */
		take_note(scaler, event);
	else if (event->kind == EVENT_CALL && event->has_tail)
		take_call(scaler, event, event->function->name);
	return spill_error(&scaler->tree.sort.spill, err);
}

int write_scaler_event(void *state, const struct event *event, struct error *err)
{
	struct scaler *scaler = state;
	int rc = take_event(scaler, event, err);

	scaler->has_failed |= rc != 0;
	return rc;
}

/* ---- the end ---- */

static int write_files(struct scaler *scaler, struct outdir *directory, struct error *err)
{
	int rc = scaler->has_frames ? scaler_frames_resolve(&scaler->frames, &scaler->callees, err)
				    : 0;

	scaler->tree.paths = scaler->frames.paths;
	if (rc == 0)
		scaler_number_functions(scaler);
	if (rc == 0)
		rc = scaler_write_threads(scaler, directory, err);
	if (rc == 0)
		rc = scaler_write_names(scaler, directory, err);
	if (rc)
		return rc;
	/* Trees of an older run would not match the new names. */
	if (scaler->force)
		outdir_remove(directory, "thread_0x", ".bin");
	return outdir_commit(directory, err);
}

/* The directory of the number-th process if there are several. */
static void name_directory(const struct scaler *scaler, size_t number, char *path, size_t size)
{
	uint32_t pid = run.processes.items[number];
	unsigned times = 1;
	int length;

	for (size_t i = 0; i < number; i++)
		times += run.processes.items[i] == pid;
	length = snprintf(path, size, "%s/process_%" PRIu32, scaler->directory.path, pid);
	if (times > 1 && length > 0 && (size_t)length < size)
		snprintf(path + length, size - (size_t)length, "_%u", times);
}

/* Moves the files of the first process to a directory of its own. */
static int move_first(const struct scaler *scaler, struct error *err)
{
	struct outdir to;
	char path[4096];
	int rc;

	name_directory(scaler, 0, path, sizeof(path));
	rc = outdir_open(&to, path, scaler->force, err);
	if (rc)
		return rc;
	if (scaler->force)
		outdir_remove(&to, "thread_0x", ".bin");
	rc = outdir_move(&scaler->directory, &to, "thread_0x", ".bin", err);
	if (rc == 0)
		rc = outdir_move(&scaler->directory, &to, "commonFuncId.json", "", err);
	if (rc == 0)
		rc = outdir_move(&scaler->directory, &to, "symbol.json", "", err);
	to.was_made = false;
	outdir_close(&to);
	return rc;
}

static int write_beside_others(struct scaler *scaler, struct error *err)
{
	struct outdir directory;
	char path[4096];
	int rc = run.processes.count == 2 ? move_first(scaler, err) : 0;

	if (rc)
		return rc;
	name_directory(scaler, run.processes.count - 1, path, sizeof(path));
	rc = outdir_open(&directory, path, scaler->force, err);
	if (rc)
		return rc;
	rc = write_files(scaler, &directory, err);
	outdir_close(&directory);
	return rc;
}

int write_scaler_end(void *state, struct error *err)
{
	struct scaler *scaler = state;
	uint32_t *place;
	int rc;

	if (scaler->has_failed)
		return 0; /* already reported */
	if (!scaler->process || !scaler->process->has_tails)
		return refuse(err);
	place = ARRAY_ADD(&run.processes);
	*place = scaler->process->pid;
	rc = run.processes.count == 1 ? write_files(scaler, &scaler->directory, err)
				      : write_beside_others(scaler, err);
	if (rc)
		run.processes.count--;
	return rc;
}

void write_scaler_destroy(void *state)
{
	struct scaler *scaler = state;

	calltree_free(&scaler->tree);
	callees_free(&scaler->callees);
	scaler_frames_free(&scaler->frames);
	free(scaler->facts);
	outdir_close(&scaler->directory);
	free(scaler);
}
