/* SPDX-License-Identifier: MIT */
#include "baseline.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/json_reader.h"
#include "base/memory.h"
#include "base/out.h"
#include "postproc/print/tables.h"

#define HEAD	       "# holdtrace baseline 1"
#define KEY_MAX	       16384u /* maximum size of a call site in JSON, in bytes */
#define SITE_FUNCTIONS 4      /* similar paths have this many innermost functions in common */
#define SAMPLE	       "# memory was recorded by samples, one in bytes: "

void baseline_init(struct baseline *baseline)
{
	*baseline = (struct baseline){ 0 };
	hash_table_init(&baseline->table);
	hash_table_init(&baseline->sites);
}

void baseline_free(struct baseline *baseline)
{
	free(baseline->entries.items);
	hash_table_free(&baseline->table);
	hash_table_free(&baseline->sites);
	pool_free(&baseline->pool);
}

/* ---- entries ---- */

static bool has_key(const void *item, const void *key)
{
	return !strcmp(((const struct baseline_entry *)item)->key, key);
}

static uint64_t hash_of(const struct baseline *baseline, const char *key)
{
	return hash_bytes(baseline->table.seed, key, strlen(key));
}

struct baseline_entry *baseline_find(const struct baseline *baseline, const char *key)
{
	return hash_table_find(&baseline->table, hash_of(baseline, key), has_key, key);
}

static bool has_site(const void *item, const void *site)
{
	return !strcmp(((const struct baseline_entry *)item)->site, site);
}

static struct baseline_entry *find_site(const struct baseline *baseline, const char *site)
{
	return hash_table_find(&baseline->sites, hash_of(baseline, site), has_site, site);
}

/*
 * Returns the limit, the class and the SITE_FUNCTIONS innermost functions of a key, as a text that
 * the caller frees. Returns NULL if the key does not have more functions than these.
 */
static char *site_of(const char *key)
{
	unsigned separators = 0;

	for (const char *at = key + strlen(key); at > key; at--)
		if (!strncmp(at, " < ", 3) && ++separators == SITE_FUNCTIONS)
			return memory_format("%.*s%s", (int)strcspn(key, " "), key, at);
	return NULL;
}

static struct baseline_entry *new_entry(struct baseline *baseline, const char *key)
{
	struct baseline_entry *entry = pool_zalloc(&baseline->pool, sizeof(*entry));
	cleanup_free char *site = site_of(key);
	struct baseline_entry *first = site ? find_site(baseline, site) : NULL;

	*ARRAY_ADD(&baseline->entries) = entry;
	entry->key = pool_copy(&baseline->pool, key);
	hash_table_add(&baseline->table, hash_of(baseline, key), entry);
	if (first) {
		entry->next = first->next;
		first->next = entry;
	} else if (site) {
		entry->site = pool_copy(&baseline->pool, site);
		hash_table_add(&baseline->sites, hash_of(baseline, site), entry);
	}
	return entry;
}

void baseline_add(struct baseline *baseline, const char *key, uint64_t number, bool is_largest)
{
	struct baseline_entry *entry = baseline_find(baseline, key) ?: new_entry(baseline, key);

	if (!is_largest)
		entry->number += number;
	else if (number > entry->number)
		entry->number = number;
	entry->left = entry->number;
}

uint64_t baseline_take_similar(const struct baseline *baseline, const char *key, uint64_t number)
{
	cleanup_free char *site = site_of(key);
	struct baseline_entry *entry = site ? find_site(baseline, site) : NULL;
	uint64_t taken = 0, part;

	for (; entry && taken < number; entry = entry->next) {
		part = entry->left < number - taken ? entry->left : number - taken;
		entry->left -= part;
		taken += part;
	}
	return taken;
}

void baseline_limit(struct baseline *baseline, const struct baseline *other)
{
	for (size_t i = 0; i < baseline->entries.count; i++) {
		struct baseline_entry *entry = baseline->entries.items[i];
		const struct baseline_entry *limit = baseline_find(other, entry->key);
		uint64_t most = limit ? limit->number : 0;

		entry->number = entry->left = entry->number < most ? entry->number : most;
	}
	if (other->sample > baseline->sample)
		baseline->sample = other->sample;
}

/* ---- files ---- */

/*
 * Parses a line: limit.column, number, class and functions. The key is the line without the number.
 */
static int take_line(struct baseline *baseline, char *line, size_t number, const char *path,
		     struct error *err)
{
	char *amount = strchr(line, '\t'), *rest = amount ? strchr(amount + 1, '\t') : NULL, *end;
	uint64_t value;
	cleanup_free char *key = NULL;

	errno = 0;
	value = rest ? strtoull(amount + 1, &end, 10) : 0;
	if (!rest || end != rest || end == amount + 1 || errno)
		return error_set(err, EINVAL,
				 "%s: line %zu: expected the name of a limit, a number and "
				 "functions, separated by tabs",
				 path, number);
	key = memory_format("%.*s%s", (int)(amount - line), line, rest);
	/* if the file has several baselines, use the largest number: accept what any run had */
	baseline_add(baseline, key, value, true);
	return 0;
}

/* ---- the JSON of a check ---- */

/* Reads an entry, such as { "limit": "leak.count", "site": "memory main < leave", "value": 1 }. */
static void take_object(struct baseline *baseline, struct json_reader *reader)
{
	char name[32], limit[64] = "";
	cleanup_free char *site = memory_zalloc(1, KEY_MAX);
	cleanup_free char *key = NULL;
	uint64_t number = 0;

	reader->is_bad |= !json_enter(reader, '{');
	while (json_read_key(reader, name, sizeof(name)))
		if (!strcmp(name, "limit"))
			json_read_text(reader, limit, sizeof(limit));
		else if (!strcmp(name, "site"))
			json_read_text(reader, site, KEY_MAX);
		else if (!strcmp(name, "value"))
			json_read_unsigned(reader, &number);
		else
			json_skip(reader);
	key = memory_format("%s\t%s", limit, site);
	if (!reader->is_bad)
		baseline_add(baseline, key, number, false);
}

/* Reads a row of the table `limits`. Returns whether the result of its limit is "unknown". */
static bool is_unknown(struct json_reader *reader)
{
	char name[32], result[16] = "";

	reader->is_bad |= !json_enter(reader, '{');
	while (json_read_key(reader, name, sizeof(name)))
		if (!strcmp(name, "result"))
			json_read_text(reader, result, sizeof(result));
		else
			json_skip(reader);
	return !strcmp(result, "unknown");
}

static int read_json(struct baseline *baseline, const char *path, char *text, size_t size,
		     struct error *err)
{
	struct json_reader reader = { text, text + size, false }, *at = &reader;
	bool has_entries = false, has_unknown = false;
	char name[32];

	json_enter(at, '{');
	while (json_read_key(at, name, sizeof(name)))
		if (!strcmp(name, "baseline") && json_enter(at, '[')) {
			has_entries = true;
			while (json_read_item(at))
				take_object(baseline, at);
		} else if (!strcmp(name, "limits") && json_enter(at, '[')) {
			while (json_read_item(at))
				has_unknown |= is_unknown(at);
		} else if (!strcmp(name, "run") && json_enter(at, '{')) {
			while (json_read_key(at, name, sizeof(name)))
				if (strcmp(name, "sample_bytes") != 0)
					json_skip(at);
				else
					json_read_unsigned(at, &baseline->sample);
		} else {
			json_skip(at);
		}
	/* the text ends with a zero byte */
	if (at->is_bad || at->at[strspn(at->at, " \t\r\n")])
		return error_set(err, EINVAL, "%s: malformed JSON at byte %td", path,
				 at->at - text);
	/* events were missing in that run, so its numbers may be too large */
	if (has_unknown)
		return error_set(err, EINVAL, "%s: a limit of that check is unknown", path);
	return has_entries ? 0
			   : error_set(err, EINVAL,
				       "%s: this JSON has no \"baseline\": expected that of "
				       "`holdtrace check --format=json`",
				       path);
}

/* ---- reading and printing ---- */

int baseline_read(struct baseline *baseline, const char *path, struct error *err)
{
	cleanup_file FILE *file = fopen(path, "re");
	cleanup_free char *line = NULL;
	char head[sizeof(HEAD)] = "";
	size_t room = 0, number = 0;
	int rc = 0;

	if (!file || !fread(head, 1, sizeof(head) - 1, file) ||
	    (*head != '{' && strcmp(head, HEAD) != 0))
		return 1;
	rewind(file);
	/* JSON has no zero byte, so this reads the whole file */
	if (*head == '{') {
		ssize_t size = getdelim(&line, &room, '\0', file);

		return size < 0 ? error_system(err, errno, "%s: cannot read the baseline", path)
				: read_json(baseline, path, line, (size_t)size, err);
	}
	while (rc == 0 && getline(&line, &room, file) > 0) {
		bool is_sample = !strncmp(line, SAMPLE, strlen(SAMPLE));
		uint64_t sample = is_sample ? strtoull(line + strlen(SAMPLE), NULL, 10) : 0;

		line[strcspn(line, "\n")] = '\0';
		number++;
		/* if several baselines were concatenated, use the largest sampling interval */
		if (sample > baseline->sample)
			baseline->sample = sample;
		if (*line && *line != '#')
			rc = take_line(baseline, line, number, path, err);
	}
	if (rc == 0 && ferror(file))
		return error_system(err, errno, "%s: cannot read the baseline", path);
	return rc;
}

static int by_key(const void *one, const void *two)
{
	const struct baseline_entry *a = *(struct baseline_entry *const *)one;
	const struct baseline_entry *b = *(struct baseline_entry *const *)two;

	return strcmp(a->key, b->key);
}

/*
 * Prints the entries in the order of their keys, so that a diff of two baselines has only real
 * changes.
 */
void tables_print_baseline(const struct tables_job *job)
{
	const struct baseline *baseline = job->style->learned;
	struct out *out = job->out;

	out_text(out, HEAD ": what `holdtrace check --baseline=FILE` accepts\n");
	if (baseline->sample)
		out_format(out, SAMPLE "%" PRIu64 "\n", baseline->sample);
	ARRAY_SORT(&baseline->entries, by_key);
	for (size_t i = 0; i < baseline->entries.count; i++) {
		const struct baseline_entry *entry = baseline->entries.items[i];
		size_t name = strcspn(entry->key, "\t");

		out_format(out, "%.*s\t%" PRIu64 "%s\n", (int)name, entry->key, entry->number,
			   entry->key + name);
	}
}

void tables_add_baseline(struct json *json, const struct baseline *baseline)
{
	ARRAY_SORT(&baseline->entries, by_key);
	json_open(json, "baseline", '[');
	for (size_t i = 0; i < baseline->entries.count; i++) {
		const struct baseline_entry *entry = baseline->entries.items[i];
		size_t name = strcspn(entry->key, "\t");
		cleanup_free char *limit = memory_text_part(entry->key, name);

		json_begin(json, '{');
		json_add_text(json, "limit", limit);
		json_add_text(json, "site", entry->key + name + (entry->key[name] == '\t'));
		json_add_unsigned(json, "value", entry->number);
		json_end(json);
	}
	json_end(json);
}
