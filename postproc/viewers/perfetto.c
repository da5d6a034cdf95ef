/* SPDX-License-Identifier: MIT */
/*
 * Writes Perfetto's trace format. Each thread has a track with its waits. An arrow leads to the end
 * of a wait, from the thread that released the lock or woke the waiting thread; an annotation of
 * the wait also names this thread. Each lock has a track that shows its holders. Counters show the
 * number of live objects, and heap dumps show the live memory by call site at the peak and at exit.
 */
#include "perfetto.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "notes.h"
#include "viewers.h"
#include "postproc/memory/costs.h"
#include "postproc/report/curve.h"
#include "postproc/waits/lanes.h"

#define HOLD_LEAST 10000u /* in ns: shorter holds of locks are left out: there may be millions */
#define LOCKS_MOST 2000u  /* maximum number of tracks of locks */

/*
 * The kinds of keys in the map `tracks`. The values of OF_THREAD and OF_LOCK are tracks. An entry
 * OF_DESCRIBED means that the thread's track has its description.
 */
enum { OF_THREAD, OF_LOCK, OF_DESCRIBED };

/* Memory of a call site in the current process. */
struct heap_entry {
	struct peaks_amount acquired, held;
};

/* A sample of a heap dump: allocations and live memory of a backtrace. */
struct sample {
	uint32_t stack;
	struct peaks_amount acquired, held;
};

struct perfetto {
	struct report_run *run;
	struct lanes lanes;
	struct costs costs;
	struct stacks stacks;
	struct perfetto_packets packets;
	struct tally *heap;
	struct map tracks;
	uint64_t process_track, locks_track; /* 0: not made yet */
	uint32_t locks;
	uint64_t flows;
	uint64_t wall_ns;
	/* for the current process, indexed by class; NULL: there was no object of the class */
	struct curve *curves[LEDGER_CLASSES];
	struct peaks_amount now[LEDGER_CLASSES];
	struct map images;	       /* key: pid; value: index in last_dumps, + 1 */
	ARRAY_OF(uint64_t) last_dumps; /* for each pid: time of the last dump in ns */
	/* key: number of the backtrace; value: index in `samples`, + 1 */
	struct map dumped;
	ARRAY_OF(struct sample) samples; /* samples of the dump that is being built */
};

/* ---- tracks ---- */

static uint64_t process_track(struct perfetto *file)
{
	if (!file->process_track)
		file->process_track = ++file->packets.tracks;
	return file->process_track;
}

static uint64_t thread_track(struct perfetto *file, uint32_t thread)
{
	struct map_entry *entry = map_put(&file->tracks, OF_THREAD, thread);

	process_track(file);
	if (!entry->value)
		entry->value = (uint32_t)++file->packets.tracks;
	return entry->value;
}

/* Returns the track of a lock, or 0 for a new lock if LOCKS_MOST locks have tracks. */
static uint64_t lock_track(struct perfetto *file, const struct lane_hold *hold)
{
	struct map_entry *entry = map_find(&file->tracks, OF_LOCK, hold->serial);
	char name[40];

	if (entry || file->locks == LOCKS_MOST)
		return entry ? entry->value : 0;
	if (!file->locks_track) {
		file->locks_track = ++file->packets.tracks;
		perfetto_track(&file->packets, file->locks_track, process_track(file), "locks");
		proto_text(&file->packets.body, TRACK_DESCRIPTION,
			   "threads that held a lock for 10 us or longer");
		perfetto_track_end(&file->packets);
	}
	entry = map_put(&file->tracks, OF_LOCK, hold->serial);
	file->locks++;
	entry->value = (uint32_t)++file->packets.tracks;
	snprintf(name, sizeof(name), "lock 0x%" PRIx64, hold->object);
	perfetto_track(&file->packets, entry->value, file->locks_track, name);
	perfetto_track_end(&file->packets);
	return entry->value;
}

static void describe_thread(struct perfetto *file, const struct summary_process *process,
			    const struct thread_life *thread)
{
	uint64_t track = thread->tid ? thread_track(file, thread->tid) : 0;
	struct map_entry *entry = map_put(&file->tracks, OF_DESCRIBED, thread->tid);
	const char *name = *thread->name ? thread->name : thread->is_first ? process->name : NULL;
	struct proto *inner = &file->packets.inner;

	if (!track || entry->value)
		return;
	entry->value = 1;
	perfetto_track(&file->packets, track, 0, NULL);
	proto_clear(inner);
	proto_unsigned(inner, THREAD_PID, process->pid);
	proto_unsigned(inner, THREAD_TID, thread->tid);
	if (name)
		proto_text(inner, THREAD_NAME, name);
	proto_message(&file->packets.body, TRACK_THREAD, inner);
	perfetto_track_end(&file->packets);
}

/* ---- waits ---- */

static void put_name(struct perfetto *file, const char *before, const struct lane_wait *wait)
{
	char name[80];

	if (wait->object && wait->kind != LANE_OTHER)
		snprintf(name, sizeof(name), "%s%s 0x%" PRIx64, before, lane_word(wait->kind),
			 wait->object);
	else
		snprintf(name, sizeof(name), "%s%.40s", before, wait->function);
	proto_text(&file->packets.body, EVENT_NAME, name);
}

static void put_slice(struct perfetto *file, const struct lane_wait *wait, uint64_t track,
		      uint64_t until_ns)
{
	struct perfetto_packets *packets = &file->packets;
	uint32_t waiter = perfetto_stack(packets, wait->waiter);
	uint32_t waker = wait->waker ? perfetto_stack(packets, wait->waker) : 0;

	perfetto_event(packets, TYPE_BEGIN, track);
	put_name(file, "wait: ", wait);
	proto_text(&packets->body, EVENT_CATEGORY, "wait");
	proto_unsigned(&packets->body, EVENT_STACK, waiter);
	perfetto_note_text(packets, "kind", lane_word(wait->kind));
	perfetto_note_text(packets, "call", wait->function);
	perfetto_note_text(packets, "end", wait->is_open ? "has not ended" : wait->end);
	perfetto_note(packets, "object", ANNOTATION_POINTER, wait->object);
	perfetto_note(packets, "waker thread", ANNOTATION_UNSIGNED, wait->waker_thread);
	perfetto_note(&file->packets, "waiter", ANNOTATION_TEXT_ID, waiter);
	perfetto_note(&file->packets, "waker", ANNOTATION_TEXT_ID, waker);
	perfetto_event_end(packets, wait->since_ns, RANK_BEGIN);
	perfetto_event(packets, TYPE_END, track);
	perfetto_event_end(packets, until_ns, RANK_END);
}

static void perfetto_on_wait(void *user, const struct lane_wait *wait)
{
	struct perfetto *file = user;
	uint64_t track = thread_track(file, wait->thread);
	/* a wait without duration gets 1 ns: at equal times its end would precede its beginning */
	uint64_t until_ns = wait->until_ns > wait->since_ns ? wait->until_ns : wait->since_ns + 1;
	struct perfetto_packets *packets = &file->packets;
	uint64_t waker, flow;

	put_slice(file, wait, track, until_ns);
	if (!wait->waker_thread || !wait->woken_ns || wait->woken_ns > until_ns)
		return;
	/*
	 * draw an arrow from the thread that released the lock, or woke the waiting thread. It ends
	 * just after the wait: Perfetto would draw an arrow to the wait itself backwards
	 */
	waker = thread_track(file, wait->waker_thread);
	flow = ++file->flows;
	perfetto_event(packets, TYPE_INSTANT, waker);
	put_name(file, wait->kind == LANE_LOCK ? "releases " : "wakes at ", wait);
	proto_text(&packets->body, EVENT_CATEGORY, "wake");
	proto_fixed64(&packets->body, EVENT_FLOW, flow);
	perfetto_event_end(packets, wait->woken_ns, RANK_WAKES);
	perfetto_event(packets, TYPE_INSTANT, track);
	put_name(file, "continues after ", wait);
	proto_text(&packets->body, EVENT_CATEGORY, "woken");
	proto_fixed64(&packets->body, EVENT_FLOW_END, flow);
	perfetto_event_end(packets, until_ns, RANK_WOKEN);
}

static void perfetto_on_hold(void *user, const struct lane_hold *hold)
{
	struct perfetto *file = user;
	struct perfetto_packets *packets = &file->packets;
	uint32_t stack;
	uint64_t track;

	if (hold->until_ns < hold->since_ns + HOLD_LEAST)
		return;
	track = lock_track(file, hold);
	if (!track)
		return;
	stack = perfetto_stack(packets, hold->holder);
	perfetto_event(packets, TYPE_BEGIN, track);
	proto_unsigned(&packets->body, EVENT_NAME_ID, stack);
	proto_text(&packets->body, EVENT_CATEGORY, "hold");
	proto_unsigned(&packets->body, EVENT_STACK, stack);
	perfetto_note(packets, "thread", ANNOTATION_UNSIGNED, hold->thread);
	perfetto_note(packets, "object", ANNOTATION_POINTER, hold->object);
	perfetto_note(&file->packets, "locked at", ANNOTATION_TEXT_ID, stack);
	perfetto_event_end(packets, hold->since_ns, RANK_BEGIN);
	perfetto_event(packets, TYPE_END, track);
	perfetto_event_end(packets, hold->until_ns, RANK_END);
}

/* ---- live objects ---- */

static void perfetto_merge(void *user, void *of_run, const void *of_process)
{
	(void)user;
	(void)of_run;
	(void)of_process;
}

static void perfetto_move(void *user, const struct ledger_move *move)
{
	struct perfetto *file = user;
	struct heap_entry *entry = tally_entry(file->heap, move->site);
	struct peaks_amount *now = &file->now[move->class];
	struct curve **curve = &file->curves[move->class];

	if (!*curve)
		*curve = memory_zalloc(1, sizeof(**curve));
	now->count += (uint64_t)(int64_t)move->count;
	now->bytes += move->is_acquisition ? move->bytes : -move->bytes;
	if (move->is_acquisition && !move->is_no_call) {
		entry->acquired.count += (uint64_t)move->count;
		entry->acquired.bytes += move->bytes;
	}
	curve_add(*curve, move->event->time_ns,
		  ledger_class(file->run->ledger, move->class)->has_bytes ? now->bytes
									  : now->count);
}

static void put_count(struct perfetto *file, uint64_t track, uint64_t time_ns, uint64_t amount)
{
	perfetto_event(&file->packets, TYPE_COUNTER, track);
	proto_unsigned(&file->packets.body, EVENT_COUNTER, amount);
	perfetto_event_end(&file->packets, time_ns, RANK_WOKEN);
}

static void put_curve(struct perfetto *file, const struct ledger_class *class,
		      const struct curve *curve, const struct summary_process *process)
{
	uint64_t track = ++file->packets.tracks, time_ns, amount = 0;
	struct proto *inner = &file->packets.inner;
	char name[256], samples[SUMMARY_SAMPLES_MAX];
	size_t at = 0;

	snprintf(name, sizeof(name), "%.200s live%s", class->type,
		 class->known == RESOURCE_MEMORY && file->run->summary->sample ? " (estimate)"
									       : "");
	perfetto_track(&file->packets, track, process_track(file), name);
	if (class->known == RESOURCE_MEMORY && *summary_say_samples(file->run->summary, samples))
		proto_text(&file->packets.body, TRACK_DESCRIPTION, samples);
	proto_clear(inner);
	proto_unsigned(inner, COUNTER_UNIT, class->has_bytes ? UNIT_BYTES : UNIT_COUNT);
	proto_message(&file->packets.body, TRACK_COUNTER, inner);
	perfetto_track_end(&file->packets);
	while (curve_next(curve, &at, &time_ns, &amount))
		put_count(file, track, time_ns, amount);
	/* extend the line to the end of the process, after which no object is live */
	if (process->end_ns > curve->first << curve->shift)
		put_count(file, track, process->end_ns, amount);
	if (summary_has_ended(process))
		put_count(file, track, process->end_ns + 1, 0);
}

/* ---- dumps of the heap ---- */

/*
 * Adds amounts to the sample of a backtrace. A dump has one sample for each backtrace: if there
 * were several, programs that read the trace would use only the last one.
 */
static void add_sample(struct perfetto *file, const struct trace_node *backtrace,
		       struct peaks_amount acquired, struct peaks_amount held)
{
	uint32_t stack = perfetto_stack(&file->packets, backtrace);
	struct map_entry *entry = map_put(&file->dumped, 0, stack);
	struct sample *sample;

	if (!entry->value) {
		*ARRAY_ADD(&file->samples) = (struct sample){ .stack = stack };
		entry->value = (uint32_t)file->samples.count;
	}
	sample = &file->samples.items[entry->value - 1];
	sample->acquired.count += acquired.count;
	sample->acquired.bytes += acquired.bytes;
	sample->held.count += held.count;
	sample->held.bytes += held.bytes;
}

static void put_sample(struct perfetto *file, const struct sample *sample)
{
	struct proto *inner = &file->packets.inner;

	proto_clear(inner);
	proto_unsigned(inner, SAMPLE_STACK, sample->stack);
	proto_unsigned(inner, SAMPLE_ALLOCATED, sample->acquired.bytes);
	proto_unsigned(inner, SAMPLE_FREED, sample->acquired.bytes - sample->held.bytes);
	proto_unsigned(inner, SAMPLE_ALLOCATIONS, sample->acquired.count);
	/*
	 * the difference may be negative, because unmapping the middle of a mapping leaves two live
	 * parts
	 */
	proto_unsigned(inner, SAMPLE_FREES,
		       sample->acquired.count > sample->held.count
			       ? sample->acquired.count - sample->held.count
			       : 0);
	proto_message(&file->packets.innermost, DUMP_SAMPLE, inner);
}

static void end_dump(struct perfetto *file, const char *heap, uint32_t pid, uint64_t time_ns)
{
	struct proto *dump = &file->packets.innermost, *body = &file->packets.body;

	if (!file->samples.count)
		return;
	proto_clear(dump);
	for (size_t i = 0; i < file->samples.count; i++)
		put_sample(file, &file->samples.items[i]);
	map_clear(&file->dumped);
	file->samples.count = 0;
	proto_unsigned(dump, DUMP_PID, pid);
	proto_unsigned(dump, DUMP_FROM_START, 1);
	proto_unsigned(dump, DUMP_TIME, time_ns);
	proto_text(dump, DUMP_HEAP, heap);
	proto_clear(body);
	proto_message(body, PROFILE_PROCESS, dump);
	perfetto_dump(&file->packets, time_ns);
}

static void dump_process(struct perfetto *file, const struct summary_process *process)
{
	const struct sites *sites = ledger_sites(file->run->ledger);
	struct map_entry *image = map_put(&file->images, 0, process->pid);
	struct ledger_held held;
	uint64_t *last, time_ns;
	size_t at = 0;

	/*
	 * date the dumps at the end of the process, but after the dumps of earlier programs with
	 * this pid. Viewers treat these programs as one process, and show only the last dump
	 */
	if (!image->value) {
		*ARRAY_ADD(&file->last_dumps) = 0;
		image->value = (uint32_t)file->last_dumps.count;
	}
	last = &file->last_dumps.items[image->value - 1];
	time_ns = *last = process->end_ns > *last ? process->end_ns : *last + 1;
	while (ledger_held(file->run->ledger, &at, &held)) {
		struct heap_entry *entry = tally_entry(file->heap, held.site);

		entry->held.count += held.count;
		entry->held.bytes += held.bytes;
	}
	/* dump the allocations and the live memory of each class by call site */
	for (uint32_t class = 0; class < ledger_class_count(file->run->ledger); class ++) {
		if (!ledger_class(file->run->ledger, class)->has_bytes)
			continue;
		for (uint32_t i = 1; i < sites->list.count; i++) {
			const struct site *site = sites_at(sites, i);
			const struct heap_entry *entry =
				site->class == class ? tally_entry(file->heap, i) : NULL;

			if (entry && entry->acquired.count)
				add_sample(file, report_site(file->run, site), entry->acquired,
					   entry->held);
		}
		end_dump(file, ledger_class(file->run->ledger, class)->type, process->pid, time_ns);
	}
}

/* ---- the fold ---- */

static int perfetto_begin(void *user, struct report_run *run, struct error *err)
{
	struct perfetto *file = user;
	struct lanes_listener listener = { .wait = perfetto_on_wait,
					   .hold = perfetto_on_hold,
					   .user = file };

	(void)err;
	costs_begin(&file->costs, run);
	lanes_begin(&file->lanes, run, &listener);
	file->heap =
		report_listen(run, sizeof(struct heap_entry), perfetto_merge, perfetto_move, file);
	stacks_init(&file->stacks, run->naming);
	perfetto_open(&file->packets);
	return 0;
}

static void perfetto_on_event(void *state, const struct event *event)
{
	struct perfetto *file = state;

	if (!file->wall_ns)
		file->wall_ns = event->process->realtime_ns;
	lanes_event(&file->lanes, event);
}

static void perfetto_on_note(void *state, const struct event *event)
{
	struct perfetto *file = state;
	const char *text = event_argument(event, "text");

	lanes_note(&file->lanes, event);
	if (!text || strcmp(event->function->name, NOTE_MARK) != 0)
		return;
	perfetto_event(&file->packets, TYPE_INSTANT, process_track(file));
	proto_text(&file->packets.body, EVENT_NAME, text);
	proto_text(&file->packets.body, EVENT_CATEGORY, "mark");
	perfetto_event_end(&file->packets, event->time_ns, RANK_WOKEN);
}

static void perfetto_process(void *state)
{
	struct perfetto *file = state;
	const struct summary_process *process = summary_current(file->run->summary);
	struct proto *inner = &file->packets.inner;

	lanes_process(&file->lanes);
	costs_process(&file->costs);
	dump_process(file, process);
	for (uint32_t i = 0; i < LEDGER_CLASSES; i++) {
		if (file->curves[i])
			put_curve(file, ledger_class(file->run->ledger, i), file->curves[i],
				  process);
		free(file->curves[i]);
		file->curves[i] = NULL;
		file->now[i] = (struct peaks_amount){ 0 };
	}
	perfetto_track(&file->packets, process_track(file), 0, NULL);
	proto_clear(inner);
	proto_unsigned(inner, PROCESS_PID, process->pid);
	proto_text(inner, PROCESS_NAME, process->name ? process->name : "");
	proto_message(&file->packets.body, TRACK_PROCESS, inner);
	perfetto_track_end(&file->packets);
	/* thread ids may be reused: the track gets the name of the last thread with its id */
	for (size_t i = file->lanes.threads.list.count; i; i--)
		describe_thread(file, process, &file->lanes.threads.list.items[i - 1]);
	lanes_clear(&file->lanes);
	map_clear(&file->tracks);
	file->process_track = file->locks_track = 0;
}

static int perfetto_finish(void *state, struct out *out, struct error *err)
{
	struct perfetto *file = state;
	struct summary *run = file->run->summary;

	/*
	 * dump the peak of each class, from the process with the highest peak. It is a separate
	 * heap, because the other heaps have sums since the start
	 */
	for (uint32_t i = 0; i < ledger_class_count(file->run->ledger); i++) {
		const struct peaks_run *peak = &file->costs.peaks.classes[i].run;
		struct costs_place place;
		char name[256];

		if (!ledger_class(file->run->ledger, i)->has_bytes)
			continue;
		for (uint32_t at = 0; costs_next(&file->costs, &at, &place);)
			if (place.place->class == i && place.peak.count)
				add_sample(file, place.place->backtrace, place.peak, place.peak);
		snprintf(name, sizeof(name), "%.200s at its peak",
			 ledger_class(file->run->ledger, i)->type);
		end_dump(file, name, peak->pid, peak->at_ns);
	}
	return perfetto_print(&file->packets, &file->stacks, &run->space, run->start_ns,
			      file->wall_ns, out, err);
}

static void perfetto_destroy(void *state)
{
	struct perfetto *file = state;

	for (uint32_t i = 0; i < LEDGER_CLASSES; i++)
		free(file->curves[i]);
	lanes_free(&file->lanes);
	stacks_free(&file->stacks);
	perfetto_close(&file->packets);
	map_clear(&file->tracks);
	map_clear(&file->dumped);
	map_clear(&file->images);
	free(file->samples.items);
	free(file->last_dumps.items);
}

const struct report viewer_perfetto = {
	.wants_ledger = true,
	.wants_summary = true,
	.state_size = sizeof(struct perfetto),
	.begin = perfetto_begin,
	.event = perfetto_on_event,
	.note = perfetto_on_note,
	.process = perfetto_process,
	.print = perfetto_finish,
	.destroy = perfetto_destroy,
};
