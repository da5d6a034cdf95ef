/* SPDX-License-Identifier: MIT */
/*
 * Damages streams for the reader: truncates them at each byte, inverts each bit, and replaces each
 * dword by extreme numbers. Calls before the damage must be returned, and the reader must not
 * crash, hang or use much memory. The streams are memory files, so that thousands of them take
 * little time.
 */
#include "trace/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "tests/lib/postproc-stream.h"
#include "tests/lib/tap.h"
#include "trace/registry.h"
#include "trace/state.h"

#define EVENTS_MAX 10000

/* The offset at which each call is complete, and its name. */
static struct {
	size_t end;
	char name[32];
} calls[64];
static unsigned call_count;
static size_t handshake_end;

static struct stream stream;

static void scan(void)
{
	handshake_end = stream.bytes[1] + 2u;
	call_count = 0;
	for (size_t at = handshake_end; at < stream.size;) {
		uint32_t size;

		memcpy(&size, stream.bytes + at + 4, 4);
		/* the name follows its length, and may lack a NUL */
		if (!memcmp(stream.bytes + at, "CALL", 4))
			snprintf(calls[call_count++].name, 32, "%.*s", stream.bytes[at + 24],
				 (const char *)stream.bytes + at + 26);
		if (!memcmp(stream.bytes + at, "BTRC", 4))
			calls[call_count - 1].end = at + 8 + size;
		at += 8 + size;
	}
}

static int memory_file;

static void fill_file(const void *bytes, size_t size)
{
	if (ftruncate(memory_file, 0) != 0 ||
	    pwrite(memory_file, bytes, size, 0) != (ssize_t)size ||
	    lseek(memory_file, 0, SEEK_SET) != 0)
		exit(99);
}

struct result {
	int opened;		       /* result of trace_open_fd() */
	int ended;		       /* result of the last trace_next() */
	unsigned events, calls, right; /* right: calls that equal those of the stream, in order */
	struct trace_tally tally;
};

static struct result read_all(const void *bytes, size_t size)
{
	struct trace_options options = { .memory_max = 64 << 20 };
	struct result result = { 0 };
	struct trace *trace;
	const struct event *event;

	fill_file(bytes, size);
	result.opened = trace_open_fd(&trace, memory_file, &options, NULL);
	if (result.opened)
		return result;
	while (result.events < EVENTS_MAX) {
		result.ended = trace_next(trace, &event, NULL);
		if (result.ended <= 0)
			break;
		result.events++;
		if (!event_is_call(event))
			continue;
		if (result.right == result.calls && result.calls < call_count &&
		    !strcmp(event->function->name, calls[result.calls].name))
			result.right++;
		result.calls++;
	}
	result.tally = *trace_tally(trace);
	trace_close(trace);
	return result;
}

static unsigned whole_before(size_t offset)
{
	unsigned count = 0;

	while (count < call_count && calls[count].end <= offset)
		count++;
	return count;
}

static void cut_everywhere(const char *form)
{
	char sentence[100];
	size_t wrong = SIZE_MAX;

	for (size_t size = 0; size < stream.size && wrong == SIZE_MAX; size++) {
		struct result result = read_all(stream.bytes, size);

		if (size < handshake_end) {
			if (result.opened != (size ? -EBADMSG : -ENODATA))
				wrong = size;
			continue;
		}
		if (result.opened || result.ended || result.right < whole_before(size))
			wrong = size;
	}
	snprintf(sentence, sizeof(sentence), "%s: cut at any byte, what is whole comes out", form);
	if (!ok(wrong == SIZE_MAX, sentence))
		printf("# not so at byte %zu\n", wrong);
}

static void turn_every_bit(const char *form)
{
	char sentence[100];
	size_t wrong = SIZE_MAX;

	for (size_t bit = 0; bit < stream.size * 8 && wrong == SIZE_MAX; bit++) {
		struct result result;

		stream.bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
		result = read_all(stream.bytes, stream.size);
		stream.bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
		if (bit / 8 < handshake_end)
			continue;
		if (result.opened || result.ended || result.events >= EVENTS_MAX ||
		    result.right < whole_before(bit / 8))
			wrong = bit;
	}
	snprintf(sentence, sizeof(sentence), "%s: any bit turned over, what is before it comes out",
		 form);
	if (!ok(wrong == SIZE_MAX, sentence))
		printf("# not so at byte %zu, bit %zu\n", wrong / 8, wrong % 8);
}

static void replace_every_dword(const char *form)
{
	static const uint32_t worst[] = { 0,	      1,	  0x7fffffff,	 0x80000000,
					  0xffffffff, 0xfffffff8, WIRE_READ_MAX, 0xf0f0f0f0 };
	char sentence[100];
	size_t wrong = SIZE_MAX;

	for (size_t at = handshake_end; at + 4 <= stream.size; at += 4) {
		for (size_t i = 0; i < sizeof(worst) / sizeof(*worst); i++) {
			struct result result;
			uint32_t old;

			memcpy(&old, stream.bytes + at, 4);
			memcpy(stream.bytes + at, &worst[i], 4);
			result = read_all(stream.bytes, stream.size);
			memcpy(stream.bytes + at, &old, 4);
			if (result.opened || result.ended || result.events >= EVENTS_MAX ||
			    result.right < whole_before(at))
				wrong = at;
		}
	}
	snprintf(sentence, sizeof(sentence),
		 "%s: any dword made the worst, what is before it comes out", form);
	if (!ok(wrong == SIZE_MAX, sentence))
		printf("# not so at byte %zu\n", wrong);
}

static void form_tests(const char *form)
{
	char sentence[100];
	struct result result;

	stream_form(&stream, form);
	put_sample(&stream);
	scan();
	result = read_all(stream.bytes, stream.size);
	snprintf(sentence, sizeof(sentence), "%s: all is read and nothing is wrong", form);
	ok(result.right == call_count && result.calls == call_count && !result.tally.damages &&
		   !result.tally.misplaced && result.tally.bytes == stream.size,
	   sentence);
	cut_everywhere(form);
	turn_every_bit(form);
	replace_every_dword(form);
}

/* After damage, the reader finds the next packet, and reports the offset of the damage. */
static void way_back_tests(void)
{
	size_t hole;
	struct result result;

	stream_form(&stream, "2.0");
	put_sample(&stream);
	scan();
	/* make the size of the second call huge */
	hole = calls[0].end;
	memset(stream.bytes + hole + 4, 0xff, 4);
	result = read_all(stream.bytes, stream.size);
	ok(result.calls == call_count - 1 && result.tally.damages == 1 &&
		   result.tally.damage_offset == hole,
	   "one packet is lost, those behind it are not");
	ok(result.tally.damaged_bytes > 0 &&
		   result.tally.damaged_bytes < calls[1].end - calls[0].end,
	   "the bytes that were skipped are counted");
	stream_form(&stream, "2.0");
	put_sample(&stream);
	/* remove three bytes */
	memmove(stream.bytes + hole, stream.bytes + hole + 3, stream.size - hole - 3);
	result = read_all(stream.bytes, stream.size - 3);
	ok(result.calls == call_count - 1, "so it is when bytes are missing");
}

static void frame_tests(void)
{
	static uint64_t many[16385];
	static struct stream large;
	struct call call = { 1, 0, 0, 2, "malloc", 1, 1, 0 };
	struct result result;
	static unsigned char bytes[300000];

	stream_form(&large, "2.0");
	put_handshake(&large, "x86_64");
	put_call(&large, &call);
	memcpy(bytes, large.bytes, large.size);
	for (uint32_t count = 16384; count <= 16385; count++) {
		uint32_t header[3] = { WIRE_TAG("BTRC"), 4 + 8 * count, count };

		memcpy(bytes + large.size, header, 12);
		memcpy(bytes + large.size + 12, many, 8 * count);
		result = read_all(bytes, large.size + 12 + 8 * count);
		if (count == 16384)
			ok(result.calls == 1 && !result.tally.damages, "16384 frames are read");
		else
			ok(result.calls == 1 && result.tally.damages == 1,
			   "one more is damage, and the call stands without them");
	}
}

static void zstd_tests(void)
{
	static unsigned char packed[STREAM_MAX];
	size_t size;
	struct result result;
	bool is_right = true;

	stream_form(&stream, "2.0");
	put_sample(&stream);
	scan();
	size = ZSTD_compress(packed, sizeof(packed), stream.bytes, stream.size, 1);
	if (ZSTD_isError(size))
		exit(99);
	result = read_all(packed, size);
	ok(result.right == call_count && !result.tally.damages, "compressed, all is read");
	memcpy(packed + size, packed, size);
	result = read_all(packed, 2 * size);
	ok(result.calls == 2 * call_count && result.tally.sections == 2,
	   "two compressed streams, one behind the other");
	for (size_t cut = 4; cut < size && is_right; cut++) {
		result = read_all(packed, cut);
		is_right = result.opened || (result.ended == 0 && result.tally.is_truncated);
	}
	ok(is_right, "compressed and cut anywhere, it is said");
	for (size_t bit = 32; bit < size * 8; bit++) {
		packed[bit / 8] ^= (unsigned char)(1 << bit % 8);
		result = read_all(packed, size);
		packed[bit / 8] ^= (unsigned char)(1 << bit % 8);
	}
	ok(true, "compressed and damaged anywhere, nothing breaks");
}

/* A pipe may return any number of bytes per read; one byte is the worst case. */
static void pipe_test(void)
{
	int ends[2];
	struct trace *trace = NULL;
	const struct event *event;
	unsigned count = 0;
	pid_t child;

	stream_form(&stream, "tails");
	put_sample(&stream);
	if (pipe(ends) != 0)
		exit(99);
	child = fork();
	if (child == 0) {
		for (size_t i = 0; i < stream.size; i++)
			if (write(ends[1], stream.bytes + i, 1) != 1)
				_exit(1);
		_exit(0);
	}
	close(ends[1]);
	if (child > 0 && trace_open_fd(&trace, ends[0], NULL, NULL) == 0)
		while (trace_next(trace, &event, NULL) == 1)
			count += event_is_call(event);
	trace_close(trace);
	close(ends[0]);
	ok(count == 5, "a pipe that gives single bytes");
}

static void tail_tests(void)
{
	struct trace *trace = NULL;
	const struct event *event = NULL;

	stream_form(&stream, "big-tails");
	put_sample(&stream);
	fill_file(stream.bytes, stream.size);
	if (trace_open_fd(&trace, memory_file, NULL, NULL) != 0)
		exit(99);
	while (trace_next(trace, &event, NULL) == 1 && !event_is_call(event))
		;
	ok(event && event->has_tail && event->thread == 4712 && event->pthread == 0x7f0000001000 &&
		   event->call == 1 && event->leave_ns == 500 && event->time_ns == 500 &&
		   event->related == 0xabc && event->operation == OPERATION_ALLOC,
	   "the tail of a call");
	ok(event && event->process->has_tails && event->process->session[1] == 0x2222 &&
		   event->process->start_ns == 5000000000,
	   "the tail of the process");
	ok(trace_mapping_at(trace, 0x400150) && !trace_mapping_at(trace, 0x400050) &&
		   trace_mapping_at(trace, 0x400150)->offset == 0x100,
	   "the tail of a mapping says where its code is");
	trace_close(trace);
}

static void map(struct registry *registry, const char *path, uint64_t from, uint64_t code,
		uint64_t to)
{
	struct wire_mapping packet = { .from = from,
				       .to = to,
				       .path = path,
				       .code = code,
				       .offset = code - from,
				       .build_id = "" };
	bool is_new;

	if (!registry_add_mapping(registry, &packet, true, 0, &is_new) || !is_new)
		exit(99);
}

static bool is_at(const struct registry *registry, uint64_t address, const char *path)
{
	const struct trace_mapping *mapping = registry_mapping_at(registry, address);

	return mapping ? !strcmp(mapping->path, path) : !*path;
}

static void mapping_tests(void)
{
	struct registry registry;

	registry_init(&registry, 0);
	map(&registry, "far", 0x8000, 0x9000, 0xa000);
	map(&registry, "parts", 0x1000, 0x6000, 0x7000);
	map(&registry, "parts", 0x1000, 0x2000, 0x3000);
	map(&registry, "parts", 0x1000, 0x4000, 0x5000);
	ok(is_at(&registry, 0x2000, "parts") && is_at(&registry, 0x4000, "parts") &&
		   is_at(&registry, 0x6000, "parts") && is_at(&registry, 0x3000, ""),
	   "a file may have code in several places");
	map(&registry, "later", 0x1800, 0x3000, 0x3800);
	ok(is_at(&registry, 0x2000, "") && is_at(&registry, 0x4000, "") &&
		   is_at(&registry, 0x6000, "") && is_at(&registry, 0x3000, "later") &&
		   is_at(&registry, 0x9000, "far"),
	   "and all of them are gone where another one comes");
	registry_free(&registry);
}

static void refusal_tests(void)
{
	static const char words[] = "This is no trace.\nAt all.\n";
	struct error err = { 0 };
	struct trace *trace;

	ok(read_all(words, sizeof(words) - 1).opened == -EBADMSG, "a letter is no trace");
	ok(read_all("\177ELF\2\1\1\0", 8).opened == -EBADMSG, "a program is no trace");
	ok(trace_open(&trace, "/", NULL, &err) == -EISDIR, "a directory is none");
	ok(trace_open(&trace, "/nonexistent/file", NULL, &err) == -ENOENT, "no file is none");
	stream_form(&stream, "2.0");
	stream.major = 3;
	put_sample(&stream);
	ok(read_all(stream.bytes, stream.size).ended == -EPROTO, "version 3 is refused");
}

/* Creates a file and opens it. */
static int make_file(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0)
		exit(99);
	return fd;
}

static bool are_same(int one, int two)
{
	struct stat a, b;

	return fstat(one, &a) == 0 && fstat(two, &b) == 0 && a.st_ino == b.st_ino;
}

/* A flight recorder may replace the file between the reader's open() and its check of the lock. */
static void replace_tests(void)
{
	static const struct trace_options now = { .no_wait = true };
	char directory[] = "/tmp/holdtrace-read.XXXXXX";
	struct error err = { 0 };
	int old, next, stdin_file;
	bool is_live = false;

	if (!mkdtemp(directory) || chdir(directory) != 0)
		exit(99);
	old = make_file("file");
	next = make_file("next");
	if (flock(next, LOCK_EX) != 0 || rename("next", "file") != 0)
		exit(99);
	alarm(20);
	ok(trace_wait(old, "file", &now, &is_live, &err) == 0 && is_live && are_same(old, next),
	   "--now does not wait for the file that took the place of the one that was opened");
	alarm(0);
	stdin_file = make_file("gone");
	next = make_file("-");
	if (unlink("gone") != 0)
		exit(99);
	ok(trace_wait(stdin_file, "-", &now, &is_live, &err) == 0 && !is_live &&
		   !are_same(stdin_file, next),
	   "standard input is no file that is called -");
	unlink("-");
	unlink("file");
	rmdir(directory);
}

int main(void)
{
	memory_file = memfd_create("stream", MFD_CLOEXEC);
	if (memory_file < 0)
		return 99;
	form_tests("2.0");
	form_tests("tails");
	way_back_tests();
	frame_tests();
	zstd_tests();
	pipe_test();
	tail_tests();
	mapping_tests();
	refusal_tests();
	replace_tests();
	return tap_end();
}
