/* SPDX-License-Identifier: MIT */
#include "collect/encode.h"

#include "collect/packet.h"
#include "hook_table.h"
#include "machine.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#define DAY_MS 86400000u
#define MS_NS  1000000u
/* maximum bytes of a value's name; names of hooks' arguments are much shorter */
#define VALUE_NAME_MAX 48
/* maximum bytes of a path: an MMAP packet cannot be divided into parts */
#define PATH_CLIP 3800
/* a bit that is set in every key of struct encode_kind, so that no key is 0 */
#define KIND_KNOWN (1u << 7)
/* offset of the name in a CALL packet: after the header, four dwords and the name's length */
#define CALL_NAME_TEXT (WIRE_HEADER_SIZE + 18)

/* Writes a CALL packet as the document BINARY_PROTOCOL 1.4 describes it. */
static uint8_t *put_call_1_4(uint8_t *at, const struct encode_packet_call *packet)
{
	uint8_t *start = at;

	at = put_dword(at, WIRE_TAG("CALL")) + 4;
	at = put_dword(at, packet->timestamp);
	at = put_dword(at, packet->resource);
	at = put_dword(at, packet->context);
	at = put_dword(at, packet->type);
	at = put_string(at, packet->function);
	at = put_pointer(at, packet->object);
	at = put_dword(at, packet->size);
	put_dword(start + 4, (uint32_t)(at - start) - WIRE_HEADER_SIZE);
	return at;
}

/* ---- packets that are passed to the encoder of an .htr ---- */

/* Returns the size of a handshake, a packet, or all packets of one call (which sets *is_call). */
static size_t piece_size(const uint8_t *bytes, size_t left, bool *is_call)
{
	size_t size = 0;
	uint32_t tag, length;

	*is_call = false;
	if (bytes[0] == WIRE_HANDSHAKE)
		return bytes[1] + 2u;
	do {
		memcpy(&tag, bytes + size, 4);
		memcpy(&length, bytes + size + 4, 4);
		size += WIRE_HEADER_SIZE + length;
		*is_call |= tag == WIRE_TAG("CALL");
	} while (*is_call && tag != WIRE_TAG("BTRC") && size < left);
	return size;
}

void encode_hand_over(struct htr *htr, const uint8_t *bytes, size_t size)
{
	while (size) {
		bool is_call;
		size_t piece = piece_size(bytes, size, &is_call);

		htr_packets(htr, bytes, piece, is_call);
		bytes += piece;
		size -= piece;
	}
}

static inline void hand_over(struct encoder *encoder)
{
	if (!encoder->htr || !encoder->used)
		return;
	encode_hand_over(encoder->htr, encoder->buffer, encoder->used);
	encoder->used = 0;
}

/* ---- start of a stream ---- */

/* The names of hooks, encoded as strings of CALL. They are the same for all streams. */
static struct name {
	uint8_t bytes[64];
	uint32_t size;
} names[HOOK_COUNT];

void encode_init(struct encoder *encoder, void *buffer, size_t room, enum setting_protocol protocol,
		 const struct ticks *ticks)
{
	memset(encoder, 0, sizeof(*encoder));
	encoder->buffer = buffer;
	encoder->room = room;
	encoder->tails = protocol == PROTOCOL_2_0;
	encoder->ticks = ticks;
	encoder->timestamp = 1;
	for (int i = 0; i < HOOK_COUNT && !names[HOOK_COUNT - 1].size; i++)
		names[i].size =
			lay_out(names[i].bytes, hook_table[i].name, strlen(hook_table[i].name));
}

static uint8_t *put_handshake(uint8_t *at, uint32_t machine, bool tails)
{
	const char *name = machine_name(machine);
	struct utsname own;
	size_t length, size;

	if (!name)
		name = uname(&own) < 0 ? "unknown" : own.machine;
	length = strlen(name);
	size = (7 + length + 3) & ~(size_t)3;
	memset(at, 0, size);
	at[0] = WIRE_HANDSHAKE;
	at[1] = (uint8_t)(size - 2);
	at[2] = tails ? WIRE_MAJOR : 1;
	at[3] = tails ? WIRE_MINOR : 4;
	at[4] = (uint8_t)length;
	memcpy(at + 5, name, length);
	at[5 + length] = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
	at[6 + length] = sizeof(uintptr_t);
	return at + size;
}

static struct wire_text text_of(uint8_t *room, const char *text, size_t most)
{
	size_t length = strlen(text);

	return (struct wire_text){ room, lay_out(room, text, length < most ? length : most) };
}

/* Encodes a text of a record. The text may lack its NUL. `room`: a buffer of 256 bytes. */
static struct wire_text text_in(uint8_t *room, const char *text, size_t size)
{
	size_t length = strnlen(text, size);

	return (struct wire_text){ room, lay_out(room, text, length < 250 ? length : 250) };
}

void encode_start(struct encoder *encoder, const struct encode_process *process)
{
	uint8_t name[256];
	uint64_t start_ns = ticks_ns(encoder->ticks, process->start);
	uint64_t start = start_ns + process->realtime_ns;
	uint8_t *at = encoder->buffer + encoder->used;
	struct encode_packet_process packet = {
		.pid = (uint32_t)process->pid,
		.seconds = (uint32_t)(start / 1000000000),
		.microseconds = (uint32_t)(start % 1000000000 / 1000),
		.depth = process->depth,
		.name = text_of(name, process->name, 250),
		.marker = WIRE_TAIL_MARKER,
		.session_low = process->session[0],
		.session_high = process->session[1],
		.stream = process->stream,
		.parent_stream = process->parent_stream,
		.parent_pid = (uint32_t)process->parent_pid,
		.start_ns = start_ns,
		.realtime_ns = process->realtime_ns,
	};

	at = put_handshake(at, process->machine, encoder->tails);
	at = put_process(at, &packet, encoder->tails);
	at = put_tracer(at,
			&(struct encode_packet_tracer){ .id = 0,
							.version = process->version,
							.name = text_of(name, "holdtrace", 250) },
			encoder->tails);
	encoder->used = (size_t)(at - encoder->buffer);
	hand_over(encoder);
}

void encode_to(struct encoder *encoder, struct htr *htr)
{
	encoder->htr = htr;
	memset(encoder->functions, 0, sizeof(encoder->functions));
	memset(encoder->arguments, 0, sizeof(encoder->arguments));
	memset(encoder->kinds, 0, sizeof(encoder->kinds));
}

/* Registers a class of resources when it is first used. */
static void register_class(struct encoder *encoder, uint32_t id)
{
	uint8_t type[64], description[256], *start = encoder->buffer + encoder->used, *at;
	struct encode_packet_resource packet = { .id = id };

	encoder->classes |= UINT64_C(1) << id;
	if (id && id < RESOURCE_COUNT) {
		packet.flags = resource_table[id].flags;
		packet.type = text_of(type, resource_table[id].type, 58);
		packet.description = text_of(description, resource_table[id].description, 250);
		at = put_resource(start, &packet, encoder->tails);
		/* this class is hidden from programs that read the sp-rtrace format */
		if (id == RESOURCE_EVENT && encoder->tails && !encoder->htr)
			at = aside_wrap(start, at);
		encoder->used = (size_t)(at - encoder->buffer);
	}
	hand_over(encoder);
}

inline_ void use_class(struct encoder *encoder, uint32_t id)
{
	if (__builtin_expect(id < 64 && !(encoder->classes >> id & 1), 0))
		register_class(encoder, id);
}

/* ---- values ---- */

/* Writes the digits of a number so that they end before `end`. Returns the first digit. */
inline_ char *digits(char *end, uint64_t value, unsigned base)
{
	do {
		*--end = "0123456789abcdef"[value % base];
		value /= base;
	} while (value);
	return end;
}

static char *format_number(char *end, enum argument_kind kind, uint64_t value)
{
	char *at;

	if (kind == ARGUMENT_HEX) {
		at = digits(end, value, 16);
		*--at = 'x';
		*--at = '0';
	} else if (kind == ARGUMENT_OCTAL) {
		at = digits(end, value, 8);
		if (value)
			*--at = '0';
	} else if ((int64_t)value < 0) {
		at = digits(end, 0 - value, 10);
		*--at = '-';
	} else {
		at = digits(end, value, 10);
	}
	return at;
}

/* The arguments of a call: numbers, then texts, each in the order of the hook's row. */
struct raw_values {
	const uint64_t *numbers;
	uint32_t number_count;
	const char *text, *text_end;
};

static uint64_t next_number(struct raw_values *raw)
{
	if (!raw->number_count)
		return 0;
	raw->number_count--;
	return *raw->numbers++;
}

static void put_argument(struct values *values, const struct hook_argument *argument,
			 struct raw_values *raw)
{
	char room[64], *end = room + sizeof(room), *at;

	if (argument->kind == ARGUMENT_TEXT) {
		size_t length = strnlen(raw->text, (size_t)(raw->text_end - raw->text));

		values_put_text(values, argument->name, raw->text, length);
		raw->text += length;
		if (raw->text < raw->text_end)
			raw->text++;
		return;
	}
	if (argument->kind == ARGUMENT_TIME) {
		uint64_t seconds = next_number(raw), ns = next_number(raw);

		at = digits(end, ns < 1000000000 ? ns : 999999999, 10);
		while (end - at < 9)
			*--at = '0';
		*--at = '.';
		at = format_number(at, ARGUMENT_DECIMAL, seconds);
	} else {
		at = format_number(end, argument->kind, next_number(raw));
	}
	values_put(values, argument->name, strlen(argument->name), at, (size_t)(end - at));
}

static struct raw_values values_at(const uint64_t *values, uint32_t numbers, uint32_t text)
{
	const char *texts = (const char *)(values + numbers);

	return (struct raw_values){ values, numbers, texts, texts + text };
}

static struct raw_values values_of(const struct record_call *call)
{
	return values_at((const uint64_t *)(call + 1), call->numbers, call->text);
}

static __attribute__((noinline)) uint8_t *put_new_values(struct encoder *encoder, uint8_t *at,
							 uint16_t number, struct raw_values raw,
							 struct htr *htr)
{
	const struct hook *hook = &hook_table[number];
	struct values values = { .htr = htr, .at = at, .end = encoder->buffer + encoder->room };

	for (int i = 0; i < HOOK_ARGUMENTS_MAX && hook->arguments[i].name; i++) {
		values.known = &encoder->arguments[number][i];
		put_argument(&values, &hook->arguments[i], &raw);
	}
	values_end(&values);
	return values.at;
}

/* Writes the arguments as packets at `at`; if `htr` is not NULL, passes them to `htr` instead. */
inline_ uint8_t *put_call_values(struct encoder *encoder, uint8_t *at, uint16_t number,
				 struct raw_values raw, struct htr *htr)
{
	if (htr && htr_arguments_again(htr, number | raw.number_count << 16, raw.numbers,
				       (size_t)(raw.text_end - (const char *)raw.numbers)))
		return at;
	return put_new_values(encoder, at, number, raw, htr);
}

/* ---- events ---- */

/* Returns CLOCK_MONOTONIC in ms modulo a day. Never returns 0, which means "no timestamp". */
inline_ uint32_t timestamp(struct encoder *encoder, uint64_t ns)
{
	uint64_t ms;

	if (__builtin_expect(ns - encoder->ms_start < MS_NS, 1))
		return encoder->timestamp;
	ms = ns / MS_NS;
	encoder->ms_start = ms * MS_NS;
	encoder->timestamp = (uint32_t)(ms % DAY_MS);
	if (!encoder->timestamp)
		encoder->timestamp = 1;
	return encoder->timestamp;
}

/*
 * Returns the type of a call: whether it allocates or frees an object. A call that failed does
 * neither, nor does a call that an exception ended before it acquired the object.
 */
inline_ uint32_t call_type(uint8_t operation, uint8_t flags)
{
	enum effect effect = EFFECT_NEITHER;

	if (operation < OPERATION_COUNT)
		effect = operation_table[operation].effect;
	if (flags & (CALL_FAILED | CALL_OF_CHILD))
		return CALL_TYPE_NONE;
	if (effect == EFFECT_ACQUIRES)
		return flags & CALL_UNWOUND ? CALL_TYPE_NONE : CALL_TYPE_ALLOC;
	return effect == EFFECT_RELEASES ? CALL_TYPE_FREE : CALL_TYPE_NONE;
}

inline_ uint8_t *put_any_call(const struct encoder *encoder, uint8_t *at,
			      const struct encode_packet_call *packet)
{
	return encoder->tails ? put_call(at, packet, true) : put_call_1_4(at, packet);
}

inline_ uint8_t *put_frames(uint8_t *at, const uint64_t *frames, uint32_t count)
{
	struct encode_packet_backtrace packet = { .frames = { .count = count, .items = frames } };

	if (packet.frames.count > WIRE_FRAMES_MAX)
		packet.frames.count = WIRE_FRAMES_MAX;
	return put_backtrace(at, &packet, true);
}

/* Returns the number that the htr (the writer of the .htr file) has given to a hook's function. */
inline_ uint32_t function_of(struct encoder *encoder, uint16_t hook)
{
	uint32_t *function = &encoder->functions[hook];
	const char *name = hook_table[hook].name;

	if (__builtin_expect(!*function, 0))
		*function = htr_function(encoder->htr, name, strlen(name)) + 1;
	return *function - 1;
}

static bool put_htr_call(struct encoder *encoder, const struct merge_event *event,
			 const struct encode_packet_call *packet)
{
	const struct record_call *call = (const struct record_call *)event->record;
	struct htr_event one = { .call = packet,
				 .function = function_of(encoder, call->record.more),
				 .has_arguments = call->numbers || call->text,
				 .frames = event->frames,
				 .frame_count = event->frame_count };

	if (!htr_event(encoder->htr, &one))
		return false;
	if (one.has_arguments)
		put_call_values(encoder, NULL, call->record.more, values_of(call), encoder->htr);
	return true;
}

/* Ends an event at `at`. is_aside: hides the event from programs that read the sp-rtrace format. */
static void end_event(struct encoder *encoder, uint8_t *at, bool is_aside)
{
	if (is_aside && !encoder->htr)
		at = aside_wrap(encoder->buffer + encoder->used, at);
	encoder->used = (size_t)(at - encoder->buffer);
}

/* Combines the facts that kind_of() uses, except the error, into one number. */
inline_ uint64_t kind_key(const struct fast_call *fast)
{
	return (fast->record->form & (SHORT_OPERATION | SHORT_LEAVES)) |
	       fast->record->resource << 8 | fast->model->flags << 16 |
	       (uint64_t)fast->model->context << 32 | KIND_KNOWN;
}

/*
 * Returns the kind of a call: facts that calls with the same key have in common. The first such
 * call creates the kind. Returns NULL if the .htr block is full.
 */
static struct htr_kind *kind_of(struct encoder *encoder, const struct fast_call *fast, uint64_t key)
{
	const struct record_short *record = fast->record;
	struct encode_kind *known = &encoder->kinds[record->record.more][fast->part];
	struct encode_packet_call packet;
	uint32_t type;

	if (__builtin_expect(known->key == key, 1))
		return &known->kind;
	if (htr_is_full(encoder->htr))
		return NULL;
	type = call_type(fast_operation(fast), fast_flags(fast));
	packet = (struct encode_packet_call){
		.resource = type && record->resource ? record->resource : RESOURCE_EVENT,
		.context = fast->model->context,
		.type = type,
		.what = { .operation = fast_operation(fast),
			  .moment = fast_moment(fast),
			  .part = fast->part,
			  .bits = fast_flags(fast) },
		.error = fast_error(fast),
	};
	encoder->is_called[record->record.more] = true;
	use_class(encoder, packet.resource);
	htr_make_kind(&known->kind, &packet, function_of(encoder, record->record.more));
	known->key = key;
	return &known->kind;
}

/* Returns the duration of a call: as for whole records, the difference of two times in ns. */
inline_ uint64_t lasted_ns(const struct ticks *ticks, const struct fast_call *fast,
			   uint64_t time_ns)
{
	uint64_t time = fast->record->record.time;
	uint32_t lasted = fast->more->lasted;

	return fast->record->form & SHORT_LEAVES ? time_ns - ticks_ns(ticks, time - lasted)
						 : ticks_ns(ticks, time + lasted) - time_ns;
}

/* encode_fast() for the first call of a kind, and calls with a duration, arguments or an error. */
static __attribute__((noinline)) bool encode_more(struct encoder *encoder,
						  const struct fast_call *fast)
{
	const struct short_more *more = fast->more;
	struct htr_kind *kind =
		kind_of(encoder, fast, kind_key(fast) | (uint64_t)fast_error(fast) << 24);
	uint64_t time_ns = ticks_ns(encoder->ticks, fast->record->record.time);

	if (!kind || !htr_fast(encoder->htr, kind, fast, time_ns,
			       more ? lasted_ns(encoder->ticks, fast, time_ns) : 0))
		return false;
	if (fast_has_arguments(fast))
		put_call_values(encoder, NULL, fast->record->record.more,
				values_at(fast->values, more->numbers, more->text), encoder->htr);
	return true;
}

bool encode_fast(struct encoder *encoder, const struct fast_call *fast)
{
	struct encode_kind *kind = &encoder->kinds[fast->record->record.more][fast->part];

	if (__builtin_expect(!encoder->htr, 0))
		return false;
	if (__builtin_expect(fast->more || kind->key != kind_key(fast), 0))
		return encode_more(encoder, fast);
	return htr_fast(encoder->htr, &kind->kind, fast,
			ticks_ns(encoder->ticks, fast->record->record.time), 0);
}

static void encode_call(struct encoder *encoder, const struct merge_event *event)
{
	const struct record_call *call = (const struct record_call *)event->record;
	const struct ticks *ticks = encoder->ticks;
	uint64_t time_ns = ticks_ns(ticks, event->time);
	uint64_t enter_ns = call->enter == event->time ? time_ns : ticks_ns(ticks, call->enter);
	uint32_t type = call_type(call->operation, call->flags);
	uint8_t flags = call->flags & (uint8_t)~RECORD_ASIDE;
	uint8_t *at = encoder->buffer + encoder->used;
	const struct name *name;
	struct encode_packet_call packet;

	encoder->is_called[call->record.more] = true;
	name = &names[call->record.more];
	packet = (struct encode_packet_call){
		.resource = type && call->resource ? call->resource : RESOURCE_EVENT,
		.context = call->context,
		.timestamp = timestamp(encoder, time_ns),
		.type = type,
		.function = { name->bytes, name->size },
		.size = call->size > INT32_MAX ? INT32_MAX : (uint32_t)call->size,
		.object = call->object,
		.what = { .operation = call->operation,
			  .moment = call->moment == MOMENT_SPLIT ? MOMENT_LEAVE : call->moment,
			  .part = call->part,
			  .bits = event->late ? flags | CALL_LATE : flags },
		.thread = (uint32_t)event->thread->id,
		.cpu = (uint32_t)call->cpu,
		.depth = call->depth,
		.error = (uint32_t)call->error,
		.pthread = event->thread->pthread,
		.call = call->call,
		.enter_ns = enter_ns,
		.leave_ns = call->leave && call->leave != call->enter ? ticks_ns(ticks, call->leave)
								      : enter_ns,
		.bytes = call->size,
		.related = call->related,
		.result = call->result,
		.frame = call->frame,
	};
	/* realloc() and the like make two events; in the first event, `related` was freed */
	if (event->is_moved_part) {
		packet.type = CALL_TYPE_FREE;
		packet.object = packet.related;
		packet.related = packet.result = packet.size = packet.bytes = 0;
		packet.what.operation = OPERATION_FREE;
		packet.what.moment = MOMENT_ENTER;
		packet.what.part = RECORD_MOVED_PART;
	}
	use_class(encoder, packet.resource);
	at = encoder->buffer + encoder->used;
	if (encoder->htr && put_htr_call(encoder, event, &packet))
		return;
	at = put_any_call(encoder, at, &packet);
	/*
	 * Protocol 1.4 follows its document, which puts the arguments after the backtrace. The
	 * published readers expect the arguments first, as protocol 2.0 has them.
	 */
	if (!encoder->tails)
		at = put_frames(at, event->frames, event->frame_count);
	if (call->numbers || call->text)
		at = put_call_values(encoder, at, call->record.more, values_of(call), NULL);
	if (encoder->tails)
		at = put_frames(at, event->frames, event->frame_count);
	end_event(encoder, at, encoder->tails && packet.type == CALL_TYPE_NONE);
}

/* Writes the CALL packet of a note, with the facts of the open call that the note is about. */
static uint8_t *put_note_call(struct encoder *encoder, uint8_t *at, const struct encode_note *note)
{
	uint8_t name[64];
	uint64_t time_ns = ticks_ns(encoder->ticks, note->time);
	const struct arena_open *open = note->open;
	struct encode_packet_call packet = {
		.resource = RESOURCE_EVENT,
		.timestamp = timestamp(encoder, time_ns),
		.type = CALL_TYPE_NONE,
		.function = text_of(name, note->name, 58),
		.what = { .moment = MOMENT_LEAVE },
		.cpu = UINT32_MAX,
		.enter_ns = time_ns,
		.leave_ns = time_ns,
	};

	if (note->thread) {
		packet.thread = (uint32_t)note->thread->id;
		packet.pthread = note->thread->pthread;
	}
	if (open) {
		packet.object = open->object;
		packet.related = open->related;
		packet.enter_ns = ticks_ns(encoder->ticks, open->enter);
		packet.call = open->call;
		packet.frame = open->frame;
		packet.depth = note->depth;
		packet.what.operation =
			open->hook < HOOK_COUNT ? (uint8_t)hook_table[open->hook].operation : 0;
		packet.what.bits = CALL_OPEN;
	}
	return put_any_call(encoder, at, &packet);
}

void encode_note(struct encoder *encoder, const struct encode_note *note)
{
	struct values values = { .end = encoder->buffer + encoder->room };

	/* the document BINARY_PROTOCOL 1.4 defines no notes, so only protocol 2.0 has them */
	if (!encoder->tails)
		return;
	use_class(encoder, RESOURCE_EVENT);
	values.at = put_note_call(encoder, encoder->buffer + encoder->used, note);
	for (uint32_t i = 0; i < note->count; i++)
		values_put_text(&values, note->values[i].name, note->values[i].value,
				strlen(note->values[i].value));
	values_end(&values);
	end_event(encoder, put_frames(values.at, note->frames, note->frame_count), true);
	hand_over(encoder);
}

/* Returns the next text of a record and moves *at past it. The text may lack its NUL. */
static const char *next_text(const char **at, const char *end, size_t *length)
{
	const char *text = *at;

	*length = strnlen(text, (size_t)(end - text));
	*at = text + *length < end ? text + *length + 1 : end;
	return text;
}

static void encode_record_note(struct encoder *encoder, const struct merge_event *event)
{
	const struct record_note *record = (const struct record_note *)event->record;
	const char *text = (const char *)(record + 1), *end = text + record->text;
	struct values values = { .end = encoder->buffer + encoder->room };
	char name[VALUE_NAME_MAX + 1];
	size_t length;
	struct encode_note note = { .name = name, .thread = event->thread, .time = event->time };
	const char *first = next_text(&text, end, &length);

	if (!encoder->tails)
		return;
	use_class(encoder, RESOURCE_EVENT);
	snprintf(name, sizeof(name), "%.*s", (int)length, first);
	values.at = put_note_call(encoder, encoder->buffer + encoder->used, &note);
	for (uint32_t i = 0; i < record->record.more && text < end; i++) {
		const char *found = next_text(&text, end, &length);
		const char *value;

		snprintf(name, sizeof(name), "%.*s", (int)length, found);
		value = next_text(&text, end, &length);
		values_put_text(&values, name, value, length);
	}
	values_end(&values);
	end_event(encoder, put_frames(values.at, NULL, 0), true);
}

static void encode_module(struct encoder *encoder, const struct record_module *record)
{
	const char *path = (const char *)(record + 1);
	const uint8_t *id = (const uint8_t *)path + record->path_size;
	uint8_t path_room[PATH_CLIP + 8], id_room[160];
	char hex[129];
	size_t count = record->build_id_size < 64 ? record->build_id_size : 64;
	size_t length = strnlen(path, record->path_size);
	uint8_t *at = encoder->buffer + encoder->used;
	struct encode_packet_mapping packet = { .from = record->base,
						.to = record->end,
						.code = record->start,
						.offset = record->offset };

	if (length > PATH_CLIP)
		length = PATH_CLIP;
	for (size_t i = 0; i < count; i++) {
		hex[2 * i] = "0123456789abcdef"[id[i] >> 4];
		hex[2 * i + 1] = "0123456789abcdef"[id[i] & 15];
	}
	packet.path = (struct wire_text){ path_room, lay_out(path_room, path, length) };
	packet.build_id = (struct wire_text){ id_room, lay_out(id_room, hex, 2 * count) };
	at = put_mapping(at, &packet, encoder->tails);
	encoder->used = (size_t)(at - encoder->buffer);
}

static void encode_context(struct encoder *encoder, const struct record_name *record)
{
	const char *text = (const char *)(record + 1);
	uint8_t name[256];
	struct encode_packet_context packet = {
		.id = record->id,
		.name = text_in(name, text, record->name_size),
	};
	uint8_t *at = put_context(encoder->buffer + encoder->used, &packet, encoder->tails);

	encoder->used = (size_t)(at - encoder->buffer);
}

static void encode_class(struct encoder *encoder, const struct record_name *record)
{
	const char *text = (const char *)(record + 1);
	uint8_t type[256], description[256];
	struct encode_packet_resource packet = {
		.id = record->id,
		.flags = record->flags,
		.type = text_in(type, text, record->name_size),
		.description =
			text_in(description, text + record->name_size, record->description_size),
	};
	uint8_t *at;

	/* numbers below RESOURCE_COUNT are holdtrace's; readers accept at most RESOURCES_MAX */
	if (record->id < RESOURCE_COUNT || record->id > RESOURCES_MAX)
		return;
	at = put_resource(encoder->buffer + encoder->used, &packet, encoder->tails);
	encoder->used = (size_t)(at - encoder->buffer);
}

static void encode_heap(struct encoder *encoder, const struct record_heap *record)
{
	uint64_t size = record->top > record->bottom ? record->top - record->bottom : 0;
	struct encode_packet_heap packet = {
		.bottom = record->bottom,
		.top = record->top,
		.arena = size > UINT32_MAX ? UINT32_MAX : (uint32_t)size,
	};
	uint8_t *at = put_heap(encoder->buffer + encoder->used, &packet, encoder->tails);

	encoder->used = (size_t)(at - encoder->buffer);
}

void encode_event(struct encoder *encoder, const struct merge_event *event)
{
	const struct record_functions *functions;

	switch ((enum record_kind)event->record->kind) {
	case RECORD_CALL:
		encode_call(encoder, event);
		break;
	case RECORD_NOTE:
		encode_record_note(encoder, event);
		break;
	case RECORD_MODULE:
		encode_module(encoder, (const struct record_module *)event->record);
		break;
	case RECORD_HEAP:
		encode_heap(encoder, (const struct record_heap *)event->record);
		break;
	case RECORD_CONTEXT:
		encode_context(encoder, (const struct record_name *)event->record);
		break;
	case RECORD_CLASS:
		encode_class(encoder, (const struct record_name *)event->record);
		break;
	case RECORD_FUNCTIONS:
		functions = (const struct record_functions *)event->record;
		for (uint32_t i = 0; i < functions->count && i < HOOK_COUNT; i++)
			encoder->addresses[i] = ((const uint64_t *)(functions + 1))[i];
		break;
	case RECORD_SHORT: /* already expanded to RECORD_CALL */
	case RECORD_PAD:
	case RECORD_THREAD:
		break;
	}
	hand_over(encoder);
}

size_t encode_whole(const uint8_t *buffer, size_t used, size_t size, uint64_t *calls)
{
	size_t at = used && buffer[0] == WIRE_HANDSHAKE ? buffer[1] + 2u : 0;
	size_t whole = at <= size ? at : 0;

	*calls = 0;
	while (at + WIRE_HEADER_SIZE <= used) {
		const uint8_t *packet = buffer + at;
		uint32_t tag, length;

		memcpy(&length, packet + 4, 4);
		at += WIRE_HEADER_SIZE + length;
		if (at <= size)
			whole = at;
		packet = aside_packet(packet, used - (size_t)(packet - buffer));
		memcpy(&tag, packet, 4);
		if (at > size && tag == WIRE_TAG("CALL"))
			*calls += packet[CALL_NAME_TEXT] != WIRE_NOTE_PREFIX;
	}
	return whole;
}
