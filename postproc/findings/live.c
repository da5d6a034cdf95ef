/* SPDX-License-Identifier: MIT */
#include "live.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/order.h"
#include "images.h"
#include "naming/runtime.h"

/* Whether the process runs a system program (true, sed) that is not the main program of the run. */
static bool is_foreign(const struct summary *summary, uint32_t number)
{
	const struct summary_process *process = summary_process_at(summary, number);
	const struct summary_process *own = images_last(summary);
	const char *path = process ? process->executable : NULL;

	return path && own->executable && strcmp(path, own->executable) != 0 &&
	       runtime_has(RUNTIME_PROGRAM, path);
}

static bool is_same_row(const void *item, const void *key)
{
	const struct live_row *row = item, *wanted = key;

	return row->site->class == wanted->site->class &&
	       row->site->process == wanted->site->process &&
	       !strcmp(row->call_site, wanted->call_site);
}

/*
 * Sorts the rows again, because merging backtraces may have changed their sizes: system programs
 * last, then by class, then by size.
 */
static int compare_rows(const void *left, const void *right)
{
	const struct live_row *a = left, *b = right;

	if (a->is_foreign != b->is_foreign)
		return a->is_foreign - b->is_foreign;
	if (a->site->class != b->site->class)
		return ORDER(a->site, b->site);
	return ORDER(b->bytes, a->bytes) ?: ORDER(b->count, a->count) ?: ORDER(a->site, b->site);
}

void live_collect(struct live *live, const struct summary *summary, struct naming *naming,
		  struct suppress *suppress)
{
	*live = (struct live){ 0 };
	hash_table_init(&live->table);
	live->items = memory_zalloc(summary->sites.count + 1, sizeof(*live->items));
	for (size_t i = 0; i < summary->sites.count; i++) {
		const struct summary_site *site = &summary->sites.items[i];

		if (!site->is_part && !suppress_find(suppress, naming, site->backtrace)) {
			char text[NAMING_SITE_MAX];
			struct live_row wanted = { .site = site, .call_site = text }, *row;
			const char *example, *other = site->example;
			uint64_t hash;

			naming_read_site(naming, site->backtrace, text, sizeof(text));
			hash = hash_bytes(live->table.seed ^ site->class ^
						  (uint64_t)site->process << 32,
					  text, strlen(text));
			row = hash_table_find(&live->table, hash, is_same_row, &wanted);
			if (!row) {
				row = &live->items[live->count++];
				*row = (struct live_row){ .site = site,
							  .is_foreign = is_foreign(summary,
										   site->process),
							  .call_site = memory_text(text) };
				hash_table_add(&live->table, hash, row);
			}
			example = row->site->example;
			row->has_more_examples |= site->has_more_examples ||
						  (example && other && strcmp(example, other) != 0);
			row->count += site->count;
			row->bytes += site->bytes;
			row->sites++;
			live->sites++;
		}
	}
	ARRAY_SORT(live, compare_rows);
	if (live->count)
		live->leaks.class = &summary->classes[live->items[0].site->class];
	for (size_t i = 0; i < live->count; i++)
		if (summary->classes[live->items[i].site->class].known == RESOURCE_MEMORY &&
		    live->items[i].count > live->leaks.blocks)
			live->leaks.blocks = live->items[i].count;
}

void live_free(struct live *live)
{
	for (size_t i = 0; i < live->count; i++)
		free(live->items[i].call_site);
	hash_table_free(&live->table);
	free(live->items);
}
