/* SPDX-License-Identifier: MIT */
/*
 * Writes a binary stream from lines on standard input, so that tests of writers need no tracer:
 *
 *   stream PID REALTIME_NS [KEY=VALUE]...   handshake, PINF, classes; plain=1: without tails,
 *                                           big=1: in big-endian order
 *   map CODE END PATH                       MMAP
 *   call THREAD PTHREAD NUMBER DEPTH ENTER LEAVE FUNCTION [KEY=VALUE]...
 *                                           CALL and BTRC; keys: object, related, part, moment,
 *                                           flags, class, type (1 free, 2 alloc), error, ip
 *                                           (0: no frame); any other is an argument
 *   note NAME THREAD PTHREAD TIME [KEY=VALUE]...
 *                                           a ~ call; keys as above and number, enter
 *   bulk THREADS CALLS                      many calls, nested up to three deep
 *
 * Numbers are as strtoull(3) reads them. Blanks end words; # begins a comment line.
 */
#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "terms.h"
#include "wire.h"

#define WORDS_MAX 40

static bool is_big, is_plain;
static unsigned char packet[1 << 16], *at;

static void put_dword(uint32_t value)
{
	value = is_big ? htobe32(value) : htole32(value);
	memcpy(at, &value, 4);
	at += 4;
}

static void put_qword(uint64_t value)
{
	value = is_big ? htobe64(value) : htole64(value);
	memcpy(at, &value, 8);
	at += 8;
}

static void put_pointer(uint64_t value)
{
	put_qword(value);
}

static void put_string(const char *text)
{
	size_t length = text ? strlen(text) : 0, size = (length + 5) & ~(size_t)3;
	uint16_t count = (uint16_t)(size - 2);

	memset(at, 0, size);
	count = is_big ? htobe16(count) : htole16(count);
	memcpy(at, &count, 2);
	if (length)
		memcpy(at + 2, text, length);
	at += size;
}

static void put_flags(struct wire_flags value)
{
	memcpy(at, &value, 4);
	at += 4;
}

static void put_values(struct wire_values values)
{
	put_dword(values.count);
	for (uint32_t i = 0; i < values.count; i++) {
		put_string(values.items[i].name);
		put_string(values.items[i].value);
	}
}

static void put_addresses(struct wire_addresses addresses)
{
	put_dword(addresses.count);
	for (uint32_t i = 0; i < addresses.count; i++)
		put_pointer(addresses.items[i]);
}

static void begin_packet(uint32_t tag)
{
	at = packet;
	put_dword(tag);
	put_dword(0);
}

static void end_packet(void)
{
	unsigned char *end = at;

	at = packet + 4;
	put_dword((uint32_t)(end - packet) - WIRE_HEADER_SIZE);
	fwrite(packet, 1, (size_t)(end - packet), stdout);
}

#define PACKET(name, tag, description)                                                     \
	static __attribute__((unused)) void write_##name(const struct wire_##name *fields) \
	{                                                                                  \
		begin_packet(WIRE_TAG(#tag));
#define FIELD(kind, name, description) put_##kind(fields->name);
#define TAIL(kind, name, description) \
	if (!is_plain)                \
		put_##kind(fields->name);
#define PACKET_END(name) \
	end_packet();    \
	}
#include "wire.def"

static uint64_t number(const char *text)
{
	return text ? strtoull(text, NULL, 0) : 0;
}

/* The value of KEY=VALUE among words, or NULL. */
static const char *value_of(char **words, const char *key)
{
	size_t length = strlen(key);

	for (; *words; words++)
		if (!strncmp(*words, key, length) && (*words)[length] == '=')
			return *words + length + 1;
	return NULL;
}

static void write_stream(char **words)
{
	static const char *const types[] = {
		NULL,
#define RESOURCE(name, type, flags, description) type,
#include "resources.def"
#undef RESOURCE
	};
	static const unsigned char arch[] = "x86_64";
	unsigned char handshake[16] = { WIRE_HANDSHAKE, 14, WIRE_MAJOR, WIRE_MINOR, 6 };
	struct wire_process process = { .pid = (uint32_t)number(words[1]),
					.depth = 10,
					.name = "generated",
					.marker = WIRE_TAIL_MARKER,
					.parent_stream = WIRE_NO_STREAM,
					.realtime_ns = number(words[2]) };

	is_big = value_of(words, "big") != NULL;
	is_plain = value_of(words, "plain") != NULL;
	memcpy(handshake + 5, arch, 6);
	handshake[11] = is_big;
	handshake[12] = 8;
	fwrite(handshake, 1, sizeof(handshake), stdout);
	write_process(&process);
	for (uint32_t i = 1; i < RESOURCE_COUNT; i++)
		write_resource(
			&(struct wire_resource){ .id = i, .type = types[i], .description = "" });
}

static void write_map(char **words)
{
	uint64_t code = number(words[1]);

	write_mapping(&(struct wire_mapping){ .from = code - 0x1000,
					      .to = number(words[2]),
					      .path = words[3],
					      .code = code,
					      .offset = 0x1000,
					      .build_id = "" });
}

static void fill_call(struct wire_call *call, char **words)
{
	const char *class = value_of(words, "class");

	call->resource = class ? (uint32_t)number(class) : RESOURCE_EVENT;
	call->timestamp = (uint32_t)(call->enter_ns / 1000000 + 1);
	call->object = number(value_of(words, "object"));
	call->related = number(value_of(words, "related"));
	call->what.part = (uint8_t)number(value_of(words, "part"));
	call->what.bits = (uint8_t)number(value_of(words, "flags"));
	call->type = (uint32_t)number(value_of(words, "type"));
	call->error = (uint32_t)number(value_of(words, "error"));
	call->what.moment = MOMENT_LEAVE;
	if (value_of(words, "moment"))
		call->what.moment =
			!strcmp(value_of(words, "moment"), "half") ? MOMENT_HALF : MOMENT_ENTER;
}

static void write_frame(char **words)
{
	uint64_t ip = number(value_of(words, "ip"));

	write_backtrace(&(struct wire_backtrace){ .frames = { .count = ip != 0, .items = &ip } });
}

/* What is no key of ours is an argument. */
static void write_values(char **words)
{
	static const char *const own[] = { "object", "related", "part",	 "moment", "flags", "class",
					   "ip",     "number",	"enter", "type",   "error", NULL };
	struct wire_value values[WORDS_MAX];
	struct wire_arguments arguments = { .list = { .items = values } };

	for (char **word = words; *word; word++) {
		char *equals = strchr(*word, '=');
		bool is_own = equals == NULL;

		for (int i = 0; own[i] && equals; i++)
			is_own |= value_of((char *[]){ *word, NULL }, own[i]) != NULL;
		if (is_own)
			continue;
		*equals = '\0';
		values[arguments.list.count++] = (struct wire_value){ *word, equals + 1 };
	}
	if (arguments.list.count)
		write_arguments(&arguments);
}

static void write_one_call(char **words)
{
	struct wire_call call = { .thread = (uint32_t)number(words[1]),
				  .pthread = number(words[2]),
				  .call = number(words[3]),
				  .depth = (uint32_t)number(words[4]),
				  .enter_ns = number(words[5]),
				  .leave_ns = number(words[6]),
				  .function = words[7] };

	fill_call(&call, words + 8);
	write_call(&call);
	write_values(words + 8);
	write_frame(words + 8);
}

static void write_note(char **words)
{
	struct wire_call call = { .function = words[1],
				  .thread = (uint32_t)number(words[2]),
				  .pthread = number(words[3]),
				  .enter_ns = number(words[4]),
				  .leave_ns = number(words[4]) };

	if (value_of(words, "enter"))
		call.enter_ns = number(value_of(words, "enter"));
	call.call = number(value_of(words, "number"));
	fill_call(&call, words + 5);
	write_call(&call);
	write_values(words + 5);
	write_frame(words + 5);
}

static void bulk_call(uint64_t thread, uint64_t call, uint32_t depth, uint64_t enter,
		      uint64_t leave, const char *function)
{
	uint64_t ips[] = { 0x401000 + call % 64 * 16, 0x402000, 0x403000, 0x7f0000002000,
			   0x7f0000002100 };

	write_call(&(struct wire_call){ .resource = RESOURCE_MEMORY,
					.timestamp = (uint32_t)(enter / 1000000 + 1),
					.type = CALL_TYPE_ALLOC,
					.function = function,
					.size = 100,
					.object = 0x5000 + call * 16,
					.what = { OPERATION_ALLOC, MOMENT_LEAVE, 0, 0 },
					.thread = (uint32_t)(1000 + thread),
					.pthread = 0x7f0000000000 + thread * 0x1000,
					.call = call,
					.depth = depth,
					.enter_ns = enter,
					.leave_ns = leave });
	write_backtrace(&(struct wire_backtrace){ .frames = { .count = 5, .items = ips } });
}

/* Each group of eight: fopen(malloc, malloc(free)), four of malloc and free. */
static void write_bulk(char **words)
{
	uint64_t threads = number(words[1]), calls = number(words[2]);

	for (uint64_t i = 0; i < calls / 8; i++) {
		uint64_t thread = i % threads, call = i / threads * 8 + 1, now = i * 800;

		bulk_call(thread, call + 1, 1, now + 10, now + 50, "malloc");
		bulk_call(thread, call + 3, 2, now + 120, now + 130, "free");
		bulk_call(thread, call + 2, 1, now + 100, now + 150, "malloc");
		bulk_call(thread, call, 0, now, now + 200, "fopen");
		for (unsigned j = 4; j < 8; j++)
			bulk_call(thread, call + j, 0, now + 100 * j, now + 100 * j + 50,
				  j % 2 ? "pthread_mutex_unlock" : "pthread_mutex_lock");
	}
}

static void take_line(char **words)
{
	if (!strcmp(words[0], "stream"))
		write_stream(words);
	else if (!strcmp(words[0], "map"))
		write_map(words);
	else if (!strcmp(words[0], "call"))
		write_one_call(words);
	else if (!strcmp(words[0], "note"))
		write_note(words);
	else if (!strcmp(words[0], "bulk"))
		write_bulk(words);
	else
		exit(2);
}

int main(void)
{
	char line[4096];

	while (fgets(line, sizeof(line), stdin)) {
		char *words[WORDS_MAX + 1] = { NULL };
		int count = 0;

		for (char *word = strtok(line, " \t\n"); word && count < WORDS_MAX;
		     word = strtok(NULL, " \t\n"))
			words[count++] = word;
		if (count && words[0][0] != '#')
			take_line(words);
	}
	return fflush(stdout) != 0;
}
