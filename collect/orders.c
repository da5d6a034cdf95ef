/* SPDX-License-Identifier: MIT */
#include "collect/collect_parts.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* PSS makes the kernel walk all of the process's pages: not more often than this. */
#define SAMPLE_PSS_MS 100

/* time: where in the stream it stands; when it was taken is among its values. */
static void say_sample(struct collector *collector, struct member *member, uint64_t time)
{
	struct sample *sample = collector->sample;
	int64_t interval = collector->settings.sample_system;

	if (!sample || !member->watch.our_pid)
		return;
	sample_process(sample, member->watch.our_pid, interval >= SAMPLE_PSS_MS);
	stream_note(member->stream, &(struct encode_note){ .name = "~sample",
							   .values = sample->values,
							   .count = sample->count,
							   .time = time });
}

void collect_sample_begin(struct collector *collector, struct member *member, uint64_t time)
{
	if (collector->sample)
		sample_machine(collector->sample, ticks_clock_ns());
	say_sample(collector, member, time);
}

void collect_sample(struct collector *collector, uint64_t now_ns)
{
	uint64_t interval = (uint64_t)collector->settings.sample_system * MS;

	if (!collector->sample || now_ns - collector->sampled_ns < interval)
		return;
	collector->sampled_ns = now_ns;
	sample_machine(collector->sample, now_ns);
	for (uint32_t i = 0; i < collector->count; i++) {
		struct member *member = collector->active[i];

		if (member->phase == PHASE_ALIVE)
			say_sample(collector, member, merge_limit(collector->merge, member->index));
	}
}

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

void collect_note_pause(struct collector *collector)
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

void collect_obey(struct collector *collector)
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
