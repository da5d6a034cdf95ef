/* SPDX-License-Identifier: MIT */
#include "verdicts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/human.h"

#define LINES_MAX 4 /* maximum number of functions of a site that a sentence names */

void verdicts_free(struct verdicts *verdicts)
{
	for (size_t i = 0; i < verdicts->count; i++)
		free(verdicts->items[i].sites.items);
	pool_free(&verdicts->pool);
}

/* ---- lines of source ---- */

/*
 * Copies a path without "." and "//", and without "name/..". Returns false if it is longer than
 * `size` or leads out of the directory that it starts from.
 */
static bool normalise(const char *path, char *to, size_t size)
{
	size_t length = 0, lowest = *path == '/';

	if (lowest)
		to[length++] = '/';
	while (*path) {
		size_t part = strcspn(path, "/");

		if (part == 2 && !strncmp(path, "..", 2)) {
			if (length <= lowest)
				return false;
			while (--length > lowest && to[length - 1] != '/')
				;
		} else if (part && !(part == 1 && *path == '.')) {
			if (length + part + 2 > size)
				return false;
			memcpy(to + length, path, part);
			length += part;
			to[length++] = '/';
		}
		path += part + (path[part] == '/');
	}
	if (length > lowest)
		length--;
	to[length] = '\0';
	return length > lowest;
}

/* Returns the part of `path` below the directory `root`, or NULL. Both paths are absolute. */
static const char *beneath(const char *path, const char *root)
{
	char plain[sizeof(((struct source_line *)NULL)->path)];
	size_t length;

	if (!normalise(root, plain, sizeof(plain)))
		return NULL;
	length = strlen(plain);
	return !strncmp(path, plain, length) && path[length] == '/' ? path + length + 1 : NULL;
}

/* Whether the path is in the user's source. Makes a path below a known directory relative to it. */
static bool shorten_path(const struct source_style *style, char *path)
{
	const char *rest = NULL;

	/* after a build with -ffile-prefix-map, paths are already relative to the source */
	if (*path != '/')
		return true;
	for (size_t i = 0; !rest && i < style->root_count; i++)
		rest = beneath(path, style->roots[i]);
	if (!rest && style->root_count)
		return false;
	if (!rest && style->here)
		rest = beneath(path, style->here);
	if (rest)
		memmove(path, rest, strlen(rest) + 1);
	return true;
}

bool source_line(const struct source_style *style, const struct naming_symbol *symbol,
		 struct source_line *line)
{
	const char *file = symbol->file;

	/* meson runs the compiler in a directory below the source, so the path begins with ../ */
	while (file && !strncmp(file, "../", 3))
		file += 3;
	if (symbol->is_runtime || symbol->is_start || symbol->is_library || !file ||
	    !symbol->line || !normalise(file, line->path, sizeof(line->path)))
		return false;
	line->line = symbol->line;
	return shorten_path(style, line->path);
}

void verdict_find(struct naming *naming, const struct source_style *style,
		  const struct verdict_site *site, struct verdict_place *place)
{
	place->has_line = false;
	place->count = 0;
	if (!site || !site->backtrace)
		return;
	place->count = naming_symbols(naming, site->backtrace, place->symbols, VERDICT_FRAMES_MAX);
	for (size_t i = 0; !place->has_line && i < place->count; i++) {
		place->has_line = source_line(style, &place->symbols[i], &place->line);
		place->line.frame = i;
	}
}

/* ---- order ---- */

static int by_damage(const void *one, const void *two)
{
	const struct verdict_site *a = one, *b = two;

	if (a->is_changed != b->is_changed)
		return a->is_changed ? -1 : 1;
	if (a->number != b->number)
		return a->number > b->number ? -1 : 1;
	return strcmp(a->key, b->key);
}

static bool is_changed(const struct source_style *style, const struct verdict_place *place)
{
	for (size_t i = 0; place->has_line && i < style->changed_count; i++)
		if (!strcmp(style->changed[i], place->line.path))
			return true;
	return false;
}

void verdicts_sort(struct verdicts *verdicts, struct naming *naming,
		   const struct source_style *style)
{
	struct verdict_place place;

	for (size_t i = 0; i < verdicts->count; i++) {
		struct limit_verdict *verdict = &verdicts->items[i];

		for (size_t s = 0; style->changed_count && s < verdict->sites.count; s++) {
			verdict_find(naming, style, &verdict->sites.items[s], &place);
			verdict->sites.items[s].is_changed = is_changed(style, &place);
		}
		if (verdict->sites.count)
			qsort(verdict->sites.items, verdict->sites.count,
			      sizeof(*verdict->sites.items), by_damage);
	}
}

/* ---- sentences ---- */

static const char *amount(struct human *human, const struct limit *limit, uint64_t number)
{
	switch (limit->row->unit) {
	case LIMIT_BYTES:
		return human_bytes(human, number);
	case LIMIT_NS:
		return human_time(human, number);
	case LIMIT_NUMBER:
		break;
	}
	return human_count(human, number);
}

/* Writes the amount of a site in objects if the limit is in bytes, and vice versa. */
static void say_other_amount(const struct limit *limit, const struct verdict_site *site, char *text,
			     size_t size)
{
	struct human human;

	*text = '\0';
	if (limit->row->unit == LIMIT_NUMBER && site->bytes)
		snprintf(text, size, " (%s)", human_bytes(&human, site->bytes));
	else if (limit->row->unit == LIMIT_BYTES && site->blocks)
		snprintf(text, size, " in %s", human_count(&human, site->blocks));
}

void verdict_say(const struct limit_verdict *verdict, const struct verdict_site *site, char *text,
		 size_t size)
{
	const struct limit *limit = verdict->limit;
	uint64_t known = site ? site->known : verdict->known;
	struct human value, error, before;
	char other[80] = "", around[80] = "", more[80] = "";

	if (site)
		say_other_amount(limit, site, other, sizeof(other));
	else if (verdict->error)
		snprintf(around, sizeof(around), " +- %s", amount(&error, limit, verdict->error));
	if (known)
		snprintf(more, sizeof(more), ", beyond %s in the baseline",
			 amount(&before, limit, known));
	if (verdict->verdict == VERDICT_UNKNOWN)
		snprintf(text, size, "%s: unknown: %s; limit %.*s", limit->row->meaning,
			 verdict->why, (int)limit->length, limit->text);
	else
		snprintf(text, size, "%s: %s%s%s%s; limit %.*s", limit->row->meaning,
			 amount(&value, limit, site ? site->number : verdict->value), around, other,
			 more, (int)limit->length, limit->text);
}

void verdict_say_site(struct naming *naming, const struct verdict_site *site, char *text,
		      size_t size)
{
	struct naming_line lines[LINES_MAX];
	size_t length, used = strlen(text);
	size_t count = site->backtrace
			       ? naming_site(naming, site->backtrace, lines, LINES_MAX, &length)
			       : 0;

	for (size_t i = 0; i < count && used < size; i++)
		used += (size_t)snprintf(text + used, size - used, "%s%s", i ? " <- " : "; ",
					 lines[i].text);
}

uint64_t verdict_fingerprint(const struct verdict_site *site)
{
	/* FNV-1a: the fingerprint must be the same in all versions of this program */
	uint64_t hash = 0xcbf29ce484222325;

	for (const char *at = site->key; *at; at++)
		hash = (hash ^ (unsigned char)*at) * 0x100000001b3;
	return hash;
}
