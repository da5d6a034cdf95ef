/* SPDX-License-Identifier: MIT */
#include "collect/collect.h"

#include "collect/collect_parts.h"
#include "collect/detach.h"
#include "machine.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BUSY_BYTES  (32u << 10) /* a round that took so much is followed by another at once */
#define SLEEP_LEAST (1 * MS)
#define SLEEP_MOST  (8 * MS)
#define POLL_NS	    (50 * MS)	 /* between two looks at all processes, if nobody told us */
#define LINGER_NS   (200 * MS)	 /* after the last one: an exec may be about to attach */
#define FIRST_NS    (10000 * MS) /* how long nobody needs to attach */
#define LEAVE_NS    (3000 * MS)	 /* after SIGTERM: who stops all stops the programs, too */

/* ---- members ---- */

/* Events that no stream could take. */
static uint64_t all_unwritten(const struct collector *collector)
{
	uint64_t sum = collector->unwritten;

	for (uint32_t i = 0; i < collector->count; i++)
		sum += collector->active[i]->stream->unwritten;
	return sum;
}

/* Says why streams are not complete, where the launcher looks. */
static void tell_failure(struct collector *collector, const struct stream *stream)
{
	snprintf(collector->failure, sizeof(collector->failure), "%.400s: %" PRIu64 " events lost",
		 stream->failure.text, all_unwritten(collector));
	shared_fail(&collector->shared, collector->failure);
	/* Who goes away while we write wants no more, as behind any other program in a pipe. */
	collector->has_failed |= stream->failure.number != EPIPE;
}

/* The document's protocol has no other form than packets. */
static bool prefers_htr(const struct settings *settings)
{
	return settings->format == FORMAT_HTR && settings->protocol == PROTOCOL_2_0;
}

static void open_sink(struct collector *collector, struct member *member,
		      const struct arena_process *process)
{
	struct arena *arena = collector->shared.arena;
	struct sink *sink = &member->stream->sink;
	struct sink_wish wish = {
		.place = &collector->place,
		.force = collector->settings.force,
		.prefers_htr = prefers_htr(&collector->settings),
		.first = !collector->any,
		.inherited = collector->inherited,
		.begun = collector->begun,
		.program = process->name,
		.pid = process->pid,
	};
	struct error err = { 0 };

	if (wish.first && collector->first.fd >= 0) {
		*sink = collector->first;
		collector->first.fd = -1;
	} else if (sink_open(sink, &wish, &err) < 0) {
		stream_break(member->stream, &err);
		tell_failure(collector, member->stream);
	}
	sink->heartbeat = &arena->heartbeat;
	member->stream->wake = &arena->sleeping;
}

static uint32_t our_version(void)
{
	unsigned major = 0, minor = 0;

#ifdef PACKAGE_VERSION
	if (sscanf(PACKAGE_VERSION, "%u.%u", &major, &minor) < 1)
		major = minor = 0;
#endif
	return major << 16 | minor;
}

static void begin_stream(struct collector *collector, struct member *member,
			 const struct arena_process *process)
{
	const struct arena *arena = collector->shared.arena;
	struct encode_process start = {
		.pid = process->pid,
		.parent_pid = process->parent_pid,
		.name = process->name,
		.machine = arena->machine,
		.depth = (uint32_t)collector->settings.depth,
		.session = { arena->session[0], arena->session[1] },
		.stream = process->stream,
		.parent_stream = WIRE_NO_STREAM,
		.start = process->start,
		.realtime_ns = collector->realtime_ns,
		.version = our_version(),
	};
	const struct encode_note chosen = {
		.name = "~settings",
		.values = &(const struct wire_value){ "events", arena->settings.events },
		.count = 1,
		.time = process->start,
	};
	const struct encode_note off = {
		.name = "~recording",
		.values = &(const struct wire_value){ "state", "off" },
		.count = 1,
		.time = process->start,
	};

	if (process->parent < ARENA_PROCESSES)
		start.parent_stream = arena->processes[process->parent].stream;
	stream_begin(member->stream, &start);
	collect_sample_begin(collector, member, process->start);
	if (strcmp(arena->settings.events, "all") != 0)
		stream_note(member->stream, &chosen);
	if (collector->paused & 1)
		stream_note(member->stream, &off);
	/* from here on a file has a head, and tools know what it is */
	stream_flush(member->stream);
}

/* Whether there are signs that a process counts its pids otherwise than we do. */
static bool may_be_foreign(const struct collector *collector, const struct arena_process *process)
{
	if (process->pid == 1 || process->parent_pid == 0)
		return true;
	for (uint32_t i = 0; i < collector->count; i++) {
		const struct member *member = collector->active[i];

		if (member->watch.foreign &&
		    (member->index == process->parent || member->watch.pid == process->pid ||
		     member->watch.pid == process->parent_pid))
			return true;
	}
	return false;
}

static void end_member(struct collector *collector, struct member *member)
{
	if (member->phase != PHASE_ALIVE)
		return;
	member->phase = PHASE_ENDED;
	merge_end(collector->merge, member->index);
}

/* A new image in a process that we know: the old one is gone. */
static void end_predecessor(struct collector *collector, const struct watch *watch)
{
	for (uint32_t i = 0; i < collector->count; i++) {
		struct member *member = collector->active[i];

		if (member->phase != PHASE_ALIVE || member->watch.pid != watch->pid ||
		    member->watch.foreign != watch->foreign)
			continue;
		member->watch.end = WATCH_EXEC;
		end_member(collector, member);
	}
}

/* The starter may be dead and forgotten by the time that we look for it. */
static int take_starter(struct collector *collector, const struct arena_process *process)
{
	int pidfd = collector->starter;

	if (process->pid != collector->starter_pid)
		return -1;
	collector->starter = -1;
	return pidfd;
}

void collect_beat(struct collector *collector)
{
	/* the threads that write files beat, too */
	__atomic_add_fetch(&collector->shared.arena->heartbeat, 1, __ATOMIC_RELEASE);
}

static void adopt(struct collector *collector, uint32_t index)
{
	struct arena_process *process = &collector->shared.arena->processes[index];
	struct member *member = calloc(1, sizeof(*member));

	collect_beat(collector);
	collector->known[index] = true;
	process->name[sizeof(process->name) - 1] = 0;
	if (!member)
		return;
	member->index = index;
	member->stream = stream_create((enum setting_protocol)collector->settings.protocol,
				       &collector->ticks);
	if (!member->stream) {
		free(member);
		return;
	}
	watch_begin(&member->watch, &collector->shared, process->pid,
		    may_be_foreign(collector, process), take_starter(collector, process));
	end_predecessor(collector, &member->watch);
	if (member->watch.pidfd >= 0)
		door_watch(collector->door, member->watch.pidfd);
	open_sink(collector, member, process);
	begin_stream(collector, member, process);
	collector->any = true;
	collector->members[index] = member;
	collector->active[collector->count++] = member;
}

static void adopt_new(struct collector *collector)
{
	struct arena *arena = collector->shared.arena;
	uint32_t used = __atomic_load_n(&arena->processes_used, __ATOMIC_ACQUIRE);

	for (uint32_t i = collector->adopted; i < used && i < ARENA_PROCESSES; i++) {
		if (!collector->known[i] && !collector->leaving &&
		    __atomic_load_n(&arena->processes[i].state, __ATOMIC_ACQUIRE) == PROCESS_ALIVE)
			adopt(collector, i);
	}
	while (collector->adopted < ARENA_PROCESSES && collector->known[collector->adopted])
		collector->adopted++;
}

/* ---- events ---- */

static void on_event(void *context, uint32_t index, const struct merge_event *event)
{
	struct collector *collector = context;

	/* it attached after we looked for new ones */
	if (__builtin_expect(!collector->members[index], 0)) {
		if (!collector->known[index] && !collector->leaving)
			adopt(collector, index);
		if (!collector->members[index])
			return;
	}
	stream_event(collector->members[index]->stream, event);
}

/* ---- the end of a process ---- */

/* The launcher cannot know which name was still free. */
static void report(const struct collector *collector, const struct member *member)
{
	const struct arena_process *process = &collector->shared.arena->processes[member->index];
	const struct sink *sink = &member->stream->sink;

	if (collector->reports >= 0)
		dprintf(collector->reports, "%u %d %s\n", process->stream, process->pid,
			sink->regular ? sink->name : "");
}

/* Nothing is left to do for it, not even to wait for a command. */
static void leave(struct collector *collector, uint32_t place)
{
	struct member *member = collector->active[place];
	struct arena *arena = collector->shared.arena;

	if (member->stream->broken)
		tell_failure(collector, member->stream);
	report(collector, member);
	/* From here on another process may take the entry. */
	merge_forget(collector->merge, member->index);
	collector->members[member->index] = NULL;
	collector->known[member->index] = false;
	if (collector->adopted > member->index)
		collector->adopted = member->index;
	__atomic_store_n(&arena->processes[member->index].state, PROCESS_GONE, __ATOMIC_RELEASE);
	__atomic_add_fetch(&arena->detached, 1, __ATOMIC_RELEASE);
	shared_futex_wake(&arena->detached);
	collector->active[place] = collector->active[--collector->count];
	collector->gone_ns = ticks_clock_ns();
	collector->unwritten += member->stream->unwritten;
	stream_free(member->stream);
	free(member);
}

static void finish_ended(struct collector *collector)
{
	for (uint32_t i = 0; i < collector->count;) {
		struct member *member = collector->active[i];

		if (member->phase == PHASE_ENDED)
			collect_finish(collector, member);
		if (member->phase == PHASE_CLOSING && stream_finished(member->stream))
			leave(collector, i);
		else
			i++;
	}
}

/* Asks closely only who has been silent: reading a process's mappings is not free for it. */
static bool is_silent(struct collector *collector, struct member *member)
{
	uint64_t events = merge_counts(collector->merge, member->index)->events;
	bool silent = events == member->seen;

	member->seen = events;
	return silent;
}

/*
 * SIGTERM: the programs that got it, too, have some seconds to end, since what they do then belongs
 * to their traces; a second one, and we leave at once. Streams end with what there is.
 */
static void heed(struct collector *collector, uint64_t now_ns)
{
	if (detach_asked_to_end())
		collector->leave_ns = collector->leave_ns ? now_ns : now_ns + LEAVE_NS;
	if (!collector->leave_ns || now_ns < collector->leave_ns)
		return;
	collector->leaving = true;
	for (uint32_t i = 0; i < collector->count; i++) {
		struct member *member = collector->active[i];

		if (member->phase == PHASE_ALIVE)
			member->watch.end = WATCH_LEFT;
		end_member(collector, member);
	}
}

/* Looks who has ended. Before a round: what they published last is then seen by it. */
static void look_around(struct collector *collector, uint64_t now_ns)
{
	bool noticed = door_noticed(collector->door);

	if (!noticed && now_ns - collector->polled_ns < POLL_NS)
		return;
	collector->polled_ns = now_ns;
	for (uint32_t i = 0; i < collector->count; i++) {
		struct member *member = collector->active[i];

		collect_beat(collector);
		if (member->phase == PHASE_ALIVE &&
		    watch_has_ended(&member->watch, &collector->shared, now_ns,
				    is_silent(collector, member)))
			end_member(collector, member);
	}
	heed(collector, now_ns);
}

/* ---- the loop ---- */

/* Nobody who was to attach is left. */
static bool starter_is_dead(const struct collector *collector)
{
	struct pollfd poller = { .fd = collector->starter, .events = POLLIN };

	return collector->starter >= 0 && poll(&poller, 1, 0) == 1;
}

static bool is_complete(struct collector *collector, uint64_t now_ns)
{
	bool expected = !collector->any && !starter_is_dead(collector) &&
			!__atomic_load_n(&collector->shared.arena->told_pid, __ATOMIC_ACQUIRE);
	uint64_t since = collector->any ? collector->gone_ns : collector->started_ns;
	uint64_t patience = expected ? FIRST_NS : LINGER_NS;

	if (collector->count)
		return false;
	if (collector->leave_ns)
		return true;
	if (now_ns - since < patience)
		return false;
	return shared_deserted(&collector->shared, true);
}

/* Sleeps until a producer has something for us, at most so long. */
static void doze(struct collector *collector, uint64_t ns)
{
	uint32_t *sleeping = &collector->shared.arena->sleeping;

	__atomic_store_n(sleeping, 1, __ATOMIC_SEQ_CST);
	if (!merge_is_behind(collector->merge))
		shared_futex_wait(sleeping, 1, ns);
	__atomic_store_n(sleeping, 0, __ATOMIC_RELEASE);
}

static void flush_all(struct collector *collector, uint64_t now_ns)
{
	for (uint32_t i = 0; i < collector->count; i++) {
		struct stream *stream = collector->active[i]->stream;

		stream_idle(stream, now_ns);
		if (stream->broken)
			tell_failure(collector, stream);
	}
}

void collect_run(struct collector *collector)
{
	uint64_t sleep = SLEEP_LEAST;

	for (;;) {
		uint64_t now = ticks_clock_ns();
		uint64_t taken;

		adopt_new(collector);
		look_around(collector, now);
		ticks_compare(&collector->ticks, now);
		taken = merge_round(collector->merge);
		collect_note_pause(collector);
		collect_obey(collector);
		collect_sample(collector, now);
		finish_ended(collector);
		if (taken >= BUSY_BYTES) {
			sleep = SLEEP_LEAST;
			continue;
		}
		flush_all(collector, now);
		if (is_complete(collector, now))
			break;
		if (taken || merge_is_holding(collector->merge))
			sleep = SLEEP_LEAST;
		doze(collector, sleep);
		sleep = sleep < SLEEP_MOST ? sleep * 2 : SLEEP_MOST;
	}
	sink_discard(&collector->first);
	door_close(collector->door);
	shared_state(&collector->shared, ARENA_COMPLETE);
	merge_destroy(collector->merge);
}

/* ---- start ---- */

static void copy_settings(struct collector *collector)
{
	const struct arena *arena = collector->shared.arena;

	collector->settings = arena->settings;
	collector->starter_pid = arena->starter;
	memcpy(collector->starter_name, arena->starter_name, sizeof(collector->starter_name));
	collector->settings.out[SETTINGS_TEXT_MAX - 1] = 0;
	collector->starter_name[sizeof(collector->starter_name) - 1] = 0;
}

static int open_first(struct collector *collector, struct error *err)
{
	const char *out = collector->settings.out;
	struct sink_wish wish = {
		.place = &collector->place,
		.force = collector->settings.force,
		.prefers_htr = prefers_htr(&collector->settings),
		.first = true,
		.inherited = collector->inherited,
		.program = collector->starter_name,
		.pid = collector->starter_pid,
	};
	int ret = sink_place_open(&collector->place, out, err);

	collector->first.fd = -1;
	if (ret < 0 || (sink_needs_program(&collector->place) && !collector->starter_pid)) {
		collector->inherited = -1;
		return ret;
	}
	/* nobody gave it to us open, or our own file had not got its number */
	if (wish.inherited >= 0 &&
	    (wish.inherited == collector->shared.fd || wish.inherited == collector->reports))
		return error_set(err, EBADF, "cannot write to %s: it is not open", out);
	ret = sink_open(&collector->first, &wish, err);
	/* it has been duplicated, and nobody else of ours needs it */
	if (ret == 0 && collector->inherited > STDERR_FILENO)
		close(collector->inherited);
	collector->inherited = -1;
	return ret;
}

static uint64_t realtime_offset(void)
{
	struct timespec real;
	uint64_t before = ticks_clock_ns(), after;

	clock_gettime(CLOCK_REALTIME, &real);
	after = ticks_clock_ns();
	return (uint64_t)real.tv_sec * 1000000000u + (uint64_t)real.tv_nsec - before -
	       (after - before) / 2;
}

static int start_parts(struct collector *collector, struct error *err)
{
	struct arena *arena = collector->shared.arena;
	struct merge_handler handler = { .event = on_event, .context = collector };
	struct error ignored;
	int ret;

	copy_settings(collector);
	/* emulated programs have a counter that is not ours */
	if (arena->machine != EM_NONE && arena->machine != MACHINE_OWN)
		arena->clock = ARENA_CLOCK_MONOTONIC;
	ticks_measure(&collector->ticks, arena->clock);
	collector->merge = merge_create(arena, &handler);
	if (!collector->merge)
		return error_system(err, ENOMEM, "cannot begin");
	ret = open_first(collector, err);
	if (ret < 0)
		return ret;
	/* without the socket, images after an exec are not followed: no reason not to trace */
	collector->door = door_open(&collector->shared, &ignored);
	if (!collector->door)
		return error_system(err, ENOMEM, "cannot begin");
	if (!arena->collector)
		arena->collector = getpid();
	collector->starter = collector->starter_pid ? watch_open(collector->starter_pid) : -1;
	/* without memory for them there are none: no reason not to trace */
	if (collector->settings.sample_system > 0)
		collector->sample = malloc(sizeof(*collector->sample));
	collector->realtime_ns = realtime_offset();
	collector->begun = time(NULL);
	collector->paused = collector->settings.start == START_OFF;
	arena->paused = collector->paused;
	ticks_begin(&collector->ticks);
	collector->started_ns = ticks_clock_ns();
	return 0;
}

static void keep_own(const struct collector *collector)
{
	int keep[11] = { detach_error_file(), collector->shared.fd,	 collector->shared.lock,
			 collector->first.fd, collector->inherited,	 collector->starter,
			 collector->reports,  collector->place.directory };

	door_descriptors(collector->door, keep + 8);
	detach_end(keep, 11);
}

const char *collect_failure(const struct collector *collector)
{
	return collector->has_failed ? collector->failure : "";
}

struct collector *collect_start(const struct collect_fds *fds, struct error *err)
{
	struct collector *collector = calloc(1, sizeof(*collector));
	struct error ignored;

	if (!collector) {
		error_system(err, ENOMEM, "cannot begin");
		return NULL;
	}
	collector->inherited = fds->sink;
	collector->reports = fds->reports;
	collector->first.fd = -1;
	collector->place.directory = -1;
	detach_begin();
	if (shared_open(&collector->shared, fds->arena, err) < 0 ||
	    start_parts(collector, err) < 0) {
		if (collector->shared.arena) {
			shared_fail(&collector->shared, err->text);
			shared_state(&collector->shared, ARENA_FAILED);
		}
		merge_destroy(collector->merge);
		free(collector);
		return NULL;
	}
	keep_own(collector);
	door_start(collector->door, &ignored);
	shared_state(&collector->shared, ARENA_RUNNING);
	return collector;
}
