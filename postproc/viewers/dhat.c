/* SPDX-License-Identifier: MIT */
/*
 * Writes DHAT's JSON, version 2 (valgrind, dhat/dh_main.c). For each call site, the file has how
 * much memory was allocated, how much of it was live at the peak and at exit, and for how long it
 * was live. Times are in microseconds.
 */
#include <stdio.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "profile.h"
#include "viewers.h"

#define DHAT_VERSION 2

struct dhat {
	struct profile *profile;
	struct json json;
};

static void put_place(struct dhat *file, const struct costs_place *place)
{
	struct stacks *stacks = &file->profile->stacks;
	struct json *json = &file->json;
	size_t count = stacks_of(stacks, place->place->backtrace, place->place->function);

	json_begin(json, '{');
	json_add_unsigned(json, "tb", place->acquired.bytes);
	json_add_unsigned(json, "tbk", place->acquired.count);
	json_add_unsigned(json, "tl", place->held_ns / 1000);
	json_add_unsigned(json, "mb", place->most.bytes);
	json_add_unsigned(json, "mbk", place->most.count);
	json_add_unsigned(json, "gb", place->peak.bytes);
	json_add_unsigned(json, "gbk", place->peak.count);
	json_add_unsigned(json, "eb", place->held.bytes);
	json_add_unsigned(json, "ebk", place->held.count);
	json_open(json, "fs", '[');
	for (size_t i = 0; i < count; i++)
		json_unsigned(json, stacks->stack[i]->number);
	json_end(json);
	json_end(json);
}

static void put_head(struct dhat *file)
{
	const struct summary *run = file->profile->run->summary;
	const struct summary_process *first = summary_process_at(run, 0);
	struct json *json = &file->json;
	char samples[SUMMARY_SAMPLES_MAX], command[2 * SUMMARY_SAMPLES_MAX];
	struct peaks_amount most;
	uint64_t peak_ns = 0;

	for (uint32_t i = 0; i < ledger_class_count(file->profile->run->ledger); i++)
		if (ledger_class(file->profile->run->ledger, i)->known == RESOURCE_MEMORY)
			costs_peak(&file->profile->costs, i, &peak_ns, &most);
	json_add_unsigned(json, "dhatFileVersion", DHAT_VERSION);
	json_add_text(json, "mode", "heap");
	json_add_text(json, "verb", "Allocated");
	json_add_bool(json, "bklt", true);
	json_add_bool(json, "bkacc", false);
	json_add_text(json, "tu", "µs");
	json_add_text(json, "Mtu", "s");
	json_add_unsigned(json, "tuth", 10);
	/* the viewer shows only the command, so the note on sampling is appended to the command */
	summary_say_samples(run, samples);
	snprintf(command, sizeof(command), "%.250s%s%s%s", viewer_command(first),
		 *samples ? " [" : "", samples, *samples ? "]" : "");
	json_add_text(json, "cmd", command);
	json_add_unsigned(json, "pid", first ? first->pid : 0);
	json_add_unsigned(json, "tg", peak_ns / 1000);
	json_add_unsigned(json, "te",
			  run->end_ns > run->start_ns ? (run->end_ns - run->start_ns) / 1000 : 0);
}

static int dhat_print(void *state, struct out *out, struct error *err)
{
	struct dhat file = { .profile = state };
	struct costs_place place;
	uint32_t at = 0;

	(void)err;
	json_start(&file.json, out, false);
	profile_expect(state);
	json_begin(&file.json, '{');
	put_head(&file);
	json_open(&file.json, "pps", '[');
	while (costs_next(&file.profile->costs, &at, &place))
		if (place.class->known == RESOURCE_MEMORY && place.acquired.count)
			put_place(&file, &place);
	json_end(&file.json);
	/* write all frames as "0x1149: read_config (demo.c:12)"; frame 0 is the root */
	json_open(&file.json, "ftbl", '[');
	json_text(&file.json, "[root]");
	for (size_t i = 0; i < file.profile->stacks.frame_list.count; i++) {
		cleanup_free char *text = stacks_describe(file.profile->stacks.frame_list.items[i]);

		json_text(&file.json, text);
	}
	json_ends(&file.json, 2);
	json_finish(&file.json);
	return 0;
}

VIEWER_OF_PROFILE(dhat);
