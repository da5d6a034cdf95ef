/* SPDX-License-Identifier: MIT */
#include "collect/collect_parts.h"
#include "notes.h"

#include "base/cleanup.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define CATCH_UP_NS	 (300 * MS)
#define CATCH_UP_STEP_NS 100000

/* Writes a note to all streams, after the events that have been handed out so far. */
static void say_everywhere(struct collector *collector, const char *name, const char *value_name,
			   const char *value)
{
	const struct wire_value pair = { value_name, value };

	for (uint32_t i = 0; i < collector->count; i++) {
		struct member *member = collector->active[i];
		struct encode_note note = { .name = name, .values = &pair, .count = 1 };

		if (member->phase == PHASE_CLOSING)
			continue;
		note.time = collect_note_time(collector, member);
		stream_note(member->stream, &note);
	}
}

static void say_recording(struct collector *collector, bool on)
{
	say_everywhere(collector, NOTE_RECORDING, "state", on ? "on" : "off");
}

/*
 * Pauses or resumes the run. Pauses before it writes the note "off", and resumes after it has
 * written the note "on", so that no event is between the two notes.
 */
static void pause_run(struct collector *collector, bool paused)
{
	struct control_page *control = collector->shared.control;

	if ((collector->paused & 1) == paused)
		return;
	if (!paused)
		say_recording(collector, true);
	__atomic_store_n(&control->paused, ++collector->paused, __ATOMIC_SEQ_CST);
	shared_futex_wake(&control->paused);
	if (paused)
		merge_round(collector->merge);
	if (paused)
		say_recording(collector, false);
}

void collect_toggle(struct collector *collector)
{
	uint32_t count = 0;

	if (!collector->settings.toggle_signal)
		return;
	for (uint32_t i = 0; i < collector->count; i++) {
		struct member *member = collector->active[i];
		uint32_t toggles;

		/* a toggle pauses the whole run, so other users' programs cannot toggle */
		if (member->phase == PHASE_CLOSING || member->doubt ||
		    !listener_is_owner(collector->listener, member->user->uid))
			continue;
		toggles = __atomic_load_n(&member->chunks[0]->head->toggles, __ATOMIC_ACQUIRE);
		count += toggles - member->toggles;
		member->toggles = toggles;
	}
	/* an even number of toggles is a change and its reversal, an odd number is a change */
	if (count > 2)
		count = 2 - count % 2;
	while (count--)
		pause_run(collector, !(collector->paused & 1));
}

/* space for the last line, which has the number of paths that did not fit */
#define LEFT_OUT_MAX 16u

/* An answer that is a list of paths. Each path is followed by a newline. */
struct answer {
	char text[CONTROL_ANSWER_MAX];
	size_t used;
	unsigned left_out;
};

/* Adds the current path of a stream's file. */
static void add_path(struct answer *answer, const struct sink *sink)
{
	char link[32], path[PATH_MAX];
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", sink->fd);
	length = readlink(link, path, sizeof(path));
	if (!sink->regular || length <= 0)
		return;
	if (answer->left_out ||
	    answer->used + (size_t)length + 2 > sizeof(answer->text) - LEFT_OUT_MAX) {
		answer->left_out++;
		return;
	}
	memcpy(answer->text + answer->used, path, (size_t)length);
	memcpy(answer->text + answer->used + length, "\n", 2);
	answer->used += (size_t)length + 1;
}

/* Whether all events that were published before this time were handed out. */
static bool has_caught_up(const struct collector *collector, uint64_t time)
{
	for (uint32_t i = 0; i < collector->count; i++) {
		const struct member *member = collector->active[i];

		if (member->phase == PHASE_ALIVE &&
		    merge_limit(collector->merge, member->process) < time)
			return false;
	}
	return true;
}

/* Writes all streams, and answers with the paths of the files. */
static void tell_files(struct collector *collector, struct guest *guest)
{
	cleanup_free struct answer *answer = calloc(1, sizeof(*answer));
	/*
	 * Waits until all events up to now were handed out. A user who requests a snapshot expects
	 * it to contain what the program did before the request. Waits at most CATCH_UP_NS: a
	 * thread may have been stopped in the middle of a call.
	 */
	const struct timespec step = { .tv_nsec = CATCH_UP_STEP_NS };
	uint64_t asked = ticks_now(collector->shared.control->clock);
	uint64_t until_ns = ticks_clock_ns() + CATCH_UP_NS;

	if (!answer)
		return;
	merge_round(collector->merge);
	while (!has_caught_up(collector, asked) && ticks_clock_ns() < until_ns) {
		nanosleep(&step, NULL);
		merge_round(collector->merge);
	}
	if (collector->bundle)
		add_path(answer, bundle_sink(collector->bundle));
	/* first the path of the process in the request, then those of the other processes */
	for (int named = 1; named >= 0; named--)
		for (uint32_t i = 0; i < collector->count; i++) {
			struct member *member = collector->active[i];

			if (member->phase == PHASE_CLOSING ||
			    named !=
				    (member->watch.our_pid == guest->request.pid && !member->doubt))
				continue;
			collect_say_waiting(collector, member);
			collect_say_past(collector, member);
			collect_schedule_say(collector, member);
			stream_sync(member->stream);
			if (!collector->bundle)
				add_path(answer, &member->stream->sink);
		}
	if (answer->left_out)
		snprintf(answer->text + answer->used, LEFT_OUT_MAX, "+%u\n", answer->left_out);
	listener_answer(guest, answer->text);
}

/*
 * Answers with the pid and the pidfd of a stream's process, if the kernel has confirmed the
 * identity of the process. The answer is empty if the process has ended.
 */
static void tell_process(const struct collector *collector, struct guest *guest)
{
	uint32_t number = (uint32_t)strtoul(guest->request.text, NULL, 10);
	const struct member *member = NULL;
	char text[128] = "";

	for (uint32_t i = 0; !member && i < collector->count; i++)
		if (collector->active[i]->number == number &&
		    collector->active[i]->phase == PHASE_ALIVE)
			member = collector->active[i];
	if (member && member->doubt) {
		snprintf(text, sizeof(text), "!%.120s", member->doubt);
	} else if (member && member->watch.pidfd >= 0 && !watch_has_died(&member->watch)) {
		snprintf(text, sizeof(text), "%d", (int)member->watch.our_pid);
		listener_answer_with(guest, text, member->watch.pidfd);
		return;
	}
	listener_answer(guest, text);
}

static void serve_request(struct collector *collector, struct guest *guest)
{
	struct control_request *request = &guest->request;

	request->text[sizeof(request->text) - 1] = '\0';
	switch ((enum control_command)request->command) {
	case CONTROL_START:
	case CONTROL_STOP:
		pause_run(collector, request->command == CONTROL_STOP);
		break;
	case CONTROL_MARK:
		say_everywhere(collector, NOTE_MARK, "text", request->text);
		break;
	case CONTROL_SNAPSHOT:
		tell_files(collector, guest);
		return;
	case CONTROL_PROCESS:
		tell_process(collector, guest);
		return;
	case CONTROL_SCAN:
	case CONTROL_NONE:
	case CONTROL_LEFT_OUT:
	case CONTROL_CONTROL:
		break;
	}
	listener_answer(guest, "");
}

void collect_obey(struct collector *collector)
{
	while (collector->requests) {
		struct guest *guest = collector->requests;

		collector->requests = guest->next;
		/* the guest gets its answer when the scan is done */
		if (guest->request.command == CONTROL_SCAN) {
			collect_scan_asked(collector, guest);
			continue;
		}
		serve_request(collector, guest);
		listener_dismiss(guest);
	}
}
