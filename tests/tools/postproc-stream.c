/* SPDX-License-Identifier: MIT */
/*
 * postproc-stream NAME [FORM [COUNT]]: writes a stream to standard output.
 * NAME: see main(). FORM: see stream_form(). COUNT: pairs of malloc and free in `many`,
 * backtraces in `distinct`.
 */
#include <stdlib.h>

#include "tests/lib/postproc-stream.h"

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

static void timed(uint32_t thread, uint32_t time, uint32_t type, const char *name, uint64_t size,
		  uint64_t object)
{
	struct call call = { type ? 1 : 4, 0, time, type, name, size, object, 0 };

	stream.thread = thread;
	put_call(&stream, &call);
}

/* What selects: two threads, two modules, a call every 100 ms from 0.1 s after the start. */
static void choice(void)
{
	static const uint64_t late[] = { 0x500136, 0x400250 };

	start();
	put_mapping(&stream, 0x500000, 0x501000, "/lib/late.so");
	timed(0, 5100, 2, "malloc", 10, 0x10);
	put_backtrace(&stream, 3, frames);
	timed(0, 5100, 0, "pthread_setname_np", 0, 0x7f0000002000);
	put_argument(&stream, "name", "worker");
	put_backtrace(&stream, 3, frames);
	timed(1, 5200, 2, "malloc", 2000, 0x20);
	put_backtrace(&stream, 2, late);
	timed(1, 5300, 2, "calloc", 300, 0x30);
	put_backtrace(&stream, 1, frames);
	timed(0, 5400, 1, "free", 0, 0x20);
	put_backtrace(&stream, 3, frames);
	timed(0, 5500, 2, "malloc", 50, 0x20);
	put_backtrace(&stream, 3, frames);
	timed(1, 5600, 1, "free", 0, 0x30);
	put_backtrace(&stream, 3, frames);
	timed(1, 5700, 1, "free", 0, 0x10);
	put_backtrace(&stream, 3, frames);
	timed(0, 5800, 2, "valloc", 1, 0x40);
	put_backtrace(&stream, 3, frames);
}

/* Two processes of one run, to be merged: the same objects, other numbers of the same classes. */
static void first(void)
{
	start();
	timed(0, 5100, 2, "malloc", 10, 0x10);
	put_backtrace(&stream, 3, frames);
	timed(0, 5300, 2, "malloc", 30, 0x30);
	put_backtrace(&stream, 3, frames);
	timed(0, 5500, 1, "free", 0, 0x10);
	put_backtrace(&stream, 3, frames);
}

static void second(void)
{
	struct call open = { 1, 0, 5600, 2, "open", 1, 3, 0 };
	struct call calls[] = { { 2, 0, 5200, 2, "malloc", 20, 0x10, 0 },
				{ 2, 0, 5400, 2, "malloc", 40, 0x30, 0 },
				{ 2, 0, 5450, 1, "free", 0, 0x30, 0 } };

	put_handshake(&stream, "x86_64");
	put_process(&stream, 4800, "child");
	put_mapping(&stream, 0x400000, 0x401000, "/bin/child");
	put_resource(&stream, 1, 0, "fd", "file descriptor");
	put_resource(&stream, 2, 0, "memory", "memory allocation in bytes");
	for (int i = 0; i < 3; i++) {
		put_call(&stream, &calls[i]);
		put_backtrace(&stream, 3, frames);
	}
	put_call(&stream, &open);
	put_backtrace(&stream, 0, NULL);
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

static void plain(uint32_t resource, uint32_t context, uint32_t type, const char *name,
		  uint64_t size, uint64_t object)
{
	struct call call = { resource, context, 7000, type, name, size, object, 0 };

	put_call(&stream, &call);
}

/* What the modules of sp-rtrace register, as its front end orders it. */
static void register_modules(void)
{
	static const struct {
		uint32_t flags;
		const char *type, *description;
	} classes[] = {
		{ 0, "memory", "memory allocation in bytes" },
		{ 0, "fd", "file descriptor" },
		{ 0, "fp", "file pointer" },
		{ 1, "segment", "shared memory segment" },
		{ 0, "address", "shared memory attachments" },
		{ 0, "control", "shared memory segment control operation" },
		{ 0, "memtransfer", "memory transfer operations in bytes" },
		{ 1, "gobject", "GObject instance" },
	};

	put_tracer(&stream, 1, 0x10000, "memory");
	put_tracer(&stream, 2, 0x10000, "file");
	put_tracer(&stream, 2, 0x10000, "file"); /* it registers twice */
	put_tracer(&stream, 4, 0x10000, "shmsysv");
	for (uint32_t i = 0; i < sizeof(classes) / sizeof(*classes); i++)
		put_resource(&stream, i + 1, classes[i].flags, classes[i].type,
			     classes[i].description);
}

/* The argument of a call whose value is NULL, and that of one whose name is, too. */
static void put_null_arguments(void)
{
	begin_packet(&stream, "ARGS");
	put_dword(&stream, 2);
	put_string(&stream, "path");
	put_null(&stream);
	put_null(&stream);
	put_string(&stream, "");
	end_packet(&stream);
}

/* As the shipped tools write it: their modules' classes and calls, and their oddities. */
static void modules(void)
{
	put_handshake(&stream, "armv7l");
	put_two(&stream, "OCFG", "/home/user", "-lc");
	put_process(&stream, 812, "/usr/bin/demo");
	put_tracer(&stream, 0, 0x10000, "main");
	put_mapping(&stream, 0x8000, 0x9000, "/usr/bin/demo");
	put_mapping(&stream, 0xffff0000, 0xffff1000, "[vectors]");
	register_modules();
	put_context(&stream, 1, "start");
	plain(2, 0, 2, "socket", 1, 5);
	put_argument(&stream, "domain", "0x1");
	put_argument(&stream, "type", "0x1");
	put_backtrace(&stream, 2, frames);
	plain(2, 1, 1, "connect", 0, 5);
	plain(2, 1, 2, "connect", 0, 5); /* of size 0 */
	put_argument(&stream, "family", "AF_UNIX");
	put_argument(&stream, "path", "/tmp/a socket");
	put_backtrace(&stream, 1, frames);
	begin_packet(&stream, "NLIB");
	put_string(&stream, "*");
	end_packet(&stream);
	plain(2, 4, 2, "open", 1, 6); /* a context that was named while tracing was off */
	put_null_arguments();
	put_backtrace(&stream, 0, NULL);
	plain(1, 0, 1, "free", 0, 0);
	put_backtrace(&stream, 0, NULL);
	plain(3, 0, 1, "fcloseall", 0, 0xffffffff);
	put_backtrace(&stream, 1, frames);
	plain(4, 0, 2, "shmget", 4096, 0x8000);
	put_backtrace(&stream, 1, frames);
	plain(5, 0, 2, "shmat", 4096, 0x40000000);
	put_argument(&stream, "shmid", "0x8000");
	put_argument(&stream, "cpid", "812");
	put_backtrace(&stream, 1, frames);
	plain(6, 0, 1, "shmctl", 0, 0x8000);
	put_argument(&stream, "cmd", "IPC_RMID");
	put_backtrace(&stream, 0, NULL);
	plain(7, 0, 2, "memcpy", 100, 0x40000010);
	put_backtrace(&stream, 3, frames);
	plain(8, 0, 2, "g_object_ref", 1, 0x9100);
	put_argument(&stream, "type", "GtkWidget");
	put_backtrace(&stream, 1, frames);
	plain(9, 0, 2, "mystery", 1, 0x10); /* no such class */
	put_backtrace(&stream, 1, frames);
	plain(1, 0, 3, "odd_type", 8, 0x20);
	put_backtrace(&stream, 1, frames);
	put_two(&stream, "FILE", "maps", "812-maps-0");
	put_two(&stream, "FILE", "pageflags", "812 page flags-0");
	put_heap(&stream, true);
	plain(1, 0, 2, "malloc", 1, 0x30); /* the program ended before its backtrace came */
}

static void empty(void)
{
	start();
}

/* A function that no hook has, for objects of two classes. */
static void both(void)
{
	start();
	event(1, 2, "obtain", 40, 0x10, 1);
	event(2, 2, "obtain", 1, 5, 1);
	event(2, 2, "obtain", 1, 6, 1);
}

/* An argument that is longer as JSON than the buffer of a line. */
static void long_argument(void)
{
	static char value[20000];

	memset(value, 1, sizeof(value) - 1);
	start();
	plain(1, 0, 2, "malloc", 8, 0x10);
	put_argument(&stream, "name", value);
	put_backtrace(&stream, 1, frames);
}

static void end_note(void)
{
	struct call call = { 4, 0, 0, 0, "~dropped", 0, 0, 0 };

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
	stream_form(&stream, "1.1");
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

/* COUNT backtraces of 12 frames, no two alike, each with one block that stays and one that goes. */
static void distinct(uint64_t count)
{
	uint64_t stack[12];

	start();
	for (uint64_t i = 0; i < count; i++) {
		struct call call = { 1,	       0,  (uint32_t)(i / 1000 + 1), 2,
				     "malloc", 32, 0x10000 + i * 64,	     0 };

		for (uint32_t frame = 0; frame < 12; frame++)
			stack[frame] = 0x400000 + (i >> 2 * frame) % 4096 * 16 + frame * 65536;
		stack[0] += i << 32;
		put_call(&stream, &call);
		put_backtrace(&stream, 12, stack);
		call.object += 32;
		put_call(&stream, &call);
		put_backtrace(&stream, 12, stack);
		call.type = 1;
		call.name = "free";
		put_call(&stream, &call);
		put_backtrace(&stream, 12, stack);
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
		{ "sample", sample },	  { "two", two },
		{ "leaks", leaks },	  { "groups", groups },
		{ "strange", strange },	  { "unknown", unknown },
		{ "odd-heap", odd_heap }, { "empty", empty },
		{ "end", end_note },	  { "old", old },
		{ "choice", choice },	  { "first", first },
		{ "second", second },	  { "modules", modules },
		{ "both", both },	  { "long", long_argument },
	};

	if (argc < 2 || !stream_form(&stream, argc > 2 ? argv[2] : "2.0"))
		return 2;
	if (!strcmp(argv[1], "many") || !strcmp(argv[1], "distinct")) {
		uint64_t count = argc > 3 ? strtoull(argv[3], NULL, 10) : 1000;

		*argv[1] == 'm' ? many(count) : distinct(count);
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
