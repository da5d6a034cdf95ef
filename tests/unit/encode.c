/* SPDX-License-Identifier: MIT */
/*
 * Compares packets with the protocol's description, byte by byte. Whole streams are tested by
 * tests/tools/decode-2.0 and decode-1.4, which share no code with the encoder.
 *
 *   encode [bench]
 */
#include "collect/encode.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROOM (4 * ENCODE_MOST)

static int tests, failures;
static uint8_t buffer[ROOM];

static void ok(bool good, const char *sentence)
{
	tests++;
	failures += !good;
	printf("%sok %d - %s\n", good ? "" : "not ", tests, sentence);
}

static uint32_t dword(size_t at)
{
	uint32_t value;

	memcpy(&value, buffer + at, 4);
	return value;
}

static uint64_t qword(size_t at)
{
	uint64_t value;

	memcpy(&value, buffer + at, 8);
	return value;
}

static void start(struct encoder *encoder, struct ticks *ticks, enum setting_protocol protocol)
{
	memset(buffer, 0xee, sizeof(buffer));
	ticks_measure(ticks, CONTROL_CLOCK_MONOTONIC);
	encode_init(encoder, buffer, ROOM, protocol, ticks);
	/* pretend that all classes are defined: these tests do not expect their packets */
	encoder->classes = UINT64_MAX;
}

/* Returns the offset of packet number `index`, from 0, in a buffer without a handshake. */
static size_t packet(const struct encoder *encoder, int index)
{
	size_t at = 0;

	while (index-- && at < encoder->used)
		at += 8 + dword(at + 4);
	/* an OCFG packet hides the packet */
	return at < encoder->used && !memcmp(buffer + at, "OCFG", 4) ? at + 16 : at;
}

static bool has_tag(size_t at, const char *tag)
{
	return !memcmp(buffer + at, tag, 4);
}

static void test_start(void)
{
	static const uint8_t handshake[] = { 0xf0, 0x0e, 2,   0, 6, 'x', '8', '6',
					     '_',  '6',	 '4', 0, 8, 0,	 0,   0 };
	struct encode_process process = { .pid = 42,
					  .name = "main",
					  .depth = 64,
					  .start = 5000000000,
					  .realtime_ns = 1000000000,
					  .session = { 1, 2 },
					  .parent_stream = WIRE_NO_STREAM };
	struct encoder encoder;
	struct ticks ticks;

	start(&encoder, &ticks, PROTOCOL_2_0);
	encode_start(&encoder, &process);
#ifdef __x86_64__
	ok(!memcmp(buffer, handshake, 16), "the handshake of 2.0 is that of the original");
#endif
	ok(has_tag(16, "PINF") && dword(24) == 42 && dword(28) == 6 && dword(32) == 0 &&
		   dword(36) == 64 && !memcmp(buffer + 40, "\6\0main\0\0", 8),
	   "PINF has pid, start, depth and name");
	ok(dword(48) == WIRE_TAIL_MARKER && qword(52) == 1 && qword(60) == 2,
	   "and behind them the marker of the tails, then the session");
	start(&encoder, &ticks, PROTOCOL_1_4);
	encode_start(&encoder, &process);
	ok(buffer[2] == 1 && buffer[3] == 4 && dword(20) == 24, "1.4 has another version, no tail");
}

static struct record_call *make_call(void *room)
{
	struct record_call *call = room;

	memset(call, 0, sizeof(*call));
	call->record.length = sizeof(*call);
	call->record.kind = RECORD_CALL;
	call->record.more = HOOK_malloc;
	call->enter = 1000000;
	call->leave = call->record.time = 3000000;
	call->object = 0x1122334455667788;
	call->size = 0x80000000;
	call->result = call->object;
	call->operation = OPERATION_ALLOC;
	call->moment = MOMENT_LEAVE;
	call->resource = RESOURCE_MEMORY;
	call->cpu = 3;
	return call;
}

static void put(struct encoder *encoder, const struct record_call *call, uint32_t frames)
{
	static const uint64_t addresses[ARENA_FRAMES_MAX] = { 1, 2, 3 };
	static const struct merge_thread thread = { .id = 7, .pthread = 8 };
	struct merge_event event = { .record = &call->record,
				     .time = call->record.time,
				     .thread = &thread,
				     .frames = addresses,
				     .frame_count = frames };

	encoder->used = 0;
	encode_event(encoder, &event);
}

static void test_call(void)
{
	uint64_t room[64];
	struct record_call *call = make_call(room);
	struct encoder encoder;
	struct ticks ticks;

	start(&encoder, &ticks, PROTOCOL_2_0);
	put(&encoder, call, 3);
	ok(has_tag(0, "CALL") && dword(8) == RESOURCE_MEMORY && dword(16) == 3 && dword(20) == 2 &&
		   !memcmp(buffer + 24, "\6\0malloc", 8) && dword(32) == 0x7fffffff &&
		   qword(36) == call->object,
	   "CALL: class, context, time, type, name, size that fits 31 bits, object");
	ok(buffer[44] == OPERATION_ALLOC && buffer[45] == MOMENT_LEAVE && dword(48) == 7 &&
		   dword(52) == 3 && qword(64) == 8 && qword(80) == 1000000 &&
		   qword(88) == 3000000 && qword(96) == 0x80000000 && dword(4) == 120,
	   "and its tail, with the size as it is");
	ok(has_tag(packet(&encoder, 1), "BTRC") && dword(packet(&encoder, 1) + 8) == 3 &&
		   qword(packet(&encoder, 1) + 12) == 1 && encoder.used == 128 + 12 + 24,
	   "then the backtrace, innermost first, and no ARGS where there are none");
	call->flags = CALL_FAILED;
	put(&encoder, call, 0);
	ok(has_tag(0, "OCFG") && dword(8) == 0 && dword(12) == 0 && has_tag(16, "CALL") &&
		   dword(4) == 8 + 8 + dword(20) && has_tag(24 + dword(20), "OCFG"),
	   "what neither gains nor loses is put aside, each packet for itself");
	ok(dword(24) == RESOURCE_EVENT && dword(36) == 0, "what failed gained nothing");
	call->flags = CALL_UNWOUND;
	put(&encoder, call, 0);
	ok(dword(36) == 0, "nor did what never returned");
	call->operation = OPERATION_FREE;
	put(&encoder, call, 0);
	ok(dword(8) == RESOURCE_MEMORY && dword(20) == 1, "but what was to be lost is lost");
	call->flags = 0;
	call->operation = OPERATION_WAIT;
	put(&encoder, call, 0);
	ok(dword(24) == RESOURCE_EVENT && dword(36) == 0, "a wait is an event");
	call->leave = 0;
	put(&encoder, call, 0);
	ok(qword(104) == 1000000, "a call that is half done left when it entered");
	call->record.time = 86400000000000;
	put(&encoder, call, 0);
	ok(dword(32) == 1, "midnight has a time, too");
}

static void test_classes(void)
{
	uint64_t room[64];
	struct record_call *call = make_call(room);
	struct encoder encoder;
	struct ticks ticks;

	start(&encoder, &ticks, PROTOCOL_2_0);
	encoder.classes = 0;
	put(&encoder, call, 0);
	ok(has_tag(0, "RESR") && dword(8) == RESOURCE_MEMORY &&
		   has_tag(packet(&encoder, 1), "CALL"),
	   "a class is registered when it is first used");
	put(&encoder, call, 0);
	ok(has_tag(0, "CALL"), "and once");
	call->flags = CALL_FAILED;
	put(&encoder, call, 0);
	ok(has_tag(0, "OCFG") && has_tag(16, "RESR") && dword(24) == RESOURCE_EVENT,
	   "that of what neither gains nor loses is put aside, too");
}

static void test_document(void)
{
	uint64_t room[64];
	struct record_call *call = make_call(room);
	struct encoder encoder;
	struct ticks ticks;

	start(&encoder, &ticks, PROTOCOL_1_4);
	put(&encoder, call, 0);
	ok(dword(8) == 3 && dword(12) == RESOURCE_MEMORY && dword(20) == 2 &&
		   qword(32) == call->object && dword(40) == 0x7fffffff && dword(4) == 36,
	   "1.4: time, class, context, type, name, object, size, and nothing else");
}

/* Makes a call of `hook`, followed by numbers and texts. */
static struct record_call *with_values(void *room, enum hook_number hook, uint32_t count,
				       const uint64_t *numbers, const char *text, uint32_t size)
{
	struct record_call *call = make_call(room);

	call->record.more = (uint16_t)hook;
	call->numbers = (uint8_t)count;
	call->text = (uint16_t)size;
	if (count)
		memcpy(call + 1, numbers, count * 8);
	if (size)
		memcpy((char *)(call + 1) + count * 8, text, size);
	return call;
}

static bool has_value(size_t at, const char *name, const char *value)
{
	uint8_t expected[256] = { 0 };
	size_t size = 0;

	for (int i = 0; i < 2; i++) {
		const char *text = i ? value : name;
		size_t length = strlen(text), padded = ((length + 2 + 3) & ~(size_t)3) - 2;

		if (!length)
			padded = 2;
		expected[size] = (uint8_t)padded;
		memcpy(expected + size + 2, text, length);
		size += 2 + padded;
	}
	for (size_t end = at + 8 + dword(at + 4); at + size <= end; at += 4)
		if (!memcmp(buffer + at, expected, size))
			return true;
	return false;
}

static void test_values(void)
{
	static const uint64_t open_numbers[] = { 0xdeadbeef, 0644 };
	static const uint64_t time[] = { 12, 5 };
	static const uint64_t least[] = { (uint64_t)INT64_MIN };
	uint64_t room[1024];
	struct encoder encoder;
	struct ticks ticks;
	char text[ARENA_TEXT_MAX];
	size_t at, second;

	start(&encoder, &ticks, PROTOCOL_2_0);
	put(&encoder, with_values(room, HOOK_open, 2, open_numbers, "/a b", 5), 0);
	at = packet(&encoder, 1);
	ok(has_tag(at, "ARGS") && dword(at + 8) == 3 && has_value(at, "path", "/a b") &&
		   has_value(at, "flags", "0xdeadbeef") && has_value(at, "mode", "0644"),
	   "texts, hexadecimal and octal numbers come in the order of the hook's row");
	put(&encoder, with_values(room, HOOK_sem_timedwait, 2, time, NULL, 0), 0);
	ok(has_value(packet(&encoder, 1), "until", "12.000000005"), "times have nine decimals");
	put(&encoder, with_values(room, HOOK_exit, 1, least, NULL, 0), 0);
	ok(has_value(packet(&encoder, 1), "status", "-9223372036854775808"),
	   "the least number has a sign");
	put(&encoder, with_values(room, HOOK_open, 1, open_numbers, "cut", 3), 0);
	ok(has_value(packet(&encoder, 1), "path", "cut") &&
		   has_value(packet(&encoder, 1), "mode", "0"),
	   "a record with too little in it is no harm");
	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = 0;
	put(&encoder, with_values(room, HOOK_open, 2, open_numbers, text, sizeof(text)), 0);
	at = packet(&encoder, 1);
	second = packet(&encoder, 2);
	ok(has_tag(at, "ARGS") && has_tag(second, "ARGS") && dword(at + 4) <= 4088 &&
		   has_tag(packet(&encoder, 3), "BTRC") &&
		   !memcmp(buffer + second + 12, "\6\0path+1", 8),
	   "a text too long for one packet goes on in the next");
	put(&encoder, with_values(room, HOOK_malloc, 0, NULL, NULL, 0), ARENA_FRAMES_MAX);
	at = packet(&encoder, 1);
	ok(dword(at + 8) == ARENA_FRAMES_MAX && dword(at + 4) <= 4088,
	   "the longest backtrace fits a packet");
}

static void test_whole(void)
{
	struct encoder encoder;
	struct ticks ticks;
	uint64_t room[64], calls;
	bool good = true;

	start(&encoder, &ticks, PROTOCOL_2_0);
	put(&encoder, make_call(room), 3);
	for (size_t size = 0; size <= encoder.used; size++) {
		size_t whole = encode_whole(buffer, encoder.used, size, &calls);

		good = good &&
		       whole == (size < 128   ? 0
				 : size < 164 ? 128u
					      : 164u) &&
		       calls == (size < 128);
	}
	ok(good, "a buffer is cut between packets, wherever the disk was full");
}

static void bench(uint32_t frames)
{
	uint64_t room[64], begin, count = 20000000;
	struct record_call *call = make_call(room);
	struct encoder encoder;
	struct ticks ticks;
	size_t size;

	start(&encoder, &ticks, PROTOCOL_2_0);
	ticks_measure(&ticks, CONTROL_CLOCK_COUNTER);
	ticks_begin(&ticks);
	begin = ticks_clock_ns();
	for (uint64_t i = 0; i < count; i++) {
		uint64_t now = ticks.lines[0].start + i * 100;

		call->enter = now;
		call->leave = call->record.time = now + 50;
		put(&encoder, call, frames);
	}
	size = encoder.used;
	printf("# %u frames: %.1f ns an event, %zu bytes\n", frames,
	       (double)(ticks_clock_ns() - begin) / (double)count, size);
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "bench")) {
		bench(0);
		bench(10);
		bench(30);
		return 0;
	}
	test_start();
	test_call();
	test_classes();
	test_document();
	test_values();
	test_whole();
	printf("1..%d\n", tests);
	return failures != 0;
}
