/* SPDX-License-Identifier: MIT */
/*
 * Damages traces of every kind: truncates twenty of them at each byte, and inverts each bit of
 * five. Reading must end, in limited time and memory. Calls before the damage must be unchanged. If
 * bytes are missing or a checksum is wrong, the reader must report damage, on which --strict
 * relies. Packets and text have no checksum, so a wrong bit in them can go unnoticed.
 */
#include "trace/trace.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#include <zstd.h>

#include "base/cleanup.h"
#include "postproc/engine/pass.h"
#include "tests/lib/postproc-stream.h"
#include "tests/lib/tap.h"

#define CALLS_MAX 256

enum kind { PACKETS, TEXT, HTR, ZSTD };

/* A trace, and what the reader returns for it. */
struct specimen {
	char name[40];
	enum kind kind;
	unsigned char *bytes;
	size_t size;
	unsigned count;
	uint64_t calls[CALLS_MAX]; /* a hash of all facts of each call */
	uint64_t ends[CALLS_MAX];  /* bytes that were read when the call was returned */
	bool *is_between;	   /* for packets: whether a packet ends at this offset */
	size_t second;		   /* offset of the second of two streams, or 0 */
};

static int memory_file;

static void fill_file(const void *bytes, size_t size)
{
	if (ftruncate(memory_file, 0) != 0 ||
	    pwrite(memory_file, bytes, size, 0) != (ssize_t)size ||
	    lseek(memory_file, 0, SEEK_SET) != 0)
		exit(99);
}

static uint64_t mix(uint64_t sum, uint64_t value)
{
	return (sum ^ value) * 0x9e3779b97f4a7c15u + (sum >> 29);
}

static uint64_t mix_text(uint64_t sum, const char *text)
{
	for (; text && *text; text++)
		sum = mix(sum, (unsigned char)*text);
	return mix(sum, 256);
}

static uint64_t number_of(const struct event *event)
{
	uint64_t sum = mix_text(event->index, event->function->name);
	const struct trace_node *at;

	sum = mix(mix(mix(sum, event->object), event->size), event->time_ns);
	sum = mix(mix(mix(sum, event->type), event->resource->ordinal), event->context);
	for (uint32_t i = 0; i < event->argument_count; i++)
		sum = mix_text(mix_text(sum, event->arguments[i].name), event->arguments[i].value);
	for (at = event->backtrace ? event->backtrace->node : &trace_no_node; at->count;
	     at = at->caller)
		sum = mix(sum, at->address);
	return sum;
}

struct result {
	int opened, ended;
	unsigned events, calls, same; /* same: number of first calls that are right */
	bool is_whole;
};

static struct result read_bytes(const struct specimen *specimen, const void *bytes, size_t size)
{
	struct trace_options options = { .memory_max = 64 << 20, .no_wait = true };
	struct result result = { 0 };
	const struct event *event;
	struct trace *trace;

	fill_file(bytes, size);
	result.opened = trace_open_fd(&trace, memory_file, &options, NULL);
	if (result.opened)
		return result;
	while ((result.ended = trace_next(trace, &event, NULL)) > 0) {
		result.events++;
		if (!event_is_call(event))
			continue;
		if (result.same == result.calls && result.calls < specimen->count &&
		    specimen->calls[result.calls] == number_of(event))
			result.same++;
		result.calls++;
	}
	result.is_whole = result.ended == 0 && trace_is_whole(trace);
	trace_close(trace);
	return result;
}

/* ---- specimens ---- */

static struct specimen specimens[20];
static unsigned specimen_count;
static struct stream stream;

static void learn_calls(struct specimen *specimen)
{
	const struct event *event;
	struct trace *trace;

	fill_file(specimen->bytes, specimen->size);
	if (trace_open_fd(&trace, memory_file, NULL, NULL))
		exit(99);
	while (trace_next(trace, &event, NULL) > 0) {
		if (!event_is_call(event) || specimen->count == CALLS_MAX)
			continue;
		specimen->calls[specimen->count] = number_of(event);
		specimen->ends[specimen->count++] = trace_tally(trace)->bytes;
	}
	if (!trace_is_whole(trace) || !specimen->count)
		exit(99);
	trace_close(trace);
}

/* Finds the ends of packets in a stream that was made by hand. */
static void learn_places(struct specimen *specimen)
{
	size_t at = stream.bytes[1] + 2u;

	specimen->is_between = calloc(stream.size + 1, sizeof(bool));
	if (!specimen->is_between)
		exit(99);
	while (at <= stream.size) {
		uint32_t size;

		specimen->is_between[at] = true;
		memcpy(&size, stream.bytes + at + (stream.is_size_first ? 0 : 4), 4);
		if (stream.is_big)
			size = __builtin_bswap32(size);
		at += size + (stream.is_size_first ? 4 : 8);
	}
}

static struct specimen *add(const char *name, enum kind kind, const void *bytes, size_t size)
{
	struct specimen *specimen = &specimens[specimen_count++];

	snprintf(specimen->name, sizeof(specimen->name), "%s", name);
	specimen->kind = kind;
	specimen->bytes = malloc(size);
	if (!specimen->bytes)
		exit(99);
	memcpy(specimen->bytes, bytes, size);
	specimen->size = size;
	learn_calls(specimen);
	return specimen;
}

static struct specimen *add_zstd(const char *name, const void *bytes, size_t size)
{
	static unsigned char packed[STREAM_MAX];
	ZSTD_CCtx *context = ZSTD_createCCtx();

	ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
	size = ZSTD_compress2(context, packed, sizeof(packed), bytes, size);
	ZSTD_freeCCtx(context);
	if (ZSTD_isError(size))
		exit(99);
	return add(name, ZSTD, packed, size);
}

/* Converts the bytes with a writer and adds the result as a specimen. */
static struct specimen *add_written(const char *name, enum kind kind, const char *writer,
				    const void *bytes, size_t size)
{
	struct output output = { 0 };
	struct pass_options options = { .writer = writer_find(writer),
					.output = &output,
					.reading.select = { .depth = -1 } };
	struct engine_result result = { 0 };
	char path[40];
	const char *const paths[] = { path };
	int written = memfd_create("written", 0), kept = dup(STDOUT_FILENO);
	struct specimen *specimen;
	void *text;
	off_t length;

	options.reading.trace.wants_repeats = options.writer->flags & FORMAT_REPEATS;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", memory_file);
	fflush(stdout);
	fill_file(bytes, size);
	dup2(written, STDOUT_FILENO);
	if (pass(paths, 1, &options, &result, NULL))
		exit(99);
	dup2(kept, STDOUT_FILENO);
	close(kept);
	length = lseek(written, 0, SEEK_END);
	text = mmap(NULL, (size_t)length, PROT_READ, MAP_PRIVATE, written, 0);
	if (text == MAP_FAILED)
		exit(99);
	specimen = add(name, kind, text, (size_t)length);
	munmap(text, (size_t)length);
	close(written);
	return specimen;
}

/* Makes a stream like the library's, with tails and a note at its end. */
static void make_ended(void)
{
	struct call end = { 4, 0, 86399999, 0, "~end", 0, 0, 0 };

	stream_form(&stream, "tails");
	put_sample(&stream);
	put_call(&stream, &end);
	put_argument(&stream, "why", "exited");
	put_backtrace(&stream, 0, NULL);
}

static void make_specimens(void)
{
	static const char *const forms[] = { "2.0",   "big",	"big-tails",  "32",
					     "tails", "big-32", "size-first", "document" };
	struct specimen *specimen;
	char name[40];

	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		stream_form(&stream, forms[i]);
		put_sample(&stream);
		snprintf(name, sizeof(name), "packets %.20s", forms[i]);
		learn_places(add(name, PACKETS, stream.bytes, stream.size));
		if (i % 2)
			continue;
		snprintf(name, sizeof(name), "zstd %s", forms[i]);
		add_zstd(name, stream.bytes, stream.size);
	}
	stream_form(&stream, "2.0");
	put_sample(&stream);
	add_written("text", TEXT, "text", stream.bytes, stream.size);
	put_sample(&stream);
	add_written("text of two", TEXT, "text", stream.bytes, stream.size);
	stream_form(&stream, "2.0");
	put_sample(&stream);
	add_written("htr 2.0", HTR, "htr", stream.bytes, stream.size);
	stream_form(&stream, "big-32");
	put_sample(&stream);
	add_written("htr big-32", HTR, "htr", stream.bytes, stream.size);
	make_ended();
	learn_places(add("packets with an end", PACKETS, stream.bytes, stream.size));
	add_written("htr with an end", HTR, "htr", stream.bytes, stream.size);
	add_zstd("zstd with an end", stream.bytes, stream.size);
	put_sample(&stream);
	specimen = add_written("htr of two", HTR, "htr", stream.bytes, stream.size);
	specimen->second = specimen->size - 8;
	while (memcmp(specimen->bytes + specimen->second, specimen->bytes, 8) != 0)
		specimen->second--;
}

/* ---- damage ---- */

/* Returns the number of calls that were complete before the damage; for compressed data, 0. */
static unsigned whole_before(const struct specimen *specimen, size_t offset)
{
	unsigned count = 0;

	while (specimen->kind != ZSTD && count < specimen->count && specimen->ends[count] <= offset)
		count++;
	return count;
}

static bool must_say_cut(const struct specimen *specimen, size_t size)
{
	switch (specimen->kind) {
	case PACKETS:
		return !specimen->is_between[size];
	case TEXT:
		/* a text may end at the end of any line */
		return specimen->bytes[size - 1] != '\n';
	case HTR:
	case ZSTD:
		break;
	}
	return size != specimen->second;
}

static bool is_cut_well(const struct specimen *specimen, size_t size)
{
	struct result result = read_bytes(specimen, specimen->bytes, size);

	if (result.opened)
		return whole_before(specimen, size) == 0;
	return result.ended == 0 && result.same >= whole_before(specimen, size) &&
	       result.calls <= specimen->count &&
	       (!result.is_whole || !must_say_cut(specimen, size));
}

static void cut_everywhere(const struct specimen *specimen)
{
	char sentence[120];
	size_t wrong = SIZE_MAX;

	for (size_t size = 1; size < specimen->size && wrong == SIZE_MAX; size++)
		if (!is_cut_well(specimen, size))
			wrong = size;
	snprintf(sentence, sizeof(sentence),
		 "%.40s (%zu bytes): cut anywhere, what is whole comes out, and it is said",
		 specimen->name, specimen->size);
	if (!ok(wrong == SIZE_MAX, sentence)) {
		struct result result = read_bytes(specimen, specimen->bytes, wrong);

		printf("# not so at %zu: opened %d, ended %d, %u of %u calls, %u the same, %s\n",
		       wrong, result.opened, result.ended, result.calls,
		       whole_before(specimen, wrong), result.same,
		       result.is_whole ? "nothing said" : "said");
	}
}

static bool is_turned_well(const struct specimen *specimen, size_t offset)
{
	struct result result = read_bytes(specimen, specimen->bytes, specimen->size);
	bool is_same = result.same == specimen->count && result.calls == specimen->count;

	if (result.opened)
		return whole_before(specimen, offset) == 0;
	if (result.same < whole_before(specimen, offset) || result.events > specimen->size)
		return false;
	return specimen->kind == PACKETS || specimen->kind == TEXT || is_same || !result.is_whole;
}

static void turn_every_bit(struct specimen *specimen)
{
	char sentence[160];
	size_t wrong = SIZE_MAX;

	for (size_t bit = 0; bit < specimen->size * 8 && wrong == SIZE_MAX; bit++) {
		specimen->bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
		if (!is_turned_well(specimen, bit / 8))
			wrong = bit;
		specimen->bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
	}
	snprintf(sentence, sizeof(sentence),
		 "%.40s: any bit turned over, what is before it comes out%s", specimen->name,
		 specimen->kind == PACKETS || specimen->kind == TEXT ? "" : ", and it is said");
	if (!ok(wrong == SIZE_MAX, sentence))
		printf("# not so at byte %zu, bit %zu\n", wrong / 8, wrong % 8);
}

static bool is_one_of_five(const struct specimen *specimen)
{
	static const char *const five[] = { "packets tails", "packets big-32", "zstd 2.0", "text",
					    "htr with an end" };

	for (size_t i = 0; i < sizeof(five) / sizeof(*five); i++)
		if (!strcmp(specimen->name, five[i]))
			return true;
	return false;
}

/* By default, ASan keeps 256 MiB of freed memory. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);

const char *__asan_default_options(void)
{
	return "quarantine_size_mb=16";
}

int main(void)
{
	struct rusage before, after;

	memory_file = memfd_create("specimen", MFD_CLOEXEC);
	if (memory_file < 0)
		return 99;
	make_specimens();
	ok(specimen_count == 20, "twenty traces");
	getrusage(RUSAGE_SELF, &before);
	for (unsigned i = 0; i < specimen_count; i++)
		cut_everywhere(&specimens[i]);
	for (unsigned i = 0; i < specimen_count; i++)
		if (is_one_of_five(&specimens[i]))
			turn_every_bit(&specimens[i]);
	getrusage(RUSAGE_SELF, &after);
	ok(after.ru_maxrss - before.ru_maxrss < 64 << 10, "no damage takes 64 MiB");
	for (unsigned i = 0; i < specimen_count; i++) {
		free(specimens[i].bytes);
		free(specimens[i].is_between);
	}
	return tap_end();
}
