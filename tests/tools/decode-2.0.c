/* SPDX-License-Identifier: MIT */
/*
 * Prints an sp-rtrace 2.0 stream, one line a packet, and accepts nothing but what the original
 * tools do: no gap, no leftover but a tail. Written from a description of those tools' layout
 * alone, and shares no code with the encoder on purpose.
 *
 *   decode-2.0 [--tails] [FILE]      --tails: insist on the tails and print CALL's
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned char *data;
static size_t size, at, end;
static int want_tails;

static void fail(const char *why)
{
	fflush(stdout);
	fprintf(stderr, "decode-2.0: byte %zu: %s\n", at, why);
	exit(1);
}

static void need(size_t count)
{
	if (end - at < count)
		fail("the packet ends inside of a field");
}

static uint32_t dword(void)
{
	uint32_t value;

	need(4);
	memcpy(&value, data + at, 4);
	at += 4;
	return value;
}

static uint64_t pointer(void)
{
	uint64_t value;

	need(8);
	memcpy(&value, data + at, 8);
	at += 8;
	return value;
}

/* The length counts the padding, so that 2 + length is a multiple of 4. */
static const char *string(void)
{
	static char texts[4][65536];
	static int next;
	char *text = texts[next++ % 4];
	uint16_t length;
	size_t used;

	need(4);
	memcpy(&length, data + at, 2);
	at += 2;
	if (!length) {
		if (data[at] || data[at + 1])
			fail("the string that is not there is not padded with NULs");
		at += 2;
		return "";
	}
	if (length % 4 != 2)
		fail("a string is not padded to four bytes");
	need(length);
	memcpy(text, data + at, length);
	text[length] = 0;
	used = strlen(text);
	if (length - used > 4 || (length - used == 4 && used))
		fail("a string has more padding than it needs");
	for (size_t i = used; i < length; i++)
		if (data[at + i])
			fail("a string goes on behind a NUL");
	at += length;
	return text;
}

static void print_text(const char *text)
{
	putchar('"');
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c < 0x20 || c > 0x7e || c == '"' || c == '\\')
			printf("\\x%02x", c);
		else
			putchar(c);
	}
	putchar('"');
}

static void handshake(void)
{
	static const unsigned char expected[16] = {
		0xf0, 0x0e, 2, 0, 6, 'x', '8', '6', '_', '6', '4', 0, 8, 0, 0, 0,
	};

	if (size < 16 || memcmp(data, expected, 16))
		fail("not the handshake of 2.0 on x86_64");
	at = 16;
	printf("handshake 2.0 x86_64\n");
}

enum { START, AFTER_CALL, AFTER_BACKTRACE };

static int state;
static uint32_t last_timestamp, seen_resources;
static int seen_process;

static void process(void)
{
	uint32_t pid = dword(), seconds = dword(), micro = dword(), depth = dword();

	printf("PINF pid=%s seconds=%s micro=%s depth=%u name=", pid ? "+" : "0",
	       seconds ? "+" : "0", micro < 1000000 ? "+" : "bad", depth);
	print_text(string());
	putchar('\n');
	seen_process = 1;
}

static void tracer(void)
{
	uint32_t id = dword(), version = dword();

	printf("MINF id=%u version=%s name=", id, version < 1u << 24 ? "+" : "bad");
	print_text(string());
	putchar('\n');
}

static void mapping(void)
{
	uint64_t from = pointer(), to = pointer();

	printf("MMAP from=0x%" PRIx64 " to=0x%" PRIx64 " path=", from, to);
	print_text(string());
	putchar('\n');
}

static void resource(void)
{
	uint32_t id = dword(), flags = dword();

	if (id < 1 || id > 32)
		fail("a resource's number is not 1 to 32");
	seen_resources |= 1u << (id - 1);
	printf("RESR id=%u flags=%u type=", id, flags);
	print_text(string());
	printf(" text=");
	print_text(string());
	putchar('\n');
}

static void call_tail(void)
{
	uint32_t what = dword(), thread, cpu, depth, error;
	uint64_t number, enter, leave;

	thread = dword();
	cpu = dword();
	depth = dword();
	error = dword();
	pointer();
	number = pointer();
	enter = pointer();
	leave = pointer();
	if (leave < enter)
		fail("a call left before it entered");
	printf(" operation=%u moment=%u part=%u bits=0x%x thread=%s cpu=%d depth=%u error=%u"
	       " call=%" PRIu64 " lasted=%s",
	       what & 255, what >> 8 & 255, what >> 16 & 255, what >> 24, thread ? "+" : "0",
	       (int)cpu, depth, error, number, leave > enter ? "+" : "0");
	printf(" bytes=%" PRIu64, pointer());
	printf(" related=0x%" PRIx64, pointer());
	printf(" result=0x%" PRIx64, pointer());
	printf(" frame=0x%" PRIx64, pointer());
}

static void call(void)
{
	uint32_t id = dword(), context = dword(), timestamp = dword(), type = dword();
	const char *name = string();
	int32_t bytes = (int32_t)dword();
	uint64_t object = pointer();

	if (state == AFTER_CALL)
		fail("a CALL without its BTRC");
	if (id < 1 || id > 32 || !(seen_resources & 1u << (id - 1)))
		fail("a CALL of a class that was not registered");
	if (!timestamp || timestamp >= 86400000 || timestamp < last_timestamp)
		fail("a CALL's time is none or runs backwards");
	if (type > 2 || bytes < 0)
		fail("a CALL's type or size is out of bounds");
	last_timestamp = timestamp;
	printf("CALL class=%u context=%u type=%u function=", id, context, type);
	print_text(name);
	printf(" size=%d id=0x%" PRIx64, bytes, object);
	if (want_tails)
		call_tail();
	putchar('\n');
	state = AFTER_CALL;
}

static void arguments(void)
{
	uint32_t count = dword();

	if (state != AFTER_CALL)
		fail("ARGS not between CALL and BTRC");
	printf("ARGS %u", count);
	while (count--) {
		putchar(' ');
		print_text(string());
		putchar('=');
		print_text(string());
	}
	putchar('\n');
}

static void backtrace(void)
{
	uint32_t count = dword();

	if (state != AFTER_CALL)
		fail("BTRC without CALL");
	printf("BTRC %u", count);
	while (count--)
		printf(" 0x%" PRIx64, pointer());
	putchar('\n');
	state = AFTER_BACKTRACE;
}

static void heap(void)
{
	printf("HINF bottom=0x%" PRIx64, pointer());
	printf(" top=0x%" PRIx64, pointer());
	for (int i = 0; i < 10; i++)
		printf(" %u", dword());
	putchar('\n');
}

static void packet(void);

/* The original steps over it. With tails, a packet stands behind two empty strings. */
static void settings(void)
{
	size_t outer = end;

	if (!want_tails)
		return;
	if (dword() || dword())
		fail("settings in a trace");
	packet();
	if (at != outer)
		fail("more than one packet in OCFG");
	end = outer;
}

static const struct packet {
	char tag[5];
	void (*read)(void);
	int has_tail;
} packets[] = {
	{ "PINF", process, 1 },	  { "MINF", tracer, 0 }, { "MMAP", mapping, 1 },
	{ "RESR", resource, 0 },  { "CALL", call, 1 },	 { "ARGS", arguments, 0 },
	{ "BTRC", backtrace, 0 }, { "HINF", heap, 0 },	 { "OCFG", settings, 1 },
};

static void packet(void)
{
	const struct packet *found = NULL;
	uint32_t length;

	end = size;
	if (end - at < 8)
		fail("bytes are left over");
	for (size_t i = 0; i < sizeof(packets) / sizeof(packets[0]); i++)
		if (!memcmp(data + at, packets[i].tag, 4))
			found = &packets[i];
	if (!found)
		fail("an unknown packet");
	at += 4;
	length = dword();
	if (length % 4 || length > 4088 || length > size - at)
		fail("a packet's length is odd, beyond 4 KiB or beyond the end");
	end = at + length;
	if (!seen_process && found->read != process)
		fail("the first packet is not PINF");
	found->read();
	if (at != end && !(found->has_tail && (!want_tails || found->read != call)))
		fail("a packet is longer than its fields");
	at = end;
}

int main(int argc, char **argv)
{
	FILE *file = stdin;

	if (argc > 1 && !strcmp(argv[1], "--tails")) {
		want_tails = 1;
		argc--;
		argv++;
	}
	if (argc > 1)
		file = fopen(argv[1], "rb");
	data = malloc(1 << 28);
	if (!file || !data)
		return 2;
	size = fread(data, 1, 1 << 28, file);
	end = size;
	handshake();
	while (at < size)
		packet();
	if (state == AFTER_CALL)
		fail("the stream ends between CALL and BTRC");
	return 0;
}
