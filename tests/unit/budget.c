/* SPDX-License-Identifier: MIT */
/*
 * Limits the time and memory that a small hostile file can cost the reader. Each file is read by a
 * new process, whose processor time and peak memory are measured.
 */
#include "trace/trace.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zstd.h>

#include "htr_table.h"
#include "tests/fuzz/loose.h"
#include "tests/lib/postproc-stream.h"
#include "tests/lib/tap.h"

/* Sanitizers make a program slower, and keep freed memory for a while. */
#ifdef __SANITIZE_ADDRESS__
#define MORE 8
#else
#define MORE 1
#endif

struct result {
	int opened, ended;
	uint64_t events;
	bool is_whole;
};

static struct result read_bytes(const void *bytes, size_t size, uint64_t memory_max)
{
	struct trace_options options = { .memory_max = memory_max, .no_wait = true };
	int fd = memfd_create("hostile", MFD_CLOEXEC);
	struct result result = { 0 };
	const struct event *event;
	struct trace *trace;

	if (fd < 0 || pwrite(fd, bytes, size, 0) != (ssize_t)size)
		exit(99);
	result.opened = trace_open_fd(&trace, fd, &options, NULL);
	if (result.opened == 0) {
		while ((result.ended = trace_next(trace, &event, NULL)) > 0)
			result.events++;
		result.is_whole = trace_is_whole(trace);
		trace_close(trace);
	}
	close(fd);
	return result;
}

/* Runs the test in a new process. It must succeed within this processor time and memory. */
static void costs(const char *sentence, bool (*test)(void), long seconds, long mib)
{
	struct rusage usage;
	int status;
	pid_t child;

	fflush(stdout);
	child = fork();
	if (child == 0)
		_exit(test() ? 0 : 1);
	if (child < 0 || wait4(child, &status, 0, &usage) != child)
		exit(99);
	if (!ok(status == 0 && usage.ru_utime.tv_sec < seconds * MORE &&
			usage.ru_maxrss < mib * MORE << 10,
		sentence))
		printf("# status %x, %ld.%03ld s, %ld MiB\n", status, (long)usage.ru_utime.tv_sec,
		       (long)usage.ru_utime.tv_usec / 1000, usage.ru_maxrss >> 10);
}

/* ---- zstd ---- */

static struct stream stream;

static void begin_stream(void)
{
	stream_form(&stream, "2.0");
	put_handshake(&stream, "x86_64");
	put_process(&stream, 1, "bomb");
}

/* Reads a stream that is followed by `size` bytes of one value, compressed to some kilobytes. */
static bool read_bomb(size_t size, unsigned char value)
{
	unsigned char *plain = malloc(size), *packed = malloc(ZSTD_compressBound(size));
	struct result result;
	size_t length;

	begin_stream();
	if (!plain || !packed)
		exit(99);
	memset(plain, value, size);
	memcpy(plain, stream.bytes, stream.size);
	length = ZSTD_compress(packed, ZSTD_compressBound(size), plain, size, 3);
	free(plain);
	if (ZSTD_isError(length) || length > size / 1000)
		exit(99);
	result = read_bytes(packed, length, 16 << 20);
	free(packed);
	return !result.opened && !result.ended && !result.is_whole && result.events < 10;
}

static bool bomb_of_zeros(void)
{
	return read_bomb(48 << 20, 0);
}

/* Each of these bytes could begin a handshake. */
static bool bomb_of_handshakes(void)
{
	return read_bomb(24 << 20, 0xf0);
}

static bool wide_window(void)
{
	/* not a single segment; a window of 2 GiB; one empty block, the last */
	static const unsigned char frame[] = { 0x28, 0xb5, 0x2f, 0xfd, 0, 21 << 3, 1, 0, 0 };
	struct result result = read_bytes(frame, sizeof(frame), 16 << 20);

	return result.opened != 0;
}

/* ---- counts ---- */

/* Replaces each dword of the stream in turn by the largest number. */
static bool counts(void)
{
	stream_form(&stream, "tails");
	put_sample(&stream);
	for (size_t at = stream.bytes[1] + 2u; at + 4 <= stream.size; at++) {
		unsigned char kept[4];
		struct result result;

		memcpy(kept, stream.bytes + at, 4);
		memset(stream.bytes + at, 0xff, 4);
		result = read_bytes(stream.bytes, stream.size, 1 << 20);
		memcpy(stream.bytes + at, kept, 4);
		if (result.opened || result.ended || result.events > 100)
			return false;
	}
	return true;
}

static bool large_text(void)
{
	static const char text[] = "version=2.0, pid=99999999999999999999, backtrace depth="
				   "18446744073709551616\n"
				   "<ffffffffffffffffffff> : memory (of 2^80)\n"
				   "99999999999999999999. malloc<memory>(99999999999999999999) = "
				   "0xffffffffffffffffffffffff\n\t0xffffffffffffffffffffffff\n\n";
	struct result result = read_bytes(text, sizeof(text) - 1, 1 << 20);

	return !result.opened && !result.ended;
}

/* Each call has a new function name. The reader returns calls up to its limit of memory. */
static bool names_without_end(void)
{
	static unsigned char bytes[12 << 20];
	struct call call = { 1, 0, 0, 2, "malloc", 1, 1, 0 };
	struct result result;
	size_t size = 0;

	begin_stream();
	memcpy(bytes, stream.bytes, stream.size);
	size = stream.size;
	for (unsigned i = 0; size < sizeof(bytes) - 200; i++) {
		char name[40];

		snprintf(name, sizeof(name), "function_%u", i);
		call.name = name;
		stream.size = 0;
		put_call(&stream, &call);
		memcpy(bytes + size, stream.bytes, stream.size);
		size += stream.size;
	}
	result = read_bytes(bytes, size, 4 << 20);
	return result.ended == -ENOMEM && result.events > 10000;
}

/* ---- .htr ---- */

#define LOOSE_MAX (4u << 20)

static uint8_t loose[LOOSE_MAX];
static size_t loose_size;

static void begin_container(void)
{
	struct htr_file file = { .magic = HTR_MAGIC, .version = HTR_VERSION };

	htr_put_file(loose, &file);
	loose_size = HTR_SIZE_file;
}

/* block: the header; this function sets its magic, checksum and sizes. */
static void put_block(struct htr_block block, const void *definitions, size_t definitions_size,
		      const void *events, size_t events_size)
{
	block.magic = HTR_MAGIC_BLOCK;
	block.check = 0;
	block.definitions_packed = block.definitions_size = (uint32_t)definitions_size;
	block.events_packed = block.events_size = (uint32_t)events_size;
	if (loose_size + HTR_SIZE_block + definitions_size + events_size > LOOSE_MAX)
		exit(99);
	htr_put_block(loose + loose_size, &block);
	loose_size += HTR_SIZE_block;
	if (definitions_size)
		memcpy(loose + loose_size, definitions, definitions_size);
	loose_size += definitions_size;
	if (events_size)
		memcpy(loose + loose_size, events, events_size);
	loose_size += events_size;
}

static struct result read_container(uint64_t memory_max)
{
	size_t size;
	uint8_t *sealed = loose_seal(loose, loose_size, &size);
	struct result result;

	if (!sealed)
		exit(99);
	result = read_bytes(sealed, size, memory_max);
	free(sealed);
	return result;
}

/* 1,000 blocks, which claim that 4, 8, 12 ... million nodes were defined before them. */
static bool lost_nodes(void)
{
	begin_container();
	for (uint32_t i = 1; i <= 1000; i++)
		put_block((struct htr_block){ .first_node = i << 22 }, NULL, 0, NULL, 0);
	return read_container(32 << 20).ended == -ENOMEM;
}

static size_t put_varint(uint8_t *at, uint64_t value)
{
	size_t size = 0;

	for (; value >= 0x80; value >>= 7)
		at[size++] = (uint8_t)(value | 0x80);
	at[size++] = (uint8_t)value;
	return size;
}

/* Writes a handshake, a function, a thread, and a shape whose events have a node. */
static size_t put_definitions(uint8_t *at)
{
	size_t size = 0;

	begin_stream();
	at[size++] = HTR_DEFINITION_packet;
	size += put_varint(at + size, 0);
	size += put_varint(at + size, stream.bytes[1] + 2u);
	memcpy(at + size, stream.bytes, stream.bytes[1] + 2u);
	size += stream.bytes[1] + 2u;
	at[size++] = HTR_DEFINITION_function;
	memcpy(at + size, "malloc", 7);
	size += 7;
	at[size++] = HTR_DEFINITION_thread;
	at[size++] = 1;
	at[size++] = 1;
	at[size++] = HTR_DEFINITION_shape;
	memset(at + size, 0, 10);
	size += 10;
	size += put_varint(at + size, HTR_HAS_node);
	at[size++] = 0;
	return size;
}

static size_t put_node(uint8_t *at, uint64_t parent)
{
	size_t size = 1;

	at[0] = HTR_DEFINITION_node;
	size += put_varint(at + size, parent);
	size += put_varint(at + size, 2);
	return size;
}

/* Writes `count` events of the shape, with the nodes from `first` on. */
static size_t put_events(uint8_t *at, uint32_t first, uint32_t count)
{
	static uint8_t nodes[1 << 20];
	size_t size = 0, nodes_size = 0;

	for (uint32_t i = 0; i < count; i++)
		nodes_size += put_varint(nodes + nodes_size, first + i);
	for (unsigned column = 0; column < HTR_COLUMN_COUNT; column++)
		size += put_varint(at + size, column == HTR_COLUMN_shapes  ? count + 2
					      : column == HTR_COLUMN_nodes ? nodes_size
									   : 0);
	at[size++] = 0; /* shape 0: a thread follows */
	at[size++] = 0; /* thread 0 */
	memset(at + size, 1, count);
	size += count;
	memcpy(at + size, nodes, nodes_size);
	return size + nodes_size;
}

/* 20,000 backtraces of 16,384 frames, in 100 kB. Without common frames, they would take 2.6 GB. */
static bool long_chains(void)
{
	static uint8_t definitions[1 << 20], events[1 << 20];
	size_t size = put_definitions(definitions), events_size;
	struct result result;

	for (uint32_t i = 0; i < 16383; i++)
		size += put_node(definitions + size, i);
	for (uint32_t i = 0; i < 20000; i++)
		size += put_node(definitions + size, 16383);
	events_size = put_events(events, 16384, 20000);
	begin_container();
	put_block((struct htr_block){ .events = 20000, .calls = 20000 }, definitions, size, events,
		  events_size);
	result = read_container(32 << 20);
	return !result.opened && !result.ended && result.events == 20001;
}

/* A backtrace with one frame more than the maximum. */
static bool too_long_chain(void)
{
	static uint8_t definitions[1 << 20];
	size_t size = put_definitions(definitions);
	struct result result;

	for (uint32_t i = 0; i < 16385; i++)
		size += put_node(definitions + size, i);
	begin_container();
	put_block((struct htr_block){ .events = 0 }, definitions, size, NULL, 0);
	result = read_container(32 << 20);
	return !result.ended && !result.is_whole;
}

/* A backtrace that is its own caller, and one whose caller is defined later. */
static bool cycles(void)
{
	for (uint64_t parent = 1; parent < 3; parent++) {
		static uint8_t definitions[4096], events[4096];
		size_t size = put_definitions(definitions), events_size;
		struct result result;

		size += put_node(definitions + size, parent);
		size += put_node(definitions + size, 1);
		events_size = put_events(events, 1, 2);
		begin_container();
		put_block((struct htr_block){ .events = 2, .calls = 2 }, definitions, size, events,
			  events_size);
		result = read_container(32 << 20);
		if (result.opened || result.ended || result.is_whole)
			return false;
	}
	return true;
}

/* A valid container, so that the tests above are known to fail for the intended reason. */
static bool good_container(void)
{
	static uint8_t definitions[4096], events[4096];
	size_t size = put_definitions(definitions), events_size;
	struct result result;

	size += put_node(definitions + size, 0);
	size += put_node(definitions + size, 1);
	events_size = put_events(events, 1, 2);
	begin_container();
	put_block((struct htr_block){ .events = 2, .calls = 2 }, definitions, size, events,
		  events_size);
	result = read_container(32 << 20);
	return !result.opened && !result.ended && result.events == 3;
}

int main(void)
{
	costs("48 MiB of zeros in some kilobytes of zstd: in a window", bomb_of_zeros, 4, 90);
	costs("24 MiB of what could begin a stream: likewise", bomb_of_handshakes, 4, 60);
	costs("a window of 2 GiB is refused", wide_window, 1, 24);
	costs("a number of 2^32 anywhere takes nothing", counts, 4, 24);
	costs("numbers beyond 2^64 in a text take nothing", large_text, 1, 24);
	costs("names without end: at most what was allowed", names_without_end, 4, 64);
	costs(".htr: a container by hand is read", good_container, 1, 32);
	costs(".htr: lost definitions by the billion: at most what was allowed", lost_nodes, 4, 96);
	costs(".htr: long backtraces told in short take no more when they are read", long_chains, 4,
	      48);
	costs(".htr: a backtrace has an end", too_long_chain, 1, 32);
	costs(".htr: none is its own part", cycles, 1, 32);
	return tap_end();
}
