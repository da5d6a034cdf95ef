/* SPDX-License-Identifier: MIT */
#include "trace/decode.h"

#include <stdlib.h>

#include "tests/lib/tap.h"

static struct pool pool;
static uint64_t frames[DECODE_FRAMES_MAX];

/* Copies the bytes to a block of their size, so that a sanitizer detects an access past the end. */
static struct cursor cursor_over(const void *bytes, size_t size)
{
	static unsigned char *copy;

	free(copy);
	copy = malloc(size ? size : 1);
	if (!copy)
		exit(99);
	memcpy(copy, bytes, size);
	return (struct cursor){
		.at = copy, .end = copy + size, .pointer_size = 8, .pool = &pool, .frames = frames
	};
}

#define OVER(bytes) cursor_over(bytes, sizeof(bytes) - 1)

static void string_is(struct cursor cursor, const char *expected, const char *sentence)
{
	struct wire_library packet;

	if (decode_library(&cursor, 0, false, &packet) == DECODE_FAILED)
		ok_text("(refused)", expected, sentence);
	else
		ok_text(packet.name, expected, sentence);
}

static void string_tests(void)
{
	string_is(OVER("\6\0memory"), "memory", "a string without padding");
	string_is(OVER("\6\0free\0\0"), "free", "a string whose length counts its padding");
	string_is(OVER("\4\0free\0\0"), "free", "a string whose length does not");
	string_is(OVER("\0\0\0\0"), "", "the NULL string");
	string_is(OVER("\2\0\0\0"), "", "the empty string");
	string_is(OVER("\4\0free"), "free", "padding that is missing at the end");
	string_is(OVER("\6\0a\0bcde"), "a", "a NUL inside ends a string");
	string_is(OVER("\7\0memory"), "(refused)", "one byte more than there is");
	string_is(OVER("\377\377memory"), "(refused)", "65535 bytes that are not there");
	string_is(OVER("\1"), "(refused)", "half a length");
	string_is(OVER(""), "(refused)", "nothing at all");
}

static void list_tests(void)
{
	struct wire_backtrace backtrace;
	struct wire_arguments arguments;
	struct cursor cursor = OVER("\2\0\0\0\1\0\0\0\0\0\0\0\2\0\0\0\0\0\0\200");

	ok(decode_backtrace(&cursor, 0, false, &backtrace) != DECODE_FAILED &&
		   backtrace.frames.count == 2 && backtrace.frames.items[1] == 0x8000000000000002,
	   "two frames");
	cursor = OVER("\3\0\0\0\1\0\0\0\0\0\0\0\2\0\0\0\0\0\0\200");
	ok(decode_backtrace(&cursor, 0, false, &backtrace) == DECODE_FAILED,
	   "more frames than the packet holds");
	cursor = OVER("\377\377\377\377\1\0\0\0\0\0\0\0");
	ok(decode_backtrace(&cursor, 0, false, &backtrace) == DECODE_FAILED, "2^32 - 1 frames");
	cursor = OVER("\0\0\0\40\1\0\0\0\0\0\0\0");
	ok(decode_backtrace(&cursor, 0, false, &backtrace) == DECODE_FAILED,
	   "frames whose size in bytes wraps around");
	cursor = OVER("\1\0\0\0\2\0a\0\2\0b\0");
	ok(decode_arguments(&cursor, 0, false, &arguments) != DECODE_FAILED &&
		   arguments.list.count == 1 && !strcmp(arguments.list.items[0].value, "b"),
	   "one argument");
	cursor = OVER("\2\0\0\0\2\0a\0\2\0b\0");
	ok(decode_arguments(&cursor, 0, false, &arguments) == DECODE_FAILED,
	   "more arguments than the packet holds");
	cursor = OVER("\377\377\377\377\2\0a\0\2\0b\0");
	ok(decode_arguments(&cursor, 0, false, &arguments) == DECODE_FAILED, "2^32 - 1 arguments");
}

static void order_tests(void)
{
	struct wire_context context;
	struct wire_mapping mapping;
	struct wire_call call;
	struct cursor cursor = OVER("\0\0\0\1\0\2ab");

	cursor.is_swapped = true;
	ok(decode_context(&cursor, 0, false, &context) != DECODE_FAILED && context.id == 1 &&
		   !strcmp(context.name, "ab"),
	   "the other byte order");
	cursor = OVER("\1\0\0\0\2\0\0\0\2\0a\0");
	cursor.pointer_size = 4;
	ok(decode_mapping(&cursor, 0, true, &mapping) == DECODE_FIELDS && mapping.from == 1 &&
		   mapping.to == 2 && !strcmp(mapping.build_id, ""),
	   "small pointers, and no tail");
	cursor = OVER("\1\0\0\0\2\0\0\0\2\0a\0\1\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0\2\0b");
	cursor.pointer_size = 4;
	ok(decode_mapping(&cursor, 0, true, &mapping) == DECODE_FIELDS && mapping.code == 0,
	   "a tail that is cut is no tail");
	cursor = OVER("\7\0\0\0\1\0\0\0\3\0\0\0\2\0\0\0\2\0f\0\20\0\0\0\0\0\0\0\5\0\0\0");
	ok(decode_plain_call(&cursor, true, &call) != DECODE_FAILED && call.timestamp == 7 &&
		   call.resource == 1 && call.context == 3 && call.object == 16 && call.bytes == 5,
	   "CALL in the document's order");
	cursor = OVER("\1\0\0\0\3\0\0\0\7\0\0\0\2\0\0\0\2\0f\0\5\0\0\0\1\0\0\0\20\0\0\0\0\0\0\0");
	ok(decode_plain_call(&cursor, false, &call) != DECODE_FAILED && call.timestamp == 7 &&
		   call.resource == 1 && call.object == 16 && call.bytes == 0x100000005,
	   "CALL in sp-rtrace's order, with a size of 8 bytes");
}

int main(void)
{
	string_tests();
	list_tests();
	order_tests();
	pool_free(&pool);
	return tap_end();
}
