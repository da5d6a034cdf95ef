/* SPDX-License-Identifier: MIT */
/* Writes the stream as an .htr container, with the collector's encoder. */
#include "formats/writers.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/memory.h"
#include "collect/encode.h"
#include "collect/htr.h"
#include "collect/pack.h"
#include "collect/packet.h"
#include "packets.h"
#include "trace/decode.h"

/*
 * zstd's compression level, higher than the collector's level because no traced program waits for
 * this writer
 */
#define LEVEL 3

struct htr_writer {
	struct out *out;
	struct packets packets;
	struct htr *htr;
	struct pack *pack;
	/* indexed by id of a function: its number in the .htr file, + 1; 0: no number yet */
	ARRAY_OF(uint32_t) functions;
	uint64_t frames[DECODE_FRAMES_MAX];
};

int write_htr_begin(void **state, const struct trace *trace, const struct writer_options *options,
		    struct error *err)
{
	struct htr_writer *writer = memory_zalloc(1, sizeof(*writer));
	struct pack_piece start;

	(void)trace;
	(void)err;
	writer->htr = htr_create();
	writer->pack = pack_create(LEVEL);
	packets_open(&writer->packets, false);
	if (!writer->htr || !writer->pack)
		memory_none();
	writer->out = options->out;
	start = pack_start(writer->pack);
	out_bytes(writer->out, start.bytes, start.size);
	*state = writer;
	return 0;
}

static int write_block(struct htr_writer *writer, struct error *err)
{
	struct htr_block_parts *parts;
	struct pack_piece piece;
	int rc;

	if (htr_is_empty(writer->htr))
		return 0;
	parts = htr_has_failed(writer->htr) ? NULL : htr_take(writer->htr);
	if (!parts)
		memory_none();
	rc = pack_block(writer->pack, parts, &piece, err);
	free(parts);
	if (rc == 0)
		out_bytes(writer->out, piece.bytes, piece.size);
	return rc;
}

/* Writes a call as an .htr event. Returns false if the caller must write it as packets instead. */
static bool put_event(struct htr_writer *writer, const struct event *event)
{
	struct encode_packet_call packet;
	struct htr_event one = { .call = &packet, .has_arguments = event->argument_count };
	struct values values = { .htr = writer->htr };
	uint32_t *number;

	if (event->kind != EVENT_CALL || !event->has_tail || !event->backtrace ||
	    event->function->length > 1000)
		return false;
	number = ARRAY_AT(&writer->functions, event->function->id);
	if (!*number)
		*number =
			htr_function(writer->htr, event->function->name, event->function->length) +
			1;
	packet = packet_of_call(event);
	one.function = *number - 1;
	one.frames = writer->frames;
	one.frame_count = (uint32_t)trace_node_frames(event->backtrace->node, writer->frames,
						      DECODE_FRAMES_MAX);
	if (!htr_event(writer->htr, &one))
		return false;
	for (uint32_t i = 0; i < event->argument_count; i++)
		values_put_text(&values, event->arguments[i].name, event->arguments[i].value,
				strlen(event->arguments[i].value));
	if (event->argument_count)
		values_end(&values);
	return true;
}

int write_htr_event(void *state, const struct event *event, struct error *err)
{
	struct htr_writer *writer = state;
	int rc = htr_is_full(writer->htr) ? write_block(writer, err) : 0;

	if (rc)
		return rc;
	if (!put_event(writer, event))
		encode_hand_over(writer->htr, writer->packets.bytes,
				 packets_of(&writer->packets, event));
	return 0;
}

int write_htr_end(void *state, struct error *err)
{
	struct htr_writer *writer = state;
	struct pack_piece end;
	int rc = write_block(writer, err);

	if (rc)
		return rc;
	end = pack_end(writer->pack);
	out_bytes(writer->out, end.bytes, end.size);
	return 0;
}

void write_htr_destroy(void *state)
{
	struct htr_writer *writer = state;

	packets_close(&writer->packets);
	htr_destroy(writer->htr);
	pack_destroy(writer->pack);
	free(writer->functions.items);
	free(writer);
}
