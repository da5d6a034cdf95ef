/* SPDX-License-Identifier: MIT */
/*
 * summary-generate STORY: writes a stream to standard output whose screen is known. Its backtraces
 * lead through functions of this program, so that there are names to be found.
 */
#include <link.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/lib/postproc-stream.h"

enum { MEMORY = 1, FD, FP, THREAD, LOCK, MUTEX, CONDITION, SEMAPHORE, EVENT };
enum { NONE, ALLOC, FREE, ACQUIRE, TRY, RELEASE, WAIT, NOTIFY };
enum { ENTER = 1, LEAVE = 2, HALF = 5 };

static struct stream stream;
static uint64_t now = 5000000000; /* ns */

/* Where the backtraces lead. */
__attribute__((noinline)) static int leaky(int n)
{
	return n + 1;
}
__attribute__((noinline)) static int load_config(int n)
{
	return n + 2;
}
__attribute__((noinline)) static int worker(int n)
{
	return n + 3;
}

struct event {
	int class, type, operation;
	const char *name;
	uint64_t object, size;
	uint32_t thread, moment, part, flags;
	uint64_t duration;
};

static void put_event(const struct event *event)
{
	begin_packet(&stream, "CALL");
	put_dword(&stream, (uint32_t)event->class);
	put_dword(&stream, 0);
	put_dword(&stream, (uint32_t)(now / 1000000));
	put_dword(&stream, (uint32_t)event->type);
	put_string(&stream, event->name);
	put_dword(&stream, (uint32_t)event->size);
	put_pointer(&stream, event->object);
	put_byte(&stream, (unsigned)event->operation);
	put_byte(&stream, event->moment ? event->moment : LEAVE);
	put_byte(&stream, event->part);
	put_byte(&stream, event->flags);
	put_dword(&stream, event->thread ? event->thread : 100);
	put_dword(&stream, 0);
	put_dword(&stream, 0);
	put_dword(&stream, 0);
	put_number(&stream, 0x7000 + (event->thread ? event->thread - 100 : 0), 8);
	put_number(&stream, ++stream.calls, 8);
	put_number(&stream, now, 8);
	put_number(&stream, now + event->duration, 8);
	put_number(&stream, event->size, 8);
	put_number(&stream, 0, 8);
	put_number(&stream, 0, 8);
	put_number(&stream, 0, 8);
	end_packet(&stream);
	now += 1000000; /* a millisecond each */
}

static void put_where(int (*inner)(int), int (*outer)(int))
{
	const uint64_t frames[] = { (uintptr_t)inner + 3, (uintptr_t)outer + 3 };

	put_backtrace(&stream, outer ? 2 : inner ? 1 : 0, frames);
}

static void put_note(const char *name, uint32_t thread, uint64_t object, uint64_t duration)
{
	const struct event event = {
		EVENT, 0, NONE, name, object, 0, thread, LEAVE, 0, 0, duration
	};

	put_event(&event);
}

static void allocate(uint64_t object, uint64_t size)
{
	const struct event event = { MEMORY, 2, ALLOC, "malloc", object, size, 0, 0, 0, 0, 20 };

	put_event(&event);
	put_where(leaky, load_config);
}

static void release(uint64_t object)
{
	const struct event event = { MEMORY, 1, FREE, "free", object, 0, 0, ENTER, 0, 0, 20 };

	put_event(&event);
	put_where(leaky, load_config);
}

static void open_file(uint64_t fd, const char *path)
{
	const struct event event = { FD, 2, ALLOC, "open", fd, 1, 0, 0, 0, 0, 900 };

	put_event(&event);
	put_argument(&stream, "path", path);
	put_where(load_config, NULL);
}

static void take(uint64_t mutex, uint32_t thread, uint64_t duration)
{
	const struct event event = { LOCK, 2, ACQUIRE, "pthread_mutex_lock", mutex, 1, thread, 0,
				     0,	   0, duration };

	put_event(&event);
	put_where(worker, NULL);
}

static void drop(uint64_t mutex, uint32_t thread)
{
	const struct event event = { LOCK,  1, RELEASE, "pthread_mutex_unlock",
				     mutex, 0, thread,	ENTER,
				     0,	    0, 20 };

	put_event(&event);
	put_where(worker, NULL);
}

static void make_thread(uint64_t thread)
{
	const struct event event = {
		THREAD, 2, ALLOC, "pthread_create", thread, 1, 0, 0, 0, 0, 900
	};

	put_event(&event);
	put_where(load_config, NULL);
}

static void join(uint64_t thread)
{
	struct event event = { THREAD, 1, FREE, "pthread_join", thread, 0, 0, HALF, 1, 0, 0 };

	put_event(&event);
	put_where(load_config, NULL);
	event = (struct event){
		EVENT, 0, WAIT, "pthread_join", thread, 0, 0, LEAVE, 0, 0, 3000000
	};
	put_event(&event);
	put_where(load_config, NULL);
}

static void put_pair(const char *name, const char *value)
{
	put_argument(&stream, name, value);
}

static void put_end(const char *how, const char *key, const char *value)
{
	put_note("~end", 0, 0, 0);
	put_pair("how", how);
	if (key)
		put_pair(key, value);
	put_where(NULL, NULL);
}

static void put_open(uint32_t thread, uint64_t mutex, const char *call)
{
	put_note("~open", thread, mutex, 2000000000);
	put_pair("call", call);
	put_where(worker, NULL);
}

/* The executable mapping of this program. */
static int map_program(struct dl_phdr_info *info, size_t size, void *path)
{
	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];

		if (header->p_type != PT_LOAD || !(header->p_flags & PF_X))
			continue;
		begin_packet(&stream, "MMAP");
		put_pointer(&stream, info->dlpi_addr + header->p_vaddr - header->p_offset);
		put_pointer(&stream, info->dlpi_addr + header->p_vaddr + header->p_memsz);
		put_string(&stream, path);
		put_number(&stream, info->dlpi_addr + header->p_vaddr, 8);
		put_number(&stream, header->p_offset, 8);
		put_string(&stream, "");
		end_packet(&stream);
	}
	return 1; /* the program comes first */
}

static void begin(uint32_t pid, const char *name)
{
	static const char *const types[] = { "memory", "fd",	    "fp",	 "thread", "lock",
					     "mutex",  "condition", "semaphore", "event" };
	static char path[4096];

	if (readlink("/proc/self/exe", path, sizeof(path) - 1) < 0)
		exit(99);
	put_handshake(&stream, "x86_64");
	put_process(&stream, pid, name);
	for (uint32_t i = 0; i < 9; i++)
		put_resource(&stream, i + 1, i + 1 == LOCK || i + 1 == SEMAPHORE, types[i], "");
	put_note("~process", 0, 0, 0);
	put_pair("executable", path);
	put_where(NULL, NULL);
	dl_iterate_phdr(map_program, path);
}

static void tell_demo(void)
{
	begin(100, "./demo");
	put_note("~fd", 0, 0, 0);
	put_pair("fd", "0");
	put_where(NULL, NULL);
	for (uint64_t i = 0; i < 50; i++)
		allocate(0x1000 + 16 * i, 1000);
	allocate(0x9000, 100000);
	release(0x9000);
	open_file(3, "/etc/hostname");
	open_file(4, "/etc/a/rather/long/path/to/some/file.conf");
	make_thread(0x7001);
	make_thread(0x7002);
	for (int i = 0; i < 20; i++) {
		uint32_t thread = i == 6 ? 102 : 101;

		/* Begun before thread 102 gave it back. */
		now -= i == 7 ? 5000000 : 0;
		take(0xa0, thread, i == 7 ? 9200000 : i == 9 ? 70000 : 30);
		now += i == 7 ? 5000000 : 0;
		drop(0xa0, thread);
	}
	join(0x7001);
	put_end("exited", "status", "7");
}

static void tell_child(void)
{
	begin(101, "child");
	allocate(0x1000, 12345);
	put_end("killed", "signal", "9");
}

static void tell_deadlock(void)
{
	begin(100, "dead");
	take(0xa0, 101, 30);
	take(0xb0, 102, 30);
	put_open(101, 0xb0, "pthread_mutex_lock");
	put_open(102, 0xa0, "pthread_mutex_lock");
	put_open(103, 0, "execve");
	put_end("killed", "signal", "15");
}

/* Runs a program that cannot be traced. */
static void tell_exec(void)
{
	const struct event event = { EVENT, 0, NONE, "execve", 0, 0, 0, HALF, 0, 0, 0 };

	begin(100, "runner");
	allocate(0x1000, 1000);
	put_event(&event);
	put_pair("path", "/usr/bin/id");
	put_where(load_config, NULL);
	put_open(100, 0, "execve");
	put_open(101, 0xb0, "pthread_mutex_lock");
	put_end("exec", "followed", "no");
}

/* Lives long and calls little. */
static void tell_pipe(void)
{
	struct event event = { FD, 2, ALLOC, "pipe", 3, 1, 0, 0, 0, 0, 900 };

	begin(100, "piper");
	put_event(&event);
	put_where(load_config, NULL);
	event.object = 4;
	event.part = 1;
	put_event(&event);
	put_where(load_config, NULL);
	now += 297000000;
	put_end("exited", "status", "0");
}

/* A child that holds more than all others. */
static void tell_heavy(void)
{
	begin(200, "heavy");
	allocate(0x1000, 1000000);
	put_end("exited", "status", "0");
}

/* Nine places that differ only where no line of the screen reaches. */
static void tell_alike(void)
{
	begin(100, "alike");
	for (unsigned i = 0; i < 9; i++) {
		const uint64_t frames[] = { (uintptr_t)leaky + 3,
					    (uintptr_t)load_config + 3,
					    (uintptr_t)worker + 3,
					    (uintptr_t)leaky + 3,
					    (uintptr_t)worker + 3,
					    (uintptr_t)leaky + 3,
					    0x100 + i };
		const struct event event = { MEMORY, 2, ALLOC, "malloc", 0x1000 + 16 * i, 10, 0,
					     0,	     0, 0,     20 };

		put_event(&event);
		put_backtrace(&stream, 7, frames);
	}
	put_end("exited", "status", "0");
}

static void tell_lost(void)
{
	begin(100, "dropped");
	allocate(0x1000, 1);
	put_note("~dropped", 0, 0, 0);
	put_pair("reason", "full");
	put_pair("count", "1234");
	put_where(NULL, NULL);
	put_end("exited", "status", "0");
}

static void tell_cut(void)
{
	begin(100, "cut");
	allocate(0x1000, 1);
}

/* Its parent did not look. */
static void tell_gone(void)
{
	begin(100, "gone");
	allocate(0x1000, 1);
	put_end("unknown", NULL, NULL);
}

static void tell_nothing(void)
{
	begin(100, "nothing");
	put_end("exited", "status", "0");
}

/* Names that want to reach the terminal. */
static void tell_hostile(void)
{
	begin(100, "\033[2Jx\ny");
	open_file(3, "/tmp/\033]0;t\007\n");
	put_end("exited", NULL, NULL);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*tell)(void);
	} stories[] = {
		{ "demo", tell_demo },	       { "child", tell_child },
		{ "deadlock", tell_deadlock }, { "exec", tell_exec },
		{ "pipe", tell_pipe },	       { "heavy", tell_heavy },
		{ "alike", tell_alike },       { "dropped", tell_lost },
		{ "cut", tell_cut },	       { "nothing", tell_nothing },
		{ "gone", tell_gone },	       { "hostile", tell_hostile },
	};

	stream_form(&stream, "tails");
	for (size_t i = 0; i < sizeof(stories) / sizeof(*stories) && argc > 1; i++)
		if (!strcmp(stories[i].name, argv[1]))
			stories[i].tell();
	if (leaky(1) + load_config(1) + worker(1) == 0)
		return 99;
	return stream.size && fwrite(stream.bytes, stream.size, 1, stdout) == 1 ? 0 : 99;
}
