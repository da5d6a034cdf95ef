/* SPDX-License-Identifier: MIT */
/*
 * Writes heaptrack's data file, version 3 (KDE's heaptrack, src/interpret and src/analyze):
 * strings, instructions, traces and sizes, then all allocations and frees in the order of time. The
 * names must precede the allocations and frees, but are known only at the end, so a temporary file
 * stores the allocations and frees until then. All numbers are hexadecimal.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/memory.h"
#include "base/spill_sort.h"
#include "packed.h"
#include "stacks.h"
#include "viewers.h"

#define PROGRAM_VERSION 0x10400u
#define FILE_VERSION	3u
#define NAME_MOST	(64u << 10) /* maximum size of a string in bytes */

/* Allocations of the same size at one call site. */
struct heap_info {
	const struct trace_node *backtrace;
	uint64_t size;
	uint64_t live; /* number of live blocks in the current process */
	const char *function;
};

struct heap_step {
	uint32_t info;
	bool is_acquisition;
};

enum { OF_STRING, OF_FRAME, OF_TRACE }; /* kinds of keys in the maps `numbers` and `traces` */

struct heaptrack {
	struct report_run *run;
	struct stacks stacks;
	struct spill_sort sort;
	/*
	 * latest time of the process so far; no step gets an earlier time, so sorting does not
	 * change the order of the steps
	 */
	uint64_t last_ns;
	/* infos of the current process; key: site and size; value: index in `infos`, + 1 */
	struct map of_process;
	/* infos of the run; key: number of the backtrace, and size; value: index in `infos`, + 1 */
	struct map of_run;
	struct map backtraces; /* key: address of a backtrace; value: its number */
	uint32_t backtrace_count;
	ARRAY_OF(struct heap_info) infos;
	struct pool pool;
	/* the following members are used only while the file is written */
	struct packed packed;
	struct map numbers, traces;
	uint32_t string_count, trace_count;
};

/* ---- the fold ---- */

/*
 * Finds or adds the info for a size and the backtrace of a site. Returns its index in `infos`, + 1.
 */
static uint32_t info_of_run(struct heaptrack *file, const struct site *site, uint64_t size)
{
	const struct trace_node *backtrace = report_site(file->run, site);
	struct map_entry *number = map_put(&file->backtraces, 0, (uintptr_t)backtrace);
	struct map_entry *entry;

	if (!number->value)
		number->value = ++file->backtrace_count;
	entry = map_put(&file->of_run, number->value, size);
	if (entry->value)
		return entry->value;
	*ARRAY_ADD(&file->infos) = (struct heap_info){
		.backtrace = backtrace,
		.size = size,
		.function = pool_copy(&file->pool, site->function->name),
	};
	entry->value = (uint32_t)file->infos.count;
	return entry->value;
}

static void put_step(struct heaptrack *file, const struct heap_step *step, uint64_t time_ns)
{
	memcpy(spill_sort_reserve(&file->sort, sizeof(*step)), step, sizeof(*step));
	spill_sort_commit(&file->sort, (struct spill_key){ .first = time_ns }, sizeof(*step));
}

static void heaptrack_move(void *user, const struct ledger_move *move)
{
	struct heaptrack *file = user;
	struct heap_step step = { .is_acquisition = move->is_acquisition };
	struct map_entry *entry;

	if (ledger_class(file->run->ledger, move->class)->known != RESOURCE_MEMORY)
		return;
	entry = map_put(&file->of_process, move->site, move->bytes);
	if (!entry->value)
		entry->value = info_of_run(
			file, sites_at(ledger_sites(file->run->ledger), move->site), move->bytes);
	step.info = entry->value - 1;
	if (move->event->time_ns > file->last_ns)
		file->last_ns = move->event->time_ns;
	file->infos.items[step.info].live += move->is_acquisition ? 1 : (uint64_t)-1;
	put_step(file, &step, file->last_ns);
}

static void heaptrack_process(void *state)
{
	struct heaptrack *file = state;
	const struct summary_process *process = summary_current(file->run->summary);

	for (uint32_t i = 0; i < file->infos.count; i++) {
		struct heap_step step = { .info = i };
		uint64_t *live = &file->infos.items[i].live;

		/* exec() frees the memory of the program that it replaces */
		for (; process->end == SUMMARY_EXEC && *live; --*live)
			put_step(file, &step, process->end_ns);
		*live = 0;
	}
	file->last_ns = 0;
	map_clear(&file->of_process);
}

static int heaptrack_begin(void *user, struct report_run *run, struct error *err)
{
	struct heaptrack *file = user;

	(void)err;
	spill_sort_init(&file->sort, SPILL_TMPDIR, 0);
	ledger_listen(run->ledger, heaptrack_move, file);
	stacks_init(&file->stacks, run->naming);
	return 0;
}

static void heaptrack_destroy(void *state)
{
	struct heaptrack *file = state;

	spill_sort_free(&file->sort);
	map_clear(&file->of_process);
	map_clear(&file->of_run);
	map_clear(&file->backtraces);
	map_clear(&file->numbers);
	map_clear(&file->traces);
	free(file->infos.items);
	stacks_free(&file->stacks);
	pool_free(&file->pool);
}

/* ---- the file ---- */

/*
 * Returns the number of a string, from 1, or 0 for "". Writes the string when it is first used.
 * Compares strings by address.
 */
static uint32_t string_of(struct heaptrack *file, const char *text)
{
	struct map_entry *entry =
		*text ? map_put(&file->numbers, OF_STRING, (uintptr_t)text) : NULL;
	cleanup_free char *copy = NULL;
	size_t length;

	if (!entry || entry->value)
		return entry ? entry->value : 0;
	entry->value = ++file->string_count;
	/* replace control characters, because a line break would end the string */
	length = strnlen(text, NAME_MOST);
	copy = memory_text_part(text, length);
	for (size_t i = 0; i < length; i++)
		if ((unsigned char)copy[i] < 0x20 || copy[i] == 0x7f)
			copy[i] = '?';
	packed_format(&file->packed, "s %zx ", length);
	packed_bytes(&file->packed, copy, length);
	packed_bytes(&file->packed, "\n", 1);
	return entry->value;
}

/*
 * Returns the number of the trace for a backtrace. A trace consists of a frame and the number of
 * its caller's trace, so traces are written from the outermost frame inwards.
 */
static uint32_t trace_of(struct heaptrack *file, const struct heap_info *info)
{
	size_t frames = file->stacks.frame_list.count;
	size_t count = stacks_of(&file->stacks, info->backtrace, info->function);
	uint32_t trace = 0;

	/* write the frames that are new; heaptrack numbers them in the order of these lines */
	for (; frames < file->stacks.frame_list.count; frames++) {
		const struct stacks_frame *frame = file->stacks.frame_list.items[frames];
		uint32_t module = string_of(file, frame->function->module);
		uint32_t function = string_of(file, frame->function->name);
		uint32_t source = string_of(file, frame->function->file);

		packed_format(&file->packed, "i %" PRIx64 " %x %x", frame->address, module,
			      function);
		if (source)
			packed_format(&file->packed, " %x %x", source, frame->line);
		packed_bytes(&file->packed, "\n", 1);
	}
	for (size_t i = count; i; i--) {
		uint32_t frame = file->stacks.stack[i - 1]->number;
		struct map_entry *entry =
			map_put(&file->traces, OF_TRACE, (uint64_t)trace << 32 | frame);

		if (!entry->value) {
			entry->value = ++file->trace_count;
			packed_format(&file->packed, "t %x %x\n", frame, trace);
		}
		trace = entry->value;
	}
	return trace;
}

static int put_steps(struct heaptrack *file, struct error *err)
{
	struct spill_piece piece;
	uint64_t last_ms = 0;
	int rc;

	while ((rc = spill_sort_next(&file->sort, &piece, err)) == 1) {
		uint64_t ms = report_time(file->run, piece.key.first) / 1000000;
		struct heap_step step;

		memcpy(&step, piece.bytes, sizeof(step));
		if (ms != last_ms)
			packed_format(&file->packed, "c %" PRIx64 "\n", ms);
		last_ms = ms;
		packed_format(&file->packed, "%c %x\n", step.is_acquisition ? '+' : '-',
			      step.info + 1);
	}
	return rc;
}

static int heaptrack_print(void *state, struct out *out, struct error *err)
{
	struct heaptrack *file = state;
	const struct summary *run = file->run->summary;
	cleanup_free char *command = NULL;
	int rc;

	if (run->sample)
		return error_set(err, EINVAL,
				 "--format=heaptrack cannot contain memory that was recorded by "
				 "samples; use pprof, dhat or perfetto");
	rc = spill_sort_finish(&file->sort, err);
	if (rc)
		return rc;
	packed_begin(&file->packed, out);
	packed_format(&file->packed, "v %x %x\nX ", PROGRAM_VERSION, FILE_VERSION);
	command = memory_text(viewer_command(summary_process_at(run, 0)));
	for (char *at = command; *at; at++)
		if ((unsigned char)*at < 0x20)
			*at = '?';
	packed_bytes(&file->packed, command, strlen(command));
	packed_bytes(&file->packed, "\n", 1);
	/*
	 * Let no allocation use info 0. heaptrack stores the info of the last allocation, and 0 if
	 * there is none, so it would report each free of info 0 as temporary. Info 0 has the first
	 * backtrace, because heaptrack lists every backtrace that an info refers to.
	 */
	for (size_t i = 0; file->run->naming && i < file->infos.count; i++)
		naming_expect(file->run->naming, file->infos.items[i].backtrace);
	for (size_t i = 0; i < file->infos.count; i++) {
		uint32_t trace = trace_of(file, &file->infos.items[i]);

		if (i == 0)
			packed_format(&file->packed, "a 0 %x\n", trace);
		packed_format(&file->packed, "a %" PRIx64 " %x\n", file->infos.items[i].size,
			      trace);
	}
	rc = put_steps(file, err);
	packed_format(&file->packed, "c %" PRIx64 "\n",
		      report_time(file->run, run->end_ns) / 1000000);
	packed_end(&file->packed);
	return rc ? rc : 0;
}

const struct report viewer_heaptrack = {
	.wants_ledger = true,
	.wants_summary = true,
	.state_size = sizeof(struct heaptrack),
	.begin = heaptrack_begin,
	.process = heaptrack_process,
	.print = heaptrack_print,
	.destroy = heaptrack_destroy,
};
