/* SPDX-License-Identifier: MIT */
/*
 * postproc-stream NAME [FORM [COUNT]]: writes a stream to standard output.
 * NAME: see main(). FORM: see stream_form(). COUNT: pairs of malloc and free in `many`.
 */
#include <stdlib.h>

#include "tests/postproc-stream.h"

static struct stream stream;

static const uint64_t frames[] = { 0x400136, 0x400250, 0x400310 };

static void start(void)
{
	put_handshake(&stream, "x86_64");
	put_process(&stream, 4711, "demo");
	put_mapping(&stream, 0x400000, 0x401000, "/bin/demo");
	put_resource(&stream, 1, 0, "memory", "memory allocation in bytes");
	put_resource(&stream, 2, 0, "fd", "file descriptor");
	put_resource(&stream, 3, 1, "lock", "lock that is held");
	put_resource(&stream, 4, 0, "event", "call that neither gains nor loses");
}

static void event(uint32_t resource, uint32_t type, const char *name, uint64_t size,
		  uint64_t object, uint32_t depth)
{
	struct call call = { resource, 0, 0, type, name, size, object, 0 };

	put_call(&stream, &call);
	put_backtrace(&stream, depth, frames);
}

/* Every rule of -l once; the index that leaks stands behind. */
static void leaks(void)
{
	start();
	event(1, 2, "malloc", 10, 0x10, 3); /* replaced: leaks 1 */
	event(1, 2, "malloc", 20, 0x10, 3); /* freed */
	event(1, 1, "free", 0, 0x10, 3);
	event(1, 1, "free", 0, 0x10, 3); /* of nothing */
	event(1, 1, "free", 0, 0, 3);
	event(2, 2, "open", 1, 3, 2); /* 6: same id, another class */
	event(1, 2, "malloc", 30, 3, 1);
	event(1, 1, "free", 0, 3, 1);
	event(3, 2, "pthread_mutex_lock", 1, 0x20, 2); /* 9: locked twice, unlocked once */
	event(3, 2, "pthread_mutex_lock", 1, 0x20, 2);
	event(3, 1, "pthread_mutex_unlock", 0, 0x20, 2);
	event(3, 2, "pthread_mutex_lock", 1, 0x30, 2); /* twice and twice */
	event(3, 2, "pthread_mutex_lock", 1, 0x30, 2);
	event(3, 1, "pthread_mutex_unlock", 0, 0x30, 2);
	event(3, 1, "pthread_mutex_unlock", 0, 0x30, 2);
	event(4, 0, "sem_post", 0, 0x10, 1); /* neither */
	event(4, 0, "~process", 0, 0, 0);
	event(1, 2, "malloc", 3000000000, 0x40, 3); /* 18 */
	event(1, 2, "malloc", 2147483648, 0x50, 3); /* 19 */
	event(7, 2, "mystery", 5, 0x60, 1);	    /* 20: a class that nobody registered */
	event(1, 2, "realloc", 64, 0x70, 1);
	event(1, 1, "realloc", 0, 0x70, 1);
	event(1, 2, "realloc", 128, 0x70, 1); /* 23 */
}

/* Groups for the orders: sizes 6, 6, 100, 1; counts 3, 1, 1, 2. */
static void groups(void)
{
	start();
	event(1, 2, "malloc", 2, 0x10, 3);
	event(1, 2, "malloc", 2, 0x20, 3);
	event(1, 2, "malloc", 2, 0x30, 3);
	event(1, 2, "malloc", 6, 0x40, 2);
	event(1, 2, "malloc", 100, 0x50, 1);
	event(1, 2, "malloc", 1, 0x60, 0);
	event(1, 1, "free", 0, 0x60, 0);
}

/* Names that are no names. */
static void strange(void)
{
	static char longest[3000];
	struct call call = {
		1, 0, 0, 2, "operator new(unsigned long, std::align_val_t)", 8, 0x10, 0
	};

	memset(longest, 'x', sizeof(longest) - 1);
	put_handshake(&stream, "x86_64");
	put_process(&stream, 4711, "a, pid=7, b=%s%n");
	put_mapping(&stream, 0x400000, 0x401000, "/tmp/line\nbreak => 0x1-0x2");
	put_mapping(&stream, 0x600000, 0x500000, "/tmp/ends before it begins");
	put_resource(&stream, 1, 0, "memory", "a (b) [c] %n");
	put_resource(&stream, 40, 0, "forty", "ordinal above 32");
	put_resource(&stream, 0xffffffff, 0, "last", "ordinal above 64");
	put_call(&stream, &call);
	put_argument(&stream, "esc", "\033[31mred\r\tand\x7f");
	put_argument(&stream, "long", longest);
	put_backtrace(&stream, 1, frames);
	call = (struct call){ 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, "", 1, 0, 0 };
	put_call(&stream, &call);
	call = (struct call){ 40, 0, 0, 2, "two calls\nwithout backtrace", 1, 1, 0 };
	put_call(&stream, &call);
	put_backtrace(&stream, 1, frames);
	put_backtrace(&stream, 2, frames);
	put_argument(&stream, "of", "nothing");
}

static void unknown(void)
{
	start();
	put_two(&stream, "XTRA", "from", "the future");
	event(1, 2, "malloc", 1, 0x10, 1);
	put_two(&stream, "XTRB", "from", "the future");
}

static void odd_heap(void)
{
	put_handshake(&stream, "x86_64");
	put_process(&stream, 4711, "demo");
	put_heap(&stream, true);
}

static void empty(void)
{
	start();
}

static void end_note(void)
{
	struct call call = { 4, 0, 0, 0, "~lost", 0, 0, 0 };

	start();
	event(1, 2, "malloc", 1, 0x10, 1);
	put_call(&stream, &call);
	put_argument(&stream, "reason", "full");
	put_argument(&stream, "count", "12");
	put_backtrace(&stream, 0, NULL);
	event(4, 0, "~end", 0, 0, 0);
}

static void old(void)
{
	stream.major = 1;
	stream.minor = 1;
	stream.is_size_first = true;
	put_sample(&stream);
}

static uint64_t random_number(void)
{
	static uint64_t state = 88172645463325252;

	state ^= state << 13;
	state ^= state >> 7;
	return state ^= state << 17;
}

static void empty_into_stdout(void)
{
	if (fwrite(stream.bytes, 1, stream.size, stdout) != stream.size)
		exit(1);
	stream.size = 0;
}

/*
 * What a busy program does: 100,000 blocks held, every malloc followed by a free of an old block,
 * 20,000 distinct backtraces of 4 to 19 frames; every thousandth block is never freed.
 */
static void many(uint64_t count)
{
	static uint64_t held[100000];
	uint64_t stack[19];

	start();
	for (uint64_t i = 0; i < count; i++) {
		uint64_t *block = &held[random_number() % 100000];
		uint64_t site = random_number() % 20000, object = 0x10000 + i * 16;
		uint32_t depth = 4 + (uint32_t)(site % 16);
		struct call call = { 1,	     0,	       (uint32_t)(i / 1000 + 1),
				     2,	     "malloc", 16 + site % 500,
				     object, 0 };

		for (uint32_t frame = 0; frame < depth; frame++)
			stack[frame] =
				0x400000 + (frame < 3 ? site * 64 : site / 100) + frame * 4096;
		put_call(&stream, &call);
		put_backtrace(&stream, depth, stack);
		if (*block % 16000 != 0) {
			call = (struct call){ 1, 0, call.time, 1, "free", 0, *block, 0 };
			put_call(&stream, &call);
			put_backtrace(&stream, depth, stack);
		}
		*block = object;
		if (stream.size > STREAM_MAX - 2048)
			empty_into_stdout();
	}
}

static void two(void)
{
	put_sample(&stream);
	put_sample(&stream);
}

static void sample(void)
{
	put_sample(&stream);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*make)(void);
	} names[] = {
		{ "sample", sample },	  { "two", two },	  { "leaks", leaks },
		{ "groups", groups },	  { "strange", strange }, { "unknown", unknown },
		{ "odd-heap", odd_heap }, { "empty", empty },	  { "end", end_note },
		{ "old", old },
	};

	if (argc < 2 || !stream_form(&stream, argc > 2 ? argv[2] : "2.0"))
		return 2;
	if (!strcmp(argv[1], "many")) {
		many(argc > 3 ? strtoull(argv[3], NULL, 10) : 1000);
		empty_into_stdout();
		return fflush(stdout) != 0;
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (strcmp(argv[1], names[i].name) != 0)
			continue;
		names[i].make();
		return fwrite(stream.bytes, 1, stream.size, stdout) != stream.size;
	}
	return 2;
}
