/* SPDX-License-Identifier: MIT */
#include "perfetto.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define SEQUENCE     1 /* number of the only sequence (writer) of packets */
#define STATE_BEGIN  1 /* flag: interned data before this packet is invalid */
#define STATE_NEEDED 2 /* flag: the packet uses interned data */
#define NUMBER_SIZE  5 /* bytes of a varint whose value is set later */
#define NUMBER_LATER (1u << 28)
#define PIECE	     (256u << 10) /* approximate size of a packet of interned data in bytes */

/* Field numbers of InternedData and its messages. */
enum {
	INTERNED_EVENT_NAME = 2,
	INTERNED_FUNCTION = 5,
	INTERNED_FRAME = 6,
	INTERNED_STACK = 7,
	INTERNED_BUILD_ID = 16,
	INTERNED_PATH = 17,
	INTERNED_SOURCE = 18,
	INTERNED_MAPPING = 19,
	INTERNED_NOTE_TEXT = 29,
};
enum { STRING_ID = 1, STRING_TEXT = 2 };
enum { MAPPING_ID = 1, MAPPING_BUILD_ID = 2, MAPPING_START = 4, MAPPING_END = 5, MAPPING_PATH = 7 };
enum { FRAME_ID = 1, FRAME_FUNCTION, FRAME_MAPPING, FRAME_ADDRESS, FRAME_SOURCE, FRAME_LINE };
enum { STACK_ID = 1, STACK_FRAME = 2 };
enum { CLOCK = 1, CLOCK_ID = 1, CLOCK_TIME = 2 };

void perfetto_open(struct perfetto_packets *packets)
{
	spill_sort_init(&packets->sort, SPILL_TMPDIR, 0);
}

void perfetto_close(struct perfetto_packets *packets)
{
	spill_sort_free(&packets->sort);
	map_clear(&packets->stacks);
	free(packets->stack_list.items);
	proto_free(&packets->packet);
	proto_free(&packets->body);
	proto_free(&packets->inner);
	proto_free(&packets->innermost);
	proto_free(&packets->head);
}

uint32_t perfetto_stack(struct perfetto_packets *packets, const struct trace_node *backtrace)
{
	struct map_entry *entry = map_put(&packets->stacks, 0, (uintptr_t)backtrace);

	if (entry->value)
		return entry->value;
	*ARRAY_ADD(&packets->stack_list) = backtrace;
	entry->value = (uint32_t)packets->stack_list.count;
	return entry->value;
}

/* ---- tracks ---- */

void perfetto_track(struct perfetto_packets *packets, uint64_t track, uint64_t parent,
		    const char *name)
{
	proto_clear(&packets->body);
	proto_unsigned(&packets->body, TRACK_ID, track);
	if (parent)
		proto_unsigned(&packets->body, TRACK_PARENT, parent);
	if (name)
		proto_text(&packets->body, TRACK_NAME, name);
}

void perfetto_track_end(struct perfetto_packets *packets)
{
	proto_clear(&packets->packet);
	proto_unsigned(&packets->packet, PACKET_SEQUENCE, SEQUENCE);
	proto_message(&packets->packet, PACKET_TRACK, &packets->body);
	proto_message(&packets->head, 1, &packets->packet);
}

/* ---- events ---- */

void perfetto_event(struct perfetto_packets *packets, unsigned type, uint64_t track)
{
	proto_clear(&packets->body);
	proto_unsigned(&packets->body, EVENT_TYPE, type);
	proto_unsigned(&packets->body, EVENT_TRACK, track);
}

void perfetto_note(struct perfetto_packets *packets, const char *name, unsigned kind,
		   uint64_t number)
{
	if (!number)
		return;
	proto_clear(&packets->inner);
	proto_text(&packets->inner, ANNOTATION_NAME, name);
	proto_unsigned(&packets->inner, kind, number);
	proto_message(&packets->body, EVENT_ANNOTATION, &packets->inner);
}

void perfetto_note_text(struct perfetto_packets *packets, const char *name, const char *text)
{
	if (!text || !*text)
		return;
	proto_clear(&packets->inner);
	proto_text(&packets->inner, ANNOTATION_NAME, name);
	proto_text(&packets->inner, ANNOTATION_TEXT, text);
	proto_message(&packets->body, EVENT_ANNOTATION, &packets->inner);
}

/*
 * The byte that precedes each packet in the temporary file. The last field of a dump is its index,
 * which is set only when the dump is written to the trace.
 */
enum piece_kind { PIECE_EVENT, PIECE_DUMP };

static void sort_in(struct perfetto_packets *packets, enum piece_kind kind, uint64_t time_ns,
		    enum packet_rank rank)
{
	char *place;

	proto_clear(&packets->packet);
	proto_unsigned(&packets->packet, PACKET_TIME, time_ns);
	proto_unsigned(&packets->packet, PACKET_SEQUENCE, SEQUENCE);
	proto_unsigned(&packets->packet, PACKET_FLAGS, STATE_NEEDED);
	proto_message(&packets->packet, kind == PIECE_DUMP ? PACKET_PROFILE : PACKET_EVENT,
		      &packets->body);
	proto_clear(&packets->innermost);
	proto_message(&packets->innermost, 1, &packets->packet);
	place = spill_sort_reserve(&packets->sort, packets->innermost.used + 1);
	*place = (char)kind;
	memcpy(place + 1, packets->innermost.bytes, packets->innermost.used);
	spill_sort_commit(&packets->sort, (struct spill_key){ .first = time_ns, .second = rank },
			  packets->innermost.used + 1);
}

void perfetto_event_end(struct perfetto_packets *packets, uint64_t time_ns, enum packet_rank rank)
{
	sort_in(packets, PIECE_EVENT, time_ns, rank);
}

void perfetto_dump(struct perfetto_packets *packets, uint64_t time_ns)
{
	proto_unsigned(&packets->body, PROFILE_INDEX, NUMBER_LATER);
	sort_in(packets, PIECE_DUMP, time_ns, RANK_END);
}

/* ---- interned data ---- */

struct interned {
	struct perfetto_packets *packets;
	struct proto data; /* the InternedData message that is being built */
	struct stacks *stacks;
	const struct address_space *space;
	struct map numbers; /* numbers of modules and source files */
	uint32_t sources;
	struct out *out;
	bool has_begun;
};

enum { OF_MODULE, OF_SOURCE };

static void flush_interned(struct interned *interned)
{
	struct proto *packet = &interned->packets->packet, *framed = &interned->packets->innermost;

	if (!interned->data.used && interned->has_begun)
		return;
	proto_clear(packet);
	proto_unsigned(packet, PACKET_SEQUENCE, SEQUENCE);
	proto_unsigned(packet, PACKET_FLAGS, interned->has_begun ? STATE_NEEDED : STATE_BEGIN);
	proto_message(packet, PACKET_INTERNED, &interned->data);
	proto_clear(framed);
	proto_message(framed, 1, packet);
	out_bytes(interned->out, framed->bytes, framed->used);
	proto_clear(&interned->data);
	interned->has_begun = true;
}

static void add_interned(struct interned *interned, unsigned field, const struct proto *entry)
{
	proto_message(&interned->data, field, entry);
	if (interned->data.used >= PIECE)
		flush_interned(interned);
}

static void add_text(struct interned *interned, unsigned field, uint64_t number, const char *text)
{
	struct proto *entry = &interned->packets->inner;

	proto_clear(entry);
	proto_unsigned(entry, STRING_ID, number);
	proto_text(entry, STRING_TEXT, text);
	add_interned(interned, field, entry);
}

/* Adds a mapping. Mapping 1 is for frames outside all modules; modules have numbers from 2 on. */
static uint32_t add_mapping(struct interned *interned, uint32_t number, const char *path,
			    const struct space_module *module)
{
	struct proto *entry = &interned->packets->inner;

	add_text(interned, INTERNED_PATH, number, path);
	add_text(interned, INTERNED_BUILD_ID, number, module ? module->build_id : "");
	proto_clear(entry);
	proto_unsigned(entry, MAPPING_ID, number);
	proto_unsigned(entry, MAPPING_BUILD_ID, number);
	proto_unsigned(entry, MAPPING_START, module ? module->from : 0);
	proto_unsigned(entry, MAPPING_END, module ? module->to : 0);
	proto_unsigned(entry, MAPPING_PATH, number);
	add_interned(interned, INTERNED_MAPPING, entry);
	return number;
}

static void add_frame(struct interned *interned, const struct stacks_frame *frame)
{
	const struct space_module *module =
		frame->address ? space_module_at(interned->space, frame->address) : NULL;
	struct map_entry *mapping =
		module ? map_put(&interned->numbers, OF_MODULE, module->id + 1ull) : NULL;
	uint32_t mapping_number = 1;
	const char *file = frame->function->file; /* "": unknown */
	struct proto *entry = &interned->packets->inner;
	struct map_entry *source;

	if (mapping && !mapping->value)
		mapping->value = add_mapping(interned, module->id + 2, module->path, module);
	if (mapping)
		mapping_number = mapping->value;
	source = *file ? map_put(&interned->numbers, OF_SOURCE, (uintptr_t)file) : NULL;
	if (source && !source->value) {
		source->value = ++interned->sources;
		add_text(interned, INTERNED_SOURCE, source->value, file);
	}
	proto_clear(entry);
	proto_unsigned(entry, FRAME_ID, frame->number);
	proto_unsigned(entry, FRAME_FUNCTION, frame->function->number);
	proto_unsigned(entry, FRAME_MAPPING, mapping_number);
	proto_unsigned(entry, FRAME_ADDRESS, frame->offset);
	if (source)
		proto_unsigned(entry, FRAME_SOURCE, source->value);
	if (frame->line)
		proto_unsigned(entry, FRAME_LINE, frame->line);
	add_interned(interned, INTERNED_FRAME, entry);
}

/*
 * Adds a backtrace: its frames from the outermost inwards, its text for annotations, and the name
 * of its innermost function for events.
 */
static void add_stack(struct interned *interned, uint64_t number,
		      const struct trace_node *backtrace)
{
	struct stacks *stacks = interned->stacks;
	size_t functions = stacks->function_list.count, frames = stacks->frame_list.count;
	size_t count = stacks_of(stacks, backtrace, "no backtrace");
	struct proto *entry = &interned->packets->inner;
	const char *line;

	for (; functions < stacks->function_list.count; functions++)
		add_text(interned, INTERNED_FUNCTION, functions + 1,
			 stacks->function_list.items[functions]->name);
	for (; frames < stacks->frame_list.count; frames++)
		add_frame(interned, stacks->frame_list.items[frames]);
	proto_clear(entry);
	proto_unsigned(entry, STACK_ID, number);
	for (size_t i = count; i; i--)
		proto_unsigned(entry, STACK_FRAME, stacks->stack[i - 1]->number);
	add_interned(interned, INTERNED_STACK, entry);
	add_text(interned, INTERNED_EVENT_NAME, number, stacks->stack[0]->function->name);
	line = stacks_line(stacks, backtrace, "no backtrace");
	add_text(interned, INTERNED_NOTE_TEXT, number, line);
}

/* ---- the trace ---- */

/*
 * Writes the clocks. All times in the trace are of CLOCK_MONOTONIC. All other clocks except the
 * wall clock are declared equal to it, because Perfetto drops heap dumps if a clock that it expects
 * is missing.
 */
static void put_clocks(struct perfetto_packets *packets, uint64_t start_ns, uint64_t wall_ns,
		       struct out *out)
{
	enum { REALTIME = 1, MONOTONIC = 3, MONOTONIC_COARSE = 4, MONOTONIC_RAW = 5, BOOTTIME = 6 };
	static const unsigned clocks[] = { BOOTTIME, MONOTONIC, MONOTONIC_COARSE, MONOTONIC_RAW,
					   REALTIME };

	proto_clear(&packets->body);
	for (size_t i = 0; i < sizeof(clocks) / sizeof(*clocks); i++) {
		proto_clear(&packets->inner);
		proto_unsigned(&packets->inner, CLOCK_ID, clocks[i]);
		proto_unsigned(&packets->inner, CLOCK_TIME,
			       start_ns + (clocks[i] == REALTIME ? wall_ns : 0));
		proto_message(&packets->body, CLOCK, &packets->inner);
	}
	proto_clear(&packets->packet);
	proto_unsigned(&packets->packet, PACKET_TIME, start_ns);
	proto_unsigned(&packets->packet, PACKET_SEQUENCE, SEQUENCE);
	proto_message(&packets->packet, PACKET_CLOCKS, &packets->body);
	proto_clear(&packets->innermost);
	proto_message(&packets->innermost, 1, &packets->packet);
	out_bytes(out, packets->innermost.bytes, packets->innermost.used);
}

int perfetto_print(struct perfetto_packets *packets, struct stacks *stacks,
		   const struct address_space *space, uint64_t start_ns, uint64_t wall_ns,
		   struct out *out, struct error *err)
{
	struct interned interned = {
		.packets = packets, .stacks = stacks, .space = space, .out = out
	};
	struct spill_piece piece;
	uint64_t dumps = 0;
	int rc;

	rc = spill_sort_finish(&packets->sort, err);
	if (rc)
		return rc;
	put_clocks(packets, start_ns, wall_ns, out);
	for (size_t i = 0; i < packets->stack_list.count; i++)
		naming_expect(stacks->naming, packets->stack_list.items[i]);
	flush_interned(&interned);
	add_mapping(&interned, 1, "unknown", NULL);
	for (size_t i = 0; i < packets->stack_list.count; i++)
		add_stack(&interned, i + 1, packets->stack_list.items[i]);
	flush_interned(&interned);
	out_bytes(out, packets->head.bytes, packets->head.used);
	while ((rc = spill_sort_next(&packets->sort, &piece, err)) == 1) {
		unsigned char *number = (unsigned char *)piece.bytes + piece.size - NUMBER_SIZE;

		/*
		 * set the index of each dump, in the order of time, because programs that read the
		 * trace skip dumps whose index is out of order
		 */
		if (*piece.bytes == PIECE_DUMP) {
			for (unsigned i = 0; i < NUMBER_SIZE; i++)
				number[i] = (unsigned char)((dumps >> 7 * i & 0x7f) |
							    (i + 1 < NUMBER_SIZE ? 0x80 : 0));
			dumps++;
		}
		out_bytes(out, piece.bytes + 1, piece.size - 1);
	}
	map_clear(&interned.numbers);
	proto_free(&interned.data);
	return rc;
}
