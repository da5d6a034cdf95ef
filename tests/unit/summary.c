/* SPDX-License-Identifier: MIT */
/* Tests the numbers of the summary, with events made by hand. */
#include "terms.h"
#include "postproc/totals/summary.h"

#include <math.h>
#include <stdlib.h>

#include "hook_table.h"
#include "account/estimate.h"
#include "base/human.h"
#include "naming/runtime.h"
#include "naming/waiters.h"
#include "naming/shorten.h"
#include "tests/lib/tap.h"

enum { MEMORY, FD, STREAM, THREAD, LOCK, EVENT, PIXMAP, MAPPING, CLASSES };

/* A simulated trace: the objects to which its events point. */
static struct {
	struct summary *summary;
	struct trace_process process;
	struct resource_class classes[CLASSES];
	struct function functions[HOOK_COUNT + 1]; /* the last one is for notes */
	struct trace_node frames[4];
	struct backtrace backtraces[4];
	uint64_t index;
} fake;

static void make_classes(void)
{
	static const struct resource_class classes[CLASSES] = {
		[MEMORY] = { .type = "memory", .known = RESOURCE_MEMORY },
		[FD] = { .type = "fd", .known = RESOURCE_FD },
		[STREAM] = { .type = "fp", .known = RESOURCE_FILE },
		[THREAD] = { .type = "thread", .known = RESOURCE_THREAD },
		[LOCK] = { .type = "lock", .known = RESOURCE_LOCK, .flags = 1 },
		[EVENT] = { .type = "event", .known = RESOURCE_EVENT },
		[PIXMAP] = { .type = "pixmap", .known = RESOURCE_NONE },
		[MAPPING] = { .type = "mapping", .known = RESOURCE_MAPPING },
	};

	for (uint32_t i = 0; i < CLASSES; i++) {
		fake.classes[i] = classes[i];
		fake.classes[i].id = fake.classes[i].ordinal = i;
		fake.classes[i].description = "";
		fake.classes[i].is_registered = true;
	}
}

static void make_names(void)
{
	for (uint32_t i = 0; i < HOOK_COUNT; i++)
		fake.functions[i] = (struct function){
			.id = i,
			.name = hook_table[i].name,
			.hook = &hook_table[i],
		};
	for (uint32_t i = 0; i < 4; i++) {
		fake.frames[i] = (struct trace_node){ &trace_no_node, 0x1000 + i, 1, i + 1 };
		fake.backtraces[i] =
			(struct backtrace){ .id = i, .count = 1, .node = &fake.frames[i] };
	}
}

static void send(struct event *event)
{
	event->process = &fake.process;
	summary_event(fake.summary, event);
}

static void begin_stream(uint32_t pid)
{
	struct event event = { .kind = EVENT_STREAM };

	fake.process = (struct trace_process){
		.pid = pid, .name = "demo", .has_tails = true, .start_ns = 1000
	};
	fake.index = 0;
	summary_open(fake.summary, "demo.rtrace");
	send(&event);
	event.kind = EVENT_PROCESS;
	send(&event);
}

static void end_stream(void)
{
	summary_close(fake.summary, NULL, UINT64_MAX);
}

static void begin(void)
{
	make_classes();
	make_names();
	fake.summary = summary_begin();
	summary_watch(fake.summary);
	begin_stream(100);
}

static const struct summary *end(void)
{
	end_stream();
	summary_end(fake.summary);
	return fake.summary;
}

/* Makes a call. Members without a parameter get values that suit most tests. */
static struct event call_of(enum hook_number hook, int class, enum call_type type, uint64_t object)
{
	return (struct event){
		.kind = EVENT_CALL,
		.index = ++fake.index,
		.function = &fake.functions[hook],
		.resource = &fake.classes[class],
		.type = type,
		.operation = hook_table[hook].operation,
		.object = object,
		.backtrace = &fake.backtraces[0],
		.has_tail = true,
		.moment = MOMENT_LEAVE,
		.thread = 100,
		.time_ns = 1000 + fake.index * 1000,
		.enter_ns = 1000 + fake.index * 1000,
		.leave_ns = 1000 + fake.index * 1000 + 20,
	};
}

static void allocate(uint64_t object, uint64_t size, int backtrace)
{
	struct event event = call_of(HOOK_malloc, MEMORY, CALL_TYPE_ALLOC, object);

	event.size = size;
	event.backtrace = &fake.backtraces[backtrace];
	send(&event);
}

static void release(uint64_t object)
{
	struct event event = call_of(HOOK_free, MEMORY, CALL_TYPE_FREE, object);

	send(&event);
}

static void take_lock(uint64_t object, uint32_t thread, uint64_t duration_ns, int backtrace)
{
	struct event event = call_of(HOOK_pthread_mutex_lock, LOCK, CALL_TYPE_ALLOC, object);

	event.thread = thread;
	event.leave_ns = event.time_ns = event.enter_ns + duration_ns;
	event.backtrace = &fake.backtraces[backtrace];
	send(&event);
}

/* Like take_lock(), but the call began `duration_ns` ago, before the latest events. */
static void wait_for_lock(uint64_t object, uint32_t thread, uint64_t duration_ns, int backtrace)
{
	struct event event = call_of(HOOK_pthread_mutex_lock, LOCK, CALL_TYPE_ALLOC, object);

	event.thread = thread;
	event.leave_ns = event.time_ns = event.enter_ns;
	event.enter_ns -= duration_ns;
	event.backtrace = &fake.backtraces[backtrace];
	send(&event);
}

static void drop_lock(uint64_t object)
{
	struct event event = call_of(HOOK_pthread_mutex_unlock, LOCK, CALL_TYPE_FREE, object);

	send(&event);
}

static void note(const char *name, const struct wire_value *values, uint32_t count, uint64_t object,
		 uint32_t thread)
{
	struct event event = call_of(HOOK_exit, EVENT, CALL_TYPE_NONE, object);

	fake.functions[HOOK_COUNT] = (struct function){ .id = HOOK_COUNT, .name = name };
	event.kind = EVENT_NOTE;
	event.function = &fake.functions[HOOK_COUNT];
	event.arguments = values;
	event.argument_count = count;
	event.thread = thread;
	event.leave_ns = event.time_ns = event.enter_ns + 5000;
	send(&event);
}

static void number(uint64_t found, uint64_t expected, const char *sentence)
{
	if (!ok(found == expected, sentence))
		printf("# found %llu, expected %llu\n", (unsigned long long)found,
		       (unsigned long long)expected);
}

static void test_memory(void)
{
	const struct summary_class *memory;

	begin();
	allocate(0x10, 100, 0);
	allocate(0x20, 50, 1);
	release(0x10);
	allocate(0x30, 60, 1);
	allocate(0x40, 1, 0);
	release(0x40);
	release(0x99);
	memory = summary_class_of(end(), RESOURCE_MEMORY);
	number(memory->acquired, 4, "allocations are counted");
	number(memory->peak.amount, 150, "the peak is the maximum of bytes held at a time");
	number(memory->peak.time_ns, 2000, "the peak has its time since the start of the run");
	number(memory->held, 2, "blocks that were not freed are held");
	number(memory->held_bytes, 110, "the bytes of held blocks are added up");
	number(memory->sites, 1, "held blocks of one backtrace are one site");
	number(memory->strays, 1, "a free of a block that was not allocated is a stray");
	number(fake.summary->sites.items[0].count, 2, "a site has the number of its blocks");
	number(fake.summary->sites.items[0].backtrace->address, 0x1001, "a site has its backtrace");
	summary_free(fake.summary);
}

static void test_replaced(void)
{
	const struct summary_class *memory;

	begin();
	allocate(0x10, 100, 0);
	allocate(0x10, 30, 1);
	memory = summary_class_of(end(), RESOURCE_MEMORY);
	number(memory->held, 1, "a second acquisition of an uncounted object replaces the first");
	number(memory->held_bytes, 30, "the bytes of a replaced object are replaced");
	number(memory->replaced, 1, "a replacement is counted");
	number(fake.summary->sites.items[0].backtrace->address, 0x1001,
	       "a replaced object belongs to the second site");
	summary_free(fake.summary);
}

static void test_counted(void)
{
	const struct summary_class *lock;

	begin();
	for (int i = 0; i < 3; i++)
		take_lock(0x10, 101, 20, 0);
	drop_lock(0x10);
	drop_lock(0x10);
	take_lock(0x20, 101, 20, 1);
	drop_lock(0x20);
	lock = summary_class_of(end(), RESOURCE_LOCK);
	number(lock->acquired, 4, "every acquisition of a lock is counted");
	number(lock->held, 1, "a lock acquired three times and released twice is held");
	number(lock->peak.amount, 2, "a lock acquired several times is one object");
	summary_free(fake.summary);
}

static void test_waits(void)
{
	const struct summary_class *lock;

	begin();
	for (int i = 0; i < 95; i++) {
		take_lock(0x10, 101, 30, 0);
		drop_lock(0x10);
	}
	take_lock(0x10, 101, 50000, 0);
	drop_lock(0x10);
	for (int i = 0; i < 5; i++) {
		take_lock(0x10, 101, 30, 0);
		drop_lock(0x10);
		wait_for_lock(0x10, 102, 10000 + (i == 3), 1);
		drop_lock(0x10);
	}
	lock = summary_class_of(end(), RESOURCE_LOCK);
	number(lock->waits.calls, 106, "all calls that acquire locks are counted");
	number(waits_threshold(&lock->waits), 0,
	       "known holders make a threshold of waits unnecessary");
	number(waits_count(&lock->waits.times, 0), 5,
	       "a call for a free lock does not wait, however long it takes");
	number(waits_ns(&lock->waits.times, 0), 50001, "the times of five waits are added up");
	number(lock->waits.times.longest_ns, 10001, "the longest wait for a lock is known");
	number(lock->hot.object, 0x10, "the lock with the longest wait is known");
	number(lock->hot.waiter->address, 0x1001, "the call site that waited for a lock is known");
	number(lock->hot.other->address, 0x1000, "the call site that held a lock is known");
	summary_free(fake.summary);
}

static void test_slow_waits(void)
{
	const struct summary_class *lock;

	begin();
	for (int i = 0; i < 3; i++)
		take_lock(0x10 + (uint64_t)i, 101, 1000000000, 0);
	lock = summary_class_of(end(), RESOURCE_LOCK);
	number(waits_count(&lock->waits.times, waits_threshold(&lock->waits)), 3,
	       "a call of a second is a wait, even without a known holder");
	summary_free(fake.summary);
}

/* pthread_cond_wait() releases the mutex in an event of its own, and acquires it after sleeping. */
static void test_condition(void)
{
	const struct summary_class *lock, *condition;
	struct event event;

	begin();
	take_lock(0x10, 101, 20, 0);
	event = call_of(HOOK_pthread_cond_wait, LOCK, CALL_TYPE_FREE, 0x10);
	event.part = 1;
	event.moment = MOMENT_HALF;
	event.operation = OPERATION_RELEASE;
	send(&event);
	event = call_of(HOOK_pthread_cond_wait, LOCK, CALL_TYPE_ALLOC, 0x10);
	event.part = 2;
	event.operation = OPERATION_ACQUIRE;
	event.leave_ns = event.enter_ns + 70000;
	send(&event);
	event.part = 0;
	event.object = 0x20;
	event.type = CALL_TYPE_NONE;
	event.resource = &fake.classes[EVENT];
	event.operation = OPERATION_WAIT;
	send(&event);
	drop_lock(0x10);
	lock = summary_class_of(end(), RESOURCE_LOCK);
	condition = summary_class_of(fake.summary, RESOURCE_CONDITION);
	number(condition->hot.waiter->address, 0x1000,
	       "the call site that waited for a condition is known");
	ok(!condition->hot.other, "a condition that no thread signals has no waker");
	number(lock->held, 0, "a mutex is held neither in a wait nor after its unlock");
	number(lock->acquired, 1, "locking a mutex again after a wait is not a call of its own");
	number(waits_count(&lock->waits.times, 1000), 0,
	       "locking a mutex again after a wait is not a wait for it");
	number(condition->waited, 1, "a wait for a condition is counted once");
	number(waits_ns(&condition->waits.times, 1000), 70000,
	       "a wait for a condition has its time");
	summary_free(fake.summary);
}

static void test_woken(void)
{
	const struct summary_class *condition;
	struct event event;

	begin();
	fake.index = 100;
	event = call_of(HOOK_pthread_cond_signal, EVENT, CALL_TYPE_NONE, 0x20);
	event.backtrace = &fake.backtraces[2];
	send(&event);
	event = call_of(HOOK_pthread_cond_wait, EVENT, CALL_TYPE_NONE, 0x20);
	event.thread = 101;
	event.leave_ns = event.time_ns = event.enter_ns;
	event.enter_ns -= 50000;
	send(&event);
	end();
	condition = summary_class_of(fake.summary, RESOURCE_CONDITION);
	number(condition->hot.other->address, 0x1002,
	       "the call site that woke a waiting thread is known");
	summary_free(fake.summary);
}

/* Sends calls of a detached thread, a thread joined with a time limit, and one joined without. */
static void tell_threads(bool has_tail)
{
	struct event event;

	begin();
	for (uint64_t i = 1; i <= 3; i++) {
		event = call_of(HOOK_pthread_create, THREAD, CALL_TYPE_ALLOC, i);
		event.has_tail = has_tail;
		send(&event);
		event.type = CALL_TYPE_FREE;
		event.part = has_tail;
		if (i == 1)
			send(&event);
	}
	event = call_of(HOOK_pthread_timedjoin_np, THREAD, CALL_TYPE_FREE, 2);
	event.has_tail = has_tail;
	send(&event);
	event = call_of(HOOK_pthread_join, THREAD, CALL_TYPE_FREE, 3);
	event.has_tail = has_tail;
	event.part = has_tail;
	send(&event);
	event.part = 0;
	event.type = CALL_TYPE_NONE;
	event.resource = &fake.classes[EVENT];
	send(&event);
}

static void test_more_threads(void)
{
	for (int has_tail = 0; has_tail < 2; has_tail++) {
		const struct summary_class *thread;

		tell_threads(has_tail);
		thread = summary_class_of(end(), RESOURCE_THREAD);
		number(thread->acquired, 3,
		       has_tail ? "created threads are counted" : "without tails: made");
		number(thread->waited, 2, "pthread_join and pthread_timedjoin_np are joins");
		number(thread->lost, 1, "a thread that was created detached is detached");
		number(thread->held, 0, "joined and detached threads are not held");
		summary_free(fake.summary);
	}
}

static void map(uint64_t address, uint64_t size, enum call_type type)
{
	struct event event =
		call_of(type == CALL_TYPE_ALLOC ? HOOK_mmap : HOOK_munmap, MAPPING, type, address);

	event.size = size;
	send(&event);
}

static void test_mappings(void)
{
	const struct summary_class *mapping;

	begin();
	map(0x100000, 0x10000, CALL_TYPE_ALLOC);
	map(0x110000, 0x10000, CALL_TYPE_ALLOC);
	map(0x108000, 0x10000, CALL_TYPE_FREE);
	map(0x102000, 0x1000, CALL_TYPE_FREE);
	map(0x200000, 5000, CALL_TYPE_ALLOC);
	map(0x200000, 5000, CALL_TYPE_FREE);
	map(0x300000, 5000, CALL_TYPE_FREE);
	mapping = summary_class_of(end(), RESOURCE_MAPPING);
	number(mapping->acquired, 3, "mappings are counted");
	number(mapping->peak.amount, 0x20000,
	       "the peak of mappings is the maximum of bytes mapped at a time");
	number(mapping->held_bytes, 0xf000,
	       "after parts are unmapped the rest of a mapping is held");
	number(mapping->held, 3, "each remaining piece of a mapping is held");
	number(fake.summary->sites.items[0].bytes, 0xf000,
	       "the pieces of mappings belong to one site");
	summary_free(fake.summary);
}

static void test_threads(void)
{
	const struct summary_class *thread;
	struct event event;

	begin();
	for (uint64_t i = 1; i <= 4; i++) {
		event = call_of(HOOK_pthread_create, THREAD, CALL_TYPE_ALLOC, i);
		send(&event);
	}
	for (uint64_t i = 1; i <= 2; i++) {
		event = call_of(HOOK_pthread_join, THREAD, CALL_TYPE_FREE, i);
		event.part = 1;
		send(&event);
		/* the second join fails, so the thread exists again */
		event.part = 2;
		event.type = CALL_TYPE_ALLOC;
		if (i == 2)
			send(&event);
		event.part = 0;
		event.type = CALL_TYPE_NONE;
		event.resource = &fake.classes[EVENT];
		event.flags = i == 2 ? CALL_FAILED : 0;
		send(&event);
	}
	event = call_of(HOOK_pthread_detach, THREAD, CALL_TYPE_FREE, 3);
	send(&event);
	thread = summary_class_of(end(), RESOURCE_THREAD);
	number(thread->acquired, 4, "created threads are counted");
	number(thread->waited, 1, "joined threads are counted");
	number(thread->lost, 1, "detached threads are counted");
	number(thread->held, 2, "threads that were never joined are held");
	summary_free(fake.summary);
}

static void open_path(uint64_t fd, const char *path)
{
	const struct wire_value value = { "path", path };
	struct event event = call_of(HOOK_open, FD, CALL_TYPE_ALLOC, fd);

	event.arguments = &value;
	event.argument_count = 1;
	send(&event);
}

static void test_descriptors(void)
{
	const struct wire_value one = { "fd", "1" }, two = { "fd", "2" };
	const struct summary_class *fd;
	struct event event;

	begin();
	note("~fd", &one, 1, 0, 0);
	note("~fd", &two, 1, 0, 0);
	open_path(3, "/etc/hostname");
	open_path(4, "/etc/passwd");
	event = call_of(HOOK_fopen, FD, CALL_TYPE_ALLOC, 5);
	event.part = 1;
	send(&event);
	event = call_of(HOOK_fopen, STREAM, CALL_TYPE_ALLOC, 0x500);
	send(&event);
	event = call_of(HOOK_pipe, FD, CALL_TYPE_ALLOC, 6);
	send(&event);
	event.part = 1;
	event.object = 7;
	send(&event);
	event = call_of(HOOK_close, FD, CALL_TYPE_FREE, 2);
	send(&event);
	event = call_of(HOOK_close, FD, CALL_TYPE_FREE, 4);
	send(&event);
	fd = summary_class_of(end(), RESOURCE_FD);
	number(fake.summary->inherited, 1,
	       "an inherited descriptor that was not closed is counted");
	number(fd->strays, 0, "closing an inherited descriptor is no stray");
	number(fd->held, 4, "open descriptors of the process itself are held");
	number(fd->held_parts, 1, "the descriptor of a stream is a part, those of a pipe are not");
	number(fd->parts_of, 1u << RESOURCE_FILE,
	       "the class of the stream that a descriptor is part of is known");
	number(fd->sites, 1, "the descriptor of a stream is no site of its own");
	for (size_t i = 0; i < fake.summary->sites.count; i++)
		if (fake.summary->sites.items[i].example)
			ok_text(fake.summary->sites.items[i].example, "/etc/hostname",
				"the example of a site is the path of an open descriptor");
	summary_free(fake.summary);
}

static void test_blocked(void)
{
	const struct wire_value call = { "call", "pthread_mutex_lock" };
	const struct wire_value end_how[] = { { "how", "killed" }, { "signal", "9" } };
	const struct summary *summary;

	begin();
	take_lock(0x10, 101, 20, 0);
	take_lock(0x20, 102, 20, 1);
	note("~open", &call, 1, 0x20, 101);
	note("~open", &call, 1, 0x10, 102);
	note("~open", &call, 1, 0x10, 103);
	note("~end", end_how, 2, 0, 0);
	summary = end();
	number(summary->deadlocked, 2, "two threads that wait for each other are a deadlock");
	number(summary->blocked.count, 3, "a thread that waits beside a deadlock is listed, too");
	ok(summary->blocked.items[0].is_deadlock && summary->blocked.items[1].is_deadlock,
	   "deadlocks come first among blocked threads");
	number(summary->blocked.items[2].holder, 101,
	       "the holder of a lock is known for a thread outside the deadlock");
	number(summary->blocked.items[2].holder_backtrace->address, 0x1000,
	       "the call site where a holder acquired the lock is known");
	ok(summary->processes.items[0].end == SUMMARY_KILLED &&
		   summary->processes.items[0].status == 9,
	   "the signal that ended a process is known");
	summary_free(fake.summary);
}

static void test_exec(void)
{
	const struct wire_value mutex = { "call", "pthread_mutex_lock" };
	const struct wire_value call = { "call", "execve" };
	const struct wire_value path = { "path", "/usr/bin/id" };
	const struct wire_value end_how[] = { { "how", "exec" }, { "followed", "no" } };
	const struct wire_value killed[] = { { "how", "killed" }, { "signal", "9" } };
	const struct summary *summary;
	struct event event;

	begin();
	allocate(0x10, 100, 0);
	event = call_of(HOOK_execve, EVENT, CALL_TYPE_NONE, 0);
	event.moment = MOMENT_HALF;
	event.arguments = &path;
	event.argument_count = 1;
	send(&event);
	note("~open", &call, 1, 0, 100);
	note("~open", &mutex, 1, 0x20, 101);
	note("~end", end_how, 2, 0, 0);
	end_stream();
	begin_stream(200);
	allocate(0x10, 30, 0);
	note("~open", &call, 1, 0, 100);
	note("~end", killed, 2, 0, 0);
	summary = end();
	number(summary->blocked.count, 0,
	       "a process that executed another program waits for nothing");
	number(summary_class_of(summary, RESOURCE_MEMORY)->held_bytes, 30,
	       "a process that executed another program holds nothing");
	number(summary_class_of(summary, RESOURCE_MEMORY)->killed_bytes, 30,
	       "objects held by a killed process are counted");
	number(summary_class_of(summary, RESOURCE_MEMORY)->peak.process, 0,
	       "a peak has the number of its process");
	number(summary->sites.items[0].process, 1,
	       "a site has the number of the process that holds most");
	ok(summary->processes.items[0].untraced != NULL,
	   "a program that was not followed is reported");
	ok_text(summary->processes.items[0].became, "/usr/bin/id",
		"a program that was not followed has its path");
	summary_free(fake.summary);
}

static void test_lifetime(void)
{
	const struct wire_value end_how[] = { { "how", "exited" }, { "status", "0" } };
	const struct summary *summary;

	begin();
	fake.index = 4;
	allocate(0x10, 100, 0);
	fake.index = 300;
	note("~end", end_how, 2, 0, 0);
	summary = end();
	number(summary->processes.items[0].start_ns, 1000,
	       "a process begins at the time that it reports");
	number(summary->processes.items[0].end_ns, 307000,
	       "a process ends when the collector saw it end");
	summary_free(fake.summary);
}

static void test_processes(void)
{
	const struct wire_value lost[] = { { "reason", "full" }, { "count", "7" } };
	const struct summary *summary;

	begin();
	allocate(0x10, 100, 0);
	end_stream();
	begin_stream(200);
	allocate(0x10, 200, 0);
	allocate(0x20, 1, 1);
	release(0x20);
	note("~dropped", lost, 2, 0, 0);
	summary = end();
	number(summary->pids, 2, "two processes have two pids");
	number(summary->events, 4, "the events of two processes are added up");
	number(summary->lost, 7, "the dropped events of two processes are added up");
	number(summary_class_of(summary, RESOURCE_MEMORY)->held_bytes, 300,
	       "the same address in two processes is two blocks");
	number(summary_class_of(summary, RESOURCE_MEMORY)->peak.amount, 201,
	       "the peak is of one process, not of their sum");
	number(summary->sites.count, 1, "the same backtrace in two processes is one site");
	number(summary->sites.items[0].processes, 2, "a site of two processes counts both");
	summary_free(fake.summary);
}

/* A file is mapped at another address, and another file in the place of an unmapped one. */
static void test_space(void)
{
	const struct trace_mapping first = { .from = 0x1000,
					     .to = 0x2000,
					     .path = "/lib/a",
					     .has_tail = true,
					     .code = 0x1000,
					     .build_id = "aa" };
	const struct trace_mapping moved = { .from = 0x5000,
					     .to = 0x6000,
					     .path = "/lib/a",
					     .has_tail = true,
					     .code = 0x5000,
					     .build_id = "aa" };
	const struct trace_mapping other = { .from = 0x1000,
					     .to = 0x2000,
					     .path = "/lib/b",
					     .has_tail = true,
					     .code = 0x1000,
					     .since = 10 };
	const struct trace_node here = { &trace_no_node, 0x1010, 1, 1 };
	const struct trace_node there = { &trace_no_node, 0x5010, 1, 2 };
	const struct backtrace near = { .count = 1, .node = &here };
	const struct backtrace far = { .count = 1, .node = &there };
	const struct trace_node *before, *after;
	struct address_space space;

	space_init(&space);
	space_map(&space, &first);
	space_map(&space, &other);
	before = space_backtrace(&space, &near, 5);
	after = space_backtrace(&space, &near, 15);
	ok(before != after, "an address is resolved by the mapping of its time");
	ok_text(space_module_at(&space, after->address)->path, "/lib/b",
		"an address after a remapping is in the later module");
	space_begin_process(&space);
	space_map(&space, &moved);
	ok(space_backtrace(&space, &far, 5) == before,
	   "a module has one place at whatever addresses processes map it");
	before = space_backtrace(&space, &near, 5);
	ok(space_is_code(before->address),
	   "an address outside all mappings has a place of its own");
	number(before->address & SPACE_CODE_MASK, 0x1010, "which shows the address");
	ok(!space_code_name(&space, before->address), "and has no name at first");
	space_map(&space, &(struct trace_mapping){ .from = 0x100f,
						   .to = 0x1010,
						   .path = CODE_MODULE "compiled",
						   .since = 20 });
	ok_text(space_code_name(&space, before->address), "compiled",
		"code outside all mappings gets its name after the call");
	space_begin_process(&space);
	space_map(&space, &moved);
	after = space_backtrace(&space, &near, 5);
	ok(after != before && !space_code_name(&space, after->address),
	   "the same address in another process is other code");
	space_free(&space);
}

static void test_top(void)
{
	uint32_t chosen[10], classes[10];
	size_t count;

	begin();
	for (uint64_t i = 0; i < 4; i++)
		allocate(0x10 + i, 100 - i, (int)i);
	open_path(3, "/etc/hostname");
	end();
	for (size_t i = 0; i < fake.summary->sites.count; i++)
		classes[i] = fake.summary->sites.items[i].class;
	count = summary_share(fake.summary, classes, fake.summary->sites.count, 3, chosen);
	number(count, 3, "as many sites are chosen as there is space for");
	ok(fake.summary->classes[fake.summary->sites.items[chosen[2]].class].known == RESOURCE_FD,
	   "one descriptor is shown among many blocks");
	number(fake.summary->sites.items[chosen[0]].bytes, 100, "the largest site comes first");
	summary_free(fake.summary);
}

static void test_human(void)
{
	struct human human;

	ok_text(human_count(&human, 1234567), "1,234,567", "thousands have commas");
	ok_text(human_count(&human, 999), "999", "numbers below a thousand have no comma");
	ok_text(human_bytes(&human, 999), "999 B", "bytes below a thousand have no prefix");
	ok_text(human_bytes(&human, 141800), "141.8 KB", "thousands of bytes");
	ok_text(human_bytes(&human, 999950), "1.0 MB", "999,950 bytes are 1.0 MB, not 1000.0 KB");
	ok_text(human_exact_bytes(&human, 50000), "50,000 B", "exact bytes");
	ok_text(human_time(&human, 12345), "12.3 us", "microseconds");
	ok_text(human_time(&human, 9200000), "9.2 ms", "milliseconds");
	ok_text(human_time(&human, 84000000), "84 ms", "round times have no fraction");
	ok_text(human_time(&human, 192000000000), "3 min 12 s", "minutes");
	ok_text(human_moment(&human, 31000000), "0.031 s", "moments have one form");
}

static void shortened(const char *name, const char *expected)
{
	char text[2048];

	snprintf(text, sizeof(text), "%s", name);
	shorten_name(text);
	ok_text(text, expected, expected);
}

static void test_names(void)
{
	shortened("shop::Cache<int, std::allocator<int> >::put", "shop::Cache::put");
	shortened("std::__cxx11::basic_string<char>::append", "std::basic_string::append");
	shortened("core::ptr::drop_in_place::h0123456789abcdef", "core::ptr::drop_in_place");
	shortened("ns::operator<< <char>", "ns::operator<<");
	shortened("x::operator->", "x::operator->");
	shortened("(anonymous namespace)::f", "f");
	shortened("std::__cxx11::basic_string<char, std::char_traits<char>, "
		  "std::allocator<char> >::_M_assign",
		  "std::string::_M_assign");
	shortened("own::Map<own::Key, std::function<void (own::Queue<int> const&)> >::get<int>",
		  "own::Map::get");
	shortened("own::operator<=> <int, std::less<int> >", "own::operator<=>");
	shortened("own::less<(own::Kind)2, (3)>(2)>", "own::less<(own::Kind)2, (3)>(2)>");
}

static void test_rust_names(void)
{
	shortened("<alloc::vec::Vec<own::Shape>>::with_capacity_in",
		  "alloc::vec::Vec::with_capacity_in");
	shortened("<std::fs::File>::open::<&str>", "std::fs::File::open");
	shortened("<own::Shape<f64> as own::Draw<own::Screen>>::draw::<fn() -> f64>",
		  "<own::Shape as own::Draw>::draw");
	shortened("own::call::<dyn core::ops::function::Fn<(), Output = i32>>", "own::call");
	shortened("<core::iter::adapters::map::Map<core::ops::range::Range<usize>, "
		  "own::build::{closure#0}> as core::iter::traits::iterator::Iterator>::fold",
		  "core::iter::adapters::map::Map::fold");
}

/* Names that are too long even after shortening. */
static void test_long_names(void)
{
	char name[2048] = "own::box<";

	shortened("outermost_namespace::some_other_namespace::Container::function_of_some_length",
		  "...some_other_namespace::Container::function_of_some_length");
	shortened("a_function_whose_name_nobody_would_like_to_write_twice_in_all_its_life",
		  "a_function_whose_name_nobody_would_like_to_write_twice_in...");
	memset(name + strlen(name), 'x', sizeof(name) - 32);
	strcat(name, ">::get");
	shortened(name, "own::box::get");
}

static void runtime(enum runtime_kind kind, const char *text)
{
	ok(runtime_has(kind, text), text);
}

static void programs(enum runtime_kind kind, const char *text)
{
	ok(!runtime_has(kind, text), text);
}

static void test_runtime(void)
{
	runtime(RUNTIME_MODULE, "libc.so.6");
	runtime(RUNTIME_MODULE, "[vdso]");
	programs(RUNTIME_MODULE, "libcurl.so.4");
	runtime(RUNTIME_FUNCTION, "std::vector<ns::own>::push_back");
	runtime(RUNTIME_FUNCTION, "operator new[]");
	runtime(RUNTIME_FUNCTION, "<alloc::alloc::Global as core::alloc::Allocator>::allocate");
	runtime(RUNTIME_FUNCTION, "<&dyn core::ops::function::Fn<(), Output = i32> as "
				  "core::ops::function::FnOnce<()>>::call_once");
	runtime(RUNTIME_FUNCTION, "<u8 as alloc::slice::hack::ConvertVec>::to_vec");
	runtime(RUNTIME_FUNCTION, "hashbrown::raw::RawTableInner::new_uninitialized");
	runtime(RUNTIME_FUNCTION, "_PyObject_Malloc");
	programs(RUNTIME_FUNCTION, "<own::Shape as core::clone::Clone>::clone");
	programs(RUNTIME_FUNCTION, "own::take::<std::string::String>");
	programs(RUNTIME_FUNCTION, "core_of");
	runtime(RUNTIME_FILE, "/usr/include/c++/12/bits/new_allocator.h");
	runtime(RUNTIME_FILE, "/usr/include/x86_64-linux-gnu/c++/12/bits/gthr-default.h");
	runtime(RUNTIME_FILE, "/rust/deps/hashbrown-0.16.1/src/raw/mod.rs");
	runtime(RUNTIME_FILE, "library/core/src/ops/function.rs");
	programs(RUNTIME_FILE, "/home/own/include/c.h");
	programs(RUNTIME_FILE, "own/library/src/lib.rs");
}

static void waits(enum waiter_kind kind, const char *function)
{
	char title[256];

	snprintf(title, sizeof(title), "%.200s waits for an object of its kind", function);
	ok(waiters_find(function) == kind, title);
}

static void test_waiters(void)
{
	waits(WAITER_MUTEX, "std::sys::sync::mutex::futex::Mutex::lock_contended");
	waits(WAITER_RWLOCK, "parking_lot::raw_rwlock::RawRwLock::lock_shared_slow");
	waits(WAITER_MUTEX, "QBasicMutex::lockInternal");
	waits(WAITER_MUTEX, "QRecursiveMutex::tryLock");
	waits(WAITER_RWLOCK, "QReadWriteLock::tryLockForRead");
	waits(WAITER_CONDITION, "QWaitCondition::wait");
	waits(WAITER_SEMAPHORE, "QSemaphore::tryAcquire");
	waits(WAITER_MUTEX, "absl::lts_20230802::MutexLock::MutexLock");
	waits(WAITER_RWLOCK, "absl::debian3::Mutex::ReaderLock");
	waits(WAITER_RWLOCK, "absl::debian3::ReaderMutexLock::ReaderMutexLock");
	waits(WAITER_CONDITION, "absl::debian3::Mutex::LockWhenWithDeadline");
	waits(WAITER_CONDITION, "absl::debian3::Notification::WaitForNotification");
	waits(WAITER_BARRIER, "absl::debian3::BlockingCounter::Wait");
	waits(WAITER_BARRIER, "absl::debian3::Barrier::Block");
	waits(WAITER_MUTEX, "absl::debian3::base_internal::SpinLockWait");
	waits(WAITER_BARRIER, "LinuxWaitBarrier::wait");
	waits(WAITER_NONE, "absl::debian3::StrCat");
	waits(WAITER_NONE, "QThread::exec");
}

static void published(const char *name, const char *expected)
{
	char text[256];

	snprintf(text, sizeof(text), "%s", name);
	shorten_public(text);
	ok_text(text, expected, name);
}

static void test_published(void)
{
	published("__GI_setlocale", "setlocale");
	published("__GI___libc_malloc", "malloc");
	published("_IO_new_fopen", "fopen");
	published("__asprintf_chk", "asprintf");
	published("__pthread_create_2_1", "pthread_create");
	published("qsort_r", "qsort_r");
}

/* Samples blocks of one size. Returns in how many of 200 runs the interval has the true number. */
static unsigned covered(uint64_t size, unsigned blocks, unsigned short *state)
{
	double chance = -expm1(-(double)size / 524288);
	unsigned within = 0;

	for (unsigned run = 0; run < 200;) {
		uint64_t count = 0, error;
		double variance = 0;

		for (unsigned i = 0; i < blocks; i++) {
			struct estimate one;

			if (erand48(state) >= chance)
				continue;
			one = estimate_block(524288, size, (uint64_t)run * blocks + i);
			count += one.count;
			variance += one.count_variance;
		}
		if (!count) /* without a sample, the table has no row */
			continue;
		run++;
		error = estimate_count_error(count, variance);
		within += (count > blocks ? count - blocks : blocks - count) <= error;
	}
	return within;
}

static void test_count_error(void)
{
	unsigned short state[3] = { 1, 2, 3 };

	ok(covered(4096, 500, state) >= 185,
	   "a count of about four samples is within its error in 185 of 200 runs and more");
	ok(covered(100000, 40, state) >= 185,
	   "an estimate of seven samples is within its error as often");
	ok(covered(64, 24000, state) >= 185,
	   "an estimate of three samples of small blocks is within its error as often");
	ok(covered(1048576, 10, state) >= 185,
	   "an estimate of blocks that are nearly all sampled is within its error as often");
}

int main(void)
{
	test_count_error();
	test_memory();
	test_replaced();
	test_counted();
	test_waits();
	test_slow_waits();
	test_condition();
	test_woken();
	test_more_threads();
	test_mappings();
	test_threads();
	test_descriptors();
	test_blocked();
	test_exec();
	test_lifetime();
	test_processes();
	test_space();
	test_top();
	test_human();
	test_names();
	test_rust_names();
	test_long_names();
	test_runtime();
	test_waiters();
	test_published();
	return tap_end();
}
