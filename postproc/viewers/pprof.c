/* SPDX-License-Identifier: MIT */
/*
 * Writes pprof's profile.proto (github.com/google/pprof, proto/profile.proto): one sample for all
 * costs of a call site, and one sample for the waits of each pair of waiter and waker. The parts of
 * the gzip file are written as they become known: first samples, then the strings, functions and
 * locations that the samples refer to.
 */
#include <string.h>

#include "base/array.h"
#include "base/proto.h"
#include "packed.h"
#include "profile.h"
#include "viewers.h"

/* Field numbers of the messages. */
enum {
	PROFILE_TYPE = 1,
	PROFILE_SAMPLE,
	PROFILE_MAPPING,
	PROFILE_LOCATION,
	PROFILE_FUNCTION,
	PROFILE_STRING,
	PROFILE_DURATION = 10,
	PROFILE_COMMENT = 13,
	PROFILE_DEFAULT
};
enum { TYPE_TYPE = 1, TYPE_UNIT };
enum { SAMPLE_LOCATION = 1, SAMPLE_VALUE, SAMPLE_LABEL };
enum { LABEL_KEY = 1, LABEL_TEXT };
enum {
	MAPPING_ID = 1,
	MAPPING_START,
	MAPPING_LIMIT,
	MAPPING_OFFSET,
	MAPPING_FILE,
	MAPPING_BUILD_ID,
	MAPPING_HAS_FUNCTIONS
};
enum { LOCATION_ID = 1, LOCATION_MAPPING, LOCATION_ADDRESS, LOCATION_LINE };
enum { LINE_FUNCTION = 1, LINE_LINE };
enum { FUNCTION_ID = 1, FUNCTION_NAME, FUNCTION_SYSTEM_NAME, FUNCTION_FILE };

struct text {
	const char *text;
	uint64_t number;
};

struct pprof {
	struct profile *profile;
	struct packed packed;
	struct proto sample, packing, label, outer;
	struct pool pool;
	struct hash_table texts;
	uint64_t text_count;
	struct map mappings; /* key: id of a module + 1; value: number of its mapping */
	uint32_t mapping_count;
};

/* Writes a field of the profile. */
static void put_field(struct pprof *pprof, unsigned field, const struct proto *message)
{
	proto_clear(&pprof->outer);
	proto_message(&pprof->outer, field, message);
	packed_bytes(&pprof->packed, pprof->outer.bytes, pprof->outer.used);
}

/* ---- strings ---- */

static bool is_text(const void *item, const void *key)
{
	return !strcmp(((const struct text *)item)->text, key);
}

/* Returns the number of a string, which is 0 for "". Writes the string when it is first used. */
static uint64_t text_of(struct pprof *pprof, const char *text)
{
	uint64_t hash = hash_bytes(pprof->texts.seed, text, strlen(text));
	struct text *known = hash_table_find(&pprof->texts, hash, is_text, text);

	if (known)
		return known->number;
	known = pool_alloc(&pprof->pool, sizeof(*known));
	known->text = pool_copy(&pprof->pool, text);
	hash_table_add(&pprof->texts, hash, known);
	known->number = pprof->text_count++;
	proto_clear(&pprof->outer);
	proto_text(&pprof->outer, PROFILE_STRING, text);
	packed_bytes(&pprof->packed, pprof->outer.bytes, pprof->outer.used);
	return known->number;
}

/* ---- samples ---- */

static void put_label(struct pprof *pprof, const char *key, const char *text)
{
	uint64_t key_number = text_of(pprof, key), number = text_of(pprof, text);

	proto_clear(&pprof->label);
	proto_unsigned(&pprof->label, LABEL_KEY, key_number);
	proto_unsigned(&pprof->label, LABEL_TEXT, number);
	proto_message(&pprof->sample, SAMPLE_LABEL, &pprof->label);
}

static void begin_sample(struct pprof *pprof, const struct trace_node *backtrace,
			 const char *called, const uint64_t *values)
{
	struct stacks *stacks = &pprof->profile->stacks;
	size_t count = stacks_of(stacks, backtrace, called);

	proto_clear(&pprof->sample);
	proto_clear(&pprof->packing);
	for (size_t i = 0; i < count; i++)
		proto_packed(&pprof->packing, stacks->stack[i]->number);
	proto_message(&pprof->sample, SAMPLE_LOCATION, &pprof->packing);
	proto_clear(&pprof->packing);
	for (size_t i = 0; i < pprof->profile->columns.count; i++)
		proto_packed(&pprof->packing, values[i]);
	proto_message(&pprof->sample, SAMPLE_VALUE, &pprof->packing);
}

static void put_samples(struct pprof *pprof)
{
	struct profile *profile = pprof->profile;
	struct costs_place place;
	uint32_t at = 0;

	while (costs_next(&profile->costs, &at, &place)) {
		begin_sample(pprof, place.place->backtrace, place.place->function,
			     profile_values(profile, &place));
		put_label(pprof, "class", place.class->type);
		put_field(pprof, PROFILE_SAMPLE, &pprof->sample);
	}
	for (size_t i = 0; i < profile->waits.list.count; i++) {
		const struct wait_sum *wait = profile->waits.list.items[i];

		begin_sample(pprof, wait->waiter, wait->function,
			     profile_wait_values(profile, wait));
		put_label(pprof, "wait", lane_word(wait->kind));
		if (wait->waker)
			put_label(pprof, "holder", stacks_line(&profile->stacks, wait->waker, "?"));
		put_field(pprof, PROFILE_SAMPLE, &pprof->sample);
	}
}

/* ---- locations ---- */

/* Returns the number of a module, or 0 for NULL. Writes the module when it is first used. */
static uint32_t mapping_of(struct pprof *pprof, const struct space_module *module)
{
	struct map_entry *entry = module ? map_put(&pprof->mappings, 0, module->id + 1ull) : NULL;
	uint64_t path, build_id;

	if (!entry || entry->value)
		return entry ? entry->value : 0;
	path = text_of(pprof, module->path);
	build_id = text_of(pprof, module->build_id);
	entry->value = ++pprof->mapping_count;
	proto_clear(&pprof->sample);
	proto_unsigned(&pprof->sample, MAPPING_ID, entry->value);
	proto_unsigned(&pprof->sample, MAPPING_START, module->from);
	proto_unsigned(&pprof->sample, MAPPING_LIMIT, module->to);
	proto_unsigned(&pprof->sample, MAPPING_FILE, path);
	proto_unsigned(&pprof->sample, MAPPING_BUILD_ID, build_id);
	proto_unsigned(&pprof->sample, MAPPING_HAS_FUNCTIONS, 1);
	put_field(pprof, PROFILE_MAPPING, &pprof->sample);
	return entry->value;
}

static void put_number(struct pprof *pprof, unsigned field, uint64_t number)
{
	proto_clear(&pprof->outer);
	proto_unsigned(&pprof->outer, field, number);
	packed_bytes(&pprof->packed, pprof->outer.bytes, pprof->outer.used);
}

static void put_rest(struct pprof *pprof)
{
	const struct stacks *stacks = &pprof->profile->stacks;
	const struct summary *run = pprof->profile->run->summary;
	const struct summary_process *first = summary_process_at(run, 0);
	char samples[SUMMARY_SAMPLES_MAX];

	/* programs that read pprof files assume that the first mapping is the executable */
	for (size_t i = 0; first && first->executable && i < run->space.module_list.count; i++)
		if (!strcmp(run->space.module_list.items[i]->path, first->executable)) {
			mapping_of(pprof, run->space.module_list.items[i]);
			break;
		}
	for (size_t i = 0; i < stacks->frame_list.count; i++) {
		const struct stacks_frame *frame = stacks->frame_list.items[i];
		uint32_t mapping = mapping_of(
			pprof,
			frame->address ? space_module_at(&run->space, frame->address) : NULL);

		proto_clear(&pprof->label);
		proto_unsigned(&pprof->label, LINE_FUNCTION, frame->function->number);
		proto_unsigned(&pprof->label, LINE_LINE, frame->line);
		proto_clear(&pprof->sample);
		proto_unsigned(&pprof->sample, LOCATION_ID, frame->number);
		proto_unsigned(&pprof->sample, LOCATION_MAPPING, mapping);
		proto_unsigned(&pprof->sample, LOCATION_ADDRESS, mapping ? frame->address : 0);
		proto_message(&pprof->sample, LOCATION_LINE, &pprof->label);
		put_field(pprof, PROFILE_LOCATION, &pprof->sample);
	}
	for (size_t i = 0; i < stacks->function_list.count; i++) {
		const struct stacks_function *function = stacks->function_list.items[i];
		uint64_t name = text_of(pprof, function->name);
		uint64_t file = text_of(pprof, function->file);

		proto_clear(&pprof->sample);
		proto_unsigned(&pprof->sample, FUNCTION_ID, function->number);
		proto_unsigned(&pprof->sample, FUNCTION_NAME, name);
		proto_unsigned(&pprof->sample, FUNCTION_SYSTEM_NAME, name);
		proto_unsigned(&pprof->sample, FUNCTION_FILE, file);
		put_field(pprof, PROFILE_FUNCTION, &pprof->sample);
	}
	put_number(pprof, PROFILE_DURATION,
		   run->end_ns > run->start_ns ? run->end_ns - run->start_ns : 0);
	put_number(pprof, PROFILE_COMMENT, text_of(pprof, viewer_command(first)));
	if (*summary_say_samples(run, samples))
		put_number(pprof, PROFILE_COMMENT, text_of(pprof, samples));
	put_number(pprof, PROFILE_DEFAULT, text_of(pprof, "inuse_space"));
}

static int pprof_print(void *state, struct out *out, struct error *err)
{
	struct pprof pprof = { .profile = state };

	(void)err;
	profile_columns(state);
	packed_begin(&pprof.packed, out);
	hash_table_init(&pprof.texts);
	profile_expect(state);
	text_of(&pprof, "");
	for (size_t i = 0; i < pprof.profile->columns.count; i++) {
		const struct profile_column *column = &pprof.profile->columns.items[i];
		uint64_t name = text_of(&pprof, column->name);
		uint64_t unit = text_of(&pprof, column->unit);

		proto_clear(&pprof.sample);
		proto_unsigned(&pprof.sample, TYPE_TYPE, name);
		proto_unsigned(&pprof.sample, TYPE_UNIT, unit);
		put_field(&pprof, PROFILE_TYPE, &pprof.sample);
	}
	put_samples(&pprof);
	put_rest(&pprof);
	packed_end(&pprof.packed);
	proto_free(&pprof.sample);
	proto_free(&pprof.packing);
	proto_free(&pprof.label);
	proto_free(&pprof.outer);
	hash_table_free(&pprof.texts);
	pool_free(&pprof.pool);
	map_clear(&pprof.mappings);
	return 0;
}

VIEWER_OF_PROFILE(pprof);
