/* SPDX-License-Identifier: MIT */
/*
 * What a host may leave in its ring, to merge and encoder: the input is the ring's content, which
 * changes between two rounds. Whatever it is, the stream that comes out is whole, and every call
 * that was handed out stands in it.
 *
 * An input begins with a head of eight bytes: options, where the ring's content begins (in pages),
 * how much of it is there at the first round (of 256 parts), the watermark, and the ring's head
 * where the options say so.
 */
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "collect/chunk.h"
#include "collect/encode.h"
#include "collect/merge_parts.h"
#include "tests/lib/collect-producer.h"

static struct merge_user user;

#define HEAD	   8
#define CONTENT	   (256u << 10) /* as much of an input is taken */
#define OUTPUT_MAX (64u << 20)

enum option {
	OPTION_HTR = 1 << 0,
	OPTION_1_4 = 1 << 1,
	OPTION_HEAD = 1 << 2,	/* the head is what the input says */
	OPTION_ENDED = 1 << 3,	/* the process has ended before the first round */
	OPTION_SILENT = 1 << 4, /* no record says whose they are */
};

struct run {
	struct encoder encoder;
	struct ticks ticks;
	uint64_t events, last_time;
	uint8_t *output;
	size_t size;
};

/* Everything that the encoder holds goes to the output, or nowhere. */
static void flush(struct run *run)
{
	if (run->encoder.htr) {
		free(htr_take(run->encoder.htr));
	} else if (run->size + run->encoder.used <= OUTPUT_MAX) {
		memcpy(run->output + run->size, run->encoder.buffer, run->encoder.used);
		run->size += run->encoder.used;
	}
	run->encoder.used = 0;
}

static void take(void *context, void *owner, const struct merge_event *event)
{
	struct run *run = context;

	fuzz_check(owner == run, "an event of a process that there is not");
	fuzz_check(event->time >= run->last_time, "an event goes back in time");
	fuzz_check(event->frame_count <= ARENA_FRAMES_MAX, "more frames than a backtrace has");
	run->last_time = event->time;
	run->events += event->record->kind == RECORD_CALL;
	if (run->encoder.htr ? htr_is_full(run->encoder.htr)
			     : run->encoder.room - run->encoder.used < ENCODE_MOST)
		flush(run);
	encode_event(&run->encoder, event);
}

/* The same memory each time, as if it were new. */
static struct producer_memory *fresh_memory(const struct chunk **chunk)
{
	static struct chunk *opened;
	static struct producer_memory memory;
	static struct control_page *control;
	struct error err;
	int fd;

	if (!control) {
		control = producer_control(&fd);
		producer_make(&memory, control, 2, NULL, "fuzz");
		close(fd);
		opened = chunk_open(memory.fd, &memory.hello, &err);
		fuzz_check(opened != NULL, "memory that cannot be opened");
	}
	*chunk = opened;
	memset(memory.map, 0, memory.layout.size);
	return &memory;
}

static void wait_for_more(void *context, void *owner)
{
	(void)context;
	(void)owner;
}

static void begin(struct run *run, const struct control_page *control, uint8_t options)
{
	static uint8_t buffer[4 * ENCODE_MOST];
	static uint8_t *output;
	struct encode_process process = { .pid = 1,
					  .name = "fuzz",
					  .parent_stream = WIRE_NO_STREAM };

	if (!output)
		output = malloc(OUTPUT_MAX);
	memset(run, 0, sizeof(*run));
	run->output = output;
	ticks_measure(&run->ticks, control->clock);
	ticks_begin(&run->ticks);
	encode_init(&run->encoder, buffer, sizeof(buffer),
		    options & OPTION_1_4 ? PROTOCOL_1_4 : PROTOCOL_2_0, &run->ticks);
	if (options & OPTION_HTR)
		run->encoder.htr = htr_create();
	encode_start(&run->encoder, &process);
}

/* What came out can be read, and has all calls that went in. */
static void check_stream(const struct run *run)
{
	struct trace_options options = { .memory_max = FUZZ_MEMORY_MAX, .no_wait = true };
	struct error err = { 0 };
	struct trace *trace;
	uint64_t calls;

	fuzz_check(trace_open_fd(&trace, fuzz_open(run->output, run->size), &options, &err) == 0,
		   "a stream that cannot be read");
	calls = fuzz_read(trace, run->size);
	fuzz_check(!trace_is_damaged(trace), "a stream that is damaged");
	fuzz_check(calls >= run->events, "a call that was handed out is not in the stream");
	trace_close(trace);
}

/* Two rounds: a part of the content, all of it; then the last one. */
static void collect(struct merge *merge, struct process *process, struct producer *host,
		    const uint8_t *bytes, size_t size)
{
	struct slot *slot = host->slot;
	uint64_t at = host->reserved, head = (at + (size & ~(size_t)7)) | PRODUCER_LEVEL;
	size_t first = size * bytes[2] / 256 & ~(size_t)7;

	slot->watermark = bytes[3];
	memcpy(host->ring + at, bytes + HEAD, first);
	__atomic_store_n(&slot->head, (at + first) | PRODUCER_LEVEL, __ATOMIC_RELEASE);
	merge_round(merge);
	memcpy(host->ring + at, bytes + HEAD, size);
	if (bytes[0] & OPTION_HEAD)
		memcpy((char *)&head, bytes + 4, 4);
	__atomic_store_n(&slot->head, head, __ATOMIC_RELEASE);
	merge_round(merge);
	merge_is_behind(merge);
	merge_end(process);
	merge_round(merge);
}

/* Whether an event of the process still waits for its turn. */
static bool has_waiting(const struct process *process)
{
	for (uint32_t i = 0; i < process->piece_count; i++)
		for (uint32_t k = 0; k < process->pieces[i].chunk->slots; k++) {
			const struct reader *reader = process->pieces[i].readers[k];

			if (reader && has_entries(reader))
				return true;
		}
	return process->has_more;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct merge_handler handler = { .event = take, .grown = wait_for_more };
	struct producer_memory *memory;
	struct process *process;
	const struct chunk *chunk;
	struct producer host;
	struct merge *merge;
	struct run run;

	if (size < HEAD || size - HEAD > CONTENT)
		return 0;
	memory = fresh_memory(&chunk);
	begin(&run, memory->control, bytes[0]);
	handler.context = &run;
	merge = merge_create((struct control_page *)(uintptr_t)memory->control, &handler);
	process = merge_add(merge, &run, &user);
	fuzz_check(merge_add_chunk(process, chunk), "no memory");
	producer_attach(&host, memory);
	if (bytes[0] & OPTION_SILENT)
		host.reserved = 0;
	if (bytes[1]) /* a pad leads there */
		producer_publish(producer_reserve(&host, RECORD_PAD, bytes[1] * 2048u));
	if (bytes[0] & OPTION_ENDED)
		merge_end(process);
	collect(merge, process, &host, bytes, size - HEAD);
	fuzz_check(!has_waiting(process), "an event that nothing will release");
	flush(&run);
	if (!run.encoder.htr && !(bytes[0] & OPTION_1_4) && run.size < OUTPUT_MAX)
		check_stream(&run);
	htr_destroy(run.encoder.htr);
	merge_destroy(merge);
	return 0;
}

/* A field of one record, or whatever libFuzzer likes. */
size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size, size_t max, unsigned seed)
{
	static const uint64_t nasty[] = { 0,	1,	8,	 0x7f,	     0x80,
					  0xff, 0xffff, 0x10000, 0xfffffff8, UINT64_MAX };
	size_t at = HEAD, width = (size_t)1 << seed % 4;
	uint64_t value = nasty[seed / 4 % 10];
	uint32_t length;

	if (seed % 3 == 0 || size < HEAD + sizeof(struct record_call))
		return LLVMFuzzerMutate ? LLVMFuzzerMutate(bytes, size, max) : size;
	for (unsigned skip = seed / 64 % 32; skip && at + 8 < size; skip--) {
		memcpy(&length, bytes + at, 4);
		if (!length || length % 8 || length > size - at - 8)
			break;
		at += length;
	}
	at += seed / 4096 % sizeof(struct record_call) / width * width;
	if (at + width <= size)
		memcpy(bytes + at, &value, width);
	return size;
}
