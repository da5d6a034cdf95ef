/* SPDX-License-Identifier: MIT */
#include "packets.h"

#include <stdlib.h>

#include "base/memory.h"
#include "collect/packet.h"

#define ROOM	  (256u << 10)
#define TEXT_CLIP 3800u /* maximum size of a text in bytes: a packet cannot be split */
#define TEXT_ROOM (TEXT_CLIP + 8 + PACKET_NAME_COPY)

void packets_open(struct packets *packets, bool has_asides)
{
	packets->room = ROOM;
	packets->has_asides = has_asides;
	packets->bytes = memory_alloc(packets->room);
}

void packets_close(struct packets *packets)
{
	free(packets->bytes);
}

static struct wire_text text_of(uint8_t *room, const char *text, size_t most)
{
	size_t length = text ? strlen(text) : 0;

	return (struct wire_text){ room,
				   lay_out(room, text ? text : "", length < most ? length : most) };
}

static uint8_t *put_handshake(uint8_t *at, const struct trace_process *process)
{
	const char *arch = process->arch ? process->arch : "unknown";
	size_t length = strnlen(arch, 200), size = (7 + length + 3) & ~(size_t)3;

	memset(at, 0, size);
	at[0] = WIRE_HANDSHAKE;
	at[1] = (uint8_t)(size - 2);
	at[2] = WIRE_MAJOR;
	at[3] = WIRE_MINOR;
	at[4] = (uint8_t)length;
	memcpy(at + 5, arch, length);
	at[5 + length] = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
	at[6 + length] = sizeof(uintptr_t);
	return at + size;
}

static uint8_t *put_process_of(uint8_t *at, const struct trace_process *process)
{
	uint8_t name[TEXT_ROOM];
	struct encode_packet_process packet = {
		.pid = process->pid,
		.seconds = process->seconds,
		.microseconds = process->microseconds,
		.depth = process->depth > 0 ? (uint32_t)process->depth : 0,
		.name = text_of(name, process->name, TEXT_CLIP),
		.marker = WIRE_TAIL_MARKER,
		.session_low = process->session[0],
		.session_high = process->session[1],
		.stream = process->stream,
		.parent_stream = process->parent_stream,
		.parent_pid = process->parent_pid,
		.start_ns = process->start_ns,
		.realtime_ns = process->realtime_ns,
	};

	return put_process(at, &packet, process->has_tails);
}

static uint8_t *put_heap_of(uint8_t *at, const struct wire_heap *state)
{
	struct encode_packet_heap packet = {
		.bottom = state->bottom,
		.top = state->top,
		.arena = state->arena,
		.ordblks = state->ordblks,
		.smblks = state->smblks,
		.hblks = state->hblks,
		.hblkhd = state->hblkhd,
		.usmblks = state->usmblks,
		.fsmblks = state->fsmblks,
		.uordblks = state->uordblks,
		.fordblks = state->fordblks,
		.keepcost = state->keepcost,
	};

	return put_heap(at, &packet, true);
}

/* ---- calls ---- */

struct encode_packet_call packet_of_call(const struct event *event)
{
	uint64_t most = event->has_tail ? INT32_MAX : UINT32_MAX;

	return (struct encode_packet_call){
		.resource = event->resource->ordinal,
		.context = event->context,
		.timestamp = event->time_ms,
		.type = event->type,
		.size = (uint32_t)(event->size < most ? event->size : most),
		.object = event->object,
		.what = { .operation = (uint8_t)event->operation,
			  .moment = event->moment,
			  .part = event->part,
			  .bits = event->flags },
		.thread = event->thread,
		.cpu = event->cpu,
		.depth = event->depth,
		.error = event->error,
		.pthread = event->pthread,
		.call = event->call,
		.enter_ns = event->enter_ns,
		.leave_ns = event->leave_ns,
		.bytes = event->size,
		.related = event->related,
		.result = event->result,
		.frame = event->frame,
	};
}

static uint8_t *put_call_of(struct packets *packets, const struct event *event)
{
	uint8_t name[TEXT_ROOM];
	struct encode_packet_call call = packet_of_call(event);
	struct values values = { .end = packets->bytes + packets->room };
	uint8_t *at;

	call.function = text_of(name, event->function->name, TEXT_CLIP);
	values.at = put_call(packets->bytes, &call, event->has_tail);
	for (uint32_t i = 0; i < event->argument_count; i++)
		values_put_text(&values, event->arguments[i].name, event->arguments[i].value,
				strlen(event->arguments[i].value));
	values_end(&values);
	at = values.at;
	if (event->backtrace) {
		struct encode_packet_backtrace packet = { .frames = { 0, packets->frames } };

		packet.frames.count = (uint32_t)trace_node_frames(event->backtrace->node,
								  packets->frames, WIRE_FRAMES_MAX);
		at = put_backtrace(at, &packet, true);
	}
	return at;
}

size_t packets_of(struct packets *packets, const struct event *event)
{
	/* if a packet has two long texts, each may have half of TEXT_CLIP */
	uint8_t *at = packets->bytes, one[TEXT_ROOM], two[TEXT_ROOM];

	switch (event->kind) {
	case EVENT_STREAM:
		at = put_handshake(at, event->process);
		break;
	case EVENT_PROCESS:
		at = put_process_of(at, event->process);
		break;
	case EVENT_TRACER:
		at = put_tracer(at,
				&(struct encode_packet_tracer){
					.id = event->tracer->id,
					.version = event->tracer->version,
					.name = text_of(one, event->tracer->name, TEXT_CLIP) },
				true);
		break;
	case EVENT_MAPPING:
		at = put_mapping(at,
				 &(struct encode_packet_mapping){
					 .from = event->mapping->from,
					 .to = event->mapping->to,
					 .path = text_of(one, event->mapping->path, TEXT_CLIP),
					 .code = event->mapping->code,
					 .offset = event->mapping->offset,
					 .build_id = text_of(two, event->mapping->build_id, 128) },
				 event->mapping->has_tail);
		break;
	case EVENT_CONTEXT:
		at = put_context(
			at,
			&(struct encode_packet_context){
				.id = event->call_context->bit,
				.name = text_of(one, event->call_context->name, TEXT_CLIP) },
			true);
		break;
	case EVENT_RESOURCE:
		at = put_resource(
			at,
			&(struct encode_packet_resource){
				.id = event->resource->ordinal,
				.flags = event->resource->flags,
				.type = text_of(one, event->resource->type, TEXT_CLIP / 2),
				.description =
					text_of(two, event->resource->description, TEXT_CLIP / 2) },
			true);
		if (packets->has_asides && event->process->has_tails &&
		    event->resource->known == RESOURCE_EVENT)
			at = aside_wrap(packets->bytes, at);
		break;
	case EVENT_ATTACHMENT:
		at = put_attachment(
			at,
			&(struct encode_packet_attachment){
				.name = text_of(one, event->attachment->name, TEXT_CLIP / 2),
				.path = text_of(two, event->attachment->path, TEXT_CLIP / 2) },
			true);
		break;
	case EVENT_HEAP:
		at = put_heap_of(at, &event->heap->state);
		break;
	case EVENT_NOTE:
	case EVENT_CALL:
		at = put_call_of(packets, event);
		if (packets->has_asides && event->has_tail && event->type == CALL_TYPE_NONE)
			at = aside_wrap(packets->bytes, at);
		break;
	case EVENT_COMMENT:
		break;
	}
	return (size_t)(at - packets->bytes);
}
