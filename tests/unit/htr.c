/* SPDX-License-Identifier: MIT */
/*
 * Tests of the .htr container. What goes through the collector's encoder must be read as the same
 * bytes that a pipe would have carried. Truncated, modified and forged containers must do no harm.
 *
 *   htr [bench FILE]
 */
#include "collect/encode.h"
#include "collect/pack.h"
#include "collect/packet.h"
#include "hook_table.h"
#include "postproc/streams/packets.h"
#include "trace/trace.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/lib/tap.h"

/* ---- bytes that grow ---- */

struct bytes {
	uint8_t *at;
	size_t size, room;
};

static void append(struct bytes *bytes, const void *more, size_t size)
{
	if (bytes->size + size > bytes->room) {
		bytes->room = 2 * (bytes->size + size);
		bytes->at = realloc(bytes->at, bytes->room);
		if (!bytes->at)
			exit(99);
	}
	if (size)
		memcpy(bytes->at + bytes->size, more, size);
	bytes->size += size;
}

static bool same_bytes(const struct bytes *one, const struct bytes *two)
{
	size_t i = 0;

	while (i < one->size && i < two->size && one->at[i] == two->at[i])
		i++;
	if (i == one->size && i == two->size)
		return true;
	printf("# %zu and %zu bytes, different at %zu\n", one->size, two->size, i);
	return false;
}

/* ---- made-up events ---- */

static uint64_t seed;

static uint64_t dice(uint64_t sides)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (seed >> 33) % sides;
}

struct maker {
	uint64_t time;
	uint64_t room[1200];
	uint64_t frames[ARENA_FRAMES_MAX];
	struct merge_thread threads[5];
	uint64_t calls[5];
	uint64_t objects[64];
};

static void begin_maker(struct maker *maker)
{
	memset(maker, 0, sizeof(*maker));
	maker->time = 5000000000u;
	for (int i = 0; i < 5; i++)
		maker->threads[i] = (struct merge_thread){ .id = 100 + i,
							   .pthread = 0x7f0000000000u + 4096u * i };
}

/* Makes a backtrace that resembles the previous one. */
static uint32_t make_frames(struct maker *maker)
{
	uint32_t count = dice(20) ? 10 + (uint32_t)dice(6) : (uint32_t)dice(ARENA_FRAMES_MAX);

	for (uint32_t i = 0; i < count; i++)
		maker->frames[count - 1 - i] = 0x555500000000u + i * 256 + (dice(50) ? 0 : dice(5));
	return dice(40) ? count : 0;
}

static const struct record *make_call(struct maker *maker, uint32_t thread)
{
	static const enum hook_number hooks[] = {
		HOOK_malloc,	   HOOK_free, HOOK_open, HOOK_close, HOOK_pthread_mutex_lock,
		HOOK_sem_timedwait
	};
	enum hook_number hook = hooks[dice(6)];
	struct record_call *call = (struct record_call *)maker->room;

	memset(call, 0, sizeof(*call));
	call->record.kind = RECORD_CALL;
	call->record.more = (uint16_t)hook;
	call->record.time = maker->time;
	call->enter = maker->time - dice(dice(9) ? 200 : 100000000);
	call->leave = dice(9) ? maker->time : dice(2) ? 0 : call->enter + dice(1000);
	call->call = maker->calls[thread] += dice(7) ? 1 : dice(3);
	call->object = dice(3) ? maker->objects[dice(64)] : 0x555560000000u + dice(1 << 24);
	maker->objects[dice(64)] = call->object;
	call->related = dice(9) ? 0 : call->object + dice(4096);
	call->size = dice(2) ? dice(300) : dice(9) ? 0 : dice(1ull << 31) << dice(33);
	call->result = dice(3) ? call->object : dice(2) ? 0 : (uint64_t)-1;
	call->frame = dice(30) ? 0x7ffff000 - 16 * dice(9) : dice(1ull << 31) << 20;
	call->error = dice(9) ? 0 : (int32_t)dice(40);
	call->depth = (uint16_t)(dice(5) ? 0 : dice(30));
	call->operation = (uint8_t)(dice(9) ? hook_table[hook].operation : dice(OPERATION_COUNT));
	call->moment = (uint8_t)(dice(3) ? MOMENT_LEAVE : dice(2) ? MOMENT_ENTER : MOMENT_HALF);
	call->part = (uint8_t)(dice(9) ? 0 : dice(3));
	call->flags = (uint8_t)(dice(9) ? 0 : dice(128));
	call->resource = (uint8_t)hook_table[hook].resource;
	call->cpu = dice(20) ? 1 : (int32_t)dice(3) - 1;
	call->context = (uint32_t)(dice(30) ? 0 : dice(8));
	if (hook == HOOK_open && dice(5)) {
		bool is_usual = dice(2); /* most calls open one of a few files */
		size_t length = is_usual  ? 10 + dice(2)
				: dice(5) ? dice(30)
					  : dice(ARENA_TEXT_MAX - 1);

		call->numbers = 2;
		call->text = (uint16_t)(length + 1);
		memset((char *)(call + 1) + 16, 'a' + (int)dice(is_usual ? 2 : 20), length);
		((char *)(call + 1))[16 + length] = 0;
		((uint64_t *)(call + 1))[0] = dice(is_usual ? 2 : 1000);
		((uint64_t *)(call + 1))[1] = is_usual ? 0 : dice(512);
	}
	return &call->record;
}

static const struct record *make_other(struct maker *maker)
{
	struct record_module *module = (struct record_module *)maker->room;
	struct record_note *note = (struct record_note *)maker->room;
	struct record_heap *heap = (struct record_heap *)maker->room;

	memset(maker->room, 0, 512);
	switch (dice(3)) {
	case 0:
		*module = (struct record_module){ .record = { .kind = RECORD_MODULE },
						  .base = 0x1000 * dice(3),
						  .start = 0x10000 * dice(3),
						  .end = 0x20000,
						  .path_size = 8,
						  .build_id_size = 4 };
		memcpy(module + 1, "/lib/so\0\1\2\3\4", 12);
		return &module->record;
	case 1:
		*note = (struct record_note){ .record = { .kind = RECORD_NOTE, .more = 1 },
					      .text = 19 };
		memcpy(note + 1, "~thread\0name\0first", 19);
		return &note->record;
	default:
		*heap = (struct record_heap){ .record = { .kind = RECORD_HEAP }, .bottom = 1 };
		return &heap->record;
	}
}

/* ---- into a container, and as packets ---- */

struct container {
	struct encoder encoder;
	struct pack *pack;
	struct bytes file;
};

static uint8_t buffer[2][4 * ENCODE_MOST];

static void flush_block(struct container *container)
{
	struct htr_block_parts *parts = htr_take(container->encoder.htr);
	struct pack_piece piece;

	if (!parts)
		return;
	if (pack_block(container->pack, parts, &piece, NULL))
		exit(99);
	append(&container->file, piece.bytes, piece.size);
	free(parts);
}

static void begin_container(struct container *container, const struct ticks *ticks)
{
	struct pack_piece start;

	memset(container, 0, sizeof(*container));
	encode_init(&container->encoder, buffer[0], sizeof(buffer[0]), PROTOCOL_2_0, ticks);
	container->encoder.htr = htr_create();
	container->pack = pack_create(1);
	start = pack_start(container->pack);
	append(&container->file, start.bytes, start.size);
}

static void end_container(struct container *container, bool with_index)
{
	flush_block(container);
	if (with_index) {
		struct pack_piece end = pack_end(container->pack);

		append(&container->file, end.bytes, end.size);
	}
	htr_destroy(container->encoder.htr);
	pack_destroy(container->pack);
}

static const struct encode_process process = { .pid = 42,
					       .name = "main",
					       .depth = 64,
					       .start = 5000000000,
					       .realtime_ns = 1000000000,
					       .session = { 1, 2 },
					       .parent_stream = WIRE_NO_STREAM };

/* Makes `count` events, in blocks of `per_block`, both as a container (*file) and as packets. */
static void make_stream(struct bytes *file, struct bytes *packets, unsigned count,
			unsigned per_block, bool with_index)
{
	static struct maker maker;
	struct container container;
	struct encoder plain;
	struct ticks ticks;
	uint32_t thread = 0;

	begin_maker(&maker);
	ticks_measure(&ticks, CONTROL_CLOCK_MONOTONIC);
	begin_container(&container, &ticks);
	encode_init(&plain, buffer[1], sizeof(buffer[1]), PROTOCOL_2_0, &ticks);
	encode_start(&plain, &process);
	encode_start(&container.encoder, &process);
	append(packets, plain.buffer, plain.used);
	plain.used = 0;
	for (unsigned i = 0; i < count; i++) {
		struct merge_event event = { .late = !dice(200) };

		thread = dice(4) ? thread : (uint32_t)dice(5);
		maker.time += dice(dice(9) ? 300 : 10000000);
		event.record = dice(300) ? make_call(&maker, thread) : make_other(&maker);
		event.time = maker.time + (event.late ? 5000000 : 0);
		event.thread = &maker.threads[thread];
		event.frames = maker.frames;
		event.frame_count = event.record->kind == RECORD_CALL ? make_frames(&maker) : 0;
		encode_event(&plain, &event);
		encode_event(&container.encoder, &event);
		append(packets, plain.buffer, plain.used);
		plain.used = 0;
		if (htr_is_full(container.encoder.htr) || (i + 1) % per_block == 0)
			flush_block(&container);
	}
	end_container(&container, with_index);
	append(file, container.file.at, container.file.size);
	free(container.file.at);
}

/* ---- reading ---- */

struct result {
	int opened, ended;
	unsigned events, calls;
	/* times of the first and last call, and a hash of all calls */
	uint64_t first_ns, last_ns, sum;
	uint64_t first_index;
	struct trace_tally tally;
	struct error err;
};

static int memory_file;

static void fill_file(const void *bytes, size_t size)
{
	if (ftruncate(memory_file, 0) != 0 ||
	    pwrite(memory_file, bytes, size, 0) != (ssize_t)size ||
	    lseek(memory_file, 0, SEEK_SET) != 0)
		exit(99);
}

static void note_call(struct result *result, const struct event *event)
{
	if (!result->calls++) {
		result->first_ns = event->time_ns;
		result->first_index = event->index;
	}
	result->last_ns = event->time_ns;
	result->sum = result->sum * 31 + event->object + event->size + event->frame + event->index +
		      event->backtrace->count;
	result->sum += event->backtrace->node->address;
}

static struct result read_fd(int fd, const struct trace_options *options, struct bytes *packets)
{
	struct result result = { 0 };
	struct packets room = { 0 };
	struct trace *trace;
	const struct event *event;

	result.opened = trace_open_fd(&trace, fd, options, &result.err);
	if (result.opened)
		return result;
	if (packets)
		packets_open(&room, true);
	while ((result.ended = trace_next(trace, &event, &result.err)) > 0) {
		result.events++;
		if (event->kind == EVENT_CALL)
			note_call(&result, event);
		if (packets)
			append(packets, room.bytes, packets_of(&room, event));
	}
	packets_close(&room);
	result.tally = *trace_tally(trace);
	trace_close(trace);
	return result;
}

static struct result read_all(const void *bytes, size_t size, struct bytes *packets)
{
	struct trace_options options = { .memory_max = 128 << 20, .wants_repeats = true };

	fill_file(bytes, size);
	return read_fd(memory_file, &options, packets);
}

static bool is_damaged(const struct result *result)
{
	return result->opened || result->ended < 0 || result->tally.damages ||
	       result->tally.is_truncated;
}

/* ---- tests ---- */

static void comes_back(unsigned count, unsigned per_block, const char *sentence)
{
	struct bytes file = { 0 }, packets = { 0 }, back = { 0 };
	struct result result;

	make_stream(&file, &packets, count, per_block, true);
	result = read_all(file.at, file.size, &back);
	if (!ok(!is_damaged(&result) && same_bytes(&packets, &back), sentence))
		printf("# %s %s\n", result.err.text, result.tally.damage_text);
	free(file.at);
	free(packets.at);
	free(back.at);
}

static void test_cuts(void)
{
	struct bytes file = { 0 }, packets = { 0 };
	unsigned last = 0, quiet = 0;
	bool good = true;

	make_stream(&file, &packets, 60, 20, true);
	for (size_t size = 0; size <= file.size; size++) {
		struct result result = read_all(file.at, size, NULL);

		good = good && result.events >= last && result.ended <= 0;
		last = result.events;
		quiet += !is_damaged(&result);
	}
	printf("# %u cuts leave nothing to be missed\n", quiet);
	/* only the whole file counts as undamaged: one that ends after a block lacks the index */
	ok(good && last > 60 && quiet == 1,
	   "cut at every byte: what stands before comes out, and what is missing is said");
	free(file.at);
	free(packets.at);
}

static void test_flips(void)
{
	struct bytes file = { 0 }, packets = { 0 };
	struct result whole;
	unsigned wrong = 0, silent = 0;

	make_stream(&file, &packets, 60, 20, true);
	whole = read_all(file.at, file.size, NULL);
	for (size_t bit = 0; bit < 8 * file.size; bit++) {
		struct result result;

		file.at[bit / 8] ^= (uint8_t)(1 << bit % 8);
		result = read_all(file.at, file.size, NULL);
		file.at[bit / 8] ^= (uint8_t)(1 << bit % 8);
		if (is_damaged(&result))
			continue;
		silent++;
		wrong += result.sum != whole.sum || result.events != whole.events;
	}
	printf("# %u of %zu bits say nothing that is read\n", silent, 8 * file.size);
	ok(wrong == 0 && silent < 8 * (4 + 3 * HTR_SIZE_entry + HTR_SIZE_index + HTR_SIZE_end),
	   "no bit turned over goes unseen");
	free(file.at);
	free(packets.at);
}

/* Blocks with contents that no writer makes, but with correct checksums. */
static void test_insides(void)
{
	static struct maker maker;
	struct container container;
	struct htr_block_parts *parts;
	struct pack_piece piece;
	struct ticks ticks;
	size_t size;
	unsigned ends = 0;

	begin_maker(&maker);
	ticks_measure(&ticks, CONTROL_CLOCK_MONOTONIC);
	begin_container(&container, &ticks);
	encode_start(&container.encoder, &process);
	for (int i = 0; i < 40; i++) {
		struct merge_event event = { .record = make_call(&maker, 0),
					     .time = maker.time += 100,
					     .thread = &maker.threads[i % 2],
					     .frames = maker.frames,
					     .frame_count = 5 };

		encode_event(&container.encoder, &event);
	}
	parts = htr_take(container.encoder.htr);
	size = parts->header.definitions_size + parts->header.events_size;
	for (unsigned i = 0; i < 20 * size; i++) {
		size_t place = i < 8 * size ? i / 8 : dice(size);
		uint8_t old = parts->bytes[place];
		struct bytes file = { 0 };

		parts->bytes[place] = i < 8 * size ? old ^ (uint8_t)(1 << i % 8)
						   : (uint8_t)(dice(2) ? 0xff : dice(256));
		piece = pack_start(container.pack);
		append(&file, piece.bytes, piece.size);
		if (pack_block(container.pack, parts, &piece, NULL))
			exit(99);
		append(&file, piece.bytes, piece.size);
		parts->bytes[place] = old;
		ends += read_all(file.at, file.size, NULL).ended <= 0;
		free(file.at);
	}
	ok(ends == 20 * size, "insides that make no sense do no harm");
	free(parts);
	end_container(&container, false);
	free(container.file.at);
}

static void test_lost_block(void)
{
	struct bytes file = { 0 }, packets = { 0 };
	struct result whole, result;
	struct htr_block block;
	size_t second;

	make_stream(&file, &packets, 3000, 1000, true);
	whole = read_all(file.at, file.size, NULL);
	htr_get_block(file.at + HTR_SIZE_file, &block);
	second = HTR_SIZE_file + HTR_SIZE_block + block.definitions_packed + block.events_packed;
	file.at[second + 20] ^= 1;
	result = read_all(file.at, file.size, NULL);
	ok(result.tally.damages >= 1 && result.calls >= whole.calls / 3 &&
		   result.calls < whole.calls && result.ended == 0,
	   "a block that is lost costs its own events, and those that need what it defined");
	free(file.at);
	free(packets.at);
}

static bool is_range(const struct result *result, const struct result *whole, uint64_t since,
		     uint64_t until)
{
	return result->ended == 0 && result->calls > 0 && result->calls < whole->calls &&
	       result->first_ns >= since && result->last_ns <= until && !is_damaged(result);
}

static void test_ranges(void)
{
	struct bytes file = { 0 }, packets = { 0 };
	struct trace_options options = { 0 };
	struct result whole, plain, result;
	uint64_t length;

	make_stream(&file, &packets, 20000, 500, true);
	whole = read_all(file.at, file.size, NULL);
	length = whole.last_ns - whole.first_ns;
	options.since_ns = whole.first_ns + length / 2;
	options.until_ns = whole.first_ns + length / 2 + length / 20;
	fill_file(packets.at, packets.size);
	plain = read_fd(memory_file, &options, NULL);
	ok(is_range(&plain, &whole, options.since_ns, options.until_ns),
	   "a part of the time of packets");
	fill_file(file.at, file.size);
	result = read_fd(memory_file, &options, NULL);
	ok(is_range(&result, &whole, options.since_ns, options.until_ns) &&
		   result.sum == plain.sum && result.first_index == plain.first_index,
	   "of a container: the same calls with the same numbers");
	ok(result.tally.calls < 3 * result.calls + 2000, "and what lies outside was not read");
	fill_file(file.at, file.size - 1);
	result = read_fd(memory_file, &options, NULL);
	ok(result.sum == plain.sum, "without its index, too");
	if (lseek(memory_file, 0, SEEK_SET) == 0) {
		int ends[2];

		if (pipe(ends) || fork() == 0) {
			FILE *to = fdopen(ends[1], "w");

			fwrite(file.at, 1, file.size, to);
			fclose(to);
			_exit(0);
		}
		close(ends[1]);
		result = read_fd(ends[0], &options, NULL);
		close(ends[0]);
	}
	ok(result.sum == plain.sum, "and through a pipe");
	free(file.at);
	free(packets.at);
}

static void test_refusals(void)
{
	struct bytes file = { 0 }, packets = { 0 };
	struct result result;

	make_stream(&file, &packets, 10, 100, true);
	append(&file, file.at, file.size);
	result = read_all(file.at, file.size, NULL);
	ok(result.tally.sections == 2 && !is_damaged(&result), "two containers in one file");
	file.at[8] = 2;
	result = read_all(file.at, file.size, NULL);
	ok(result.opened == -EPROTO && strstr(result.err.text, "version 2"),
	   "a version that nobody knows is refused with a sentence");
	file.at[8] = 1;
	memset(file.at + HTR_SIZE_file, 'x', file.size - HTR_SIZE_file);
	result = read_all(file.at, file.size, NULL);
	ok(result.tally.damages == 1 && result.events == 0 && result.tally.is_truncated,
	   "foreign contents behind the magic are damage");
	free(file.at);
	free(packets.at);
}

/* ---- bench ---- */

struct kept {
	struct event event;
	struct encode_packet_call call;
	uint32_t function, frame_count;
	uint64_t *frames;
};

static struct kept *keep_events(const char *path, size_t *count)
{
	struct trace *trace;
	const struct event *event;
	struct kept *kept = NULL;
	size_t room = 0;
	struct error err;

	*count = 0;
	if (trace_open(&trace, path, NULL, &err)) {
		printf("# %s: %s\n", path, err.text);
		exit(1);
	}
	while (trace_next(trace, &event, NULL) > 0) {
		if (event->kind != EVENT_CALL || event->argument_count)
			continue;
		if (*count == room) {
			room = room ? 2 * room : 1024;
			kept = realloc(kept, room * sizeof(*kept));
		}
		kept[*count].event = *event;
		kept[*count].frame_count = event->backtrace->count;
		kept[*count].frames = calloc(event->backtrace->count + 1, sizeof(uint64_t));
		trace_node_frames(event->backtrace->node, kept[*count].frames,
				  event->backtrace->count);
		kept[(*count)++].call = packet_of_call(event);
	}
	return kept;
}

static uint64_t cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void bench(const char *path)
{
	size_t count;
	struct kept *kept = keep_events(path, &count);

	for (int round = 0; round < 5; round++) {
		uint64_t sum = 0, from = cpu_ns();

		for (size_t i = 0; i < count; i++) {
			const struct encode_packet_call *call = &kept[i].call;

			sum += call->object + call->resource + call->frame + kept[i].function;
			for (uint32_t frame = 0; frame < kept[i].frame_count; frame += 8)
				sum ^= kept[i].frames[frame];
		}
		printf("# fetching them %.1f ns (%d)\n", (double)(cpu_ns() - from) / (double)count,
		       (int)(sum & 1));
		struct htr *htr = htr_create();
		uint64_t begin, bytes = 0;

		for (size_t i = 0; i < count; i++) {
			const struct function *function = kept[i].event.function;

			kept[i].function = htr_function(htr, function->name, function->length);
		}
		begin = cpu_ns();
		for (size_t i = 0; i < count; i++) {
			struct htr_event one = { .call = &kept[i].call,
						 .function = kept[i].function,
						 .frames = kept[i].frames,
						 .frame_count = kept[i].frame_count };

			if (htr_is_full(htr)) {
				struct htr_block_parts *parts = htr_take(htr);

				bytes += parts->header.definitions_size + parts->header.events_size;
				free(parts);
			}
			htr_event(htr, &one);
		}
		printf("# %zu events, %.1f ns each, %.2f bytes\n", count,
		       (double)(cpu_ns() - begin) / (double)count, (double)bytes / (double)count);
		htr_destroy(htr);
	}
	free(kept);
}

int main(int argc, char **argv)
{
	memory_file = memfd_create("htr", 0);
	if (argc > 2 && !strcmp(argv[1], "bench")) {
		bench(argv[2]);
		return 0;
	}
	comes_back(0, 1, "an empty stream comes back byte for byte");
	comes_back(1, 1, "one event");
	comes_back(5000, 7, "many small blocks");
	comes_back(200000, 1u << 30, "large ones");
	test_cuts();
	test_flips();
	test_insides();
	test_lost_block();
	test_ranges();
	test_refusals();
	return tap_end();
}
