/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes the collector with arbitrary results of a scanner, and the reader with the resulting
 * stream. The stream must not be damaged, and the view must answer questions about every block.
 */
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "collect/encode.h"
#include "collect/scan_result.h"
#include "notes.h"
#include "postproc/totals/scanned.h"

#define OUTPUT_MAX (16u << 20)

struct run {
	struct encoder encoder;
	uint8_t *output;
	size_t size;
	bool is_cut;
};

static volatile size_t seen;

static void flush(struct run *run)
{
	/* if the notes do not fit into the output, the stream is truncated and is not checked */
	run->is_cut |= run->size + run->encoder.used > OUTPUT_MAX;
	if (!run->is_cut) {
		memcpy(run->output + run->size, run->encoder.buffer, run->encoder.used);
		run->size += run->encoder.used;
	}
	run->encoder.used = 0;
}

static void put(struct run *run, const char *name, const struct wire_value *values, uint32_t count)
{
	struct encode_note note = { .name = name, .values = values, .count = count };

	if (run->encoder.room - run->encoder.used < ENCODE_MOST)
		flush(run);
	encode_note(&run->encoder, &note);
}

static void begin(struct run *run)
{
	static const struct wire_value cut[] = { { "number", "1" }, { "state", "cut" } };
	static uint8_t buffer[4 * ENCODE_MOST];
	static struct ticks ticks;
	static uint8_t *output;
	struct encode_process process = { .pid = 1,
					  .name = "fuzz",
					  .parent_stream = WIRE_NO_STREAM };

	if (!output) {
		output = malloc(OUTPUT_MAX);
		ticks_measure(&ticks, CONTROL_CLOCK_MONOTONIC);
		ticks_begin(&ticks);
	}
	memset(run, 0, sizeof(*run));
	run->output = output;
	encode_init(&run->encoder, buffer, sizeof(buffer), PROTOCOL_2_0, &ticks);
	encode_start(&run->encoder, &process);
	put(run, NOTE_SCAN, cut, 2);
}

static void take(struct run *run, struct scan_result *result)
{
	struct scan_note note;
	size_t before = 0;
	int rc;

	while ((rc = scan_result_next(result, &note)) == 1) {
		fuzz_check(result->at > before && result->at <= result->size, "it does not get on");
		fuzz_check(note.count <= SCAN_NOTE_PAIRS, "more pairs than there may be");
		before = result->at;
		for (uint32_t i = 0; i < note.count; i++)
			fuzz_check(strlen(note.values[i].name) < SCAN_NOTE_TEXT &&
					   strlen(note.values[i].value) < SCAN_NOTE_TEXT,
				   "a text that is too long");
		put(run, note.name, note.values, note.count);
	}
	flush(run);
}

/* Asks for every block and for the path from a root to the block. */
static void ask(struct scanned *scanned)
{
	for (size_t i = 0; i < scanned->blocks.count; i++) {
		const struct scanned_block *block =
			scanned_at(scanned, scanned->blocks.items[i].address);
		const struct scanned_root *root;
		uint32_t steps;
		char text[64];

		fuzz_check(!block || block->fate < SCANNED_FATES, "a fate that there is not");
		seen += scanned_is_new(scanned, scanned->blocks.items[i].address, i);
		seen += scanned_handle_is_lost(scanned, RESOURCE_FILE,
					       scanned->blocks.items[i].address, 0);
		root = scanned_root_of(scanned, block, &steps);
		seen += root ? strlen(scanned_root_text(root, text, sizeof(text))) : 0;
	}
}

static void view(const struct run *run)
{
	struct trace_options options = { .memory_max = FUZZ_MEMORY_MAX, .no_wait = true };
	struct error err = { 0 };
	const struct event *event;
	struct scanned scanned = { 0 };
	struct trace *trace;

	fuzz_check(trace_open_fd(&trace, fuzz_open(run->output, run->size), &options, &err) == 0,
		   "a stream that cannot be read");
	while (trace_next(trace, &event, &err) == 1)
		if (event->kind == EVENT_NOTE)
			scanned_note(&scanned, event);
	fuzz_check(!trace_is_damaged(trace), "a stream that is damaged");
	ask(&scanned);
	scanned_free(&scanned);
	trace_close(trace);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct scan_result result = { .size = size };
	struct run run;
	char *copy = malloc(size ? size : 1);

	if (!copy)
		return 0;
	/* exactly `size` bytes, so that a sanitizer detects an access past the end */
	if (size)
		memcpy(copy, bytes, size);
	result.bytes = copy;
	begin(&run);
	take(&run, &result);
	if (!run.is_cut)
		view(&run);
	free(copy);
	return 0;
}
