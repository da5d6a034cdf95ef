/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/resource_limits.h"
#include "base/options.h"
#include "base/sandbox.h"
#include "process/proc.h"
#include "scan.h"
#include "scan/roots.h"

#define BEAT_NS	 20000000u
#define RETRY_NS 20000000u
#define RETRIES	 500  /* attempts to read the trace up to the cut: 10 s in all */
#define CUT_MS	 2000 /* the stop ends after this time if the collector does not answer */

static const char usage[] =
	"Usage: holdtrace-scan PID NUMBER SOCKET RESULT EXITING LIGHT\n"
	"       holdtrace-scan core CORE RESULT FILE...\n"
	"Finds the unreachable blocks of a traced program, and the owners of the other blocks.\n"
	"\n"
	"The collector starts this program for `holdtrace report leaks --scan PID`, and\n"
	"holdtrace-postproc for --core; do not run it by hand.\n"
	"\n"
	"      --help     print this help and exit\n"
	"      --version  print the version and exit\n";

struct scan {
	unsigned number;
	int exiting;	    /* id of the thread that ends the process; 0: none */
	int socket, result; /* socket -1: a core file is scanned, and no process waits */
	uint64_t beat_ns, begun_ns, pause_ns;
	struct process process;
	struct live live;
	struct graph graph;
	struct roots roots;
	struct names *names;
	char text[SCAN_TEXT_MAX]; /* text of the last message */
};

/* ---- the stop ---- */

/*
 * The scanner stops all threads of a process, and lets them continue as if they had not been
 * stopped: signals are delivered, and no system call returns early. If the scanner dies in between,
 * the kernel lets the threads continue (ptrace(2)), so nothing has to be undone.
 */

#define OBJECT_NS   1000000000ull /* maximum wait until all threads can be stopped safely */
#define LOOK_NS	    2000000
#define ROUNDS_MAX  1000 /* maximum rounds, for a process that keeps starting threads */
#define THREADS_MAX 100000

/* Asks all new threads to stop. Returns 0 or a negative errno. */
static int ask_new(struct process *process, struct error *err)
{
	size_t count;
	cleanup_free int32_t *threads = proc_threads(process->pid, &count);

	if (!count)
		return error_system(err, ESRCH, "process %d", process->pid);
	for (size_t i = 0; i < count; i++) {
		size_t known = process->threads.count;
		struct stopping stopping;
		struct tracee tracee;
		int rc;

		while (known && process->threads.items[known - 1].tracee.tid != threads[i])
			known--;
		if (known)
			continue;
		stopping_look(&stopping, process->pid, threads[i]);
		rc = tracee_ask(&tracee, &stopping);
		if (rc == -ESRCH || (rc && proc_has_ended(process->pid, threads[i])))
			continue;
		if (rc)
			return error_system(err, -rc, "thread %d cannot be stopped", threads[i]);
		if (process->threads.count == THREADS_MAX)
			return error_set(err, EBUSY, "the process has more than %d threads",
					 THREADS_MAX);
		*ARRAY_ADD(&process->threads) = (struct process_thread){ .tracee = tracee };
	}
	return 0;
}

/*
 * Waits at most one second until all threads can be stopped without harm (process/stopping.h).
 * Returns 0, or -EBUSY with a text that names the thread that prevents the stop. Not called for a
 * process that is about to end, because the time limits of its calls no longer matter.
 */
static int stop_await_consent(const struct process *process, struct error *err)
{
	const struct timespec step = { .tv_nsec = LOOK_NS };
	uint64_t until_ns = clock_ns() + OBJECT_NS;

	for (;;) {
		size_t count;
		cleanup_free int32_t *threads = proc_threads(process->pid, &count);
		const char *found = NULL;
		struct stopping stopping;

		for (size_t i = 0; i < count && !found; i++) {
			stopping_look(&stopping, process->pid, threads[i]);
			found = stopping_objection(&stopping);
		}
		if (!found)
			return 0;
		if (clock_ns() > until_ns)
			return error_set(err, EBUSY,
					 "the process was not stopped, because thread %d is in %s "
					 "(system call %d)",
					 stopping.tid, found, (int)stopping.call.number);
		if (process->beat)
			process->beat(process->user);
		nanosleep(&step, NULL);
	}
}

/*
 * Stops all threads, including those that start in the meantime, and reads their registers. Returns
 * 0, -EPERM, -ESRCH, or -EBUSY if a thread does not stop in time.
 */
static int stop_begin(struct process *process, struct error *err)
{
	size_t taken = 0;

	for (int round = 0; round < ROUNDS_MAX; round++) {
		int rc = ask_new(process, err);
		bool has_new = process->threads.count > taken;

		if (rc)
			return rc;
		for (; taken < process->threads.count; taken++) {
			struct process_thread *thread = &process->threads.items[taken];
			struct tracee *tracee = &thread->tracee;

			rc = tracee_await(tracee);
			if (rc == -EBUSY)
				return error_set(err, EBUSY, "thread %d does not stop",
						 tracee->tid);
			if (rc)
				return error_system(err, -rc,
						    "cannot read the registers of thread %d",
						    tracee->tid);
			if (!tracee->tid) /* the thread has ended */
				continue;
			thread->register_count =
				sizeof(tracee->registers) / sizeof(*thread->registers);
			memcpy(thread->registers, &tracee->registers, sizeof(tracee->registers));
			thread->vector_count =
				tracee_vectors(tracee, thread->vectors, PROCESS_VECTORS_MAX);
			proc_name(process->pid, tracee->tid, thread->name, sizeof(thread->name));
		}
		if (process->beat)
			process->beat(process->user);
		/*
		 * look twice: a thread that was being created during the previous round is visible
		 * now
		 */
		if (!has_new && process->threads.count)
			return 0;
		if (!has_new)
			return error_system(err, ESRCH, "process %d", process->pid);
	}
	return error_set(err, EBUSY, "the process creates threads faster than they can be stopped");
}

static void stop_end(struct process *process)
{
	for (size_t i = 0; i < process->threads.count; i++)
		tracee_release(&process->threads.items[i].tracee);
}

/* ---- messages ---- */

static void send_message(const struct scan *scan, enum scan_message message, const char *text)
{
	char bytes[SCAN_TEXT_MAX];
	int length = snprintf(bytes, sizeof(bytes), "%c%s", (char)message, text);

	if (length >= (int)sizeof(bytes))
		length = sizeof(bytes) - 1;
	/*
	 * use write(), because the sandbox forbids send(); ignore an error, because a collector
	 * that has ended needs no message
	 */
	if (write(scan->socket, bytes, (size_t)length + 1) < 0)
		errno = 0;
}

static void beat(void *user)
{
	struct scan *scan = user;
	uint64_t now = clock_ns();

	if (scan->socket < 0 || now - scan->beat_ns < BEAT_NS)
		return;
	scan->beat_ns = now;
	send_message(scan, SCAN_BEAT, "");
}

/* Waits for a message for at most most_ms (-1: no limit). Stores its text in scan->text. */
static int await_message(struct scan *scan, enum scan_message message, int most_ms,
			 struct error *err)
{
	struct pollfd poller = { .fd = scan->socket, .events = POLLIN };
	ssize_t got;

	/* no signal has a handler here, so only the timeout ends poll() early */
	if (most_ms >= 0 && poll(&poller, 1, most_ms) == 0)
		return error_set(err, ETIMEDOUT, "the collector does not answer");
	do
		got = read(scan->socket, scan->text, sizeof(scan->text) - 1);
	while (got < 0 && errno == EINTR);
	scan->text[got > 0 ? got : 0] = '\0';
	if (got <= 0)
		return error_set(err, EPIPE, "the collector has ended");
	return scan->text[0] == (char)message
		       ? 0
		       : error_set(err, EPROTO, "the collector refused the scan");
}

/* ---- the process ---- */

/* Stops the process, reads its memory, and lets it continue, even after a failure. */
static int take_moment(struct scan *scan, struct error *err)
{
	uint64_t begun_ns = clock_ns();
	const char *at = scan->text + 1;
	unsigned long long from, to;
	int length, rc;

	/* tell the collector that the stop begins */
	send_message(scan, SCAN_BEAT, "");
	rc = stop_begin(&scan->process, err);
	if (rc == 0) {
		send_message(scan, SCAN_STOPPED, "");
		for (size_t i = 0; i < scan->process.threads.count; i++)
			if (scan->exiting &&
			    scan->process.threads.items[i].tracee.tid == scan->exiting)
				scan->process.threads.items[i].is_exiting = true;
		rc = process_read(&scan->process, err);
	}
	if (rc == 0)
		rc = await_message(scan, SCAN_CUT, CUT_MS, err);
	stop_end(&scan->process);
	scan->pause_ns = clock_ns() - begun_ns;
	if (rc)
		return rc;
	/*
	 * the module files are opened only now: a file system that the process itself serves cannot
	 * answer while the process is stopped
	 */
	if (!scan->process.is_light)
		scan->names = names_open(&scan->process);
	send_message(scan, SCAN_GOES_ON, "");
	/* the collector's answer has the address of malloc, and the library's private ranges */
	if (sscanf(at, "%llx %n", &from, &length) != 1)
		return 0;
	scan->process.malloc_at = from;
	for (at += length; sscanf(at, "%llx-%llx %n", &from, &to, &length) == 2; at += length)
		ranges_add(&scan->process.own, from, to);
	return 0;
}

/*
 * Reads the live objects. Tries repeatedly, because the collector may take some time to write the
 * events.
 */
static int read_live(struct scan *scan, struct error *err)
{
	const struct timespec step = { .tv_nsec = RETRY_NS };
	const struct live_reading reading = {
		.path = scan->text + 1, .cut = scan->number, .beat = beat, .user = scan
	};
	int rc = await_message(scan, SCAN_READY, -1, err);

	if (rc)
		return rc;
	for (int i = 0; i < RETRIES; i++) {
		rc = live_read(&scan->live, &reading, err);
		if (rc != -EAGAIN)
			return rc ? error_prefix(err, "%.200s", scan->text + 1) : 0;
		beat(scan);
		nanosleep(&step, NULL);
	}
	return error_set(err, ETIMEDOUT,
			 "the live objects of the process are not in its trace yet");
}

static uint64_t usable_size(uint64_t size)
{
	return ((size + 8 + 15) & ~15ull) - 8;
}

/*
 * Finds reachable and unreachable blocks. The usable size of a block is known only for libc's
 * allocator.
 */
static int analyse(struct scan *scan, struct error *err)
{
	const struct process *process = &scan->process;
	struct graph *graph = &scan->graph;
	struct live *live = &scan->live;
	int rc = graph_begin(graph, live->blocks.items, live->blocks.count);

	live->blocks.items = NULL;
	if (rc)
		return error_system(err, -rc, "cannot examine %zu blocks", live->blocks.count);
	graph->beat = beat;
	graph->user = scan;
	frames_find(scan->names, &scan->process);
	beat(scan);
	graph_connect(graph, &process->words, dead_allocator(process) ? NULL : usable_size);
	beat(scan);
	roots_find(&scan->roots, graph, process, live);
	roots_name(&scan->roots, graph, process, scan->names);
	beat(scan);
	graph_mark(graph, (uint32_t)scan->roots.list.count);
	beat(scan);
	handles_judge(live, graph, process, &scan->roots);
	graph_locate(graph, &process->words);
	beat(scan);
	graph_dominate(graph);
	beat(scan);
	return 0;
}

static int write_report(const struct scan *scan, struct error *err)
{
	const struct report report = { .number = scan->number,
				       .graph = &scan->graph,
				       .roots = &scan->roots,
				       .process = &scan->process,
				       .live = &scan->live,
				       .pause_ns = scan->pause_ns,
				       .whole_ns = clock_ns() - scan->begun_ns };

	return report_write(&report, scan->result, err);
}

/*
 * Limits the result to half of the memory that the scanner may use: the scanner needs some 150
 * bytes for each block, and the result some 85. A write beyond the limit fails, because SIGXFSZ is
 * ignored.
 */
static void give_up_rights(void)
{
	struct sandbox_options rights = { .grows_to = SCAN_RESULT_MOST };
	struct rlimit memory;

	if (getrlimit(RLIMIT_AS, &memory) == 0 && memory.rlim_cur / 2 < SCAN_RESULT_MOST)
		rights.grows_to = memory.rlim_cur / 2;
	signal(SIGXFSZ, SIG_IGN);
	sandbox_enter(&rights);
}

static int run_scan(struct scan *scan, struct error *err)
{
	int rc = scan->exiting ? 0 : stop_await_consent(&scan->process, err);

	if (rc == 0)
		rc = take_moment(scan, err);
	if (rc)
		return rc;
	give_up_rights();
	if (scan->process.is_light)
		return write_report(scan, err);
	rc = read_live(scan, err);
	if (scan->process.unread_bytes && !scan->live.doubt)
		scan->live.doubt = "memory could not be read";
	if (rc == 0)
		rc = analyse(scan, err);
	return rc ? rc : write_report(scan, err);
}

/* ---- core files ---- */

/* Writes the start of the result for a core file. */
static int write_head(const struct scan *scan, const char *text, struct error *err)
{
	size_t size = strlen(text) + 1;

	return write(scan->result, text, size) == (ssize_t)size
		       ? 0
		       : error_system(err, errno, "cannot write the results of the scan");
}

/* Overwrites the start of the result, which may be partly written, with "!" and the reason. */
static void write_failure(const struct scan *scan, const char *reason)
{
	char text[ERROR_TEXT_MAX + 2];
	int length = snprintf(text, sizeof(text), "!%s", reason);

	if (pwrite(scan->result, text, (size_t)length + 1, 0) < 0)
		errno = 0;
}

/*
 * Whether the core file lacks a mapping that the process had: gcore silently leaves out what
 * coredump_filter and MADV_DONTDUMP exclude. A mapping existed if it has a stack or a live block,
 * or if the trace has the call that made it.
 */
static bool lacks_mappings(const struct process *process, const struct live *live)
{
	const struct maps *maps = &process->subject.maps;

	for (size_t i = 0; i < process->threads.count; i++)
		if (!maps_at(maps, process->threads.items[i].tracee.sp))
			return true;
	for (size_t i = 0; i < live->blocks.count; i++)
		if (!maps_at(maps, live->blocks.items[i].address))
			return true;
	for (size_t i = 0; i < live->mappings.count; i++) {
		const struct live_mapping *mapping = &live->mappings.items[i];

		for (uint64_t at = mapping->from; at < mapping->to;) {
			const struct mapping *found = maps_at(maps, at);

			if (!found)
				return true;
			at = found->to;
		}
	}
	return false;
}

static int run_core(struct scan *scan, int core, const char *const *paths, size_t count,
		    struct error *err)
{
	struct core_stream stream;
	struct live_reading reading = { .beat = beat, .user = scan };
	char text[128];
	int rc;

	give_up_rights();
	rc = process_read_core(&scan->process, core, err);
	if (rc == 0)
		rc = core_stream_find(&stream, &scan->process, paths, count, err);
	if (rc)
		return rc;
	scan->number = stream.scans + 1;
	scan->process.malloc_at = stream.malloc_at;
	scan->names = names_open(&scan->process);
	reading.path = stream.path;
	reading.until_ns = stream.until_ns;
	rc = live_read(&scan->live, &reading, err);
	if (rc == -EAGAIN)
		return error_set(err, EIO, "cannot read %s", stream.path);
	if (stream.doubt)
		scan->live.doubt = stream.doubt;
	else if ((scan->process.unread_bytes || lacks_mappings(&scan->process, &scan->live)) &&
		 !scan->live.doubt)
		scan->live.doubt = "the core file does not have all memory of the process";
	snprintf(text, sizeof(text), "%llx %llx %u %llu", (unsigned long long)stream.session[0],
		 (unsigned long long)stream.session[1], stream.stream,
		 (unsigned long long)scan->live.next_index);
	if (rc == 0)
		rc = analyse(scan, err);
	if (rc == 0)
		rc = write_head(scan, text, err);
	return rc ? rc : write_report(scan, err);
}

static bool parse_arguments(int argc, char **argv, struct scan *scan)
{
	int light;
	int *const numbers[] = { &scan->process.pid, (int *)&scan->number, &scan->socket,
				 &scan->result,	     &scan->exiting,	   &light };

	if (argc != 7)
		return false;
	for (int i = 0; i < 6; i++) {
		char *end;
		long number = strtol(argv[i + 1], &end, 10);

		if (!*argv[i + 1] || *end || number < 0 || number > INT32_MAX)
			return false;
		*numbers[i] = (int)number;
	}
	scan->process.is_light = light;
	return scan->process.pid > 0;
}

/* Global, because end_without_memory() has no parameter. */
static struct scan scan;

static void end_without_memory(void)
{
	stop_end(&scan.process);
	if (scan.socket < 0)
		write_failure(&scan, "out of memory during the scan");
	else
		send_message(&scan, SCAN_FAILED, "out of memory during the scan");
	_exit(1);
}

int main(int argc, char **argv)
{
	struct error err = { 0 };
	int about = options_about(argc, argv, usage);
	bool is_core = argc > 1 && !strcmp(argv[1], "core");

	if (about >= 0)
		return about;
	if (!is_core && !parse_arguments(argc, argv, &scan)) {
		fprintf(stderr, "holdtrace-scan: expected six numbers\n"
				"Try 'holdtrace-scan --help'.\n");
		return 2;
	}
	scan.process.beat = beat;
	scan.process.user = &scan;
	scan.begun_ns = clock_ns();
	memory_set_end(end_without_memory);
	resource_limits_begin();
	if (is_core) {
		scan.socket = -1;
		if (argc < 5) {
			fprintf(stderr,
				"holdtrace-scan: core: expected two descriptors and a trace\n"
				"Try 'holdtrace-scan --help'.\n");
			return 2;
		}
		scan.result = atoi(argv[3]);
		if (run_core(&scan, atoi(argv[2]), (const char *const *)argv + 4, (size_t)argc - 4,
			     &err) == 0)
			return 0;
		write_failure(&scan, err.text);
		return 1;
	}
	if (run_scan(&scan, &err)) {
		send_message(&scan, SCAN_FAILED, err.text);
		return 1;
	}
	send_message(&scan, SCAN_DONE, "");
	return 0;
}
