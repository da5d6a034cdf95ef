/* SPDX-License-Identifier: MIT */
/*
 * The report `owners`: the roots of live memory, sorted by the bytes that they retain, and for each
 * root the blocks that it retains, by the call site that allocated them.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/memory.h"
#include "base/order.h"
#include "postproc/report/report.h"
#include "postproc/totals/scanned.h"

#define TEXT_MAX  512u
#define STEPS_MAX 8u  /* maximum number of blocks of a path that are shown */
#define BELOW_MAX 64u /* maximum number of roots whose call sites are shown */

/* A root of a process, or a pseudo-root for blocks that several roots retain together. */
struct holder {
	const char *text, *kind, *module, *program;
	uint64_t bytes, count;
	uint32_t pid;
};

/* The blocks of one site that a root retains. */
struct below {
	uint32_t holder;
	const struct trace_node *backtrace; /* NULL: not known */
	uint64_t bytes, count, largest, first;
	/* index, in the scan, of the largest block (if several are equally large: of the oldest) */
	uint32_t kept;
	const char *way; /* the path from the root to that block */
};

struct holders_state {
	struct report_run *run;
	struct scanned scanned;
	struct pool pool;
	/* key: index in `holders`, and site of the current process; value: index in `below`, + 1 */
	struct map index;
	ARRAY_OF(struct holder) holders;
	ARRAY_OF(struct below) below;
	uint32_t first; /* index of the first holder of the current process */
	uint64_t blocks, lost, lost_bytes, scans;
};

static void owners_destroy(void *user)
{
	struct holders_state *state = user;

	scanned_free(&state->scanned);
	map_clear(&state->index);
	pool_free(&state->pool);
	free(state->holders.items);
	free(state->below.items);
}

static void owners_note(void *user, const struct event *event)
{
	struct holders_state *state = user;

	scanned_note(&state->scanned, event);
}

/* ---- roots ---- */

/* Adds a holder for each root, and a last one for blocks that several roots retain together. */
static void add_holders(struct holders_state *state)
{
	const struct summary_process *process = summary_current(state->run->summary);
	const struct scanned *scanned = &state->scanned;

	state->first = (uint32_t)state->holders.count;
	for (size_t i = 0; i <= scanned->roots.count; i++) {
		bool is_root = i < scanned->roots.count;
		const struct scanned_root *root = is_root ? &scanned->roots.items[i] : NULL;
		struct holder *holder = ARRAY_ADD(&state->holders);
		char text[TEXT_MAX];

		*holder = (struct holder){
			.text = is_root ? pool_copy(&state->pool,
						    scanned_root_text(root, text, sizeof(text)))
					: "several owners together",
			.kind = is_root ? pool_copy(&state->pool, root->kind) : NULL,
			.module = is_root ? pool_copy(&state->pool, root->module) : NULL,
			.program = pool_copy(&state->pool, process->name),
			.bytes = is_root ? root->retained : 0,
			.count = is_root ? root->retained_count : 0,
			.pid = process->pid,
		};
	}
}

/* ---- retained blocks ---- */

/*
 * Returns an array with an element for each block: index + 1 of the root that alone retains the
 * block, or number of roots + 1 if several roots do. Follows each path of dominators only once. The
 * caller frees the array.
 */
static uint32_t *find_keepers(const struct scanned *scanned)
{
	size_t count = scanned->blocks.count;
	uint32_t *keepers = memory_zalloc(count + 1, sizeof(*keepers));
	uint32_t *path = memory_alloc((count + 1) * sizeof(*path));

	for (size_t i = 0; i < count; i++) {
		const struct scanned_block *block = &scanned->blocks.items[i];
		uint32_t keeper = (uint32_t)scanned->roots.count + 1;
		size_t steps = 0;

		while (block && !keepers[block - scanned->blocks.items]) {
			path[steps] = (uint32_t)(block - scanned->blocks.items);
			/*
			 * a preliminary value that ends the walk if the blocks form a cycle;
			 * replaced below
			 */
			keepers[path[steps++]] = (uint32_t)scanned->roots.count + 1;
			if (block->dominator.is_root && block->dominator.root < keeper - 1)
				keeper = block->dominator.root + 1;
			block = block->dominator.is_block
					? scanned_at(scanned, block->dominator.block)
					: NULL;
		}
		if (block && keepers[block - scanned->blocks.items])
			keeper = keepers[block - scanned->blocks.items];
		while (steps)
			keepers[path[--steps]] = keeper;
	}
	free(path);
	return keepers;
}

/* Returns the path from the root to a block as text: "pool (server) > +0 of 48 B > +16 of 64 B". */
static const char *way_to(struct holders_state *state, const struct scanned_block *block)
{
	struct scanned *scanned = &state->scanned;
	const struct scanned_block *way[STEPS_MAX];
	const struct scanned_root *root;
	char text[TEXT_MAX * 2], name[TEXT_MAX];
	uint32_t steps, shown = 0;
	size_t used;

	root = scanned_root_of(scanned, block, &steps);
	if (!root || !steps)
		return NULL;
	for (const struct scanned_block *at = block; at && shown < STEPS_MAX; shown++) {
		way[shown] = at;
		at = at->parent.is_block ? scanned_at(scanned, at->parent.block) : NULL;
	}
	used = (size_t)snprintf(text, sizeof(text), "%s",
				scanned_root_text(root, name, sizeof(name)));
	if (steps > STEPS_MAX)
		used += (size_t)snprintf(text + used, sizeof(text) - used, " ... %u blocks",
					 steps - STEPS_MAX + 1);
	for (uint32_t i = shown; i-- > 1 && used + 64 < sizeof(text);) {
		const struct ledger_item *item =
			ledger_find(state->run->ledger, RESOURCE_MEMORY, way[i]->address);

		used += (size_t)snprintf(text + used, sizeof(text) - used,
					 " > +%" PRIu64 " of %" PRIu64 " B", way[i - 1]->offset,
					 item ? item->size : 0);
	}
	return pool_copy(&state->pool, text);
}

static struct below *below_of(struct holders_state *state, uint32_t holder,
			      const struct ledger_held *held)
{
	uint64_t key = (uint64_t)holder << 32 | held->site;
	uint32_t index = map_get(&state->index, 0, key);
	const struct site *site = sites_at(ledger_sites(state->run->ledger), held->site);
	struct below *below;

	if (index)
		return &state->below.items[index - 1];
	below = ARRAY_ADD(&state->below);
	map_set(&state->index, 0, key, (uint32_t)state->below.count);
	*below = (struct below){ .holder = holder };
	if (site->backtrace)
		below->backtrace = report_site(state->run, site);
	return below;
}

static void add_block(struct holders_state *state, const uint32_t *keepers,
		      const struct ledger_held *held)
{
	const struct scanned *scanned = &state->scanned;
	const struct scanned_block *block = scanned_find(scanned, held->object, held->item->index);
	struct below *below;
	uint32_t keeper;

	if (!block)
		return;
	state->blocks++;
	if (block->fate >= SCANNED_LOST) {
		state->lost++;
		state->lost_bytes += held->bytes;
		return;
	}
	keeper = keepers[block - scanned->blocks.items] - 1;
	if (keeper == scanned->roots.count) {
		state->holders.items[state->first + keeper].bytes += held->bytes;
		state->holders.items[state->first + keeper].count++;
	}
	below = below_of(state, state->first + keeper, held);
	below->bytes += held->bytes;
	if (!below->count++ || held->bytes > below->largest ||
	    (held->bytes == below->largest && held->item->index < below->first)) {
		below->largest = held->bytes;
		below->first = held->item->index;
		below->kept = (uint32_t)(block - scanned->blocks.items);
	}
}

static void owners_process(void *user)
{
	struct holders_state *state = user;
	size_t at = 0, first = state->below.count;
	struct ledger_held held;
	uint32_t *keepers;

	if (!state->scanned.is_done) {
		scanned_clear(&state->scanned);
		return;
	}
	keepers = find_keepers(&state->scanned);
	add_holders(state);
	while (ledger_held(state->run->ledger, &at, &held))
		if (ledger_class(state->run->ledger, held.class)->known == RESOURCE_MEMORY)
			add_block(state, keepers, &held);
	for (size_t i = first; i < state->below.count; i++)
		state->below.items[i].way =
			way_to(state, &state->scanned.blocks.items[state->below.items[i].kept]);
	free(keepers);
	state->scans++;
	map_clear(&state->index);
	scanned_clear(&state->scanned);
}

/* ---- the tables ---- */

struct ranked {
	uint64_t bytes;
	uint32_t holder;
};

static int by_bytes(const void *one, const void *two)
{
	const struct ranked *a = one, *b = two;

	return ORDER(b->bytes, a->bytes) ?: ORDER(a->holder, b->holder);
}

static void owners_end(void *user, struct tables *tables)
{
	struct holders_state *state = user;
	struct table *table = tables_begin(tables, TABLE_owners);
	size_t count = state->holders.count;
	cleanup_free struct ranked *ranked = memory_alloc((count + 1) * sizeof(*ranked));
	cleanup_free uint32_t *ranks = memory_alloc((count + 1) * sizeof(*ranks));
	struct table_cell *row;

	/* rank 0 retains the most */
	for (size_t i = 0; i < count; i++)
		ranked[i] = (struct ranked){ state->holders.items[i].bytes, (uint32_t)i };
	qsort(ranked, count, sizeof(*ranked), by_bytes);
	for (size_t i = 0; i < count; i++)
		ranks[ranked[i].holder] = (uint32_t)i;
	if (state->scans)
		table_note(table,
			   "%" PRIu64 " blocks were scanned; %" PRIu64 " of them (%" PRIu64
			   " B) are unreachable: see report leaks",
			   state->blocks, state->lost, state->lost_bytes);
	else
		table_note(table, "memory was not scanned: record with --scan=exit, or run "
				  "`holdtrace report leaks --scan PID`");
	for (size_t i = 0; i < count; i++) {
		const struct holder *holder = &state->holders.items[i];

		if (!holder->count)
			continue;
		row = table_add(table);
		table_text(table, CELL(row, owners, owner), holder->text);
		table_text(table, CELL(row, owners, kind), holder->kind);
		table_text(table, CELL(row, owners, module), holder->module);
		table_text(table, CELL(row, owners, program), holder->program);
		table_number(CELL(row, owners, bytes), holder->bytes);
		table_number(CELL(row, owners, count), holder->count);
		table_number(CELL(row, owners, pid), holder->pid);
	}
	table = tables_begin(tables, TABLE_retained);
	for (size_t i = 0; i < state->below.count; i++) {
		const struct below *below = &state->below.items[i];
		const struct holder *holder = &state->holders.items[below->holder];

		if (ranks[below->holder] >= BELOW_MAX)
			continue;
		row = table_add(table);
		table_group(table, &row[0], holder->text, ranks[below->holder]);
		report_type(state->run, table, CELL(row, retained, type), below->backtrace);
		table_text(table, CELL(row, retained, path), below->way);
		table_number(CELL(row, retained, bytes), below->bytes);
		table_number(CELL(row, retained, count), below->count);
		table_backtrace(CELL(row, retained, backtrace), below->backtrace);
	}
}

const struct report report_owners = {
	.wants_ledger = true,
	.state_size = sizeof(struct holders_state),
	.note = owners_note,
	.process = owners_process,
	.end = owners_end,
	.destroy = owners_destroy,
};
