/* SPDX-License-Identifier: MIT */
#include "summary.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/memory.h"
#include "hook_table.h"
#include "notes.h"
#include "allocators.h"
#include "selection.h"
#include "summary_fold.h"

static char *copy(struct summary *summary, const char *text)
{
	return text ? pool_text(&summary->pool, text, strlen(text)) : NULL;
}

/* ---- waits ---- */

/* a call that usually does not wait, such as close(), counts as a wait if it takes this long */
#define CLOSING_NS 100000000u

static uint64_t duration_of(const struct event *event)
{
	return event->leave_ns > event->enter_ns ? event->leave_ns - event->enter_ns : 0;
}

/* Counts a call that neither acquired nor released an object, in the class of its hook. */
static void use(struct summary *summary, const struct event *event)
{
	const struct hook *hook = event->function->hook;
	struct summary_class *class;
	uint32_t index;

	if (!hook || hook->resource == RESOURCE_EVENT)
		return;
	index = ledger_class_of(summary->ledger, hook->resource);
	class = &summary->classes[index];
	if (event->flags & CALL_FAILED && event->error == EBADF) {
		class->bad_closes += event->operation == OPERATION_FREE;
		class->bad_uses += event->operation != OPERATION_FREE;
	}
	if (event->flags & CALL_FAILED)
		class->failed += operation_table[event->operation].effect == EFFECT_ACQUIRES;
	else if (event->operation == OPERATION_WAIT)
		class->waited++;
	if (event->operation == OPERATION_NOTIFY && !(event->flags & CALL_FAILED)) {
		struct waits_object *object =
			waits_object(&summary->fold->waits, index, event->object);

		class->notified++;
		if (object) {
			waits_notify(object, sites_of(&summary->fold->sites, (uint8_t)index, event),
				     event->thread, event->time_ns);
			if (hook->resource == RESOURCE_FUTEX && event->related &&
			    !wakes_both(event))
				object->moved =
					waits_object(&summary->fold->waits, index, event->related);
		}
		return;
	}
	if (event->has_tail && !event->part && hook->resource != RESOURCE_LOCK &&
	    (event->operation == OPERATION_ACQUIRE || event->operation == OPERATION_WAIT)) {
		struct summary_fold *fold = summary->fold;
		struct waits_call call = {
			.enter_ns = event->enter_ns,
			.duration_ns = duration_of(event),
			.thread = event->thread,
			.site = sites_of(&fold->sites, (uint8_t)index, event),
		};

		/* these hooks record a call only if it waited */
		summary->classes[index].waits.is_sure |=
			event->function->hook->resource == RESOURCE_FUTEX ||
			event->function->hook->resource == RESOURCE_CALL;
		waits_add(&summary->classes[index].waits,
			  waits_object(&fold->waits, index, event->object), &call);
	}
}

/* ---- calls ---- */

/*
 * Counts a thread when it makes its first call. The call that created the thread may be recorded
 * before or after this call.
 */
static void add_thread(struct summary_fold *fold, const struct event *event)
{
	fold->thread_cache[event->thread % FOLD_THREAD_CACHE] = event->thread;
	if (event->pthread)
		map_set(&fold->threads, OF_HANDLE, event->pthread, event->thread);
	if (map_get(&fold->threads, OF_THREAD, event->thread))
		return;
	map_set(&fold->threads, OF_THREAD, event->thread, FOLD_HEARD);
	fold->thread_count++;
	if (!map_get(&fold->threads, OF_SILENT, event->pthread)) {
		map_set(&fold->threads, OF_EARLY, event->pthread, 1);
		return;
	}
	fold->silent--;
	map_set(&fold->threads, OF_SILENT, event->pthread, 0);
}

/*
 * A trace of another tracer (without tails) does not say when the process started. Then the process
 * starts at the time of its first event.
 */
static void note_start(struct summary_process *process, const struct event *event)
{
	if (!process->start_ns)
		process->start_ns = event->time_ns;
}

void summary_count(struct summary *summary, const struct event *event)
{
	struct summary_fold *fold = summary->fold;
	struct summary_process *process = &fold->process;
	const struct hook *hook = event->function->hook;
	struct summary_spawned *spawned;
	const char *path;

	touched_event(&summary->touched, event);
	process->events++;
	process->late += (event->flags & CALL_LATE) != 0;
	if (event->time_ns > process->end_ns)
		process->end_ns = event->time_ns;
	note_start(process, event);
	if (event->has_tail &&
	    fold->thread_cache[event->thread % FOLD_THREAD_CACHE] != event->thread)
		add_thread(fold, event);
	if (event->type == CALL_TYPE_ALLOC && event->resource->known == RESOURCE_THREAD &&
	    event->pthread && !event->part) {
		/*
		 * Until the new thread makes a call, it is counted as silent. Its first call may
		 * already have been recorded.
		 */
		bool is_early = map_get(&fold->threads, OF_EARLY, event->object) != 0;

		fold->silent += !is_early;
		map_set(&fold->threads, is_early ? OF_EARLY : OF_SILENT, event->object, !is_early);
	}
	/*
	 * the first half of an exec call, recorded before the program is replaced, contains the
	 * path
	 */
	if (event->type == CALL_TYPE_NONE && event->moment == MOMENT_HALF &&
	    !(event->flags & CALL_OF_CHILD) && hook && hook_is_exec(hook))
		process->became = copy(summary, event_argument(event, "path"));
	/*
	 * note a child that was created by vfork or posix_spawn, with its program. The child of a
	 * vfork calls exec before vfork returns; this exec call is recorded with the tid of the
	 * thread that called vfork.
	 */
	if (!hook || (hook->resource != RESOURCE_PROCESS && !(event->flags & CALL_OF_CHILD)))
		return;
	path = event_argument(event, "path");
	if (event->flags & CALL_OF_CHILD && hook_is_exec(hook)) {
		fold->executed = event->flags & CALL_FAILED ? NULL : path ? path : "a program";
		fold->executed = fold->executed ? copy(summary, fold->executed) : NULL;
		fold->executor = event->thread;
	}
	if (event->type != CALL_TYPE_ALLOC || hook->resource != RESOURCE_PROCESS ||
	    event->flags & CALL_FAILED)
		return;
	if (!strcmp(hook->name, "vfork") && fold->executor == event->thread)
		path = fold->executed;
	else if (strncmp(hook->name, "posix_spawn", strlen("posix_spawn")) != 0)
		return;
	fold->executed = NULL;
	if (!path)
		return;
	spawned = ARRAY_ADD(&summary->spawned);
	*spawned =
		(struct summary_spawned){ (uint32_t)event->object,
					  (uint32_t)summary->processes.count, copy(summary, path) };
}

static const char *describe_call(void *user, const struct event *event)
{
	struct summary *summary = user;
	char text[DESCRIPTORS_TEXT_SIZE];

	return copy(summary, descriptors_say_event(&summary->descriptors, event, text));
}

/* ---- notes ---- */

static void note_process(struct summary *summary, const struct event *event)
{
	struct summary_fold *fold = summary->fold;
	const char *executable = event_argument(event, "executable");

	if (executable) {
		fold->process.executable = copy(summary, executable);
		space_add_program(&summary->space, executable);
	}
	if (!fold->process.allocator)
		fold->process.allocator = copy(summary, event_argument(event, "allocator"));
	for (uint32_t i = 0; i < event->argument_count; i++) {
		size_t room = sizeof(fold->command) - fold->command_length;
		int length;

		if (strncmp(event->arguments[i].name, "argv", 4) != 0)
			continue;
		length = snprintf(fold->command + fold->command_length, room, "%s%s",
				  fold->command_length ? " " : "", event->arguments[i].value);
		fold->command_length += length < 0		? 0
					: (size_t)length < room ? (size_t)length
								: room - 1;
	}
}

static void note_lost(struct summary *summary, const struct event *event)
{
	const char *count = event_argument(event, "count");
	const char *reason = event_argument(event, "reason");
	uint64_t number = count ? strtoull(count, NULL, 0) : event->size;

	summary->fold->process.lost += trace_lost_notes(event) ? 0 : number;
	for (size_t i = 0; reason && i < summary->losses.count; i++) {
		if (strcmp(summary->losses.items[i].reason, reason) != 0)
			continue;
		summary->losses.items[i].count += number;
		return;
	}
	if (!reason || summary->losses.count >= LOSS_COUNT + 8)
		return;
	*ARRAY_ADD(&summary->losses) = (struct summary_loss){ copy(summary, reason), number };
}

#define BYPASSES_MAX 256

static void note_bypass(struct summary *summary, const struct event *event)
{
	const char *path = event_argument(event, "path");
	uint64_t number = event_number(event, "functions");
	struct summary_bypass *bypass;
	size_t i = 0;

	if (!path || summary->bypasses.count >= BYPASSES_MAX)
		return;
	while (i < summary->bypasses.count && strcmp(summary->bypasses.items[i].path, path) != 0)
		i++;
	if (i == summary->bypasses.count)
		*ARRAY_ADD(&summary->bypasses) =
			(struct summary_bypass){ .path = copy(summary, path),
						 .process = (uint32_t)summary->processes.count };
	bypass = &summary->bypasses.items[i];
	bypass->processes++;
	if (number > bypass->functions)
		bypass->functions = number;
	if (!bypass->example)
		bypass->example = copy(summary, event_argument(event, "example"));
}

static void note_count(struct summary *summary, struct summary_list *list, const char *what,
		       const struct event *event)
{
	const char *count = event_argument(event, "count");
	uint64_t number = count ? strtoull(count, NULL, 10) : 1;

	if (!what)
		return;
	list->sum += number;
	for (size_t i = 0; i < list->count; i++) {
		if (strcmp(list->items[i].program, what) != 0)
			continue;
		list->items[i].count += number;
		return;
	}
	*ARRAY_ADD(list) = (struct summary_left_out){ copy(summary, what), number };
}

static void note_left_out(struct summary *summary, const struct event *event)
{
	note_count(summary, &summary->left_out, event_argument(event, "program"), event);
}

static void note_refused(struct summary *summary, const struct event *event)
{
	note_count(summary, &summary->refused, event_argument(event, "what"), event);
}

static void note_stalled(struct summary *summary, const struct event *event)
{
	const char *seconds = event_argument(event, "seconds");

	summary->fold->process.stalled_s += seconds ? strtod(seconds, NULL) : 0;
}

static void note_unproven(struct summary *summary, const struct event *event)
{
	summary->fold->process.is_part = event_argument(event, "part") != NULL;
	summary->fold->process.doubt = copy(summary, event_argument(event, "why"));
}

static void note_settings(struct summary *summary, const struct event *event)
{
	const char *events = event_argument(event, "events");
	const char *follow = event_argument(event, "follow");
	const char *locks = event_argument(event, "locks");
	uint64_t bytes = event_number(event, "sample");

	summary->locks.is_contended = locks && !strcmp(locks, "contended");
	summary->fold->process.is_contended = summary->locks.is_contended;
	if (bytes > summary->sample)
		summary->sample = bytes;
	if (events)
		summary->fold->process.recorded = copy(summary, events);
	if (follow && !summary->follow)
		summary->follow = copy(summary, follow);
}

static void note_labels(struct summary *summary, const struct event *event)
{
	char labels[TRACE_LABELS_MAX];

	trace_labels(event, labels);
	summary->fold->process.labels = copy(summary, labels);
}

static void note_open(struct summary *summary, const struct event *event)
{
	struct summary_fold *fold = summary->fold;
	const char *call = event_argument(event, "call");
	const struct hook *hook = call ? hook_find(call) : NULL;
	/*
	 * usually, close and fclose do not wait, but they may wait until data was sent or written
	 */
	bool closes = hook && hook->operation == OPERATION_FREE &&
		      hook->resource != RESOURCE_MEMORY && duration_of(event) >= CLOSING_NS;
	/* an exec or exit that has not returned is not a wait */
	bool may_block =
		!hook || closes || (hook_may_sleep(hook) && hook->operation != OPERATION_END);
	struct fold_open *open;

	if (event->time_ns > fold->process.end_ns)
		fold->process.end_ns = event->time_ns;
	/* this may be the first event of the thread, so store its handle */
	if (event->pthread)
		map_set(&fold->threads, OF_HANDLE, event->pthread, event->thread);
	if (!call || fold->open.count >= SUMMARY_BLOCKED_MAX || !may_block)
		return;
	open = ARRAY_ADD(&fold->open);
	*open = (struct fold_open){
		.function = copy(summary, call),
		.resource = hook ? hook->resource : RESOURCE_NONE,
		.object = event->object,
		.related = event->related,
		.thread = event->thread,
		.enter_ns = event->enter_ns,
		.waited_ns = duration_of(event),
		.index = event->index,
		.backtrace = event->backtrace,
	};
	if (hook)
		locks_open(&summary->locks, event, hook);
}

static void end_pause(struct summary_process *process, uint64_t now_ns)
{
	if (process->pause_since_ns && now_ns > process->pause_since_ns)
		process->pause_ns += now_ns - process->pause_since_ns;
	process->pause_since_ns = 0;
}

static void note_recording(struct summary *summary, const struct event *event)
{
	struct summary_process *process = &summary->fold->process;
	const char *state = event_argument(event, "state");

	if (!state || strcmp(state, "off") != 0) {
		end_pause(process, event->time_ns);
		return;
	}
	process->pauses += !process->pause_since_ns;
	if (!process->pause_since_ns)
		process->pause_since_ns = event->time_ns;
}

static void note_attached(struct summary *summary, const struct event *event)
{
	struct summary_process *process = &summary->fold->process;

	process->is_attached = true;
	process->had_threads = event_number(event, "threads");
	process->had_bytes = event_number(event, "resident");
	process->had_ns = event_number(event, "age_ms") * 1000000;
}

static void note_kept(struct summary *summary, const struct event *event)
{
	struct summary_process *process = &summary->fold->process;
	const char *since = event_argument(event, "since");

	process->kept_ns = since ? (uint64_t)(strtod(since, NULL) * 1e9) : 0;
	process->cut_calls = event_number(event, "calls");
}

/* Why a program was not traced, as the last part of a sentence. */
static const char *sentence_of(const char *followed)
{
	static const struct {
		const char *word, *sentence;
	} reasons[] = {
#define UNTRACED(name, word, sentence) { word, sentence },
#include "base/untraced.def"
#undef UNTRACED
	};

	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		if (!strcmp(followed, reasons[i].word))
			return reasons[i].sentence;
	return reasons[0].sentence;
}

/*
 * Processes the note on the classes of objects that the process has acquired or released without
 * calling a hooked function. The note comes with each snapshot and at the end of the process; a
 * later note includes the earlier ones.
 */
static void note_past(struct summary *summary, const struct event *event)
{
	struct summary_process *process = &summary->fold->process;
	const char *past = event_argument(event, "past");

	process->has_namespace = past && !strncmp(past, "namespace", strlen("namespace"));
	process->has_go = past && strlen(past) >= 3 && !strcmp(past + strlen(past) - 3, "all");
	process->past = copy(summary, past);
}

/*
 * Processes the end of the process. The time of the event is when the collector noticed the end;
 * the argument "at" is the process's own time.
 */
static void note_end(struct summary *summary, const struct event *event)
{
	struct summary_fold *fold = summary->fold;
	static const struct {
		const char *word;
		enum summary_end end;
	} words[] = {
		{ "exited", SUMMARY_EXITED },	  { "killed", SUMMARY_KILLED },
		{ "exec", SUMMARY_EXEC },	  { "left", SUMMARY_LEFT },
		{ "detached", SUMMARY_DETACHED },
	};
	struct summary_process *process = &fold->process;
	const char *how = event_argument(event, "how");
	const char *status = event_argument(event, "status");
	const char *followed = event_argument(event, "followed");
	const char *at = event_argument(event, "at");
	const char *children = event_argument(event, "children");
	const char *oom = event_argument(event, "oom");

	process->has_end = true;
	for (size_t i = 0; how && i < sizeof(words) / sizeof(*words); i++)
		if (!strcmp(how, words[i].word))
			process->end = words[i].end;
	if (!status)
		status = event_argument(event, "signal");
	process->oom = !oom		     ? SUMMARY_OOM_UNSAID
		       : !strcmp(oom, "yes") ? SUMMARY_OOM_YES
		       : !strcmp(oom, "no")  ? SUMMARY_OOM_NO
					     : SUMMARY_OOM_UNKNOWN;
	process->memory_limit = event_number(event, "limit");
	process->has_status = status != NULL;
	process->status = status ? atoi(status) : 0;
	process->untraced = !followed || !strcmp(followed, "yes") || !strcmp(followed, "left-out")
				    ? NULL
				    : sentence_of(followed);
	if (event->time_ns > process->end_ns)
		process->end_ns = event->time_ns;
	process->ended_ns = at ? (uint64_t)(strtod(at, NULL) * 1e9) : 0;
	fold->told_events = event_number(event, "events");
	process->gone = event_number(event, "gone");
	process->is_in_run = event_argument(event, "run") != NULL;
	process->descriptors = event_number(event, "descriptors");
	process->has_zombie = children && !strcmp(children, "ended");
	process->has_no_zombie = children && !process->has_zombie;
	note_past(summary, event);
	process->uncontended = event_number(event, "uncontended");
	/* the note only counts the late calls; to find out which calls were late, read the calls */
	summary->wants_calls |= event_number(event, "late") != 0;
	end_pause(process, event->time_ns);
}

/*
 * Processes a note about a scan. Uses the last successful scan if its start (the note "cut") is in
 * the trace. Otherwise that note is outside the selected time or was removed by a flight recorder,
 * so the blocks that the scan examined are unknown.
 */
static void note_scan(struct summary *summary, const struct event *event)
{
	struct summary_process *process = &summary->fold->process;
	const char *reason = event_argument(event, "reason");
	const char *state = event_argument(event, "state");
	uint64_t number = event_number(event, "number");

	if (state && !strcmp(state, "cut"))
		process->scan_cut = number;
	if (state && !strcmp(state, "failed")) {
		process->unscanned = copy(summary, reason ? reason : "");
		return;
	}
	if (!state || strcmp(state, "done") != 0 || !number || number != process->scan_cut)
		return;
	process->unscanned = NULL;
	process->is_scanned = true;
	process->is_doubtful = event_argument(event, "doubt") != NULL;
	process->unkept = event_number(event, "unreachable");
	process->unkept_bytes = event_number(event, "unreachable-bytes");
}

static void note_resident(struct summary *summary, const struct event *event)
{
	struct summary_process *process = &summary->fold->process;
	const char *state = event_argument(event, "state");

	if (state && process->scan_cut && event_number(event, "number") == process->scan_cut)
		process->is_measured = !strcmp(state, "done");
}

static void note_thread_end(struct summary *summary, const struct event *event)
{
	map_set(&summary->fold->threads, OF_THREAD, event->thread, FOLD_ENDED);
}

/*
 * Finds the call that opened an inherited descriptor in an earlier program of this process; NULL:
 * unknown.
 */
static const struct event *opened_before(const struct summary *summary, const struct event *note)
{
	const struct summary_process *process = &summary->fold->process;
	const char *fd = event_argument(note, "fd");

	for (size_t i = summary->passed.count; fd && i-- > 0;)
		if (summary->passed.items[i]->pid == process->pid &&
		    summary->passed.items[i]->opened.object == strtoull(fd, NULL, 0) &&
		    summary->passed.items[i]->opened.time_ns < note->time_ns)
			return &summary->passed.items[i]->opened;
	return NULL;
}

static void note_python(struct summary *summary, const struct event *event)
{
	const char *version = event_argument(event, "version");
	const char *frames = event_argument(event, "frames");
	const char *objects = event_argument(event, "objects");

	gil_note(&summary->gil, event);
	summary->python.off += frames && !strcmp(frames, "off");
	summary->python.is_full |= frames && !strcmp(frames, "part");
	summary->python.hidden += objects && !strcmp(objects, "small");
	if (frames && !strcmp(frames, "no") && !summary->python.unknown++ && version)
		summary->python.version = pool_text(&summary->pool, version, strlen(version));
}

static const char *keep_argument(struct summary *summary, const struct event *event,
				 const char *name)
{
	const char *text = event_argument(event, name);

	return text ? pool_text(&summary->pool, text, strlen(text)) : NULL;
}

static void note_code(struct summary *summary, const struct event *event)
{
	const char *named = event_argument(event, "named");

	if (event_argument(event, "problem")) {
		summary->code.file = keep_argument(summary, event, "file");
		summary->code.problem = keep_argument(summary, event, "problem");
	} else if (named && !strcmp(named, "0") && event_argument(event, "runtime")) {
		summary->code.unnamed++;
		summary->code.runtime = keep_argument(summary, event, "runtime");
	}
}

static void on_note(struct summary *summary, const struct event *event)
{
	static const struct {
		const char *name;
		void (*take)(struct summary *summary, const struct event *event);
	} notes[] = {
		{ NOTE_PROCESS, note_process },
		{ NOTE_THREAD_END, note_thread_end },
		{ NOTE_DROPPED, note_lost },
		{ NOTE_FUNCTIONS, allocators_note },
		{ NOTE_ALLOCATOR, allocators_function },
		{ NOTE_PYTHON, note_python },
		{ NOTE_CODE, note_code },
		{ NOTE_BYPASS, note_bypass },
		{ NOTE_OPEN, note_open },
		{ NOTE_ATTACHED, note_attached },
		{ NOTE_KEPT, note_kept },
		{ NOTE_END, note_end },
		{ NOTE_PAST, note_past },
		{ NOTE_SCAN, note_scan },
		{ NOTE_RESIDENT, note_resident },
		{ NOTE_RECORDING, note_recording },
		{ NOTE_NOT_FOLLOWED, note_left_out },
		{ NOTE_REFUSED, note_refused },
		{ NOTE_STALLED, note_stalled },
		{ NOTE_UNPROVEN, note_unproven },
		{ NOTE_SETTINGS, note_settings },
		{ NOTE_LABELS, note_labels },
	};
	const char *name = event->function->name;
	const struct event *opened = !strcmp(name, NOTE_FD) ? opened_before(summary, event) : NULL;

	if (opened)
		ledger_carry(summary->ledger, opened, event);
	else
		ledger_event(summary->ledger, event);
	descriptors_note(&summary->descriptors, event);
	coverage_note(&summary->coverage, event);
	note_start(&summary->fold->process, event);
	for (size_t i = 0; i < sizeof(notes) / sizeof(*notes); i++)
		if (!strcmp(name, notes[i].name))
			notes[i].take(summary, event);
}

/* ---- streams ---- */

/* Copies the facts of the process packet (PINF), or of the header of a text trace. */
static void on_process(struct summary *summary, const struct event *event)
{
	struct summary_process *process = &summary->fold->process;
	const struct trace_process *facts = event->process;

	process->name = copy(summary, facts->name ? facts->name : "");
	process->pid = facts->pid;
	process->parent_pid = facts->parent_pid;
	process->stream = facts->stream;
	process->parent_stream = facts->parent_stream;
	process->session[0] = facts->session[0];
	process->session[1] = facts->session[1];
	process->has_tails = facts->has_tails;
	process->start_ns = facts->start_ns;
	process->realtime_ns = facts->realtime_ns;
	summary->has_times |= facts->has_tails;
}

void summary_event(struct summary *summary, const struct event *event)
{
	switch (event->kind) {
	case EVENT_CALL:
		summary_count(summary, event);
		if (event->type == CALL_TYPE_ALLOC && event->resource->known == RESOURCE_PROCESS)
			summary_note_fork(summary, event);
		ledger_event(summary->ledger, event);
		/* most calls are about memory: they have nothing to do with descriptors */
		if (event->resource->known != RESOURCE_MEMORY) {
			enum descriptor_misuse misuse;
			struct descriptor *of;

			descriptors_event(&summary->descriptors, event, &misuse, &of);
			/* use() counts the failed calls */
			if (misuse == DESCRIPTOR_CLOSED_TWICE && !(event->flags & CALL_FAILED))
				summary->classes[ledger_class_of(summary->ledger, RESOURCE_FD)]
					.bad_closes++;
			if (misuse && summary->causes)
				misuses_add(&summary->causes->misuses, event, misuse, of);
		}
		locks_event(&summary->locks, event);
		if (!gil_event(&summary->gil, event))
			wakes_event(&summary->signals, event);
		wakes_event(&summary->calls, event);
		if (event->leave_ns > event->enter_ns || event->operation == OPERATION_END)
			coverage_event(&summary->coverage, event);
		lasting_event(&summary->lasting, event);
		if (event->type == CALL_TYPE_NONE)
			use(summary, event);
		return;
	case EVENT_NOTE:
		on_note(summary, event);
		return;
	case EVENT_STREAM:
		if (summary->fold->is_begun)
			summary_close_process(summary);
		summary->fold->is_begun = true;
		summary->coverage.is_partial = summary->selection && summary->selection->filters;
		return;
	case EVENT_PROCESS:
		on_process(summary, event);
		return;
	case EVENT_MAPPING:
		space_map(&summary->space, event->mapping);
		return;
	case EVENT_HEAP:
		/* occurs at exit, just before the library asks the kernel for the same number */
		summary->fold->process.counted =
			ledger_sum(summary->ledger, ledger_class_of(summary->ledger, RESOURCE_FD))
				->count +
			ledger_inherited(summary->ledger);
		return;
	case EVENT_TRACER:
	case EVENT_CONTEXT:
	case EVENT_RESOURCE:
	case EVENT_ATTACHMENT:
	case EVENT_COMMENT:
		return;
	}
}

/* ---- begin and end ---- */

struct summary *summary_begin(void)
{
	struct summary *summary = memory_zalloc(1, sizeof(*summary));

	space_init(&summary->space);
	tallies_init(&summary->tallies, &summary->space);
	locks_init(&summary->locks);
	gil_init(&summary->gil);
	map_init(&summary->gil_index);
	wakes_init(&summary->signals, RESOURCE_CONDITION);
	wakes_init(&summary->calls, RESOURCE_CALL);
	summary->calls.describe = describe_call;
	summary->calls.user = summary;
	descriptors_init(&summary->descriptors);
	coverage_init(&summary->coverage);
	lasting_init(&summary->lasting);
	summary->fold = memory_zalloc(1, sizeof(*summary->fold));
	summary->ledger = ledger_create(false);
	map_init(&summary->fold->threads);
	map_init(&summary->last_by_pid);
	waits_init(&summary->fold->waits);
	return summary;
}

void summary_watch(struct summary *summary)
{
	summary_list_sites(summary);
	causes_create(&summary->causes, summary->ledger, &summary->tallies);
}

void summary_open(struct summary *summary, const char *path)
{
	summary->fold->path = copy(summary, path ? path : "");
}

/*
 * Whether the trace is damaged. If the file could be read to its last byte and only the end of the
 * stream is missing, the trace is incomplete, not damaged: the collector is still writing it, or
 * was killed.
 */
static bool is_damaged(const struct trace_tally *tally)
{
	bool only_ends = tally->is_truncated && tally->damages == 1 && !tally->damaged_bytes;

	return (tally->damages || tally->is_truncated) && !only_ends;
}

void summary_close(struct summary *summary, const struct trace_tally *tally, uint64_t until_ns)
{
	struct summary_fold *fold = summary->fold;
	struct summary_process *process = &fold->process;

	/* zombies were counted at the end of the process, which is after until_ns */
	if (until_ns < process->ended_ns)
		process->has_no_zombie = process->has_zombie = false;
	if (tally && tally->skipped) {
		process->events += tally->skipped;
		/*
		 * the calls are wanted if the number of events differs from the number at the end
		 * of the stream, or if facts are missing that only calls have: which thread created
		 * which, which program the process executed, and which earlier blocks it freed
		 */
		if (process->events != fold->told_events || tally->sections != 1 ||
		    fold->thread_count || tally->skipped_threads != 1 || tally->skipped_makers ||
		    process->end == SUMMARY_EXEC || process->is_attached)
			summary->wants_calls = true;
		fold->thread_count = 1;
		if (tally->skipped_last_ns > process->end_ns)
			process->end_ns = tally->skipped_last_ns;
	}
	if (tally && is_damaged(tally)) {
		process->is_damaged = true;
		process->damages = tally->damages;
		process->damage = copy(summary, tally->damages ? tally->damage_text
							       : "ends in the middle of a packet");
	}
	if (fold->is_begun)
		summary_close_process(summary);
}

void summary_end(struct summary *summary)
{
	if (summary->fold->is_begun)
		summary_close_process(summary);
	summary_close_run(summary);
}

void summary_free(struct summary *summary)
{
	if (!summary)
		return;
	map_clear(&summary->fold->threads);
	sites_free(&summary->fold->sites);
	waits_free(&summary->fold->waits);
	free(summary->fold->open.items);
	free(summary->fold);
	causes_destroy(summary->causes);
	ledger_destroy(summary->ledger);
	tallies_free(&summary->tallies);
	locks_free(&summary->locks);
	gil_free(&summary->gil);
	map_clear(&summary->gil_index);
	free(summary->gil_waits.items);
	wakes_free(&summary->signals);
	wakes_free(&summary->calls);
	descriptors_clear(&summary->descriptors);
	coverage_clear(&summary->coverage);
	touched_free(&summary->touched);
	lasting_free(&summary->lasting);
	free(summary->processes.items);
	free(summary->sites.items);
	free(summary->blocked.items);
	free(summary->losses.items);
	free(summary->inner.places.items);
	free(summary->polls.items);
	free(summary->bypasses.items);
	free(summary->left_out.items);
	free(summary->spawned.items);
	free(summary->forked.items);
	free(summary->children.items);
	map_clear(&summary->last_by_pid);
	for (size_t i = 0; i < summary->passed.count; i++) {
		free(summary->passed.items[i]->arguments);
		free(summary->passed.items[i]);
	}
	free(summary->passed.items);
	free(summary->refused.items);
	space_free(&summary->space);
	pool_free(&summary->pool);
	free(summary);
}

const struct summary_process *summary_current(const struct summary *summary)
{
	return &summary->fold->process;
}

const struct summary_process *summary_process_at(const struct summary *summary, uint32_t number)
{
	for (size_t i = 0; i < summary->processes.count; i++)
		if (summary->processes.items[i].number == number)
			return &summary->processes.items[i];
	return NULL;
}

const struct summary_class *summary_class_of(const struct summary *summary, enum resource known)
{
	for (uint32_t i = 0; i < summary->class_count; i++)
		if (summary->classes[i].known == known)
			return &summary->classes[i];
	return NULL;
}

void summary_add_child(struct summary_children *children, uint32_t *first, uint32_t parent,
		       uint32_t pid)
{
	uint32_t index = ARRAY_NUMBER(children);

	children->items[index] = (struct summary_child){ pid, parent, *first };
	*first = index;
}

void summary_join_children(struct summary_children *children, uint32_t *first, uint32_t second)
{
	uint32_t last = second;

	while (last && children->items[last].next)
		last = children->items[last].next;
	if (!last)
		return;
	children->items[last].next = *first;
	*first = second;
}

/*
 * Returns the time at which a process ended, preferably the time that the process itself reported:
 * a busy collector may notice the ends of several processes at the same time.
 */
static uint64_t end_of(const struct summary_process *process)
{
	return process->ended_ns ? process->ended_ns : process->end_ns;
}

uint64_t summary_orphans(const struct summary *summary, const struct summary_children *children,
			 uint32_t first)
{
	const struct summary_process *processes = summary->processes.items;
	uint64_t orphans = 0;

	for (uint32_t i = first; i; i = children->items[i].next) {
		const struct summary_process *parent =
			summary_process_at(summary, children->items[i].parent);
		uint32_t last = map_get(&summary->last_by_pid, 0, children->items[i].pid);

		orphans += parent && (parent->has_no_zombie ||
				      (last && processes[last - 1].start_ns > parent->start_ns &&
				       (!processes[last - 1].has_end ||
					end_of(&processes[last - 1]) > end_of(parent))));
	}
	return orphans;
}

const char *summary_say_samples(const struct summary *summary, char *text)
{
	const struct summary_class *memory = NULL;
	int used;

	*text = '\0';
	if (!summary->sample)
		return text;
	for (uint32_t i = 0; i < summary->class_count; i++)
		if (summary->classes[i].is_estimate && summary->classes[i].acquired)
			memory = &summary->classes[i];
	used = snprintf(text, SUMMARY_SAMPLES_MAX,
			"memory was sampled, one sample in %" PRIu64
			" bytes, so its numbers are estimates",
			summary->sample);
	if (memory)
		snprintf(text + used, SUMMARY_SAMPLES_MAX - (size_t)used,
			 "; with a confidence of 95 %%: live at exit %" PRIu64 " +- %" PRIu64
			 " bytes, peak of one process %" PRIu64 " +- %" PRIu64 " bytes",
			 memory->held_bytes, estimate_error(memory->held_variance),
			 memory->peak.amount, estimate_error(memory->peak.variance));
	return text;
}
