/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes the collector (merge and encoder) with arbitrary contents of a ring, which change between
 * two rounds. Whatever the ring contains, the output must be an undamaged stream with all calls
 * that the merge passed on.
 *
 * An input begins with a head of eight bytes: options; offset of the content in the ring, in units
 * of 2 KiB; the part of the content (in 1/256) that is in the ring at the first round; the
 * watermark; and four bytes of the ring's head, used with OPTION_HEAD.
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
#define CONTENT	   (256u << 10) /* maximum size of the content */
#define OUTPUT_MAX (64u << 20)

enum option {
	OPTION_HTR = 1 << 0,
	OPTION_1_4 = 1 << 1,
	OPTION_HEAD = 1 << 2,	/* the input has the ring's head */
	OPTION_ENDED = 1 << 3,	/* the process has ended before the first round */
	OPTION_SILENT = 1 << 4, /* no record names the thread of the ring */
};

struct run {
	struct encoder encoder;
	struct ticks ticks;
	uint64_t events, last_time;
	uint8_t *output;
	size_t size;
};

/* Moves the encoder's packets to the output, if they fit. Discards an .htr. */
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

/* Returns the same memory for each input, but zeroed. */
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

/* Checks that the output can be read, and contains all calls that the merge passed on. */
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

/*
 * Runs a round with a part of the content, a round with all of it, and a last round after the
 * process has ended.
 */
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

/* Whether the merge still holds back an event of the process. */
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
	if (bytes[1]) /* a pad fills the ring up to this offset */
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

/* Changes one field of one record, or lets libFuzzer mutate the input. */
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
