/* SPDX-License-Identifier: MIT */
#include "verdicts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/human.h"
#include "base/memory.h"
#include "postproc/print/tables.h"
#include "terms.h"

#define LINES_MAX 4 /* maximum number of functions of a call site in an error's text */

void verdicts_free(struct verdicts *verdicts)
{
	for (size_t i = 0; i < verdicts->count; i++)
		free(verdicts->items[i].sites.items);
	pool_free(&verdicts->pool);
}

/* ---- lines of source ---- */

/*
 * Copies a path without ".", "//" and "name/..". Returns false if the path is longer than `size`,
 * or leads out of the directory where it starts.
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

/*
 * Finds the source of a program that was built elsewhere or with -ffile-prefix-map. If `path` does
 * not exist, returns the longest suffix of it that exists below `root`, or NULL.
 */
static const char *find_elsewhere(const char *path, const char *root)
{
	const char *rest = access(path, F_OK) ? path : "";

	while ((rest = strchr(rest, '/'))) {
		cleanup_free char *whole = memory_format("%s%s", root, rest++);

		if (access(whole, F_OK) == 0)
			return rest;
	}
	return NULL;
}

/* Whether the path is in the user's source. Makes a path below a root relative to the root. */
static bool shorten_path(const struct source_style *style, char *path)
{
	const char *const *roots = style->root_count ? style->roots : &style->here;
	size_t count = style->root_count ? style->root_count : style->here != NULL;
	const char *rest = NULL;

	/* -ffile-prefix-map may have made the path relative to the source */
	if (*path != '/')
		return true;
	for (size_t i = 0; !rest && i < count; i++)
		rest = beneath(path, roots[i]);
	for (size_t i = 0; !rest && i < count; i++)
		rest = find_elsewhere(path, roots[i]);
	if (rest)
		memmove(path, rest, strlen(rest) + 1);
	return rest || !style->root_count;
}

bool source_line(const struct source_style *style, const struct naming_symbol *symbol,
		 struct source_line *line)
{
	const char *file = symbol->file;

	/* meson runs the compiler in a directory below the source, so its paths begin with ../ */
	while (file && !strncmp(file, "../", 3))
		file += 3;
	if (symbol->is_runtime || symbol->is_start || symbol->is_library || !file ||
	    !symbol->line || !normalise(file, line->path, sizeof(line->path)))
		return false;
	line->line = symbol->line;
	return shorten_path(style, line->path);
}

/* Finds the innermost frame of error->site (or NULL) that is in the user's source. */
static void find_line(struct naming *naming, const struct source_style *style,
		      struct verdict_error *error)
{
	const struct verdict_site *site = error->site;
	bool has_python = false;

	error->has_line = false;
	error->count = site && site->backtrace ? naming_symbols(naming, site->backtrace,
								error->symbols, VERDICT_FRAMES_MAX)
					       : 0;
	/*
	 * if the backtrace has frames of Python, mark those of the interpreter as frames of a
	 * runtime: their lines are not the user's, even if the interpreter has debug information
	 */
	for (size_t i = 0; i < error->count; i++)
		has_python |= error->symbols[i].module &&
			      !strcmp(error->symbols[i].module, PYTHON_MODULE);
	for (size_t i = 0; has_python && i < error->count; i++) {
		const char *module = error->symbols[i].module ?: "";
		const char *slash = strrchr(module, '/'), *name = slash ? slash + 1 : module;

		error->symbols[i].is_runtime |=
			!strncmp(name, "python", 6) || !strncmp(name, "libpython", 9);
	}
	for (size_t i = 0; !error->has_line && i < error->count; i++) {
		error->has_line = source_line(style, &error->symbols[i], &error->line);
		error->line.frame = i;
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

static bool is_changed(const struct source_style *style, const struct verdict_error *error)
{
	for (size_t i = 0; error->has_line && i < style->changed_count; i++)
		if (!strcmp(style->changed[i], error->line.path))
			return true;
	return false;
}

/* Returns a text that is equal for sites which are shown as one site. */
static const char *place_of(struct verdicts *verdicts, struct naming *naming,
			    const struct verdict_error *error)
{
	const struct verdict_site *site = error->site;
	char functions[NAMING_SITE_MAX];
	cleanup_free char *place = NULL;

	if (!site->backtrace ||
	    !naming_read_site(naming, site->backtrace, functions, sizeof(functions)) || !*functions)
		return site->key;
	place = memory_format("%.*s %s:%u %s", (int)strcspn(site->key, " "), site->key,
			      error->has_line ? error->line.path : "",
			      error->has_line ? error->line.line : 0, functions);
	return pool_copy(&verdicts->pool, place);
}

static int by_place(const void *one, const void *two)
{
	const struct verdict_site *a = one, *b = two;

	return strcmp(a->place, b->place) ?: strcmp(a->key, b->key);
}

/* Joins adjacent sites that have the same place. The joined site has the first of their keys. */
static void join_sites(struct limit_verdict *verdict)
{
	struct verdict_site *sites = verdict->sites.items;
	size_t kept = 0;

	for (size_t i = 0; i < verdict->sites.count; i++) {
		struct verdict_site *to = kept ? &sites[kept - 1] : NULL;

		if (!to || verdict->join == JOIN_NONE || strcmp(to->place, sites[i].place) != 0) {
			sites[kept++] = sites[i];
			continue;
		}
		if (verdict->join == JOIN_SUM)
			to->number += sites[i].number;
		else if (sites[i].number > to->number)
			to->number = sites[i].number;
		to->known += sites[i].known;
		to->blocks += sites[i].blocks;
		to->bytes += sites[i].bytes;
		to->fd = to->fd == sites[i].fd ? to->fd : -1;
	}
	verdict->sites.count = kept;
}

void verdicts_sort(struct verdicts *verdicts, struct naming *naming,
		   const struct source_style *style)
{
	struct verdict_error error;

	for (size_t i = 0; i < verdicts->count; i++) {
		struct limit_verdict *verdict = &verdicts->items[i];

		for (size_t s = 0; s < verdict->sites.count; s++) {
			struct verdict_site *site = &verdict->sites.items[s];

			error.site = site;
			find_line(naming, style, &error);
			site->is_changed = is_changed(style, &error);
			site->place = place_of(verdicts, naming, &error);
		}
		ARRAY_SORT(&verdict->sites, by_place);
		join_sites(verdict);
		ARRAY_SORT(&verdict->sites, by_damage);
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

void verdict_say(const struct limit_verdict *verdict, const struct verdict_site *site, char *text,
		 size_t size)
{
	const struct limit *limit = verdict->limit;
	uint64_t known = site ? site->known : verdict->known;
	struct human value, error, before;
	char other[80] = "", around[80] = "", more[80] = "";

	/* add a site's amount in the other unit: objects if the limit is in bytes, or vice versa */
	if (site && limit->row->unit == LIMIT_NUMBER && site->bytes)
		snprintf(other, sizeof(other), " (%s)", human_bytes(&error, site->bytes));
	else if (site && limit->row->unit == LIMIT_BYTES && site->blocks)
		snprintf(other, sizeof(other), " in %s", human_count(&error, site->blocks));
	else if (!site && verdict->error)
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

/* ---- errors ---- */

/*
 * Returns the number of errors of a verdict. *sites: how many of them are call sites; there may be
 * one more, about the limit itself.
 */
static size_t count_errors(const struct tables_job *job, const struct limit_verdict *verdict,
			   size_t *sites)
{
	size_t top = job->run->options->top, count = verdict->sites.count;

	*sites = verdict->verdict != VERDICT_BROKEN ? 0 : top && top < count ? top : count;
	return *sites + (verdict->verdict != VERDICT_KEPT && (!*sites || *sites < count));
}

static void print_errors(struct verdict_error *error, const struct limit_verdict *verdict,
			 verdict_print *print, void *writer)
{
	const struct tables_job *job = error->job;
	size_t sites, count = count_errors(job, verdict, &sites), used;
	size_t more = verdict->sites.count - sites, functions, length;
	struct naming_line lines[LINES_MAX];

	error->verdict = verdict;
	for (size_t i = 0; i < count; i++, error->index++) {
		error->site = i < sites ? &verdict->sites.items[i] : NULL;
		find_line(job->naming, job->style->source, error);
		verdict_say(verdict, error->site, error->text, VERDICT_TEXT_MAX);
		used = strlen(error->text);
		if (!error->site && sites)
			snprintf(error->text + used, VERDICT_TEXT_MAX - used,
				 "; %zu more call site%s", more, more == 1 ? "" : "s");
		used = error->sentence = strlen(error->text);
		functions = error->site && error->site->backtrace
				    ? naming_site(job->naming, error->site->backtrace, lines,
						  LINES_MAX, &length)
				    : 0;
		/* append "; copy_name leaky.c:16 <- read_settings leaky.c:24" */
		for (size_t k = 0; k < functions && used < VERDICT_TEXT_MAX; k++)
			used += (size_t)snprintf(error->text + used, VERDICT_TEXT_MAX - used,
						 "%s%s", k ? " <- " : "; ", lines[k].text);
		print(writer, error);
	}
}

size_t verdicts_errors(const struct tables_job *job, const struct limit_verdict *only,
		       verdict_print *print, void *writer)
{
	const struct verdicts *verdicts = job->style->verdicts;
	const struct limit_verdict *from = only ? only : verdicts->items;
	const struct limit_verdict *end = only ? only + 1 : verdicts->items + verdicts->count;
	struct verdict_error error = { .job = job };
	size_t sites;

	for (const struct limit_verdict *verdict = from; verdict < end; verdict++)
		error.total += count_errors(job, verdict, &sites);
	for (const struct limit_verdict *verdict = from; verdict < end; verdict++)
		print_errors(&error, verdict, print, writer);
	return error.total;
}

const struct summary_process *verdict_process(const struct tables_job *job)
{
	static const struct summary_process none;
	const struct summary *run = job->run->summary;

	return run->processes.count ? &run->processes.items[0] : &none;
}

uint64_t verdict_fingerprint(const struct verdict_site *site)
{
	/* FNV-1a: the fingerprint must be the same in all versions of this program */
	uint64_t hash = 0xcbf29ce484222325;

	for (const char *at = site->key; *at; at++)
		hash = (hash ^ (unsigned char)*at) * 0x100000001b3;
	return hash;
}
