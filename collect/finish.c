/* SPDX-License-Identifier: MIT */
#include "collect/collect_parts.h"
#include "hook_table.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define FACTS_MAX 16

/* A few values of a note, with room for those that are made on the spot. */
struct facts {
	struct wire_value values[FACTS_MAX];
	uint32_t count;
	char text[FACTS_MAX][48];
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

/*
 * The backtrace of an open call, innermost first: what its thread left, else its caller alone. A
 * thread that still runs may change both while we look.
 */
static uint32_t open_frames(const struct slot *slot, const struct arena_open *open,
			    uint64_t *frames)
{
	uint32_t count = __atomic_load_n(&slot->stack_count, __ATOMIC_RELAXED);

	if (!count || count > ARENA_FRAMES_MAX || open->serial != slot->stack_serial) {
		frames[0] = open->ip;
		return open->ip != 0;
	}
	for (uint32_t i = 0; i < count; i++)
		frames[i] = slot->stack[count - 1 - i];
	return count;
}

/* A call that was under way when its process ended. Returns whether it is what was looked for. */
typedef bool open_visitor(struct collector *collector, struct member *member, uint32_t slot,
			  const struct arena_open *open);

static bool say_open(struct collector *collector, struct member *member, uint32_t index,
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
		return false;
	add_text(&facts, "call", hook_table[open->hook].name);
	add_address(&facts, "object", open->object);
	if (open->related)
		add_address(&facts, "related", open->related);
	add_time(&facts, "since", ticks_ns(&collector->ticks, open->enter));
	say(collector, member, &note, &facts);
	return false;
}

/* Visits the open calls of a process, up to one that is what was looked for. */
static bool visit_open(struct collector *collector, struct member *member, open_visitor *visit)
{
	struct arena *arena = collector->shared.arena;

	for (uint32_t i = 0; i < arena->slots_used && i < arena->slots; i++) {
		const struct slot *slot = arena_slot(arena, i);
		uint32_t count = __atomic_load_n(&slot->open_count, __ATOMIC_RELAXED);

		if (!arena->owners[i].ready || arena->owners[i].process != member->index)
			continue;
		for (uint32_t j = 0; j < count && j < ARENA_OPEN_MAX; j++) {
			struct arena_open open = slot->open[j]; /* read once */

			if (visit(collector, member, i, &open))
				return true;
		}
	}
	return false;
}

static uint64_t say_lost(struct collector *collector, struct member *member,
			 const struct merge_thread *thread, const uint64_t *lost)
{
	static const char *const reasons[LOSS_COUNT] = {
		[LOSS_NO_SLOT] = "no-slot",	[LOSS_FULL] = "full",	[LOSS_REENTRY] = "reentry",
		[LOSS_ABANDONED] = "abandoned", [LOSS_EARLY] = "early", [LOSS_SEALED] = "sealed",
		[LOSS_DAMAGED] = "damaged",
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

/*
 * One that is in the middle of an exec when it ends was replaced: that call returns only if it
 * fails, so what ended was another image, which did not attach.
 */
static bool is_exec(struct collector *collector, struct member *member, uint32_t slot,
		    const struct arena_open *open)
{
	const char *name = open->hook < HOOK_COUNT ? hook_table[open->hook].name : "";

	(void)collector;
	(void)member;
	(void)slot;
	return !strncmp(name, "exec", 4) || !strcmp(name, "fexecve");
}

/* Where the functions that the process has called begin, some in each note. */
static void say_functions(struct collector *collector, struct member *member)
{
	struct encode_note note = { .name = "~functions" };
	const struct encoder *encoder = &member->stream->encoder;
	struct facts facts = { .count = 0 };

	for (int i = 0; i < HOOK_COUNT; i++) {
		if (encoder->is_called[i] && encoder->addresses[i])
			add_address(&facts, hook_table[i].name, encoder->addresses[i]);
		if (facts.count == FACTS_MAX || (i == HOOK_COUNT - 1 && facts.count)) {
			say(collector, member, &note, &facts);
			facts.count = 0;
		}
	}
}

static void say_end(struct collector *collector, struct member *member, uint64_t lost)
{
	static const char *const words[] = {
		[WATCH_ALIVE] = "unknown", [WATCH_EXITED] = "exited", [WATCH_KILLED] = "killed",
		[WATCH_EXEC] = "exec",	   [WATCH_LEFT] = "left",     [WATCH_GONE] = "unknown",
	};
	const struct merge_counts *counts = merge_counts(collector->merge, member->index);
	uint32_t flags = collector->shared.arena->processes[member->index].flags;
	uint64_t ended = collector->shared.arena->processes[member->index].ended;
	struct encode_note note = { .name = "~end" };
	struct facts facts = { .count = 0 };
	enum watch_end end = member->watch.end;

	if (end != WATCH_EXEC && end != WATCH_LEFT && visit_open(collector, member, is_exec)) {
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
	if (ended && end != WATCH_KILLED && ended <= ticks_now(collector->shared.arena->clock))
		add_time(&facts, "at", ticks_ns(&collector->ticks, ended));
	add_number(&facts, "events", counts->events);
	add_number(&facts, "lost", lost);
	if (counts->late)
		add_number(&facts, "late", counts->late);
	if (counts->damaged)
		add_number(&facts, "damaged", counts->damaged);
	say(collector, member, &note, &facts);
}

/* How it ended, if we came too late and its parent has said so. */
static void ask_parent(const struct collector *collector, struct member *member)
{
	const struct arena_process *process = &collector->shared.arena->processes[member->index];

	if (member->watch.end == WATCH_GONE &&
	    __atomic_load_n(&process->flags, __ATOMIC_ACQUIRE) & PROCESS_TOLD)
		watch_learn(&member->watch, process->told_status);
}

void collect_finish(struct collector *collector, struct member *member)
{
	uint64_t lost;

	collect_beat(collector);
	if (member->watch.end == WATCH_GONE &&
	    __atomic_load_n(&collector->shared.arena->told_pid, __ATOMIC_ACQUIRE) ==
		    member->watch.pid)
		watch_learn(&member->watch, collector->shared.arena->told_status);
	ask_parent(collector, member);
	visit_open(collector, member, say_open);
	lost = say_all_lost(collector, member);
	say_functions(collector, member);
	say_end(collector, member, lost);
	merge_free_slots(collector->merge, member->index);
	stream_close(member->stream);
	watch_stop(&member->watch);
	member->phase = PHASE_CLOSING;
}
