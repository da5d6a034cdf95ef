/* SPDX-License-Identifier: MIT */
/*
 * Measures for how long each thread ran, waited for a processor and was blocked, from the kernel's
 * figures. Also samples where the thread was blocked, so that a report can say how much of the
 * blocked time the recorded waits explain.
 *
 * The kernel's figures of a thread disappear when the thread ends, so the time after its last
 * reading is not measured. Therefore the figures of each thread are read often. But for all threads
 * of the run together, the collector makes at most one reading per TOKEN_NS on average. So with
 * more threads, each is read less often. A reading costs the traced program nothing.
 */
#include "collect/collect_parts.h"
#include "hook_table.h"
#include "notes.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "process/proc.h"

#define READ_NS	  (16 * MS) /* minimum time between two readings of a thread */
#define YOUNG_NS  (4 * MS)  /* minimum age of a thread at its first reading */
#define TOKEN_NS  (4 * MS)  /* minimum average time between two readings in the run */
#define BURST	  8u	    /* maximum number of readings in a round */
#define SLOTS_MAX 64u	    /* maximum number of slots that a round checks */

/* What a thread was doing at the time of a reading. */
enum sleep {
	/* the thread runs, or the kernel does not say whether it sleeps */
	SLEEP_NONE,
	/* the thread is in a hooked call that may block */
	SLEEP_RECORDED,
	/* the thread waits for another thread, but not in a hooked call */
	SLEEP_FUTEX,
	/* the thread is in another system call, or waits for a page, or for space in its ring */
	SLEEP_OTHER,
	SLEEPS
};

struct reading {
	uint64_t ticks, ns, ran_ns, queued_ns;
	enum sleep sleep;
};

/* The readings of one thread, the current thread of a slot. */
struct schedule {
	int32_t thread; /* kernel's id of the thread; 0: no thread */
	uint64_t pthread;
	uint64_t next_ns; /* when the next reading is due */
	/* the readings whose difference is reported; first.ticks 0: never read */
	struct reading first, last;
	struct reading latest;
	uint64_t slept_ns[SLEEPS];
};

static bool read_times(const struct collector *collector, const struct watch *watch, int32_t thread,
		       struct reading *reading)
{
	cleanup_free char *text = NULL;

	/* a thread in another pid namespace has another id in the collector's namespace */
	if (!watch->our_pid || watch->foreign)
		return false;
	text = proc_text(watch->our_pid, thread, "schedstat");
	if (!text)
		return false;
	reading->ns = ticks_clock_ns();
	reading->ticks = ticks_now(collector->shared.control->clock);
	return sscanf(text, "%" SCNu64 " %" SCNu64, &reading->ran_ns, &reading->queued_ns) == 2;
}

/* Whether the thread is in a recorded call (of RESOURCE_CALL: one that has lasted long enough). */
static bool is_in_recorded_call(const struct control_page *control, const struct slot *slot)
{
	uint64_t now = ticks_now(control->clock);
	uint32_t count = __atomic_load_n(&slot->open_count, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; i < count && i < ARENA_OPEN_MAX; i++) {
		uint32_t hook = slot->open[i].hook;

		if (hook < HOOK_COUNT && hook_may_sleep(&hook_table[hook]) &&
		    hook_table[hook].resource != RESOURCE_EVENT &&
		    (hook_table[hook].resource != RESOURCE_CALL ||
		     slot->open[i].enter + control->lasting < now))
			return true;
	}
	return false;
}

/*
 * Finds the state of a thread from the kernel function in which it sleeps. /proc shows the function
 * "0" if the thread runs, or the collector has no permission to read it.
 */
static enum sleep find_sleep(const struct collector *collector, const struct watch *watch,
			     const struct slot *slot, int32_t thread)
{
	cleanup_free char *function = proc_text(watch->our_pid, thread, "wchan");

	if (!function || !*function || !strcmp(function, "0"))
		return SLEEP_NONE;
	if (__atomic_load_n(&slot->waiting, __ATOMIC_RELAXED))
		return SLEEP_OTHER;
	if (is_in_recorded_call(collector->shared.control, slot))
		return SLEEP_RECORDED;
	return strstr(function, "futex") || strstr(function, "rt_mutex") ? SLEEP_FUTEX
									 : SLEEP_OTHER;
}

static uint64_t blocked_between(const struct reading *first, const struct reading *last)
{
	uint64_t busy = last->ran_ns - first->ran_ns + (last->queued_ns - first->queued_ns);

	return last->ns - first->ns > busy ? last->ns - first->ns - busy : 0;
}

/*
 * Adds half of the blocked time between two readings to the state at the first reading, and half to
 * the state at the second. If the thread slept at only one of the readings, adds all of the time to
 * the state at that reading.
 */
static void add_sleep(struct schedule *schedule, const struct reading *next)
{
	uint64_t blocked = blocked_between(&schedule->latest, next);
	enum sleep before = schedule->latest.sleep, after = next->sleep;

	schedule->slept_ns[before ? before : after] += blocked / 2;
	schedule->slept_ns[after ? after : before] += blocked / 2;
}

static void read_thread(struct collector *collector, struct member *member,
			struct schedule *schedule, const struct slot *slot)
{
	struct reading next;

	if (!read_times(collector, &member->watch, schedule->thread, &next))
		return;
	next.sleep = find_sleep(collector, &member->watch, slot, schedule->thread);
	/* if a figure has become smaller, the thread has ended, and another thread has its id */
	if (next.ran_ns < schedule->latest.ran_ns || next.queued_ns < schedule->latest.queued_ns)
		return;
	if (schedule->first.ticks)
		add_sleep(schedule, &next);
	else
		schedule->first = schedule->last = next;
	schedule->latest = next;
	/*
	 * The kernel's figures of a running thread may lack the time since it was last scheduled,
	 * which would then count as blocked. So if the thread does not sleep but much of the time
	 * appears to be blocked, this reading is not reported.
	 */
	if (next.sleep ||
	    blocked_between(&schedule->last, &next) <= (next.ns - schedule->last.ns) / 16)
		schedule->last = next;
}

void collect_schedule_last(struct collector *collector, struct member *member)
{
	const struct arena *head = member->chunks[0]->head;
	uint64_t ended = __atomic_load_n(&head->ended, __ATOMIC_RELAXED);
	struct schedule *schedule = member->schedule[0];
	struct reading last = { .sleep = SLEEP_NONE };

	if (!schedule || schedule->thread != member->watch.pid || !schedule->first.ticks ||
	    member->watch.end != WATCH_EXITED ||
	    !(__atomic_load_n(&head->flags, __ATOMIC_ACQUIRE) & PROCESS_EXITED) ||
	    !watch_is_zombie(&member->watch) ||
	    !read_times(collector, &member->watch, schedule->thread, &last) ||
	    ended <= schedule->last.ticks || ended > last.ticks ||
	    last.ran_ns < schedule->latest.ran_ns || last.queued_ns < schedule->latest.queued_ns)
		return;
	last.ticks = ended;
	last.ns = ticks_ns(&collector->ticks, ended);
	add_sleep(schedule, &last);
	schedule->last = schedule->latest = last;
}

static void say_schedule(struct collector *collector, struct member *member,
			 const struct schedule *schedule, uint64_t time)
{
	const struct merge_thread thread = { .id = schedule->thread, .pthread = schedule->pthread };
	struct facts facts = { .count = 0 };

	if (!schedule->first.ticks)
		return;
	facts_number(&facts, "from", ticks_ns(&collector->ticks, schedule->first.ticks));
	facts_number(&facts, "from-ran", schedule->first.ran_ns);
	facts_number(&facts, "from-queued", schedule->first.queued_ns);
	facts_number(&facts, "to", ticks_ns(&collector->ticks, schedule->last.ticks));
	facts_number(&facts, "ran", schedule->last.ran_ns);
	facts_number(&facts, "queued", schedule->last.queued_ns);
	facts_number(&facts, "futex", schedule->slept_ns[SLEEP_FUTEX]);
	facts_number(&facts, "other", schedule->slept_ns[SLEEP_OTHER]);
	facts_number(&facts, "recorded", schedule->slept_ns[SLEEP_RECORDED]);
	facts_write(
		&facts, member->stream,
		(struct encode_note){ .name = NOTE_SCHEDULED, .thread = &thread, .time = time });
}

/*
 * Checks one slot: reports a thread that has ended, begins to measure a new thread, and reads the
 * figures of the thread if a reading is due. Returns whether it has read figures.
 */
static bool visit_thread(struct collector *collector, struct member *member, uint32_t chunk_number,
			 uint32_t number, uint64_t now_ns)
{
	const struct chunk *chunk = member->chunks[chunk_number];
	const struct slot *slot = chunk_slot_at(chunk, number);
	const struct merge_thread *thread = NULL;
	struct schedule *schedule;

	if (__atomic_load_n(&slot->state, __ATOMIC_ACQUIRE) == SLOT_TAKEN)
		thread = merge_slot_thread(member->process, chunk, number);
	if (!member->schedule[chunk_number] && thread)
		member->schedule[chunk_number] =
			calloc(chunk->slots, sizeof(*member->schedule[chunk_number]));
	if (!member->schedule[chunk_number])
		return false;
	schedule = &member->schedule[chunk_number][number];
	if (schedule->thread &&
	    (!thread || thread->id != schedule->thread || thread->pthread != schedule->pthread)) {
		say_schedule(collector, member, schedule, collect_note_time(collector, member));
		*schedule = (struct schedule){ 0 };
	}
	if (!thread || thread->id <= 0)
		return false;
	if (!schedule->thread)
		*schedule = (struct schedule){ .thread = thread->id,
					       .pthread = thread->pthread,
					       .next_ns = now_ns + YOUNG_NS };
	if (now_ns < schedule->next_ns)
		return false;
	schedule->next_ns = now_ns + READ_NS;
	read_thread(collector, member, schedule, slot);
	return true;
}

/* Moves to the next slot of any process; after the last slot, moves to the first. */
static void step_to_next(struct collector *collector)
{
	struct schedule_place *at = &collector->schedule_at;
	const struct member *member;

	at->member = at->member < collector->count ? at->member : 0;
	member = collector->active[at->member];
	at->slot++;
	if (at->chunk < member->chunk_count && at->slot < chunk_used(member->chunks[at->chunk]))
		return;
	at->slot = 0;
	if (++at->chunk < member->chunk_count)
		return;
	at->chunk = 0;
	at->member = at->member + 1 < collector->count ? at->member + 1 : 0;
}

void collect_schedule(struct collector *collector, uint64_t now_ns)
{
	struct schedule_place *at = &collector->schedule_at;
	uint64_t oldest = now_ns - BURST * TOKEN_NS;

	if (collector->schedule_ns < oldest)
		collector->schedule_ns = oldest;
	for (uint32_t i = 0; collector->count && i < SLOTS_MAX; i++) {
		struct member *member;

		if (collector->schedule_ns + TOKEN_NS > now_ns)
			return;
		step_to_next(collector);
		member = collector->active[at->member];
		if (member->phase == PHASE_ALIVE && at->chunk < member->chunk_count &&
		    at->slot < member->chunks[at->chunk]->slots &&
		    visit_thread(collector, member, at->chunk, at->slot, now_ns))
			collector->schedule_ns += TOKEN_NS;
	}
}

void collect_schedule_say(struct collector *collector, struct member *member)
{
	for (uint32_t i = 0; i < member->chunk_count; i++)
		for (uint32_t k = 0; member->schedule[i] && k < member->chunks[i]->slots; k++)
			say_schedule(collector, member, &member->schedule[i][k],
				     collect_note_time(collector, member));
}

void collect_schedule_end(struct collector *collector, struct member *member)
{
	collect_schedule_say(collector, member);
	for (uint32_t i = 0; i < member->chunk_count; i++)
		free(member->schedule[i]);
}
