/* SPDX-License-Identifier: MIT */
/*
 * DHAT's JSON, version 2 (valgrind, dhat/dh_main.c): memory by place, what it gained, what it had
 * when most was held and at the end, and for how long. Times are in microseconds.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/json.h"
#include "postproc/viewers/profile.h"
#include "postproc/viewers/viewers.h"

#define DHAT_VERSION 2

struct dhat {
	struct profile *profile;
	struct json json;
	int error;
};

static void put(struct json *json, const char *key, uint64_t number)
{
	json_key(json, key);
	json_unsigned(json, number);
}

static void put_text(struct json *json, const char *key, const char *text)
{
	json_key(json, key);
	json_text(json, text);
}

static bool is_shown(const struct costs_place *place)
{
	return place->class->known == RESOURCE_MEMORY && place->gained.count;
}

static void put_place(struct dhat *file, const struct costs_place *place)
{
	struct stacks *stacks = &file->profile->stacks;
	struct json *json = &file->json;
	size_t count = stacks_of(stacks, place->place->backtrace, place->place->function);

	if (!count)
		file->error = -ENOMEM;
	json_begin(json, '{');
	put(json, "tb", place->gained.bytes);
	put(json, "tbk", place->gained.count);
	put(json, "tl", place->held_ns / 1000);
	put(json, "mb", place->most.bytes);
	put(json, "mbk", place->most.count);
	put(json, "gb", place->peak.bytes);
	put(json, "gbk", place->peak.count);
	put(json, "eb", place->held.bytes);
	put(json, "ebk", place->held.count);
	json_key(json, "fs");
	json_begin(json, '[');
	for (size_t i = 0; i < count; i++)
		json_unsigned(json, stacks->stack[i]->number);
	json_end(json);
	json_end(json);
}

/* "0x1149: read_config (demo.c:12)"; 0 is the root. */
static void put_frames(struct dhat *file)
{
	const struct stacks *stacks = &file->profile->stacks;

	json_key(&file->json, "ftbl");
	json_begin(&file->json, '[');
	json_text(&file->json, "[root]");
	for (size_t i = 0; i < stacks->frame_list.count; i++) {
		char *text = stacks_describe(stacks->frame_list.items[i]);

		if (!text)
			file->error = -ENOMEM;
		json_text(&file->json, text);
		free(text);
	}
	json_end(&file->json);
}

static void put_head(struct dhat *file)
{
	const struct summary *run = file->profile->run->summary;
	const struct summary_process *first = summary_process_at(run, 0);
	struct json *json = &file->json;
	struct peaks_amount most;
	uint64_t peak_ns = 0;

	for (uint32_t i = 0; i < ledger_class_count(file->profile->run->ledger); i++)
		if (ledger_class(file->profile->run->ledger, i)->known == RESOURCE_MEMORY)
			costs_peak(&file->profile->costs, i, &peak_ns, &most);
	put(json, "dhatFileVersion", DHAT_VERSION);
	put_text(json, "mode", "heap");
	put_text(json, "verb", "Allocated");
	json_key(json, "bklt");
	json_bool(json, true);
	json_key(json, "bkacc");
	json_bool(json, false);
	put_text(json, "tu", "µs");
	put_text(json, "Mtu", "s");
	put(json, "tuth", 10);
	put_text(json, "cmd", profile_command(file->profile));
	put(json, "pid", first ? first->pid : 0);
	put(json, "tg", peak_ns / 1000);
	put(json, "te", run->end_ns > run->start_ns ? (run->end_ns - run->start_ns) / 1000 : 0);
}

static int print(void *state, struct out *out, struct error *err)
{
	struct dhat file = { .profile = state };
	struct costs_place place;
	uint32_t at = 0;

	json_start(&file.json, out, false);
	profile_expect(state);
	json_begin(&file.json, '{');
	put_head(&file);
	json_key(&file.json, "pps");
	json_begin(&file.json, '[');
	while (costs_next(&file.profile->costs, &at, &place))
		if (is_shown(&place))
			put_place(&file, &place);
	json_end(&file.json);
	put_frames(&file);
	json_end(&file.json);
	json_finish(&file.json);
	return file.error ? report_no_memory(err) : 0;
}

VIEWER_OF_PROFILE(dhat);
