/* SPDX-License-Identifier: MIT */
/* The report `path`: a root, and the chain of pointers from the root to the block of --object. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "postproc/report/report.h"
#include "postproc/totals/scanned.h"

#define TEXT_MAX  512u
#define STEPS_MAX 1000u

struct step {
	const char *what;
	uint64_t object, size, offset, retained;
	uint32_t pid;
	bool is_root;
	const struct trace_node *backtrace;
};

struct way_state {
	struct report_run *run;
	struct scanned scanned;
	struct pool pool;
	bool has_scan;
	ARRAY_OF(struct step) steps; /* the steps from the block to its root */
};

static void path_destroy(void *user)
{
	struct way_state *state = user;

	scanned_free(&state->scanned);
	pool_free(&state->pool);
	free(state->steps.items);
}

static void path_note(void *user, const struct event *event)
{
	struct way_state *state = user;

	scanned_note(&state->scanned, event);
}

/* Finds the live block that contains the address. */
static const struct ledger_item *find_around(const struct way_state *state, uint64_t address)
{
	struct ledger *ledger = state->run->ledger;
	struct ledger_held held;
	size_t at = 0;

	while (ledger_held(ledger, &at, &held))
		if (ledger_class(ledger, held.class)->known == RESOURCE_MEMORY &&
		    address >= held.object && address - held.object < (held.size ? held.size : 1))
			return held.item;
	return NULL;
}

static struct step *add_step(struct way_state *state, const char *what)
{
	struct step *step = ARRAY_ADD(&state->steps);

	*step = (struct step){ .what = pool_copy(&state->pool, what),
			       .pid = summary_current(state->run->summary)->pid };
	return step;
}

static void add_way(struct way_state *state, const struct scanned_block *block)
{
	const struct scanned *scanned = &state->scanned;

	for (uint32_t i = 0; block && i < STEPS_MAX; i++) {
		const struct scanned_node *parent = &block->parent;
		const struct ledger_item *item =
			ledger_find(state->run->ledger, RESOURCE_MEMORY, block->address);
		const struct site *site =
			item ? sites_at(ledger_sites(state->run->ledger), item->site) : NULL;
		struct step *step = add_step(state, scanned_words[block->fate]);

		step->object = block->address;
		step->offset = block->offset;
		step->retained = block->retained;
		step->size = item ? item->size : 0;
		if (site && site->backtrace)
			step->backtrace = report_site(state->run, site);
		if (parent->is_root && parent->root < scanned->roots.count) {
			const struct scanned_root *root = &scanned->roots.items[parent->root];
			char text[TEXT_MAX];

			step = add_step(state, scanned_root_text(root, text, sizeof(text)));
			step->is_root = true;
			step->object = root->at;
			step->retained = root->retained;
		}
		block = parent->is_block ? scanned_at(scanned, parent->block) : NULL;
	}
}

static void path_process(void *user)
{
	struct way_state *state = user;
	const char *object = state->run->options->object;
	const struct ledger_item *item =
		object ? find_around(state, strtoull(object, NULL, 16)) : NULL;
	const struct scanned_block *block =
		item ? scanned_find(&state->scanned, item->object, item->index) : NULL;

	if (block)
		add_way(state, block);
	state->has_scan |= state->scanned.is_done;
	scanned_clear(&state->scanned);
}

/* Adds a row for each step, from the root to the block. */
static void path_end(void *user, struct tables *tables)
{
	struct way_state *state = user;
	struct table *table = tables_begin(tables, TABLE_path);

	for (size_t i = state->steps.count; i-- > 0;) {
		const struct step *step = &state->steps.items[i];
		struct table_cell *row = table_add(table);

		table_text(table, CELL(row, path, what), step->what);
		table_number(CELL(row, path, object), step->object);
		table_number(CELL(row, path, retained), step->retained);
		table_number(CELL(row, path, pid), step->pid);
		if (step->is_root)
			continue;
		table_number(CELL(row, path, size), step->size);
		table_number(CELL(row, path, offset), step->offset);
		report_type(state->run, table, CELL(row, path, type), step->backtrace);
		table_backtrace(CELL(row, path, backtrace), step->backtrace);
	}
	if (!state->steps.count)
		table->note = !state->run->options->object ? "name the block by --object=ADDRESS"
			      : state->has_scan ? "no scanned block contains this address"
						: "memory was not scanned: record with --scan=exit";
}

const struct report report_path = {
	.wants_ledger = true,
	.wants_object = true,
	.state_size = sizeof(struct way_state),
	.note = path_note,
	.process = path_process,
	.end = path_end,
	.destroy = path_destroy,
};
