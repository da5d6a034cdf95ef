/* SPDX-License-Identifier: MIT */
#include "collect/collect.h"

#include "collect/door.h"
#include "collect/merge.h"
#include "collect/shared.h"
#include "collect/stream.h"
#include "collect/ticks.h"
#include "collect/watch.h"
#include "hook_table.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MS 1000000ull

#define BUSY_BYTES  (32u << 10) /* a round that took so much is followed by another at once */
#define SLEEP_LEAST (1 * MS)
#define SLEEP_MOST  (8 * MS)
#define POLL_NS	    (50 * MS)	 /* between two looks at all processes, if nobody told us */
#define LINGER_NS   (200 * MS)	 /* after the last one: an exec may be about to attach */
#define FIRST_NS    (10000 * MS) /* how long nobody needs to attach */

enum phase { PHASE_ALIVE, PHASE_ENDED, PHASE_CLOSING };

/* A process of the run, from its attaching until its stream is complete. */
struct member {
	uint32_t index;
	enum phase phase;
	struct watch watch;
	struct stream *stream;
	uint64_t seen; /* events when we last looked for its mapping */
};

struct collector {
	struct shared shared;
	struct merge *merge;
	struct ticks ticks;
	struct door *door;
	struct sink first; /* opened before anybody attached; fd -1: not, or taken */
	bool any;	   /* somebody has attached */
	uint32_t paused;   /* as the streams were told; see struct arena */
	int starter;	   /* pidfd of the first process, opened while it waits for us; -1 */
	int inherited;
	int reports; /* -1: nobody wants them */
	uint64_t realtime_ns;
	uint64_t started_ns, gone_ns, polled_ns;
	uint32_t adopted; /* entries below are all known */
	uint32_t count;
	struct member *active[ARENA_PROCESSES];
	struct member *members[ARENA_PROCESSES];
	bool known[ARENA_PROCESSES];
};

/* ---- members ---- */

/* Says why a stream is not complete, where the launcher and the library look. */
static void tell_failure(struct collector *collector, const struct stream *stream)
{
	char sentence[ERROR_TEXT_MAX + 64];

	snprintf(sentence, sizeof(sentence), "%.400s: %" PRIu64 " events lost",
		 stream->failure.text, stream->unwritten);
	shared_fail(&collector->shared, sentence);
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
		.out = arena->settings.out,
		.force = arena->settings.force,
		.prefers_htr = prefers_htr(&arena->settings),
		.first = !collector->any,
		.inherited = collector->inherited,
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
		.depth = (uint32_t)arena->settings.depth,
		.session = { arena->session[0], arena->session[1] },
		.stream = process->stream,
		.parent_stream = WIRE_NO_STREAM,
		.start = process->start,
		.realtime_ns = collector->realtime_ns,
		.version = our_version(),
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

	if (process->pid != collector->shared.arena->starter)
		return -1;
	collector->starter = -1;
	return pidfd;
}

/*
 * We live, though we take nothing from the rings meanwhile: opening and closing the streams of many
 * short processes can take longer than producers are patient.
 */
static void beat(struct collector *collector)
{
	struct arena *arena = collector->shared.arena;

	__atomic_store_n(&arena->heartbeat, arena->heartbeat + 1, __ATOMIC_RELEASE);
}

static void adopt(struct collector *collector, uint32_t index)
{
	struct arena_process *process = &collector->shared.arena->processes[index];
	struct member *member = calloc(1, sizeof(*member));

	beat(collector);
	collector->known[index] = true;
	process->name[sizeof(process->name) - 1] = 0;
	if (!member)
		return;
	member->index = index;
	member->stream =
		stream_create((enum setting_protocol)collector->shared.arena->settings.protocol,
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
		if (!collector->known[i] &&
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
		if (!collector->known[index])
			adopt(collector, index);
		if (!collector->members[index])
			return;
	}
	stream_event(collector->members[index]->stream, event);
}

/* ---- the end of a process ---- */

/* A few values of a note, with room for those that are made on the spot. */
struct facts {
	struct wire_value values[8];
	uint32_t count;
	char text[8][48];
};

static void add_text(struct facts *facts, const char *name, const char *value)
{
	facts->values[facts->count++] = (struct wire_value){ name, value };
}

static void add_number(struct facts *facts, const char *name, uint64_t value)
{
	char *text = facts->text[facts->count];

	snprintf(text, sizeof(facts->text[0]), "%" PRIu64, value);
	add_text(facts, name, text);
}

static void add_address(struct facts *facts, const char *name, uint64_t value)
{
	char *text = facts->text[facts->count];

	snprintf(text, sizeof(facts->text[0]), "0x%" PRIx64, value);
	add_text(facts, name, text);
}

static void add_time(struct facts *facts, const char *name, uint64_t ns)
{
	char *text = facts->text[facts->count];

	snprintf(text, sizeof(facts->text[0]), "%" PRIu64 ".%09" PRIu64, ns / 1000000000,
		 ns % 1000000000);
	add_text(facts, name, text);
}

static void say(struct collector *collector, struct member *member, struct encode_note *note,
		const struct facts *facts)
{
	note->values = facts->values;
	note->count = facts->count;
	note->time = ticks_now(collector->shared.arena->clock);
	stream_note(member->stream, note);
}

/* The backtrace of an open call, innermost first: what its thread left, else its caller alone. */
static uint32_t open_frames(const struct slot *slot, const struct arena_open *open,
			    uint64_t *frames)
{
	uint32_t count = slot->stack_count;

	if (!count || count > ARENA_FRAMES_MAX || open->serial != slot->stack_serial) {
		frames[0] = open->ip;
		return open->ip != 0;
	}
	for (uint32_t i = 0; i < count; i++)
		frames[i] = slot->stack[count - 1 - i];
	return count;
}

static void say_open(struct collector *collector, struct member *member, uint32_t index,
		     const struct arena_open *open)
{
	const struct slot *slot = arena_slot(collector->shared.arena, index);
	uint64_t frames[ARENA_FRAMES_MAX];
	struct facts facts = { .count = 0 };
	struct encode_note note = {
		.name = "~open",
		.thread = merge_slot_thread(collector->merge, index),
		.open = open,
		.frames = frames,
		.frame_count = open_frames(slot, open, frames),
	};

	/* exit() never returns, and that is no news */
	if (open->hook >= HOOK_COUNT || open->hook == HOOK_exit)
		return;
	add_text(&facts, "call", hook_table[open->hook].name);
	add_address(&facts, "object", open->object);
	if (open->related)
		add_address(&facts, "related", open->related);
	add_time(&facts, "since", ticks_ns(&collector->ticks, open->enter));
	say(collector, member, &note, &facts);
}

static void say_all_open(struct collector *collector, struct member *member)
{
	struct arena *arena = collector->shared.arena;

	for (uint32_t i = 0; i < arena->slots_used && i < arena->slots; i++) {
		const struct slot *slot = arena_slot(arena, i);

		if (!arena->owners[i].ready || arena->owners[i].process != member->index)
			continue;
		for (uint32_t j = 0; j < slot->open_count && j < ARENA_OPEN_MAX; j++)
			say_open(collector, member, i, &slot->open[j]);
	}
}

static uint64_t say_lost(struct collector *collector, struct member *member,
			 const struct merge_thread *thread, const uint64_t *lost)
{
	static const char *const reasons[LOSS_COUNT] = {
		[LOSS_NO_SLOT] = "no-slot",	[LOSS_FULL] = "full",	[LOSS_REENTRY] = "reentry",
		[LOSS_ABANDONED] = "abandoned", [LOSS_EARLY] = "early", [LOSS_SEALED] = "sealed",
	};
	uint64_t sum = 0;

	for (int i = 0; i < LOSS_COUNT; i++) {
		struct encode_note note = { .name = "~lost", .thread = thread };
		struct facts facts = { .count = 0 };

		if (!lost[i])
			continue;
		add_text(&facts, "reason", reasons[i]);
		add_number(&facts, "count", lost[i]);
		say(collector, member, &note, &facts);
		sum += lost[i];
	}
	return sum;
}

static uint64_t say_all_lost(struct collector *collector, struct member *member)
{
	uint32_t count;
	const struct merge_thread *threads = merge_threads(collector->merge, member->index, &count);
	uint64_t sum = 0;

	for (uint32_t i = 0; i < count; i++)
		sum += say_lost(collector, member, &threads[i], threads[i].lost);
	return sum + say_lost(collector, member, NULL,
			      collector->shared.arena->processes[member->index].lost);
}

static bool is_exec(uint16_t hook)
{
	const char *name = hook < HOOK_COUNT ? hook_table[hook].name : "";

	return !strncmp(name, "exec", 4) || !strcmp(name, "fexecve");
}

/*
 * Whether it was in the middle of an exec when it ended. That call returns only if it fails, so
 * what ended was another image, which did not attach.
 */
static bool was_replaced(struct collector *collector, const struct member *member)
{
	struct arena *arena = collector->shared.arena;

	for (uint32_t i = 0; i < arena->slots_used && i < arena->slots; i++) {
		const struct slot *slot = arena_slot(arena, i);

		if (!arena->owners[i].ready || arena->owners[i].process != member->index)
			continue;
		for (uint32_t j = 0; j < slot->open_count && j < ARENA_OPEN_MAX; j++)
			if (is_exec(slot->open[j].hook))
				return true;
	}
	return false;
}

static void say_end(struct collector *collector, struct member *member, uint64_t lost)
{
	static const char *const words[] = {
		[WATCH_ALIVE] = "unknown", [WATCH_EXITED] = "exited", [WATCH_KILLED] = "killed",
		[WATCH_EXEC] = "exec",	   [WATCH_GONE] = "unknown",
	};
	const struct merge_counts *counts = merge_counts(collector->merge, member->index);
	uint32_t flags = collector->shared.arena->processes[member->index].flags;
	struct encode_note note = { .name = "~end" };
	struct facts facts = { .count = 0 };
	enum watch_end end = member->watch.end;

	if (end != WATCH_EXEC && was_replaced(collector, member)) {
		end = WATCH_EXEC;
		member->watch.status = 1;
	}
	if (end == WATCH_GONE && flags & PROCESS_EXITED)
		add_text(&facts, "how", "exited");
	else
		add_text(&facts, "how", words[end]);
	if (end == WATCH_EXEC)
		add_text(&facts, "followed", member->watch.status ? "no" : "yes");
	if (end == WATCH_EXITED)
		add_number(&facts, "status", (uint64_t)member->watch.status);
	if (end == WATCH_KILLED)
		add_number(&facts, "signal", (uint64_t)member->watch.status);
	add_number(&facts, "events", counts->events);
	add_number(&facts, "lost", lost);
	if (counts->late)
		add_number(&facts, "late", counts->late);
	if (counts->damaged)
		add_number(&facts, "damaged", counts->damaged);
	say(collector, member, &note, &facts);
}

/* All of its records have been handed out: says the last words and closes the stream. */
static void finish(struct collector *collector, struct member *member)
{
	uint64_t lost;

	beat(collector);
	if (member->watch.end == WATCH_GONE &&
	    __atomic_load_n(&collector->shared.arena->told_pid, __ATOMIC_ACQUIRE) ==
		    member->watch.pid)
		watch_learn(&member->watch, collector->shared.arena->told_status);
	say_all_open(collector, member);
	lost = say_all_lost(collector, member);
	say_end(collector, member, lost);
	merge_free_slots(collector->merge, member->index);
	stream_close(member->stream);
	watch_stop(&member->watch);
	member->phase = PHASE_CLOSING;
}

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
	stream_free(member->stream);
	free(member);
}

static void finish_ended(struct collector *collector)
{
	for (uint32_t i = 0; i < collector->count;) {
		struct member *member = collector->active[i];

		if (member->phase == PHASE_ENDED)
			finish(collector, member);
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

/* Looks who has ended. Before a round: what they published last is then seen by it. */
static void look_around(struct collector *collector, uint64_t now_ns)
{
	bool noticed = door_noticed(collector->door);

	if (!noticed && now_ns - collector->polled_ns < POLL_NS)
		return;
	collector->polled_ns = now_ns;
	for (uint32_t i = 0; i < collector->count; i++) {
		struct member *member = collector->active[i];

		beat(collector);
		if (member->phase == PHASE_ALIVE &&
		    watch_has_ended(&member->watch, &collector->shared, now_ns,
				    is_silent(collector, member)))
			end_member(collector, member);
	}
}

/* ---- what the user asks for meanwhile ---- */

/* A note in all streams, between what was handed out and what is to come. */
static void say_everywhere(struct collector *collector, const char *name, const char *value_name,
			   const char *value)
{
	const struct wire_value pair = { value_name, value };

	for (uint32_t i = 0; i < collector->count; i++) {
		struct member *member = collector->active[i];
		struct encode_note note = {
			.name = name,
			.values = &pair,
			.count = 1,
			.time = merge_limit(collector->merge, member->index),
		};

		if (member->phase != PHASE_CLOSING)
			stream_note(member->stream, &note);
	}
}

static void say_recording(struct collector *collector, bool on)
{
	say_everywhere(collector, "~recording", "state", on ? "on" : "off");
}

/* A stream tells when nothing was recorded, or what was freed then would seem to be held. */
static void note_pause(struct collector *collector)
{
	uint32_t paused = __atomic_load_n(&collector->shared.arena->paused, __ATOMIC_ACQUIRE);
	uint32_t changes = paused - collector->paused;

	if (!changes)
		return;
	collector->paused = paused;
	/* back where it was before we looked: once there, once back */
	if (changes % 2 == 0)
		say_recording(collector, paused & 1);
	say_recording(collector, !(paused & 1));
}

/* Stopped before it is noted, started after: what is recorded lies between the notes. */
static void pause_run(struct collector *collector, bool paused)
{
	uint32_t *word = &collector->shared.arena->paused;
	uint32_t seen = collector->paused;

	if ((seen & 1) == paused)
		return;
	if (!paused)
		say_recording(collector, true);
	/* It fails where a signal has just done the same. */
	if (__atomic_compare_exchange_n(word, &seen, seen + 1, false, __ATOMIC_SEQ_CST,
					__ATOMIC_RELAXED) &&
	    !paused)
		collector->paused++;
}

/* The path of a stream's file as it is now, with a newline, if there is room for it. */
static void answer_path(struct arena_control *control, const struct sink *sink)
{
	char link[32], path[sizeof(control->answer)];
	size_t used = strnlen(control->answer, sizeof(control->answer) - 1);
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", sink->fd);
	length = readlink(link, path, sizeof(path));
	if (!sink->regular || length <= 0 || used + (size_t)length + 2 > sizeof(control->answer))
		return;
	memcpy(control->answer + used, path, (size_t)length);
	memcpy(control->answer + used + length, "\n", 2);
}

static void flush_streams(struct collector *collector)
{
	struct arena *arena = collector->shared.arena;

	arena->control.answer[0] = '\0';
	/* first that of the process that was named, then the others */
	for (int named = 1; named >= 0; named--)
		for (uint32_t i = 0; i < collector->count; i++) {
			struct member *member = collector->active[i];

			if (member->phase == PHASE_CLOSING ||
			    named != (member->watch.our_pid == arena->control.pid))
				continue;
			stream_sync(member->stream);
			answer_path(&arena->control, &member->stream->sink);
		}
}

static void obey(struct collector *collector)
{
	struct arena_control *control = &collector->shared.arena->control;
	uint32_t asked = __atomic_load_n(&control->asked, __ATOMIC_ACQUIRE);
	char text[sizeof(control->text)];

	if (asked == control->answered)
		return;
	switch ((enum control_command)control->command) {
	case CONTROL_START:
	case CONTROL_STOP:
		pause_run(collector, control->command == CONTROL_STOP);
		break;
	case CONTROL_MARK:
		snprintf(text, sizeof(text), "%.*s", (int)sizeof(text) - 1, control->text);
		say_everywhere(collector, "~mark", "text", text);
		break;
	case CONTROL_SNAPSHOT:
		flush_streams(collector);
		break;
	case CONTROL_NONE:
		break;
	}
	__atomic_store_n(&control->answered, asked, __ATOMIC_RELEASE);
	shared_futex_wake(&control->answered);
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

	if (collector->count || now_ns - since < patience)
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
		note_pause(collector);
		obey(collector);
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

/* Ours are generous where the program's were small: they were made for the program. */
static void raise_limits(void)
{
	static const int which[] = { RLIMIT_AS, RLIMIT_DATA, RLIMIT_CPU, RLIMIT_FSIZE,
				     RLIMIT_NOFILE };
	struct rlimit limit;

	for (size_t i = 0; i < sizeof(which) / sizeof(which[0]); i++) {
		if (getrlimit((__rlimit_resource_t)which[i], &limit) < 0)
			continue;
		limit.rlim_cur = limit.rlim_max;
		setrlimit((__rlimit_resource_t)which[i], &limit);
	}
}

/* Ctrl-C is for the program: we end when it has, and everything has been written. */
static void ignore_signals(void)
{
	static const int which[] = { SIGINT,  SIGTERM, SIGHUP,	SIGQUIT, SIGPIPE, SIGTSTP, SIGTTIN,
				     SIGTTOU, SIGUSR1, SIGUSR2, SIGALRM, SIGXFSZ, SIGXCPU };
	sigset_t none;

	for (size_t i = 0; i < sizeof(which) / sizeof(which[0]); i++)
		signal(which[i], SIG_IGN);
	signal(SIGCHLD, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static int compare_numbers(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* An inherited end of a pipe would keep its other end from ever seeing the end. */
static void close_others(const struct collector *collector)
{
	int keep[9] = { STDERR_FILENO,	     collector->shared.fd, collector->shared.lock,
			collector->first.fd, collector->inherited, collector->starter,
			collector->reports };
	unsigned from = 0;

	door_descriptors(collector->door, keep + 7);
	qsort(keep, 9, sizeof(keep[0]), compare_numbers);
	for (int i = 0; i < 9; i++) {
		if (keep[i] < 0 || (unsigned)keep[i] < from)
			continue;
		if ((unsigned)keep[i] > from)
			syscall(SYS_close_range, from, (unsigned)keep[i] - 1, 0);
		from = (unsigned)keep[i] + 1;
	}
	syscall(SYS_close_range, from, ~0u, 0);
}

/* Where the program had closed some of 0, 1 and 2, no file of ours may get their numbers. */
static void fill_standard(void)
{
	int null;

	do
		null = open("/dev/null", O_RDWR | O_CLOEXEC);
	while (null >= 0 && null <= STDERR_FILENO);
	if (null >= 0)
		close(null);
}

/* What 0, 1 and 2 were open for, others may wait for the end of. */
static void occupy_standard(const struct collector *collector)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int i = 0; null >= 0 && i < 3; i++)
		if (i != collector->shared.fd && i != collector->inherited &&
		    i != collector->reports && i != null)
			dup2(null, i);
	if (null > 2)
		close(null);
}

static int open_first(struct collector *collector, struct error *err)
{
	struct arena *arena = collector->shared.arena;
	struct sink_wish wish = {
		.out = arena->settings.out,
		.force = arena->settings.force,
		.prefers_htr = prefers_htr(&arena->settings),
		.first = true,
		.inherited = collector->inherited,
		.program = arena->starter_name,
		.pid = arena->starter,
	};
	int ret;

	arena->settings.out[SETTINGS_TEXT_MAX - 1] = 0;
	arena->starter_name[sizeof(arena->starter_name) - 1] = 0;
	collector->first.fd = -1;
	if (sink_needs_program(wish.out) && !arena->starter) {
		collector->inherited = -1;
		return sink_check(wish.out, err);
	}
	ret = sink_check(wish.out, err);
	if (ret == 0)
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
	collector->starter = arena->starter ? watch_open(arena->starter) : -1;
	collector->realtime_ns = realtime_offset();
	collector->paused = arena->settings.start == START_OFF;
	arena->paused = collector->paused;
	ticks_begin(&collector->ticks);
	collector->started_ns = ticks_clock_ns();
	return 0;
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
	setsid();
	raise_limits();
	fill_standard();
	ignore_signals();
	/* a command that we start gets none of the program's descriptors */
	syscall(SYS_close_range, 3, ~0u, CLOSE_RANGE_CLOEXEC);
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
	close_others(collector);
	occupy_standard(collector);
	door_start(collector->door, &ignored);
	shared_state(&collector->shared, ARENA_RUNNING);
	return collector;
}
