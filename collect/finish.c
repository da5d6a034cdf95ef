/* SPDX-License-Identifier: MIT */
#include "collect/collect_parts.h"
#include "hook_table.h"
#include "notes.h"

#include <signal.h>
#include <string.h>

/* a call that has been open for fewer ns is not reported as a wait */
#define WAITING_NS 1000000u
/* time limit of visit_open() for a process whose user does not own the run */
#define VISIT_NS (10 * MS)

/* Writes a note with these values and the current time. */
static void say_now(struct collector *collector, struct member *member, struct encode_note note,
		    const struct facts *facts)
{
	note.time = ticks_now(collector->shared.control->clock);
	facts_write(facts, member->stream, note);
}

/* A copy of an open (unfinished) call, since the thread may still change the call in its slot. */
struct open_call {
	struct arena_open open;
	uint32_t depth;
	const struct slot *slot;
	const struct merge_thread *thread;
};

/*
 * Copies the backtrace of an open call, innermost frame first. If the slot has no backtrace of this
 * call, the result has only one frame, that of the hooked function's caller. Returns the number of
 * frames.
 */
static uint32_t open_frames(const struct open_call *call, uint64_t *frames)
{
	const struct slot *slot = call->slot;
	uint32_t count = __atomic_load_n(&slot->stack_count, __ATOMIC_RELAXED);

	if (!count || count > ARENA_FRAMES_MAX || call->open.serial != slot->stack_serial) {
		frames[0] = call->open.ip;
		return call->open.ip != 0;
	}
	for (uint32_t i = 0; i < count; i++)
		frames[i] = slot->stack[count - 1 - i];
	return count;
}

/* A function that visit_open() calls for each open call. If it returns true, the visit ends. */
typedef bool open_visitor(struct collector *collector, struct member *member,
			  const struct open_call *call);

/* Writes a note about an open call. time: in ticks; frames: innermost frame first. */
static void say_call(struct collector *collector, struct member *member,
		     const struct open_call *call, const char *name, uint64_t time,
		     const uint64_t *frames, uint32_t count)
{
	struct facts facts = { .count = 0 };

	/* exit() never returns, so an open call of exit() is not worth a note */
	if (call->open.hook >= HOOK_COUNT || call->open.hook == HOOK_exit)
		return;
	facts_add(&facts, "call", hook_table[call->open.hook].name);
	facts_format(&facts, "object", "0x%" PRIx64, call->open.object);
	if (call->open.related)
		facts_format(&facts, "related", "0x%" PRIx64, call->open.related);
	facts_time(&facts, "since", ticks_ns(&collector->ticks, call->open.enter));
	facts_write(&facts, member->stream,
		    (struct encode_note){ .name = name,
					  .time = time,
					  .thread = call->thread,
					  .open = &call->open,
					  .depth = call->depth,
					  .frames = frames,
					  .frame_count = count });
}

/* Writes a note about a call that was still open when the process ended. */
static bool say_open(struct collector *collector, struct member *member,
		     const struct open_call *call)
{
	uint64_t frames[ARENA_FRAMES_MAX];

	say_call(collector, member, call, NOTE_OPEN, ticks_now(collector->shared.control->clock),
		 frames, open_frames(call, frames));
	return false;
}

/*
 * Writes a note about a call that is waiting, in a process that continues to run. The note has the
 * time of the last event that was handed out, since later events will follow.
 */
static bool say_waiting(struct collector *collector, struct member *member,
			const struct open_call *call)
{
	uint64_t frames[ARENA_FRAMES_MAX], now = collect_note_time(collector, member);
	const struct slot *slot = call->slot;
	struct arena_open still;
	uint32_t count;

	if (call->open.hook >= HOOK_COUNT || !hook_may_sleep(&hook_table[call->open.hook]) ||
	    call->open.enter > now ||
	    ticks_ns(&collector->ticks, now) - ticks_ns(&collector->ticks, call->open.enter) <
		    WAITING_NS)
		return false;
	count = open_frames(call, frames);
	/* the copy and the backtrace belong together only if the thread is still in that call */
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	memcpy(&still, &slot->open[call->depth], sizeof(still));
	if (__atomic_load_n(&slot->open_count, __ATOMIC_RELAXED) > call->depth &&
	    !memcmp(&still, &call->open, sizeof(still)))
		say_call(collector, member, call, NOTE_WAITING, now, frames, count);
	return false;
}

static bool visit_slot(struct collector *collector, struct member *member,
		       const struct chunk *chunk, uint32_t i, open_visitor *visit)
{
	struct open_call call = { .slot = chunk_slot_at(chunk, i) };
	uint32_t count = __atomic_load_n(&call.slot->open_count, __ATOMIC_ACQUIRE);

	if (!__atomic_load_n(&call.slot->state, __ATOMIC_ACQUIRE))
		return false;
	call.thread = merge_slot_thread(member->process, chunk, i);
	for (uint32_t j = 0; j < count && j < ARENA_OPEN_MAX; j++) {
		memcpy(&call.open, &call.slot->open[j], sizeof(call.open));
		call.depth = j;
		if (visit(collector, member, &call))
			return true;
	}
	return false;
}

/*
 * Calls `visit` for each open call of a process until `visit` returns true. A process can claim
 * millions of open calls, so the visit ends after VISIT_NS, unless the user owns the run. The
 * threads that were not visited are only counted.
 */
static bool visit_open(struct collector *collector, struct member *member, open_visitor *visit)
{
	uint64_t until = member->user->bounds.is_owner ? UINT64_MAX : ticks_clock_ns() + VISIT_NS;

	for (uint32_t i = 0; i < member->chunk_count; i++) {
		const struct chunk *chunk = member->chunks[i];
		uint32_t used = chunk_used(chunk);

		for (uint32_t k = 0; k < used; k++) {
			if (until != UINT64_MAX && ticks_clock_ns() > until) {
				collector->refused[REFUSED_OPEN] +=
					visit == say_open ? used - k : 0;
				break;
			}
			if (visit_slot(collector, member, chunk, k, visit))
				return true;
		}
	}
	return false;
}

static bool is_fork(struct collector *collector, struct member *member,
		    const struct open_call *call)
{
	(void)collector;
	(void)member;
	return call->open.hook == HOOK_fork || call->open.hook == HOOK__Fork ||
	       call->open.hook == HOOK_forkpty;
}

bool collect_is_forking(struct collector *collector, struct member *member)
{
	return visit_open(collector, member, is_fork);
}

/*
 * Writes a note for each reason for dropped records of a thread. lost: their number, by reason.
 * Returns the number of dropped events, without notes.
 */
static uint64_t say_lost(struct collector *collector, struct member *member,
			 const struct merge_thread *thread, const uint64_t *lost)
{
	static const char *const reasons[LOSS_COUNT] = {
		[LOSS_NO_SLOT] = "no-slot",	[LOSS_FULL] = "full",
		[LOSS_ABANDONED] = "abandoned", [LOSS_SEALED] = "sealed",
		[LOSS_DAMAGED] = "damaged",	[LOSS_NOTE] = "note",
		[LOSS_SAMPLE] = "sample",
	};
	uint64_t sum = 0;

	for (int i = 0; i < LOSS_COUNT; i++) {
		struct facts facts = { .count = 0 };

		if (!lost[i])
			continue;
		facts_add(&facts, "reason", reasons[i]);
		facts_number(&facts, "count", lost[i]);
		say_now(collector, member,
			(struct encode_note){ .name = NOTE_DROPPED, .thread = thread }, &facts);
		sum += i != LOSS_NOTE ? lost[i] : 0;
	}
	return sum;
}

/*
 * Whether the call is an exec. exec returns only if it fails, so a process that ended inside an
 * exec was executing another program. In this case, that program has ended, possibly before it
 * attached.
 */
static bool is_exec(struct collector *collector, struct member *member,
		    const struct open_call *call)
{
	(void)collector;
	(void)member;
	return call->open.hook < HOOK_COUNT && hook_is_exec(&hook_table[call->open.hook]);
}

/* Writes the addresses of the functions that the process called, FACTS_MAX in each note. */
static void say_functions(struct collector *collector, struct member *member)
{
	const struct encoder *encoder = &member->stream->encoder;
	struct facts facts = { .count = 0 };

	for (int i = 0; i < HOOK_COUNT; i++) {
		if (encoder->is_called[i] && encoder->addresses[i])
			facts_format(&facts, hook_table[i].name, "0x%" PRIx64,
				     encoder->addresses[i]);
		if (facts.count == FACTS_MAX || (i == HOOK_COUNT - 1 && facts.count)) {
			say_now(collector, member, (struct encode_note){ .name = NOTE_FUNCTIONS },
				&facts);
			facts.count = 0;
		}
	}
}

static void beat(void *collector)
{
	collect_beat(collector);
}

/* Writes the names of the code that the process made at run time. */
static void say_code(struct collector *collector, struct member *member)
{
	static const char *const runtimes[] = {
#define JIT(name, prefix, option) [CODE_##name] = prefix,
#include "base/jit.def"
#undef JIT
	};
	struct code *code = &member->stream->code;
	struct facts facts = { .count = 0 };

	if (!code_read(code, beat, collector))
		return;
	for (size_t i = 0; i < code->addresses.count; i++) {
		const char *name = code_name(code, &code->addresses.items[i]);

		if (name)
			stream_code(member->stream, code->addresses.items[i].address, name);
	}
	facts_number(&facts, "addresses", code->addresses.count);
	facts_number(&facts, "named", code->named);
	facts_number(&facts, "reused", code->reused);
	if (code->runtime)
		facts_add(&facts, "runtime", runtimes[code->runtime]);
	if (*code->file)
		facts_add(&facts, "file", code->file);
	if (code->problem)
		facts_add(&facts, "problem", code->problem);
	say_now(collector, member, (struct encode_note){ .name = NOTE_CODE }, &facts);
}

/*
 * Returns why the next program that the process executed was not traced. If that program ended
 * before the collector could examine it, the flags of the old program show which environment it
 * got.
 */
static enum untraced why_untraced(const struct member *member)
{
	uint32_t flags = __atomic_load_n(&member->chunks[0]->head->flags, __ATOMIC_ACQUIRE);

	if (flags & PROCESS_CROWDED)
		return UNTRACED_CROWDED;
	/* a process that uses a spare could not connect to the collector */
	if (member->chunks[0]->spare || watch_is_elsewhere(&member->watch))
		return UNTRACED_UNREACHED;
	if (flags & PROCESS_HIDDEN)
		return UNTRACED_HIDDEN;
	if (member->watch.why != UNTRACED_UNKNOWN)
		return member->watch.why;
	return flags & PROCESS_DROPPED ? UNTRACED_DROPPED
	       : flags & PROCESS_GIVEN ? UNTRACED_GIVEN
				       : UNTRACED_UNKNOWN;
}

/*
 * Returns how often locks were acquired without waiting. With --locks=contended, such calls are
 * only counted, not recorded. A slot has the sum for all threads that used it.
 */
static uint64_t uncontended(const struct member *member)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < member->chunk_count; i++)
		for (uint32_t k = 0; k < chunk_used(member->chunks[i]); k++)
			sum += __atomic_load_n(&chunk_slot_at(member->chunks[i], k)->uncontended,
					       __ATOMIC_RELAXED);
	return sum;
}

/* Adds the names of the operations that no hook saw, separated by commas. */
static void add_past(struct facts *facts, uint32_t past)
{
	static const char *const words[] = {
		[PAST_NAMESPACE] = "namespace", [PAST_MEMORY] = "memory",
		[PAST_MAPPING] = "mapping",	[PAST_FD] = "fd",
		[PAST_PROCESS] = "process",	[PAST_ALL] = "all",
	};
	char *text = facts->text[facts->count];

	for (int i = 0; i < PAST_COUNT; i++)
		if (past >> i & 1)
			strcat(strcat(text, *text ? "," : ""), words[i]);
	if (*text)
		facts_add(facts, "past", text);
}

void collect_say_past(struct collector *collector, struct member *member)
{
	struct facts facts = { .count = 0 };
	uint32_t past;

	if (member->phase == PHASE_CLOSING)
		return;
	/* reports each bit once, even if the program has overwritten the head */
	past = __atomic_load_n(&member->chunks[0]->head->past, __ATOMIC_RELAXED) &
	       ((1u << PAST_COUNT) - 1);
	past |= member->said_past;
	if (past == member->said_past)
		return;
	member->said_past = past;
	add_past(&facts, past);
	collect_say(collector, member, NOTE_PAST, &facts);
}

/*
 * Adds to the note whether the kernel ended the process because memory ran out. The status of a
 * process that SIGKILL ended does not show who sent the signal. But the kernel counts, for each
 * control group, the processes that it has killed for lack of memory. If this count has grown by at
 * least the number of processes that SIGKILL has ended in this run, the kernel killed them.
 */
static void add_killer(struct collector *collector, struct facts *facts)
{
	uint64_t kills = budget_kills(BUDGET_GROUPS, BUDGET_MOUNT);
	uint64_t limit = budget_of_groups(BUDGET_GROUPS, BUDGET_MOUNT);
	bool is_known = collector->memory_kills != UINT64_MAX && kills != UINT64_MAX;
	bool is_out = is_known && kills - collector->memory_kills >= ++collector->kills;

	facts_add(facts, "oom", is_out ? "yes" : is_known ? "no" : "unknown");
	if (is_out && limit != UINT64_MAX)
		facts_number(facts, "limit", limit);
}

static void say_end(struct collector *collector, struct member *member, uint64_t lost)
{
	static const char *const words[] = {
		[WATCH_ALIVE] = "unknown",     [WATCH_EXITED] = "exited", [WATCH_KILLED] = "killed",
		[WATCH_EXEC] = "exec",	       [WATCH_LEFT] = "left",	  [WATCH_GONE] = "unknown",
		[WATCH_DETACHED] = "detached",
	};
	const char *followed[] = {
		[WATCH_EXEC_TRACED] = "yes",
		[WATCH_EXEC_UNTRACED] = untraced_words[why_untraced(member)],
		[WATCH_EXEC_LEFT_OUT] = "left-out",
	};
	const struct merge_counts *counts = merge_counts(member->process);
	uint32_t flags = __atomic_load_n(&member->chunks[0]->head->flags, __ATOMIC_ACQUIRE);
	uint64_t ended = __atomic_load_n(&member->chunks[0]->head->ended, __ATOMIC_RELAXED);
	static const char *const children[] = {
		[CHILDREN_NONE] = "none",
		[CHILDREN_RUNNING] = "running",
		[CHILDREN_ENDED] = "ended",
	};
	uint32_t descriptors =
		__atomic_load_n(&member->chunks[0]->head->descriptors, __ATOMIC_RELAXED);
	uint32_t left = __atomic_load_n(&member->chunks[0]->head->children, __ATOMIC_RELAXED);
	struct facts facts = { .count = 0 };
	enum watch_end end = member->watch.end;

	/* a later program of the process, or an open exec, shows an exec that was not recorded */
	if (end != WATCH_EXEC && end != WATCH_LEFT && end != WATCH_DETACHED &&
	    ((member->has_successor && !(flags & PROCESS_EXITED)) ||
	     visit_open(collector, member, is_exec))) {
		end = WATCH_EXEC;
		member->watch.status =
			member->has_successor ? WATCH_EXEC_TRACED : WATCH_EXEC_UNTRACED;
	}
	if (end != WATCH_EXEC && end != WATCH_LEFT && end != WATCH_DETACHED)
		collect_say_unscanned(collector, member);
	if (end == WATCH_GONE && flags & PROCESS_EXITED)
		facts_add(&facts, "how", "exited");
	else
		facts_add(&facts, "how", words[end]);
	if (end == WATCH_EXEC)
		facts_add(&facts, "followed", followed[member->watch.status]);
	if (end == WATCH_EXITED)
		facts_number(&facts, "status", (uint64_t)member->watch.status);
	if (end == WATCH_KILLED)
		facts_number(&facts, "signal", (uint64_t)member->watch.status);
	if (end == WATCH_KILLED && member->watch.status == SIGKILL)
		add_killer(collector, &facts);
	if (ended && end != WATCH_KILLED && ended <= ticks_now(collector->shared.control->clock))
		facts_time(&facts, "at", ticks_ns(&collector->ticks, ended));
	/* the stream of a fork's child does not list the descriptors that the child inherited */
	if (end == WATCH_EXITED && descriptors && !(member->hello.flags & PROCESS_FORKED))
		facts_number(&facts, "descriptors", descriptors);
	if (end == WATCH_EXITED && left && left < sizeof(children) / sizeof(*children))
		facts_add(&facts, "children", children[left]);
	if (collector->bundle)
		facts_add(&facts, "run", "whole");
	add_past(&facts, __atomic_load_n(&member->chunks[0]->head->past, __ATOMIC_RELAXED));
	facts_number(&facts, "events", counts->events);
	facts_number(&facts, "dropped", lost);
	if (counts->late)
		facts_number(&facts, "late", counts->late);
	if (uncontended(member))
		facts_number(&facts, "uncontended", uncontended(member));
	if (counts->damaged)
		facts_number(&facts, "damaged", counts->damaged);
	if (collect_keep_gone(collector))
		facts_number(&facts, "gone", collect_keep_gone(collector));
	say_now(collector, member, (struct encode_note){ .name = NOTE_END }, &facts);
}

void collect_say_waiting(struct collector *collector, struct member *member)
{
	visit_open(collector, member, say_waiting);
}

void collect_say_stalled(struct collector *collector, struct member *member)
{
	struct facts facts = { .count = 0 };
	uint64_t ns = stream_stalled_ns(member->stream);

	if (!ns || member->phase == PHASE_CLOSING)
		return;
	facts_time(&facts, "seconds", ns);
	collect_say(collector, member, NOTE_STALLED, &facts);
}

/* ---- reports of parents ---- */

static void hear(struct collector *collector, struct member *parent)
{
	const struct arena *head;
	uint64_t begun;
	uint32_t count;

	if (parent->phase == PHASE_CLOSING || parent->doubt)
		return;
	head = parent->chunks[0]->head;
	count = __atomic_load_n(&head->told_count, __ATOMIC_ACQUIRE);
	if (parent->told == count || !collect_has_turn(collector, parent->user))
		return;
	begun = ticks_clock_ns();
	if (count - parent->told > ARENA_TOLD)
		parent->told = count - ARENA_TOLD;
	for (; parent->told != count; parent->told++) {
		uint64_t told =
			__atomic_load_n(&head->told[parent->told % ARENA_TOLD], __ATOMIC_ACQUIRE);
		struct member *member = NULL;

		while ((member = collect_find(collector, BY_PID, (uint32_t)(told >> 32), member))) {
			/*
			 * a process in another pid namespace may have this pid, so the parent must
			 * match
			 */
			if (member->phase == PHASE_CLOSING ||
			    member->hello.parent_pid != parent->hello.pid ||
			    (parent->user != member->user &&
			     !listener_is_owner(collector->listener, parent->user->uid)))
				continue;
			member->told_status = (int32_t)told;
			member->is_told = true;
		}
	}
	collect_charge(collector, parent->user, begun);
}

void collect_hear_ends(struct collector *collector)
{
	for (uint32_t i = 0; i < collector->count; i++)
		hear(collector, collector->active[i]);
}

/* ---- the end ---- */

void collect_finish(struct collector *collector, struct member *member)
{
	const struct control_page *control = collector->shared.control;
	const struct merge_thread *threads;
	struct member *parent = NULL;
	uint64_t nobody[LOSS_COUNT], lost = 0;
	uint32_t count;

	collect_beat(collector);
	/* reads the reports of the member and of its parent before the member is forgotten */
	hear(collector, member);
	while ((parent = collect_find(collector, BY_PID, (uint32_t)member->hello.parent_pid,
				      parent)))
		hear(collector, parent);
	/* if it is unknown how the process ended, uses the parent's status from wait(2) */
	if (member->watch.end == WATCH_GONE &&
	    __atomic_load_n(&control->told_pid, __ATOMIC_ACQUIRE) == member->watch.pid)
		watch_learn(&member->watch, control->told_status);
	if (member->watch.end == WATCH_GONE && member->is_told)
		watch_learn(&member->watch, member->told_status);
	if (member->watch.end == WATCH_DETACHED)
		say_now(collector, member, (struct encode_note){ .name = NOTE_DETACHED },
			&(const struct facts){ .count = 0 });
	collect_schedule_end(collector, member);
	visit_open(collector, member, say_open);
	threads = merge_threads(member->process, &count);
	for (uint32_t i = 0; i < count; i++)
		lost += say_lost(collector, member, &threads[i], threads[i].lost);
	for (int i = 0; i < LOSS_COUNT; i++)
		nobody[i] =
			member->chunks[0]->head->lost[i] + merge_counts(member->process)->lost[i];
	lost += say_lost(collector, member, NULL, nobody);
	say_functions(collector, member);
	say_code(collector, member);
	collector->refused[REFUSED_SCANS] += member->is_scan_late;
	collect_say_counts(collector, member);
	collect_say_stalled(collector, member);
	say_end(collector, member, lost);
	merge_remove(collector->merge, member->process);
	member->process = NULL;
	while (member->chunk_count)
		chunk_close(member->chunks[--member->chunk_count]);
	/* the stream's end need not wake the collector while other processes run */
	if (__atomic_load_n(&control->alive, __ATOMIC_RELAXED) &&
	    !__atomic_load_n(&control->crowded, __ATOMIC_RELAXED))
		member->stream->wake = NULL;
	stream_close(member->stream);
	watch_stop(&member->watch);
	member->phase = PHASE_CLOSING;
}
