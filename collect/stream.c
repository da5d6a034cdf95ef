/* SPDX-License-Identifier: MIT */
#include "collect/stream.h"

#include <errno.h>
#include <stdlib.h>

/* time between two writes of a compressed stream; zstd compresses small amounts of data badly */
#define FLUSH_PACKED_NS 500000000u
/*
 * time between two writes of an .htr; if the collector is killed, the trace lacks at most the
 * events of this last period
 */
#define FLUSH_HTR_NS 1000000000u
/*
 * time to the first write of an .htr; the stream of a process that ends earlier has a single block
 */
#define FLUSH_FIRST_NS 100000000u
#define SYNC_NS	       1000000000u

static void set_known(struct stream *stream, uint64_t bytes)
{
	bounds_know(stream->known, 0, (int64_t)(bytes - stream->known_bytes));
	stream->known_bytes = bytes;
}

struct stream *stream_create(enum setting_protocol protocol, const struct ticks *ticks,
			     struct bounds_known *known)
{
	struct stream *stream = calloc(1, sizeof(*stream));

	if (!stream)
		return NULL;
	stream->sink.fd = -1;
	stream->known = known;
	bounds_know(known, 1, 0);
	encode_init(&stream->encoder, NULL, OUTPUT_BUFFER, protocol, ticks);
	return stream;
}

/*
 * The buffer that all encoders with an htr share: each copies the buffer's contents to its htr
 * immediately.
 */
static uint8_t handed[OUTPUT_BUFFER];

static void free_encoder(struct encoder *encoder)
{
	htr_destroy(encoder->htr);
	if (encoder->buffer != handed)
		free(encoder->buffer);
	encoder->htr = NULL;
	encoder->buffer = NULL;
}

void stream_free(struct stream *stream)
{
	if (!stream)
		return;
	set_known(stream, 0);
	bounds_know(stream->known, -1, 0);
	output_destroy(stream->output);
	free_encoder(&stream->encoder);
	free(stream);
}

void stream_break(struct stream *stream, const struct error *err)
{
	if (!stream->broken)
		stream->failure = *err;
	stream->broken = true;
}

/* If the output has failed, copies the error and the number of dropped events to the stream. */
static void look_back(struct stream *stream)
{
	struct error err;
	uint64_t events;

	if (!stream->output)
		return;
	if (output_failed(stream->output, &err, &events))
		stream_break(stream, &err);
	stream->unwritten += events;
}

static void out_of_memory(struct stream *stream)
{
	struct error err = { 0 };

	error_system(&err, ENOMEM, "cannot write %s", stream->sink.name);
	stream_break(stream, &err);
}

static void flush_block(struct stream *stream)
{
	struct htr_block_parts *parts = NULL;

	if (htr_is_empty(stream->encoder.htr))
		return;
	if (!htr_has_failed(stream->encoder.htr))
		parts = htr_take(stream->encoder.htr);
	if (parts)
		output_block(stream->output, parts);
	else
		out_of_memory(stream);
}

static void flush_packets(struct stream *stream)
{
	uint8_t *buffer;

	if (!stream->encoder.used)
		return;
	buffer = output_buffer(stream->output);
	while (!buffer) {
		output_wait(stream->output, SYNC_NS);
		buffer = output_buffer(stream->output);
	}
	output_packets(stream->output, stream->encoder.buffer, stream->encoder.used);
	stream->encoder.buffer = buffer;
	stream->encoder.used = 0;
}

void stream_flush(struct stream *stream)
{
	look_back(stream);
	if (!stream->output)
		stream->encoder.used = 0;
	else if (stream->encoder.htr)
		flush_block(stream);
	else
		flush_packets(stream);
}

void stream_sync(struct stream *stream)
{
	stream_flush(stream);
	if (stream->output)
		output_wait(stream->output, SYNC_NS);
	look_back(stream);
}

/* Begins a section. The caller must have flushed the stream. */
static void begin_section(struct stream *stream)
{
	struct encoder *encoder = &stream->encoder;
	struct htr *next = stream->broken ? NULL : htr_next(encoder->htr);

	/* no memory: a later call tries again */
	if (!next)
		return;
	htr_destroy(encoder->htr);
	encode_to(encoder, next);
	stream->cut_calls = htr_calls(next);
	stream->sections++;
	output_section(stream->output);
	set_known(stream, htr_known_bytes(next));
}

void stream_section(struct stream *stream)
{
	struct encoder *encoder = &stream->encoder;

	if (stream->broken || !encoder->htr || htr_calls(encoder->htr) == stream->cut_calls)
		return;
	stream_flush(stream);
	begin_section(stream);
}

/*
 * Flushes the stream, and begins a section if it has too many definitions. Must not be called in
 * the middle of an event.
 */
static void flush_between(struct stream *stream)
{
	stream_flush(stream);
	if (stream->broken || !stream->encoder.htr)
		return;
	set_known(stream, htr_known_bytes(stream->encoder.htr));
	if (bounds_knows_too_much(stream->known, stream->known_bytes))
		begin_section(stream);
}

bool stream_has_sections(const struct stream *stream)
{
	return stream->broken || !stream->output ||
	       output_sections(stream->output) >= stream->sections;
}

static inline void make_room(struct stream *stream)
{
	const struct encoder *encoder = &stream->encoder;

	if (encoder->htr ? htr_is_full(encoder->htr) : encoder->room - encoder->used < ENCODE_MOST)
		flush_between(stream);
}

/* Creates the output and the encoder's buffer or htr. */
static void begin_output(struct stream *stream)
{
	stream->output = output_create(&stream->sink, stream->bundle);
	if (stream->sink.is_htr) {
		encode_to(&stream->encoder, htr_create());
		stream->encoder.tails = true;
	}
	stream->encoder.buffer = stream->sink.is_htr ? handed : malloc(OUTPUT_BUFFER);
	if (stream->output && stream->encoder.buffer &&
	    (stream->encoder.htr || !stream->sink.is_htr))
		return;
	output_destroy(stream->output);
	stream->output = NULL;
	out_of_memory(stream);
}

void stream_begin(struct stream *stream, const struct encode_process *process)
{
	if (!stream->broken)
		begin_output(stream);
	if (!stream->broken)
		encode_start(&stream->encoder, process);
}

/* Whether the module is already in the stream: several threads may report the same module. */
static bool is_told(struct stream *stream, const struct record *record)
{
	uint64_t bit = 1ull << (record->more & 63);
	uint64_t *word = &stream->modules[record->more >> 6];
	bool told = *word & bit;

	*word |= bit;
	return told;
}

void stream_event(struct stream *stream, const struct merge_event *event)
{
	if (__builtin_expect(stream->broken, 0)) {
		stream->unwritten += event->record->kind == RECORD_CALL;
		return;
	}
	if (event->record->kind == RECORD_MODULE && event->record->more != MODULE_WITHOUT_NUMBER &&
	    is_told(stream, event->record))
		return;
	make_room(stream);
	encode_event(&stream->encoder, event);
}

bool stream_fast(struct stream *stream, const struct fast_call *fast)
{
	return !stream->broken && encode_fast(&stream->encoder, fast);
}

void stream_note(struct stream *stream, const struct encode_note *note)
{
	if (stream->broken)
		return;
	make_room(stream);
	encode_note(&stream->encoder, note);
}

void stream_idle(struct stream *stream, uint64_t now_ns)
{
	uint64_t patience_ns = FLUSH_HTR_NS;

	look_back(stream);
	if (!stream->output || !output_is_idle(stream->output))
		return;
	/*
	 * no job is in progress here, so the output's thread does not use the sink, and its members
	 * can be read
	 */
	if (!stream->encoder.htr)
		patience_ns = stream->sink.zstd ? FLUSH_PACKED_NS : 0;
	if (now_ns - stream->flushed_ns < patience_ns)
		return;
	flush_between(stream);
	stream->flushed_ns = now_ns;
}

uint64_t stream_stalled_ns(struct stream *stream)
{
	return stream->output ? output_stalled_ns(stream->output) : 0;
}

void stream_postpone(struct stream *stream, uint64_t now_ns)
{
	stream->flushed_ns = now_ns - FLUSH_HTR_NS + FLUSH_FIRST_NS;
}

void stream_close(struct stream *stream)
{
	struct error err = { 0 };

	stream_flush(stream);
	/* free the encoder now, since closing the output may have to wait for other writes */
	free_encoder(&stream->encoder);
	set_known(stream, 0);
	if (stream->output)
		output_close(stream->output, stream->wake);
	else if (sink_close(&stream->sink, &err) < 0)
		stream_break(stream, &err);
}

bool stream_finished(struct stream *stream)
{
	if (stream->output && !output_finished(stream->output))
		return false;
	look_back(stream);
	return sink_finished(&stream->sink);
}
