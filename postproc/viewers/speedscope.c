/* SPDX-License-Identifier: MIT */
/*
 * Writes speedscope's own format (file-format-schema.json of its npm package): a profile for each
 * cost of each class, and a profile for each kind of wait. The list of frames follows the profiles
 * that refer to it, which is valid because the order of JSON members does not matter.
 */
#include <stdio.h>

#include "base/json.h"
#include "profile.h"
#include "viewers.h"

#define SCHEMA "https://www.speedscope.app/file-format-schema.json"

/* The costs of a class. Each cost is written as a separate profile. */
enum view { VIEW_HELD, VIEW_PEAK, VIEW_GAINED, VIEW_GAINS, VIEW_COUNT };

struct speedscope {
	struct profile *profile;
	struct json json;
	/* count: number of profiles; shown: index of the profile that is shown first */
	unsigned count, shown;
};

static uint64_t weight_of(const struct costs_place *place, enum view view)
{
	switch (view) {
	case VIEW_HELD:
		return costs_weight(place, place->held);
	case VIEW_PEAK:
		return costs_weight(place, place->peak);
	case VIEW_GAINED:
		return place->class->has_bytes ? place->acquired.bytes : 0;
	case VIEW_GAINS:
	case VIEW_COUNT:
		break;
	}
	return place->acquired.count;
}

static void put_stack(struct speedscope *file, const struct trace_node *backtrace,
		      const char *called)
{
	struct stacks *stacks = &file->profile->stacks;
	size_t count = stacks_of(stacks, backtrace, called);

	json_begin(&file->json, '[');
	for (size_t i = count; i; i--)
		json_unsigned(&file->json, stacks->stack[i - 1]->number - 1);
	json_end(&file->json);
}

static void begin_profile(struct speedscope *file, const char *name, const char *what,
			  const char *unit)
{
	char title[256];

	snprintf(title, sizeof(title), "%.200s %s", name, what);
	file->count++;
	json_begin(&file->json, '{');
	json_add_text(&file->json, "type", "sampled");
	json_add_text(&file->json, "name", title);
	json_add_text(&file->json, "unit", unit);
	json_add_unsigned(&file->json, "startValue", 0);
}

static void end_profile(struct speedscope *file, uint64_t sum)
{
	json_add_unsigned(&file->json, "endValue", sum);
	json_end(&file->json);
}

/*
 * Writes the weights of the samples. Returns the sum of the weights, which the format requires at
 * the end of the profile.
 */
static uint64_t put_weights(struct speedscope *file, uint32_t class, enum view view)
{
	struct costs_place place;
	uint64_t sum = 0;
	uint32_t at = 0;

	json_open(&file->json, "weights", '[');
	while (costs_next(&file->profile->costs, &at, &place)) {
		uint64_t weight = place.place->class == class ? weight_of(&place, view) : 0;

		if (weight)
			json_unsigned(&file->json, weight);
		sum += weight;
	}
	json_end(&file->json);
	return sum;
}

static void put_class(struct speedscope *file, uint32_t class, enum view view)
{
	static const char *const what[VIEW_COUNT] = {
		[VIEW_HELD] = "live at exit",
		[VIEW_PEAK] = "live at the peak",
		[VIEW_GAINED] = "acquired",
		[VIEW_GAINS] = "acquired: number of calls",
	};
	const struct ledger_class *facts = ledger_class(file->profile->run->ledger, class);
	struct costs_place place;
	uint64_t weight = 0;
	char title[64];
	uint32_t at = 0;

	while (!weight && costs_next(&file->profile->costs, &at, &place))
		weight = place.place->class == class ? weight_of(&place, view) : 0;
	if (!weight)
		return;
	if (facts->known == RESOURCE_MEMORY && view == VIEW_HELD)
		file->shown = file->count;
	snprintf(title, sizeof(title), "%s%s", what[view],
		 facts->known == RESOURCE_MEMORY && file->profile->run->summary->sample
			 ? " (estimate)"
			 : "");
	begin_profile(file, facts->type, title,
		      facts->has_bytes && view != VIEW_GAINS ? "bytes" : "none");
	json_open(&file->json, "samples", '[');
	for (at = 0; costs_next(&file->profile->costs, &at, &place);)
		if (place.place->class == class && weight_of(&place, view))
			put_stack(file, place.place->backtrace, place.place->function);
	json_end(&file->json);
	end_profile(file, put_weights(file, class, view));
}

static void put_waits(struct speedscope *file, enum lane_kind kind)
{
	const struct wait_sums *waits = &file->profile->waits;
	uint64_t sum = 0;
	bool has_some = false;

	for (size_t i = 0; i < waits->list.count; i++)
		has_some |= waits->list.items[i]->kind == kind;
	if (!has_some)
		return;
	begin_profile(file, "waited:", lane_word(kind), "nanoseconds");
	json_open(&file->json, "samples", '[');
	for (size_t i = 0; i < waits->list.count; i++)
		if (waits->list.items[i]->kind == kind)
			put_stack(file, waits->list.items[i]->waiter,
				  waits->list.items[i]->function);
	json_end(&file->json);
	json_open(&file->json, "weights", '[');
	for (size_t i = 0; i < waits->list.count; i++) {
		if (waits->list.items[i]->kind != kind)
			continue;
		json_unsigned(&file->json, waits->list.items[i]->ns);
		sum += waits->list.items[i]->ns;
	}
	json_end(&file->json);
	end_profile(file, sum);
}

static int speedscope_print(void *state, struct out *out, struct error *err)
{
	struct speedscope file = { .profile = state };
	const struct stacks *stacks = &file.profile->stacks;
	char samples[SUMMARY_SAMPLES_MAX], name[2 * SUMMARY_SAMPLES_MAX];
	struct json *json = &file.json;

	(void)err;
	json_start(json, out, false);
	profile_expect(state);
	json_begin(json, '{');
	json_add_text(json, "$schema", SCHEMA);
	/* the viewer shows only this name, so append the note on sampling to it */
	summary_say_samples(file.profile->run->summary, samples);
	snprintf(name, sizeof(name), "%.250s%s%s",
		 viewer_command(summary_process_at(file.profile->run->summary, 0)),
		 *samples ? ": " : "", samples);
	json_add_text(json, "name", name);
	json_add_text(json, "exporter", "holdtrace " PACKAGE_VERSION);
	const struct ledger *ledger = file.profile->run->ledger;
	json_open(&file.json, "profiles", '[');
	for (uint32_t class = 0; class < ledger_class_count(ledger); class ++)
		for (unsigned view = 0; view < VIEW_COUNT; view++)
			put_class(&file, class, (enum view)view);
	for (unsigned kind = 0; kind < LANE_KINDS; kind++)
		put_waits(&file, (enum lane_kind)kind);
	json_end(&file.json);
	json_add_unsigned(json, "activeProfileIndex", file.shown);
	json_open(json, "shared", '{');
	json_open(json, "frames", '[');
	for (size_t i = 0; i < stacks->frame_list.count; i++) {
		const struct stacks_frame *frame = stacks->frame_list.items[i];

		json_begin(json, '{');
		json_add_text(json, "name", frame->function->name);
		if (*frame->function->file)
			json_add_text(json, "file", frame->function->file);
		if (frame->line)
			json_add_unsigned(json, "line", frame->line);
		json_end(json);
	}
	json_end(json);
	json_end(json);
	json_end(json);
	json_finish(json);
	return 0;
}

VIEWER_OF_PROFILE(speedscope);
