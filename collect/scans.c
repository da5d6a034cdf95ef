/* SPDX-License-Identifier: MIT */
/*
 * Scans of memory. A scanner (the program of scan/) stops a process and reads its memory. While the
 * process is stopped, the collector hands out all records of the process and then writes a note to
 * its stream. This point of the stream is the cut. Later the collector writes the scanner's
 * findings to the stream.
 */
#include "collect/collect_parts.h"
#include "notes.h"
#include "scan.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/spawn.h"
#include "collect/scan_result.h"
#include "machine.h"

/*
 * The collector kills a scanner that sends nothing for START_NS before it stops the process, for
 * HELD_NS while the process may be stopped, or for SILENT_NS after that.
 */
#define START_NS      (3000 * MS)
#define HELD_NS	      (1000 * MS)
#define SILENT_NS     (20000 * MS)
#define NOTES_AT_ONCE 256u
#define POLL_MS	      1

enum scan_state {
	SCAN_STARTED,  /* the process runs */
	SCAN_STOPPING, /* the process may be stopped */
	SCAN_HELD,     /* the process is stopped */
	SCAN_CUT_MADE,
	/* the process runs; the scanner computes, or waits until it can read the stream */
	SCAN_READING,
	SCAN_WRITING, /* the result is being written as notes */
};

struct scan {
	enum scan_state state;
	/* is_told: whether the collector has told the scanner that it can read the stream */
	bool is_at_exit, is_told;
	bool is_light; /* the scan only finds which memory is resident */
	pid_t pid;
	int socket, result;
	uint64_t heard_ns; /* when the scanner last sent a message */
	/* a time, in ticks, at which no ancestor process was inside fork(); 0: not known yet */
	uint64_t forked;
	uint32_t number;
	/* guests that wait for an answer */
	struct guest *guests;
	struct scan_result found; /* the result of the scanner, mapped into memory */
	char failure[SCAN_TEXT_MAX];
};

/* ---- notes ---- */

static void say_failed(struct collector *collector, struct member *member, uint32_t scan,
		       const char *reason)
{
	struct facts facts = { .count = 0 };

	facts_number(&facts, "number", scan);
	facts_add(&facts, "state", "failed");
	facts_add(&facts, "reason", reason);
	collect_say(collector, member, NOTE_SCAN, &facts);
}

void collect_say_unscanned(struct collector *collector, struct member *member)
{
	char reason[64];

	if (collector->settings.scan != SCAN_EXIT || member->is_scanned_at_end)
		return;
	if (member->watch.end == WATCH_KILLED)
		snprintf(reason, sizeof(reason), "the process was ended by signal %d",
			 member->watch.status);
	else if (member->is_scan_late)
		snprintf(reason, sizeof(reason), "too many other processes were scanned");
	else
		snprintf(reason, sizeof(reason), "the process ended without calling exit()");
	say_failed(collector, member, ++member->scans, reason);
}

/*
 * Called while the process is stopped. Writes its events to the stream, then the note of the cut.
 */
static void say_cut(struct collector *collector, struct member *member)
{
	struct facts facts = { .count = 0 };
	const struct merge_thread *threads;
	uint64_t lost = 0;
	uint32_t count;

	collect_receive(collector);
	merge_cut(collector->merge, member->process);
	threads = merge_threads(member->process, &count);
	for (uint32_t i = 0; i < count; i++)
		for (int k = 0; k < LOSS_COUNT; k++)
			lost += threads[i].lost[k];
	for (int k = 0; k < LOSS_COUNT; k++)
		lost += __atomic_load_n(&member->chunks[0]->head->lost[k], __ATOMIC_RELAXED) +
			merge_counts(member->process)->lost[k];
	facts_number(&facts, "number", member->scan->number);
	facts_add(&facts, "state", "cut");
	facts_add(&facts, "when", member->scan->is_at_exit ? "exit" : "asked");
	facts_number(&facts, "dropped", lost);
	collect_say(collector, member, NOTE_SCAN, &facts);
	stream_flush(member->stream);
}

/* Releases a process that waits in exit() for its scan. */
static void scan_release(struct member *member)
{
	uint32_t *released = &member->chunks[0]->head->released;

	/* a requested scan must not release a process that waits in exit() for its final scan */
	if (!member->is_scanned_at_end)
		return;
	__atomic_store_n(released, 1, __ATOMIC_SEQ_CST);
	shared_futex_wake(released);
}

/* ---- the scanner ---- */

static void scan_send(const struct scan *scan, enum scan_message message, const char *text)
{
	char bytes[SCAN_TEXT_MAX];
	int length = snprintf(bytes, sizeof(bytes), "%c%s", (char)message, text);

	if (length < (int)sizeof(bytes))
		send(scan->socket, bytes, (size_t)length + 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/*
 * Sends the scanner the addresses of the library's memory, as many as fit into a message. The
 * scanner treats the library's other memory as memory of the program.
 */
static void tell_cut(const struct scan *scan, const struct member *member)
{
	const struct arena_own *own = member->chunks[0]->head->own;
	char text[SCAN_TEXT_MAX - 64];
	size_t used = (size_t)snprintf(
		text, sizeof(text), "%llx ",
		(unsigned long long)member->stream->encoder.addresses[HOOK_malloc]);

	for (uint32_t i = 0; i < member->chunk_count && used + 64 < sizeof(text); i++) {
		const struct arena *head = member->chunks[i]->head;
		unsigned long long from = head->own_from, to = head->own_to;

		if (from < to)
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%llx-%llx ",
						 from, to);
	}
	for (uint32_t i = 0; i < ARENA_OWN && used + 64 < sizeof(text); i++) {
		unsigned long long to = __atomic_load_n(&own[i].to, __ATOMIC_ACQUIRE);
		unsigned long long from = own[i].from;

		if (from < to)
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%llx-%llx ",
						 from, to);
	}
	scan_send(scan, SCAN_CUT, text);
}

/* Returns why this process cannot be scanned, or NULL if it can be. */
static const char *scan_obstacle(const struct collector *collector, const struct member *member)
{
	const struct control_page *control = collector->shared.control;
	const struct sink *sink =
		collector->bundle ? bundle_sink(collector->bundle) : &member->stream->sink;

	if (!member->watch.our_pid)
		return "the collector does not know its pid";
	if (member->doubt)
		return member->doubt;
	if (control->machine != EM_NONE && control->machine != MACHINE_OWN)
		return "its program is built for another processor";
	if (!sink->regular)
		return "its trace is not in a file, so the scanner cannot read which objects are "
		       "live";
	if (collector->settings.sample)
		return "its memory is sampled, and blocks outside the sample may have pointers to "
		       "other blocks";
	if (collector->settings.format == FORMAT_RTRACE_1_4)
		return "its trace has the format rtrace-1.4, which cannot contain the result of a "
		       "scan";
	return NULL;
}

/* Starts the scanner. Returns 0 or a positive errno. */
static int scan_spawn(struct scan *scan, const struct member *member)
{
	char texts[6][16];
	char *argv[] = { NULL, texts[0], texts[1], texts[2], texts[3], texts[4], texts[5], NULL };
	const int numbers[] = { member->watch.our_pid,
				(int)scan->number,
				SPAWN_FIRST,
				SPAWN_FIRST + 1,
				scan->is_at_exit ? __atomic_load_n(&member->chunks[0]->head->ending,
								   __ATOMIC_RELAXED)
						 : 0,
				scan->is_light };
	int ends[2], rc;

	scan->result = memfd_create("holdtrace-scan", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (scan->result < 0)
		return errno;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return errno;
	scan->socket = ends[0];
	for (int i = 0; i < 6; i++)
		snprintf(texts[i], sizeof(texts[i]), "%d", numbers[i]);
	rc = spawn_start(&scan->pid, "holdtrace-scan", argv, (const int[]){ ends[1], scan->result },
			 2);
	close(ends[1]);
	return rc;
}

/* Ends a scan. failure: the reason, written instead of a result; NULL: the scan succeeded. */
static void scan_finish(struct collector *collector, struct member *member, const char *failure)
{
	struct scan *scan = member->scan;

	if (failure)
		say_failed(collector, member, scan->number, failure);
	stream_sync(member->stream);
	scan_release(member);
	while (scan->guests) {
		struct guest *guest = scan->guests;
		char answer[SCAN_TEXT_MAX];

		scan->guests = guest->next;
		snprintf(answer, sizeof(answer), "%s%.4000s", failure ? "!" : "",
			 failure ? failure : "");
		listener_answer(guest, answer);
		listener_dismiss(guest);
	}
	member->scan = NULL;
	bounds_use(&collector->used, &member->user->bounds, BOUND_SCANS, -1);
	/* when the scanner ends, the kernel lets a process that it has stopped continue */
	spawn_end(&scan->pid);
	if (scan->found.bytes)
		munmap((void *)(uintptr_t)scan->found.bytes, scan->found.size);
	if (scan->socket >= 0)
		close(scan->socket);
	if (scan->result >= 0)
		close(scan->result);
	free(scan);
}

static void scan_start(struct collector *collector, struct member *member, bool is_at_exit,
		       bool is_light, uint64_t now_ns)
{
	const char *why = scan_obstacle(collector, member);
	struct scan *scan = calloc(1, sizeof(*scan));
	int rc;

	member->is_scanned_at_end |= is_at_exit;
	if (!scan) {
		scan_release(member);
		return;
	}
	*scan = (struct scan){ .is_at_exit = is_at_exit,
			       .is_light = is_light,
			       .number = ++member->scans,
			       .socket = -1,
			       .result = -1,
			       .heard_ns = now_ns };
	member->scan = scan;
	bounds_use(&collector->used, &member->user->bounds, BOUND_SCANS, 1);
	rc = why ? 0 : scan_spawn(scan, member);
	if (rc)
		snprintf(scan->failure, sizeof(scan->failure), "cannot start the scanner: %s",
			 strerror(rc));
	if (why || rc)
		scan_finish(collector, member, why ? why : scan->failure);
}

void collect_scan_asked(struct collector *collector, struct guest *guest)
{
	bool is_light = !strncmp(guest->request.text, SCAN_LIGHT, sizeof(SCAN_LIGHT));
	struct guest **at;

	for (uint32_t i = 0; i < collector->count; i++) {
		struct member *member = collector->active[i];

		if (member->phase != PHASE_ALIVE || member->doubt ||
		    member->watch.our_pid != guest->request.pid)
			continue;
		guest->next = NULL;
		if (!member->scan) {
			/* scan_start() cannot answer this guest: it is not in the list yet */
			const char *why = scan_obstacle(collector, member);

			if (!why)
				scan_start(collector, member, false, is_light, ticks_clock_ns());
			if (!member->scan) {
				char answer[256];

				snprintf(answer, sizeof(answer), "!%s",
					 why ? why : "cannot start the scanner");
				listener_answer(guest, answer);
				listener_dismiss(guest);
				return;
			}
		}
		if (member->scan->is_light && !is_light) {
			listener_answer(guest, "!its resident memory is being read: try again");
			listener_dismiss(guest);
			return;
		}
		for (at = &member->scan->guests; *at; at = &(*at)->next)
			;
		*at = guest;
		return;
	}
	listener_answer(guest, "!the process is not recorded");
	listener_dismiss(guest);
}

/* Maps the result. No process can change it: the scanner has ended, and the result is sealed. */
static bool map_result(struct scan *scan)
{
	off_t size = lseek(scan->result, 0, SEEK_END);
	void *map;

	if (size <= 0 || (uint64_t)size > SCAN_RESULT_MOST ||
	    fcntl(scan->result, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW))
		return false;
	map = mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, scan->result, 0);
	if (map == MAP_FAILED)
		return false;
	scan->found = (struct scan_result){ map, (size_t)size, 0 };
	return true;
}

/* ---- messages ---- */

static void on_message(struct collector *collector, struct member *member, const char *message)
{
	struct scan *scan = member->scan;

	switch ((enum scan_message)message[0]) {
	case SCAN_STOPPED:
		if (scan->state <= SCAN_STOPPING)
			scan->state = SCAN_HELD;
		break;
	case SCAN_GOES_ON:
		if (scan->state == SCAN_CUT_MADE)
			scan->state = SCAN_READING;
		scan_release(member);
		break;
	case SCAN_DONE:
		/* when the scanner ends, the kernel lets a stopped process continue */
		spawn_end(&scan->pid);
		if (map_result(scan))
			scan->state = SCAN_WRITING;
		else
			scan_finish(collector, member, "cannot read the scanner's result");
		break;
	case SCAN_FAILED:
		snprintf(scan->failure, sizeof(scan->failure), "%s", message + 1);
		scan_finish(collector, member, scan->failure);
		break;
	case SCAN_BEAT:
		if (scan->state == SCAN_STARTED)
			scan->state = SCAN_STOPPING;
		break;
	case SCAN_CUT:
	case SCAN_READY:
		break;
	}
}

/* Stores why a scanner that has closed its socket ended before its result was complete. */
static void say_death(struct scan *scan)
{
	int status = spawn_end(&scan->pid);

	if (!WIFSIGNALED(status))
		snprintf(scan->failure, sizeof(scan->failure),
			 "the scanner ended with status %d before it was done: scan again",
			 WEXITSTATUS(status));
	else if (WTERMSIG(status) == SIGKILL)
		snprintf(scan->failure, sizeof(scan->failure),
			 "the scanner was killed by SIGKILL. The kernel does this if memory is "
			 "short, and after ten minutes of processor time: scan again when more "
			 "memory is free");
	else
		snprintf(scan->failure, sizeof(scan->failure),
			 "the scanner was killed by signal %d (%s): report this as a fault of "
			 "holdtrace",
			 WTERMSIG(status), strsignal(WTERMSIG(status)));
}

/* Receives all messages that have arrived. Returns false if the scan is over. */
static bool scan_receive(struct collector *collector, struct member *member, uint64_t now_ns)
{
	char message[SCAN_TEXT_MAX];

	while (member->scan && member->scan->state != SCAN_WRITING) {
		ssize_t got =
			recv(member->scan->socket, message, sizeof(message) - 1, MSG_DONTWAIT);

		if (got < 0 && (errno == EAGAIN || errno == EINTR))
			return true;
		if (got <= 0) {
			say_death(member->scan);
			scan_finish(collector, member, member->scan->failure);
			return false;
		}
		message[got] = '\0';
		member->scan->heard_ns = now_ns;
		__atomic_add_fetch(&member->chunks[0]->head->scan_beat, 1, __ATOMIC_RELEASE);
		on_message(collector, member, message);
	}
	return member->scan != NULL;
}

/* Sends the scanner the name of the stream: FILE, or FILE#N if the file has several streams. */
static void tell_path(const struct collector *collector, const struct member *member)
{
	const struct sink *sink =
		collector->bundle ? bundle_sink(collector->bundle) : &member->stream->sink;
	char link[32], path[PATH_MAX], text[PATH_MAX + 32];
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", sink->fd);
	length = readlink(link, path, sizeof(path) - 1);
	path[length > 0 ? length : 0] = '\0';
	if (collector->bundle)
		snprintf(text, sizeof(text), "%s#%u", path, member->stream->bundle.number);
	else
		snprintf(text, sizeof(text), "%s", path);
	scan_send(member->scan, SCAN_READY, text);
}

/*
 * Whether the streams of all ancestors have the events that the scanner needs. A forked child has
 * blocks that its ancestors allocated, so the file must contain the ancestors' streams up to their
 * calls of fork. A call of fork is recorded when it returns in the parent, which may be later than
 * any event of the child.
 */
static bool has_written_ancestors(struct collector *collector, const struct member *member)
{
	struct scan *scan = member->scan;
	uint32_t number = member->parent_stream;
	bool is_written = scan->forked != 0, is_forking = false;

	/* the loop has a limit, since a hostile process can cause a cycle of ancestors */
	for (unsigned i = 0; number != WIRE_NO_STREAM && i < ANCESTORS; i++) {
		const struct ancestor *ancestor = &collector->ancestors[number % ANCESTORS];
		struct member *parent = NULL;
		uint32_t next =
			ancestor->number == number ? ancestor->parent_stream : WIRE_NO_STREAM;

		for (uint32_t k = 0; !parent && k < collector->count; k++)
			if (collector->active[k]->number == number)
				parent = collector->active[k];
		if (parent) {
			next = parent->parent_stream;
			is_forking |= collect_is_forking(collector, parent);
			is_written &= parent->phase != PHASE_CLOSING &&
				      merge_limit(collector->merge, parent->process) > scan->forked;
			stream_sync(parent->stream);
		}
		number = next;
	}
	if (!scan->forked && !is_forking)
		scan->forked = ticks_now(collector->shared.control->clock);
	return is_written || member->parent_stream == WIRE_NO_STREAM;
}

/* ---- the loop ---- */

static void bring_on(struct collector *collector, struct member *member, uint64_t now_ns)
{
	struct scan *scan = member->scan;
	static const uint64_t patience[] = { [SCAN_STARTED] = START_NS,
					     [SCAN_STOPPING] = HELD_NS,
					     [SCAN_HELD] = HELD_NS,
					     [SCAN_CUT_MADE] = HELD_NS,
					     [SCAN_READING] = SILENT_NS };

	if (scan->state == SCAN_WRITING) {
		struct scan_note note;
		int rc = 1;

		for (uint32_t i = 0; rc == 1 && i < NOTES_AT_ONCE; i++) {
			rc = scan_result_next(&member->scan->found, &note);
			if (rc == 1)
				stream_note(member->stream,
					    &(struct encode_note){
						    .name = note.name,
						    .values = note.values,
						    .count = note.count,
						    .time = collect_note_time(collector, member) });
		}
		if (rc != 1)
			scan_finish(collector, member,
				    rc ? "the scanner's result is invalid" : NULL);
		return;
	}
	if (!scan_receive(collector, member, now_ns) || member->scan->state == SCAN_WRITING)
		return;
	if (now_ns > scan->heard_ns + patience[scan->state]) {
		scan_finish(collector, member, "the scanner did not respond");
		return;
	}
	if (scan->state == SCAN_HELD) {
		say_cut(collector, member);
		scan->state = SCAN_CUT_MADE;
		tell_cut(scan, member);
	}
	if (scan->state == SCAN_READING && !scan->is_told && !scan->is_light &&
	    (has_written_ancestors(collector, member) || now_ns > scan->heard_ns + SILENT_NS / 2)) {
		scan->is_told = true;
		stream_sync(member->stream);
		tell_path(collector, member);
	}
}

void collect_scan(struct collector *collector, uint64_t now_ns)
{
	for (uint32_t i = 0; i < collector->count; i++) {
		struct member *member = collector->active[i];
		uint64_t begun;

		/* the process waits in exit() for a scan, and the scan has not begun */
		bool awaits = !member->scan && collector->settings.scan == SCAN_EXIT &&
			      member->phase == PHASE_ALIVE && !member->is_scanned_at_end &&
			      __atomic_load_n(&member->chunks[0]->head->ending, __ATOMIC_ACQUIRE);

		if (member->phase == PHASE_CLOSING || (!member->scan && !awaits))
			continue;
		/* if the process stops waiting before the scans of others end, it is not scanned */
		member->is_scan_late =
			!member->scan &&
			(!bounds_allow(&collector->used, &member->user->bounds, BOUND_SCANS, 1) ||
			 !collect_has_turn(collector, member->user));
		if (member->is_scan_late)
			continue;
		begun = ticks_clock_ns();
		if (!member->scan)
			scan_start(collector, member, true, false, now_ns);
		if (member->scan)
			bring_on(collector, member, now_ns);
		collect_charge(collector, member->user, begun);
	}
}

bool collect_scan_waits(const struct collector *collector)
{
	struct pollfd pollers[16];
	nfds_t count = 0;

	for (uint32_t i = 0; i < collector->count && count < 16; i++) {
		const struct scan *scan = collector->active[i]->scan;

		if (scan)
			pollers[count++] = (struct pollfd){ .fd = scan->socket, .events = POLLIN };
	}
	if (!count)
		return false;
	if (pollers[0].fd >= 0)
		poll(pollers, count, POLL_MS);
	return true;
}
