/* SPDX-License-Identifier: MIT */
#include "keep/state.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "account/ledger.h"
#include "base/array.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/order.h"
#include "formats/writers.h"
#include "hook_table.h"
#include "notes.h"
#include "trace/trace.h"

#define PART_SIZE (256u << 10)

/*
 * The notes of pauses (~recording) explain why an object seems to be live forever: its release was
 * in a pause. A program may be paused and resumed every second for days, so only the first
 * RECORDING_MOST of these notes and the last one are kept. RECORDING_MOST is even, since every
 * second note ends a pause.
 */
#define RECORDING_MOST 100

/*
 * The kinds of keys in state.last. The first five are for the last note or call about a thread
 * (OF_THREAD, OF_NAME), a descriptor (OF_FD, OF_ADDRESS) or the process (OF_RECORDING). Their
 * values are numbers of notes or calls. The other kinds are for descriptors; their values are
 * indexes of events.
 */
enum {
	OF_THREAD = 1,
	OF_FD,
	OF_NAME,
	OF_RECORDING,
	OF_ADDRESS,
	/* key: a descriptor; value: the last event that opened it */
	OF_GAIN,
	/* key: the event that made a copy; value: the event that opened the original */
	OF_ORIGINAL,
	/* key: the event that opened an original; value: the event that closed it; 1: none yet */
	OF_LOSS,
	/* key: an event that is kept because it opened or closed an original */
	OF_STAY,
};

/* A call that acquired a live object. A partly unmapped mapping has one entry per range left. */
struct acquisition {
	uint64_t index, object, size;
	uint32_t count;
};

struct state {
	int from;
	const struct piece *pieces;
	size_t piece_count;
	uint64_t since_ns;
	struct ledger *ledger;
	struct map last;
	/* number of notes so far; number of ~recording notes among them */
	uint32_t notes, recordings;
	uint64_t calls, all; /* number of calls so far; number of calls in all pieces */
	uint64_t before;     /* number of calls that earlier shortenings left out */
	uint64_t stay;	     /* number of calls that are kept */
	/* numbers of the last and the second-to-last completed scan; 0: none */
	uint64_t scanned, scanned_before;
	/* acquisitions of live objects, sorted by index */
	ARRAY_OF(struct acquisition) gains;
	size_t next; /* index of the next acquisition to write */
	void *writer;
	/* whether the note about the calls that are left out was written */
	bool has_told;
};

typedef int on_event(struct state *state, const struct event *event, struct error *err);

/* ---- the pieces as a stream ---- */

struct pump {
	const struct state *state;
	int output;
};

static bool pump_piece(int from, const struct piece *piece, int output, uint8_t *bytes)
{
	for (uint32_t done = 0; done < piece->size;) {
		size_t part = piece->size - done < PART_SIZE ? piece->size - done : PART_SIZE;
		ssize_t got = pread(from, bytes, part, (off_t)(piece->offset + done));

		if (got <= 0)
			return false;
		done += (uint32_t)got;
		for (ssize_t sent = 0; sent < got;) {
			ssize_t wrote = write(output, bytes + sent, (size_t)(got - sent));

			if (wrote < 0 && errno == EINTR)
				continue;
			if (wrote <= 0)
				return false;
			sent += wrote;
		}
	}
	return true;
}

static void *pump(void *context)
{
	const struct pump *pump = context;
	const struct state *state = pump->state;
	uint8_t *bytes = memory_alloc(PART_SIZE);

	for (size_t i = 0; i < state->piece_count; i++)
		if (!pump_piece(state->from, &state->pieces[i], pump->output, bytes))
			break;
	free(bytes);
	close(pump->output);
	return NULL;
}

static int read_all(struct state *state, int input, on_event *function, struct error *err)
{
	const struct trace_options options = { .wants_repeats = true };
	const struct event *event;
	struct trace *trace;
	int rc = trace_open_fd(&trace, input, &options, err);

	if (rc)
		return rc;
	while ((rc = trace_next(trace, &event, err)) > 0) {
		rc = function(state, event, err);
		if (rc)
			break;
	}
	if (rc == 0 && trace_is_damaged(trace))
		rc = error_set(err, EBADMSG, "a section is damaged: %s",
			       trace_tally(trace)->damage_text);
	trace_close(trace);
	return rc;
}

/*
 * Passes all events of the pieces to a function. A thread writes the pieces to a pipe, and this
 * function reads the pipe as a stream.
 */
static int replay(struct state *state, on_event *function, struct error *err)
{
	struct pump context = { .state = state };
	pthread_t thread;
	int ends[2], rc;

	if (pipe(ends))
		return error_system(err, errno, "cannot create a pipe");
	context.output = ends[1];
	rc = pthread_create(&thread, NULL, pump, &context);
	if (rc) {
		close(ends[0]);
		close(ends[1]);
		return error_system(err, rc, "cannot start a thread");
	}
	rc = read_all(state, ends[0], function, err);
	close(ends[0]);
	pthread_join(thread, NULL);
	return rc;
}

/* ---- first pass: find the calls and notes to keep ---- */

static void forget_last(struct state *state, uint32_t kind, uint64_t key)
{
	struct map_entry *entry = map_find(&state->last, kind, key);

	if (entry)
		map_remove(&state->last, entry);
}

static uint64_t number_of(const struct event *event, const char *name)
{
	const char *text = event_argument(event, name);

	return text ? strtoull(text, NULL, 0) : 0;
}

/* Whether the call sets the name of a thread (the calling thread or another thread). */
static bool names_thread(const struct event *event)
{
	const char *name = event->function->name;

	return *name == 'p' && (!strcmp(name, "pthread_setname_np") ||
				(!strcmp(name, "prctl") && event_argument(event, "name")));
}

static uint64_t named(const struct event *event)
{
	return event->object ? event->object : event->pthread;
}

/* Whether the call shows the address of a socket: bind() or connect(). */
static bool names_socket(const struct event *event)
{
	const struct hook *hook = event->function->hook;
	const char *address = event_argument(event, "address");

	return hook && hook->resource == RESOURCE_FD && hook->operation == OPERATION_USE &&
	       address && *address && !(event->flags & CALL_OF_CHILD) &&
	       (!(event->flags & CALL_FAILED) || event->error == EINPROGRESS);
}

/* Whether the call opens or closes a descriptor of the process. */
static bool is_of_descriptor(const struct event *event)
{
	return event->resource->known == RESOURCE_FD && event->type != CALL_TYPE_NONE &&
	       !(event->flags & (CALL_FAILED | CALL_OF_CHILD));
}

/*
 * Remembers which descriptors are copies (dup). Only the call that opened the original descriptor
 * shows to which file or socket a copy refers, and the original may have been closed since then.
 */
static void learn_descriptor(struct state *state, const struct event *event)
{
	uint32_t index = (uint32_t)event->index;
	uint32_t acquisition = map_get(&state->last, OF_GAIN, event->object), original = 0;

	forget_last(state, OF_FD, event->object);
	if (map_find(&state->last, OF_ADDRESS, event->object)) {
		state->stay--;
		forget_last(state, OF_ADDRESS, event->object);
	}
	if (event->type == CALL_TYPE_FREE) {
		if (acquisition && map_find(&state->last, OF_LOSS, acquisition))
			map_set(&state->last, OF_LOSS, acquisition, index);
		return;
	}
	if (event_argument(event, "oldfd"))
		original = map_get(&state->last, OF_GAIN, number_of(event, "oldfd"));
	if (original)
		map_set(&state->last, OF_ORIGINAL, index, original);
	if (original && !map_find(&state->last, OF_LOSS, original))
		map_set(&state->last, OF_LOSS, original, 1);
	map_set(&state->last, OF_GAIN, event->object, index);
}

/* Remembers a call. Of calls of the same kind for the same object, only the last is kept. */
static void learn_last(struct state *state, uint32_t kind, uint64_t key)
{
	state->stay += !map_find(&state->last, kind, key);
	map_set(&state->last, kind, key, (uint32_t)state->calls);
}

static void learn_note(struct state *state, const struct event *event)
{
	const char *name = event->function->name, *said = event_argument(event, "state");
	uint64_t number = number_of(event, "number");

	state->notes++;
	if (!strcmp(name, NOTE_THREAD))
		map_set(&state->last, OF_THREAD, event->thread, state->notes);
	if (!strcmp(name, NOTE_FD))
		map_set(&state->last, OF_FD, number_of(event, "fd"), state->notes);
	if (!strcmp(name, NOTE_RECORDING))
		map_set(&state->last, OF_RECORDING, 0, state->notes);
	if (!strcmp(name, NOTE_THREAD_END))
		forget_last(state, OF_THREAD, event->thread);
	if (!strcmp(name, NOTE_SCAN) && said && !strcmp(said, "done") && number > state->scanned) {
		state->scanned_before = state->scanned;
		state->scanned = number;
	}
	if (!strcmp(name, NOTE_KEPT))
		state->before = number_of(event, "calls");
}

static int learn(struct state *state, const struct event *event, struct error *err)
{
	(void)err;
	if (event->kind == EVENT_NOTE)
		learn_note(state, event);
	if (event->kind == EVENT_CALL) {
		state->calls++;
		if (is_of_descriptor(event))
			learn_descriptor(state, event);
		else if (names_socket(event))
			learn_last(state, OF_ADDRESS, event->object);
		else if (names_thread(event))
			learn_last(state, OF_NAME, named(event));
	}
	if (event_is_call(event))
		ledger_event(state->ledger, event);
	return 0;
}

/*
 * Keeps the calls that opened and closed the original of a live descriptor. If the original is
 * itself a copy, does the same for the original of that copy.
 */
static void keep_originals(struct state *state, uint64_t index)
{
	for (;;) {
		uint32_t original = map_get(&state->last, OF_ORIGINAL, index);
		uint32_t loss = original ? map_get(&state->last, OF_LOSS, original) : 0;

		/* an original that is still open is a live object, and its calls are kept anyway */
		if (loss <= 1 || map_find(&state->last, OF_STAY, original))
			return;
		map_set(&state->last, OF_STAY, original, 1);
		map_set(&state->last, OF_STAY, loss, 1);
		state->stay += 2;
		index = original;
	}
}

ORDER_FUNCTION(by_index, struct acquisition, ORDER(a->index, b->index))

/* ---- the section ---- */

/* After the first note, `event`, writes how many calls are left out, with its time and class. */
static int tell_left_out(struct state *state, const struct event *event, struct error *err)
{
	const struct function function = { .name = NOTE_KEPT, .length = strlen(NOTE_KEPT) };
	char since[40], calls[24];
	struct wire_value values[] = { { "since", since }, { "calls", calls } };
	struct event note = *event;

	state->has_told = true;
	snprintf(since, sizeof(since), "%" PRIu64 ".%09" PRIu64, state->since_ns / 1000000000,
		 state->since_ns % 1000000000);
	snprintf(calls, sizeof(calls), "%" PRIu64, state->before + state->all - state->stay);
	note.function = &function;
	note.arguments = values;
	note.argument_count = 2;
	note.backtrace = NULL;
	note.thread = 0;
	note.pthread = 0;
	return write_htr_event(state->writer, &note, err);
}

/* Whether the note describes a state that still exists, and no later note replaces the note. */
static bool is_lasting(const struct state *state, const struct event *event)
{
	static const char *const lasting[] = { NOTE_PROCESS,  NOTE_ATTACHED, NOTE_SETTINGS,
					       NOTE_BYPASS,   NOTE_UNWIND,   NOTE_NOT_FOLLOWED,
					       NOTE_UNMAP,    NOTE_DROPPED,  NOTE_MAPPED,
					       NOTE_UNPROVEN, NOTE_REFUSED,  NOTE_STALLED,
					       NOTE_PAST,     NOTE_LABELS };
	static const char *const of_scan[] = { NOTE_SCAN,   NOTE_ROOT,	   NOTE_BLOCK,
					       NOTE_HANDLE, NOTE_RESIDENT, NOTE_PAGES };
	const char *name = event->function->name;

	if (!strcmp(name, NOTE_THREAD))
		return map_get(&state->last, OF_THREAD, event->thread) == state->notes;
	if (!strcmp(name, NOTE_FD))
		return map_get(&state->last, OF_FD, number_of(event, "fd")) == state->notes;
	if (!strcmp(name, NOTE_RECORDING))
		return state->recordings <= RECORDING_MOST ||
		       map_get(&state->last, OF_RECORDING, 0) == state->notes;
	/* keep the notes of the last two completed scans to compare, and of a scan in progress */
	for (size_t i = 0; i < sizeof(of_scan) / sizeof(*of_scan); i++)
		if (!strcmp(name, of_scan[i]))
			return number_of(event, "number") >= state->scanned_before;
	for (size_t i = 0; i < sizeof(lasting) / sizeof(*lasting); i++)
		if (!strcmp(name, lasting[i]))
			return true;
	return false;
}

static bool is_last(const struct state *state, uint32_t kind, uint64_t key)
{
	return map_get(&state->last, kind, key) == (uint32_t)state->calls;
}

static int keep_call(struct state *state, const struct event *event, struct error *err)
{
	int rc = 0;

	state->calls++;
	if ((names_thread(event) && is_last(state, OF_NAME, named(event))) ||
	    (names_socket(event) && is_last(state, OF_ADDRESS, event->object)) ||
	    (is_of_descriptor(event) && map_find(&state->last, OF_STAY, event->index)))
		return write_htr_event(state->writer, event, err);
	for (; rc == 0 && state->next < state->gains.count &&
	       state->gains.items[state->next].index == event->index;
	     state->next++) {
		const struct acquisition *acquisition = &state->gains.items[state->next];
		struct event copy = *event;

		copy.object = acquisition->object;
		copy.size = acquisition->size;
		for (uint32_t i = 0; rc == 0 && i < acquisition->count; i++)
			rc = write_htr_event(state->writer, &copy, err);
	}
	return rc;
}

static int keep(struct state *state, const struct event *event, struct error *err)
{
	int rc = 0;

	switch (event->kind) {
	case EVENT_CALL:
		return keep_call(state, event, err);
	case EVENT_NOTE:
		state->notes++;
		state->recordings += !strcmp(event->function->name, NOTE_RECORDING);
		if (is_lasting(state, event))
			rc = write_htr_event(state->writer, event, err);
		return rc || state->has_told ? rc : tell_left_out(state, event, err);
	case EVENT_STREAM:
	case EVENT_PROCESS:
	case EVENT_TRACER:
	case EVENT_MAPPING:
	case EVENT_CONTEXT:
	case EVENT_RESOURCE:
	case EVENT_ATTACHMENT:
		return write_htr_event(state->writer, event, err);
	case EVENT_HEAP:
	case EVENT_COMMENT:
		break;
	}
	return 0;
}

static int write_section(struct state *state, int to, struct error *err)
{
	const struct writer_views views = { 0 };
	struct out out;
	struct writer_options options = { .out = &out, .views = &views, .depth = -1 };
	int rc, closed;

	out_open(&out, to);
	rc = write_htr_begin(&state->writer, NULL, &options, err);
	if (rc == 0) {
		state->all = state->calls;
		state->notes = 0;
		state->calls = 0;
		rc = replay(state, keep, err);
		if (rc == 0)
			rc = write_htr_end(state->writer, err);
		write_htr_destroy(state->writer);
	}
	closed = out_close(&out);
	return rc == 0 && closed ? error_system(err, -closed, "cannot write a section") : rc;
}

int state_make(int from, const struct piece *pieces, size_t count, uint64_t since_ns, int to,
	       struct error *err)
{
	struct state state = {
		.from = from, .pieces = pieces, .piece_count = count, .since_ns = since_ns
	};
	struct ledger_held held;
	int rc;

	state.ledger = ledger_create(false);
	map_init(&state.last);
	rc = replay(&state, learn, err);
	if (rc == 0) {
		for (size_t at = 0; ledger_held(state.ledger, &at, &held);) {
			*ARRAY_ADD(&state.gains) =
				(struct acquisition){ .index = held.item->index,
						      .object = held.object,
						      .size = held.size,
						      .count = held.item->count };
			state.stay += held.item->count;
			keep_originals(&state, held.item->index);
		}
		ARRAY_SORT(&state.gains, by_index);
		rc = write_section(&state, to, err);
	}
	map_clear(&state.last);
	ledger_destroy(state.ledger);
	free(state.gains.items);
	return rc;
}
