/* SPDX-License-Identifier: MIT */
/*
 * Prints a stream of the binary protocol 1.4, one line a packet, as somebody would write it who
 * has read sp-rtrace's BINARY_PROTOCOL and nothing else. Shares no code with the encoder.
 *
 *   decode-1.4 [FILE]
 *
 * Two things the document leaves open, both taken mildly: ARGS may stand on either side of BTRC,
 * and whether a string's length counts its padding is not asked: strings are stepped over by
 * their aligned size, NULs at their end are no part of the text.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct source {
	FILE *file;
	unsigned long position;
	bool swapped;
	unsigned pointer_size;
};

/* The data of one packet. */
struct body {
	unsigned char *bytes;
	uint32_t size, used;
	const struct source *source;
};

static void die(const struct source *source, const char *why)
{
	fflush(stdout);
	fprintf(stderr, "decode-1.4: near byte %lu: %s\n", source->position, why);
	exit(1);
}

/* False at the end of the stream, if that is where something begins. */
static bool fetch(struct source *source, void *to, size_t count, bool may_end)
{
	size_t got = fread(to, 1, count, source->file);

	if (!got && may_end)
		return false;
	if (got != count)
		die(source, "the stream ends in the middle");
	source->position += count;
	return true;
}

static uint64_t number(struct body *body, unsigned bytes)
{
	uint64_t value = 0;

	if (body->size - body->used < bytes)
		die(body->source, "data too short");
	for (unsigned i = 0; i < bytes; i++) {
		unsigned place = body->source->swapped ? bytes - 1 - i : i;

		value |= (uint64_t)body->bytes[body->used + i] << 8 * place;
	}
	body->used += bytes;
	return value;
}

static uint32_t dword(struct body *body)
{
	return (uint32_t)number(body, 4);
}

static unsigned long long pointer(struct body *body)
{
	return number(body, body->source->pointer_size);
}

static void string(struct body *body, const char *label)
{
	uint32_t length = (uint32_t)number(body, 2);
	uint32_t whole = (2 + length + 3) / 4 * 4;
	const unsigned char *text = body->bytes + body->used;

	if (body->size - body->used < whole - 2)
		die(body->source, "string too long");
	for (uint32_t i = length; i < whole - 2; i++)
		if (text[i])
			die(body->source, "string not padded with NULs");
	body->used += whole - 2;
	while (length && !text[length - 1])
		length--;
	printf("%s\"", label);
	for (uint32_t i = 0; i < length; i++) {
		if (!text[i])
			die(body->source, "NUL inside of a string");
		if (text[i] < 0x20 || text[i] > 0x7e || text[i] == '"' || text[i] == '\\')
			printf("\\x%02x", text[i]);
		else
			putchar(text[i]);
	}
	putchar('"');
}

static void show_pinf(struct body *body)
{
	printf(" pid=%s", dword(body) ? "+" : "0");
	printf(" seconds=%s", dword(body) ? "+" : "0");
	printf(" micro=%s", dword(body) < 1000000 ? "+" : "bad");
	printf(" depth=%u", dword(body));
	string(body, " name=");
}

static void show_minf(struct body *body)
{
	printf(" id=%u", dword(body));
	printf(" version=%s", dword(body) < 1u << 24 ? "+" : "bad");
	string(body, " name=");
}

static void show_mmap(struct body *body)
{
	printf(" from=0x%llx", pointer(body));
	printf(" to=0x%llx", pointer(body));
	string(body, " path=");
}

static void show_call(struct body *body)
{
	uint32_t type;

	printf(" time=%s", dword(body) ? "+" : "0");
	printf(" class=%u", dword(body));
	printf(" context=%u", dword(body));
	type = dword(body);
	if (type > 2)
		die(body->source, "no such type of call");
	printf(" type=%u", type);
	string(body, " function=");
	printf(" id=0x%llx", pointer(body));
	printf(" size=%d", (int)dword(body));
}

static void show_btrc(struct body *body)
{
	uint32_t count = dword(body);

	printf(" %u", count);
	while (count--)
		printf(" 0x%llx", pointer(body));
}

static void show_args(struct body *body)
{
	uint32_t count = dword(body);

	printf(" %u", count);
	while (count--) {
		string(body, " ");
		string(body, "=");
	}
}

static void show_hinf(struct body *body)
{
	printf(" bottom=0x%llx", pointer(body));
	printf(" top=0x%llx", pointer(body));
	for (int i = 0; i < 10; i++)
		printf(" %u", dword(body));
}

static void show_resr(struct body *body)
{
	printf(" id=%u", dword(body));
	printf(" flags=%u", dword(body));
	string(body, " type=");
	string(body, " text=");
}

static void show(const char *type, struct body *body)
{
	static const struct {
		const char *type;
		void (*show)(struct body *body);
	} known[] = {
		{ "PINF", show_pinf }, { "MINF", show_minf }, { "MMAP", show_mmap },
		{ "CALL", show_call }, { "BTRC", show_btrc }, { "ARGS", show_args },
		{ "HINF", show_hinf }, { "RESR", show_resr },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (strcmp(known[i].type, type))
			continue;
		printf("%s", type);
		known[i].show(body);
		putchar('\n');
		if (body->used != body->size)
			die(body->source, "data left over");
		return;
	}
	die(body->source, "no such packet in the document");
}

/* [id][size][version][architecture][endianness][pointer size], padded to 4. */
static void greet(struct source *source)
{
	unsigned char head[2], rest[256];
	uint16_t probe = 1;
	unsigned text;

	fetch(source, head, 2, false);
	if (head[0] != 0xf0 || head[1] < 6 || (head[1] + 2) % 4)
		die(source, "no handshake");
	fetch(source, rest, head[1], false);
	text = rest[2];
	if (rest[0] != 1 || rest[1] != 4)
		die(source, "not version 1.4");
	if (text + 5 > head[1] || rest[3 + text] > 1)
		die(source, "a handshake that makes no sense");
	source->swapped = rest[3 + text] != (*(unsigned char *)&probe ? 0 : 1);
	source->pointer_size = rest[4 + text];
	if (source->pointer_size != 4 && source->pointer_size != 8)
		die(source, "strange pointers");
	/* number() counts from the low byte: right for little endian streams */
	source->swapped = rest[3 + text] == 1;
	printf("handshake %u.%u %.*s\n", rest[0], rest[1], (int)text, rest + 3);
}

int main(int argc, char **argv)
{
	struct source source = { .file = argc > 1 ? fopen(argv[1], "rb") : stdin };
	unsigned char head[8];

	if (!source.file)
		return 2;
	greet(&source);
	while (fetch(&source, head, 8, true)) {
		struct body size = { .bytes = head + 4, .size = 4, .source = &source };
		struct body body = { .source = &source };
		char type[5] = { 0 };

		memcpy(type, head, 4);
		body.size = dword(&size);
		if (body.size % 4 || body.size > 1 << 20)
			die(&source, "a length that cannot be");
		body.bytes = malloc(body.size + 1);
		if (!body.bytes)
			return 2;
		if (body.size)
			fetch(&source, body.bytes, body.size, false);
		show(type, &body);
		free(body.bytes);
	}
	return 0;
}
