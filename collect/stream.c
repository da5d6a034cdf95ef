/* SPDX-License-Identifier: MIT */
#include "collect/stream.h"

#include <stdlib.h>

/* Small enough to stay in the cache between encoding and writing. */
#define BUFFER_SIZE	(512u << 10)
#define FLUSH_PACKED_NS 500000000u /* zstd needs something to work with */

struct stream *stream_create(enum setting_protocol protocol, const struct ticks *ticks)
{
	struct stream *stream = calloc(1, sizeof(*stream));
	void *buffer = malloc(BUFFER_SIZE);

	if (!stream || !buffer) {
		free(stream);
		free(buffer);
		return NULL;
	}
	stream->sink.fd = -1;
	encode_init(&stream->encoder, buffer, BUFFER_SIZE, protocol, ticks);
	return stream;
}

void stream_free(struct stream *stream)
{
	if (!stream)
		return;
	free(stream->encoder.buffer);
	free(stream);
}

void stream_break(struct stream *stream, const struct error *err)
{
	if (!stream->broken)
		stream->failure = *err;
	stream->broken = true;
}

/* The sink took only a part: it keeps the whole packets of it. */
static void give_up(struct stream *stream, size_t written, const struct error *err)
{
	const struct encoder *encoder = &stream->encoder;
	uint64_t calls;
	size_t whole = encode_whole(encoder->buffer, encoder->used, written, &calls);

	sink_cut(&stream->sink, written - whole);
	stream->unwritten += calls;
	stream_break(stream, err);
}

void stream_flush(struct stream *stream)
{
	struct error err = { 0 };
	size_t written;

	if (!stream->encoder.used)
		return;
	if (!stream->broken && sink_write(&stream->sink, stream->encoder.buffer,
					  stream->encoder.used, &written, &err) < 0)
		give_up(stream, written, &err);
	stream->encoder.used = 0;
}

static inline void make_room(struct stream *stream)
{
	if (__builtin_expect(stream->encoder.room - stream->encoder.used < ENCODE_MOST, 0))
		stream_flush(stream);
}

void stream_begin(struct stream *stream, const struct encode_process *process)
{
	make_room(stream);
	encode_start(&stream->encoder, process);
}

/* Every thread tells every module: once is enough. */
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
	if (event->record->kind == RECORD_MODULE && is_told(stream, event->record))
		return;
	make_room(stream);
	encode_event(&stream->encoder, event);
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
	if (!stream->encoder.used ||
	    (stream->sink.zstd && now_ns - stream->flushed_ns < FLUSH_PACKED_NS))
		return;
	stream_flush(stream);
	stream->flushed_ns = now_ns;
}

void stream_close(struct stream *stream)
{
	struct error err = { 0 };

	stream_flush(stream);
	if (sink_close(&stream->sink, &err) < 0)
		stream_break(stream, &err);
}
