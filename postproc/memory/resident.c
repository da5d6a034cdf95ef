/* SPDX-License-Identifier: MIT */
/*
 * The report `resident`. A scan stops a process; this report compares the blocks that were live at
 * that moment with the pages that were resident. It shows how much memory the blocks of each call
 * site keep resident, and divides the resident memory of the process into parts.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/human.h"
#include "base/map.h"
#include "base/memory.h"
#include "notes.h"
#include "postproc/report/report.h"
#include "postproc/totals/residence.h"
#include "wire.h"

#define PAGE	    ((uint64_t)RESIDENCE_PAGE)
#define FEW_BYTES   (PAGE / 4) /* blocks pin a page with at most this many live bytes */
#define REGION_BITS 21u	       /* log2 of the range of a struct region in bytes: 2 MiB */
/* larger blocks are not marked in regions: each is a mapping of its own, not part of a heap */
#define COVERED_MAX    (1ull << 30)
#define FRAMES	       4u
#define PARTS_SEARCHED 1000u /* add_part() searches only this number of the newest parts */
#define NAMES_MAX      300u

/* Sums for a call site of blocks or of mappings, in bytes except `count` and pinned_count. */
struct resident_site {
	uint64_t live, count, resident, swapped, untouched;
	uint64_t alone; /* bytes of resident pages without live blocks of other sites */
	/*
	 * The site pins a page if the page has few live bytes, most of them of this site.
	 * pinned_pages, pinned_free: size and free bytes of the pinned pages; pinned_live,
	 * pinned_count: bytes and number of the site's blocks on them.
	 */
	uint64_t pinned_pages, pinned_free, pinned_live, pinned_count;
};

/* An object that was live when the scan was made. */
struct resident_block {
	uint64_t from, size;
	uint32_t site;
};

/* An address range of 2 MiB, with a bit for each page: whether the page ever had a block. */
struct region {
	uint64_t number; /* address >> REGION_BITS */
	uint64_t bits[(1u << REGION_BITS) / PAGE / 64];
};

/* A page that live blocks cover in part. */
struct resident_page {
	uint32_t mapping;
	uint32_t live; /* bytes of live blocks */
	/*
	 * the site with more than half of the live bytes, or any site if there is none; found by a
	 * majority vote (Boyer-Moore), in which `site` leads by `lead` bytes
	 */
	uint32_t site, lead;
	bool is_shared; /* blocks of several sites are on the page */
};

/* The bytes of a mapping, by use. */
struct resident_use {
	uint64_t live;	       /* resident bytes of live blocks */
	uint64_t block_pages;  /* bytes of pages with live blocks */
	uint64_t former_pages; /* bytes of pages that ever had a block, live or freed */
	uint64_t mapped;       /* resident bytes of recorded mappings, not counting former_pages */
	/*
	 * before: bytes of resident pages that may have blocks from before an attach or a fork;
	 * zero: bytes of pages of zeros
	 */
	uint64_t before, zero;
	uint64_t before_live; /* the part of `live` that is on pages counted in `before` */
	uint64_t present;     /* resident bytes according to the page map */
};

/* The parts of a process's resident memory. */
enum part {
	PART_LIVE,
	PART_BETWEEN,
	PART_FREE,
	PART_ALLOCATOR,
	PART_BEFORE,
	PART_MAPPED,
	PART_OTHER,
	PART_STACK,
	PART_FILE,
	PART_SHARED,
	PART_OWN,
	PART_KERNEL,
	PART_ZERO,
	PARTS
};

static const char *const part_words[PARTS] = {
	[PART_LIVE] = "live blocks",
	[PART_BETWEEN] = "free, on pages with live blocks",
	[PART_FREE] = "free, on pages without live blocks",
	[PART_ALLOCATOR] = "memory of the allocator that was never in a block",
	[PART_BEFORE] = "from before the recording, or free",
	[PART_MAPPED] = "mapped by calls of the program",
	[PART_OTHER] = "other anonymous memory",
	[PART_STACK] = "stacks of threads",
	[PART_FILE] = "file",
	[PART_SHARED] = "shared memory",
	[PART_OWN] = "holdtrace's library",
	[PART_KERNEL] = "kernel",
	[PART_ZERO] = "pages of zeros, not counted as resident",
};

/* A row of the table of parts. */
struct resident_part {
	uint32_t process; /* index in resident_state.processes */
	enum part part;
	const char *path; /* NULL: none */
	uint64_t bytes, swapped;
};

/* The result of a scan of a process. */
struct resident_process {
	const char *program;
	uint32_t pid;
	uint64_t time_ns, resident, swapped, live, untouched, between, free, pinned;
	bool has_before; /* there may be blocks from before an attach or a fork */
	/* the call site that pins the most bytes; NULL: none */
	const struct trace_node *backtrace;
	struct resident_site pinner;
};

struct resident_state {
	struct report_run *run;
	struct tally *tally;
	struct residence residence;
	struct pool pool;
	/* the pages of the current process that ever had a block */
	struct map region_of; /* key: address >> REGION_BITS; value: index + 1 in `regions` */
	ARRAY_OF(struct region) regions;
	/* live objects at the time of the last scan; number and time of that scan */
	ARRAY_OF(struct resident_block) blocks, mappings;
	uint64_t cut_number, cut_ns;
	/* the following members, up to last_run, are used only during join() */
	struct map page_of; /* key: number of a page; value: index + 1 in `pages` */
	ARRAY_OF(struct resident_page) pages;
	struct resident_use *uses; /* indexed by mapping */
	uint64_t steps;	 /* steps left for join(), which a damaged trace could slow down */
	size_t last_run; /* index of the run of resident pages in which the previous block starts */
	/* results of scans; if has_result is set, the last one is that of the current process */
	ARRAY_OF(struct resident_process) processes;
	ARRAY_OF(struct resident_part) parts;
	bool has_result;
	const char *failure; /* why the last scan failed; NULL: it succeeded */
};

/* ---- pages that ever had a block ---- */

static void cover_block(struct resident_state *state, uint64_t from, uint64_t size)
{
	uint64_t page = from / PAGE, end;

	size = size ? size : 1;
	if (size > COVERED_MAX || from > UINT64_MAX - size)
		return;
	end = (from + size - 1) / PAGE + 1;
	while (page < end) {
		struct map_entry *entry = map_put(&state->region_of, 0, page * PAGE >> REGION_BITS);
		uint64_t pages = (1u << REGION_BITS) / PAGE, bit = page % pages;

		if (!entry->value) {
			*ARRAY_ADD(&state->regions) =
				(struct region){ .number = page * PAGE >> REGION_BITS };
			entry->value = (uint32_t)state->regions.count;
		}
		for (; page < end && bit < pages; page++, bit++)
			state->regions.items[entry->value - 1].bits[bit / 64] |= 1ull << bit % 64;
	}
}

/* Returns the number of pages in a range that ever had a block. */
static uint64_t count_former(const struct resident_state *state, uint64_t from, uint64_t to)
{
	uint64_t pages = (1u << REGION_BITS) / PAGE, count = 0;
	uint64_t at = from >> REGION_BITS, end = ((to - 1) >> REGION_BITS) + 1;
	/* in a large range, iterate over the known regions, not over all numbers of regions */
	bool is_large = end - at > state->regions.count;

	for (at = is_large ? 0 : at; at < (is_large ? state->regions.count : end); at++) {
		uint64_t index = is_large ? at + 1 : map_get(&state->region_of, 0, at), first, last;
		const struct region *region;

		if (!index)
			continue;
		region = &state->regions.items[index - 1];
		first = region->number * pages;
		last = first + pages < to / PAGE ? first + pages : to / PAGE;
		first = first > from / PAGE ? first : from / PAGE;
		for (; first < last; first++)
			count += region->bits[first % pages / 64] >> first % 64 & 1;
	}
	return count;
}

static void resident_move(void *user, const struct ledger_move *move)
{
	struct resident_state *state = user;

	if (move->is_acquisition && !move->is_part &&
	    ledger_class(state->run->ledger, move->class)->known == RESOURCE_MEMORY)
		cover_block(state, move->item->object, move->item->size);
}

/* ---- the time of the scan ---- */

/*
 * Copies the live objects when a scan stops the process, because the notes about pages come later.
 */
static void take_cut(struct resident_state *state, const struct event *event)
{
	struct ledger_held held;
	size_t at = 0;

	state->cut_number = event_number(event, "number");
	state->cut_ns = event->time_ns;
	state->blocks.count = state->mappings.count = 0;
	while (ledger_held(state->run->ledger, &at, &held)) {
		enum resource known = ledger_class(state->run->ledger, held.class)->known;
		struct resident_block block = { held.object, held.size, held.site };

		if (held.is_part || held.size > UINT64_MAX - PAGE - held.object)
			continue;
		if (known == RESOURCE_MEMORY)
			*ARRAY_ADD(&state->blocks) = block;
		else if (known == RESOURCE_MAPPING)
			*ARRAY_ADD(&state->mappings) = block;
	}
}

/* ---- joining blocks with pages ---- */

static uint64_t above(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/* Whether a range may contain blocks from before an attach or a fork, which are unknown. */
static bool is_before(const struct resident_state *state, const struct residence_mapping *mapping,
		      uint64_t from, uint64_t to)
{
	const struct mapped *mapped = &ledger_before(state->run->ledger)->mapped;
	size_t i = ARRAY_SEARCH(mapped->count, at, mapped->items[at].end <= from);

	if (mapping->kind != RESIDENCE_HEAP && mapping->kind != RESIDENCE_ANONYMOUS)
		return false;
	if (summary_current(state->run->summary)->parent_stream != WIRE_NO_STREAM)
		return true;
	for (; i < mapped->count && mapped->items[i].start < to; i++)
		if (mapped->items[i].item == BEFORE_HEAP || mapped->items[i].item == BEFORE_ARENA ||
		    mapped->items[i].item == BEFORE_ANONYMOUS)
			return true;
	return false;
}

/* Adds live bytes of a site to a page that live blocks cover in part. */
static void add_to_page(struct resident_state *state, uint64_t address, uint32_t mapping,
			uint32_t site, uint32_t bytes)
{
	struct map_entry *entry = map_put(&state->page_of, 0, address / PAGE);
	struct resident_page *page;

	if (!entry->value) {
		*ARRAY_ADD(&state->pages) = (struct resident_page){ mapping, 0, site, 0, false };
		entry->value = (uint32_t)state->pages.count;
	}
	page = &state->pages.items[entry->value - 1];
	page->live += bytes;
	if (page->site == site) {
		page->lead += bytes;
		return;
	}
	page->is_shared = true;
	if (bytes <= page->lead) {
		page->lead -= bytes;
		return;
	}
	page->site = site;
	page->lead = bytes - page->lead;
}

/* Adds the part of a block that is within one run of resident pages. */
static void add_resident(struct resident_state *state, const struct residence_run *run,
			 uint32_t site, uint64_t from, uint64_t to)
{
	struct resident_site *entry = tally_entry(state->tally, site);
	struct resident_use *use = &state->uses[run->mapping];
	uint64_t first = (from + PAGE - 1) & ~(PAGE - 1), last = to & ~(PAGE - 1);

	entry->resident += to - from;
	use->live += to - from;
	if (run->is_before) {
		use->before_live += to - from;
		return;
	}
	/*
	 * a part within one page is added to that page; any other part has whole pages, if any, and
	 * two ends on pages that may have other blocks, too
	 */
	if (first > last || (first == last && from / PAGE == (to - 1) / PAGE)) {
		add_to_page(state, from, run->mapping, site, (uint32_t)(to - from));
		return;
	}
	use->block_pages += last - first;
	entry->alone += last - first;
	if (from < first)
		add_to_page(state, from, run->mapping, site, (uint32_t)(first - from));
	if (last < to)
		add_to_page(state, last, run->mapping, site, (uint32_t)(to - last));
}

static void add_block(struct resident_state *state, const struct resident_block *block)
{
	struct resident_site *entry = tally_entry(state->tally, block->site);
	const struct residence *residence = &state->residence;
	uint64_t end = block->from + (block->size ? block->size : 1), touched = 0;
	size_t i = state->last_run;

	entry->live += block->size;
	entry->count++;
	/* first try the run of the previous block, because blocks are usually near each other */
	if (i >= residence->runs.count || block->from < residence->runs.items[i].from ||
	    block->from >= residence->runs.items[i].to)
		i = residence_after(residence, block->from);
	state->last_run = i;
	for (; i < residence->runs.count && residence->runs.items[i].from < end && state->steps;
	     i++, state->steps--) {
		const struct residence_run *run = &residence->runs.items[i];
		uint64_t from = run->from > block->from ? run->from : block->from;
		uint64_t to = run->to < end ? run->to : end;

		touched += run->state == 'z' ? 0 : to - from;
		if (run->state == 's')
			entry->swapped += to - from;
		if (run->state == 'p')
			add_resident(state, run, block->site, from, to);
	}
	entry->untouched += above(block->size, touched);
	state->processes.items[state->processes.count - 1].live += block->size;
	state->processes.items[state->processes.count - 1].untouched += above(block->size, touched);
}

/*
 * Adds a mapping that a recorded call made, without its pages that ever had a block: these belong
 * to an allocator and are counted as block pages or free pages.
 */
static void add_mapping(struct resident_state *state, const struct resident_block *mapping)
{
	struct resident_site *entry = tally_entry(state->tally, mapping->site);
	const struct residence *residence = &state->residence;
	uint64_t end = (mapping->from + mapping->size + PAGE - 1) & ~(PAGE - 1), touched = 0;

	entry->live += mapping->size;
	entry->count++;
	for (size_t i = residence_after(residence, mapping->from);
	     i < residence->runs.count && residence->runs.items[i].from < end && state->steps;
	     i++, state->steps--) {
		const struct residence_run *run = &residence->runs.items[i];
		uint64_t from = run->from > mapping->from ? run->from : mapping->from;
		uint64_t to = run->to < end ? run->to : end, bytes = to - from;

		touched += run->state == 'z' ? 0 : bytes;
		if (run->state == 's')
			entry->swapped += bytes;
		if (run->state != 'p')
			continue;
		bytes -= count_former(state, from, to) * PAGE;
		entry->resident += bytes;
		entry->alone += bytes;
		state->uses[run->mapping].mapped += bytes;
	}
	entry->untouched += above(mapping->size, touched);
}

static void count_pages(struct resident_state *state, struct resident_process *process)
{
	const struct residence *residence = &state->residence;

	for (size_t i = 0; i < residence->runs.count; i++) {
		const struct residence_run *run = &residence->runs.items[i];
		struct resident_use *use = &state->uses[run->mapping];
		uint64_t bytes = run->to - run->from;

		use->present += run->state == 'p' ? bytes : 0;
		use->zero += run->state == 'z' ? bytes : 0;
		if (run->state != 'p')
			continue;
		if (run->is_before) {
			process->has_before = true;
			use->before += bytes;
		} else {
			use->former_pages += count_former(state, run->from, run->to) * PAGE;
		}
	}
	for (size_t i = 0; i < state->pages.count; i++) {
		struct resident_page *page = &state->pages.items[i];
		struct resident_site *entry = tally_entry(state->tally, page->site);

		state->uses[page->mapping].block_pages += PAGE;
		if (!page->is_shared)
			entry->alone += PAGE;
		if (page->live > FEW_BYTES)
			continue;
		entry->pinned_pages += PAGE;
		entry->pinned_free += PAGE - page->live;
		process->pinned += PAGE - page->live;
	}
}

/* Adds a block to its site's pinned_count and pinned_live if the site pins the block's pages. */
static void count_pinner(struct resident_state *state, const struct resident_block *block)
{
	uint64_t end = block->from + (block->size ? block->size : 1);
	uint64_t ends[2] = { block->from / PAGE, (end - 1) / PAGE };
	struct resident_site *entry = NULL;

	for (int i = 0; i < 1 + (ends[0] != ends[1]); i++) {
		uint32_t index = map_get(&state->page_of, 0, ends[i]);
		const struct resident_page *page = index ? &state->pages.items[index - 1] : NULL;
		uint64_t from = ends[i] * PAGE > block->from ? ends[i] * PAGE : block->from;
		uint64_t to = (ends[i] + 1) * PAGE < end ? (ends[i] + 1) * PAGE : end;

		if (!page || page->site != block->site || page->live > FEW_BYTES)
			continue;
		if (!entry) {
			entry = tally_entry(state->tally, block->site);
			entry->pinned_count++;
		}
		entry->pinned_live += block->size ? to - from : 0;
	}
}

/* ---- the parts of a process ---- */

static void add_part(struct resident_state *state, enum part part, uint64_t bytes, uint64_t swapped,
		     const char *path)
{
	uint32_t process = (uint32_t)state->processes.count - 1;
	size_t i = state->parts.count;

	if (!bytes && !swapped)
		return;
	while (i && i + PARTS_SEARCHED > state->parts.count &&
	       state->parts.items[i - 1].process == process) {
		struct resident_part *known = &state->parts.items[--i];

		if (known->part != part || strcmp(known->path ?: "", path ?: "") != 0)
			continue;
		known->bytes += bytes;
		known->swapped += swapped;
		return;
	}
	*ARRAY_ADD(&state->parts) = (struct resident_part){
		.process = process,
		.part = part,
		.path = path ? pool_copy(&state->pool, path) : NULL,
		.bytes = bytes,
		.swapped = swapped,
	};
}

/*
 * Subtracts at most `bytes` from *rest, the bytes of a mapping that belong to no part yet, so that
 * all parts add up to the resident bytes of the mapping. Returns the number of subtracted bytes.
 */
static uint64_t take(uint64_t *rest, uint64_t bytes)
{
	bytes = bytes < *rest ? bytes : *rest;
	*rest -= bytes;
	return bytes;
}

static void divide_mapping(struct resident_state *state, struct resident_process *process,
			   const struct residence_mapping *mapping, const struct resident_use *use)
{
	static const enum part rests[RESIDENCE_KINDS] = {
		[RESIDENCE_STACK] = PART_STACK,	  [RESIDENCE_FILE] = PART_FILE,
		[RESIDENCE_SHARED] = PART_SHARED, [RESIDENCE_OWN] = PART_OWN,
		[RESIDENCE_KERNEL] = PART_KERNEL,
	};
	bool has_path = mapping->kind == RESIDENCE_FILE || mapping->kind == RESIDENCE_SHARED;
	enum part part = rests[mapping->kind];
	uint64_t rest = mapping->resident, between, free_bytes;

	add_part(state, PART_ZERO, use->zero, 0, NULL);
	add_part(state, PART_LIVE, take(&rest, use->live), 0, NULL);
	if (mapping->kind == RESIDENCE_HEAP || mapping->kind == RESIDENCE_ANONYMOUS) {
		between = take(&rest, above(use->block_pages, use->live - use->before_live));
		free_bytes = take(&rest, above(use->former_pages, use->block_pages));
		process->between += between;
		process->free += free_bytes;
		add_part(state, PART_BETWEEN, between, 0, NULL);
		add_part(state, PART_FREE, free_bytes, 0, NULL);
		add_part(state, PART_BEFORE, take(&rest, above(use->before, use->before_live)), 0,
			 NULL);
		add_part(state, PART_MAPPED, take(&rest, use->mapped), 0, NULL);
		part = mapping->kind == RESIDENCE_HEAP || use->former_pages ? PART_ALLOCATOR
									    : PART_OTHER;
	}
	add_part(state, part, rest, mapping->swapped, has_path ? mapping->path : NULL);
}

/* ---- a process ---- */

/* Removes the result of an earlier scan of the same process. */
static void drop_result(struct resident_state *state)
{
	size_t sites = ledger_sites(state->run->ledger)->list.count;

	if (!state->has_result)
		return;
	state->has_result = false;
	state->processes.count--;
	while (state->parts.count &&
	       state->parts.items[state->parts.count - 1].process == state->processes.count)
		state->parts.count--;
	for (uint32_t site = 1; site < sites; site++) {
		struct resident_site *entry = tally_find(state->tally, TALLY_OF_PROCESS, site);

		if (entry)
			*entry = (struct resident_site){ 0 };
	}
}

static void join(struct resident_state *state)
{
	const struct summary_process *current = summary_current(state->run->summary);
	const struct residence *residence = &state->residence;
	const struct sites *sites = ledger_sites(state->run->ledger);
	const struct site *pinner = NULL;
	struct resident_process *process;

	drop_result(state);
	process = ARRAY_ADD(&state->processes);
	*process = (struct resident_process){ .pid = current->pid, .time_ns = state->cut_ns };
	if (current->name)
		process->program = pool_copy(&state->pool, current->name);
	state->has_result = true;
	state->steps = 4 * (residence->runs.count + state->blocks.count + state->mappings.count);
	for (size_t i = 0; i < residence->runs.count; i++) {
		struct residence_run *run = &residence->runs.items[i];

		run->is_before = is_before(state, &residence->mappings.items[run->mapping],
					   run->from, run->to);
	}
	state->uses = memory_zalloc(residence->mappings.count + 1, sizeof(*state->uses));
	for (size_t i = 0; i < state->blocks.count; i++)
		add_block(state, &state->blocks.items[i]);
	for (size_t i = 0; i < state->mappings.count; i++)
		add_mapping(state, &state->mappings.items[i]);
	count_pages(state, process);
	for (size_t i = 0; i < state->blocks.count; i++)
		count_pinner(state, &state->blocks.items[i]);
	for (size_t i = 0; i < residence->mappings.count; i++) {
		struct resident_use *use = &state->uses[i];
		const struct residence_mapping *mapping = &residence->mappings.items[i];

		/* some kernels report pages of zeros as present, but not as resident */
		if (mapping->kind != RESIDENCE_KERNEL)
			use->zero += above(use->present, mapping->resident);
		divide_mapping(state, process, mapping, use);
		process->resident += mapping->resident;
		process->swapped += mapping->swapped;
	}
	for (uint32_t i = 1; i < sites->list.count; i++) {
		const struct resident_site *entry = tally_find(state->tally, TALLY_OF_PROCESS, i);

		if (!entry || entry->pinned_free <= process->pinner.pinned_free)
			continue;
		process->pinner = *entry;
		pinner = sites_at(sites, i);
	}
	if (pinner && pinner->backtrace)
		process->backtrace = report_site(state->run, pinner);
	map_clear(&state->page_of);
	state->pages.count = 0;
	free(state->uses);
	state->uses = NULL;
}

static void resident_note(void *user, const struct event *event)
{
	struct resident_state *state = user;
	const char *word = event_argument(event, "state"), *reason;

	if (!strcmp(event->function->name, NOTE_SCAN) && word && !strcmp(word, "cut")) {
		take_cut(state, event);
	} else if (!strcmp(event->function->name, NOTE_SCAN) && word && !strcmp(word, "failed")) {
		reason = event_argument(event, "reason");
		state->failure = pool_copy(&state->pool, reason ?: "");
	} else if (residence_note(&state->residence, event) &&
		   state->residence.number == state->cut_number &&
		   !ledger_sample(state->run->ledger)) {
		join(state);
		state->failure = NULL;
	}
}

static void resident_process(void *user)
{
	struct resident_state *state = user;

	residence_clear(&state->residence);
	map_clear(&state->region_of);
	state->regions.count = state->blocks.count = state->mappings.count = 0;
	state->cut_number = 0;
	state->has_result = false;
}

static void resident_merge(void *user, void *of_run, const void *of_process)
{
	uint64_t *run = of_run;
	const uint64_t *process = of_process;

	(void)user;
	/* all members are uint64_t and can be added up */
	for (size_t i = 0; i < sizeof(struct resident_site) / sizeof(*run); i++)
		run[i] += process[i];
}

static void resident_destroy(void *user)
{
	struct resident_state *state = user;

	residence_free(&state->residence);
	pool_free(&state->pool);
	map_clear(&state->region_of);
	map_clear(&state->page_of);
	free(state->regions.items);
	free(state->blocks.items);
	free(state->mappings.items);
	free(state->pages.items);
	free(state->processes.items);
	free(state->parts.items);
}

/* ---- the tables ---- */

/*
 * Sets the table's note on the largest process: how much memory is free inside its allocator, and
 * which blocks pin it.
 */
static void say_process(const struct resident_state *state, struct table *table,
			const struct resident_process *process)
{
	const struct resident_site *pinner = &process->pinner;
	uint64_t unused = process->between + process->free;
	struct naming_line lines[FRAMES];
	struct human resident, live, all, part, count, bytes;
	char site[NAMES_MAX] = "", kept[2 * NAMES_MAX] = "", untouched[80] = "";
	size_t frames = 0, length;

	if (process->backtrace && state->run->naming)
		frames =
			naming_site(state->run->naming, process->backtrace, lines, FRAMES, &length);
	if (frames)
		snprintf(site, sizeof(site), " of %s", lines[0].text);
	if (process->untouched > process->live / 10)
		snprintf(untouched, sizeof(untouched), " (of which %s were never written)",
			 human_bytes(&part, process->untouched));
	if (pinner->pinned_free > unused / 4)
		snprintf(kept, sizeof(kept), ", %s%spinned by %s block%s (%s)%s",
			 pinner->pinned_free > unused / 10 * 9
				 ? ""
				 : human_bytes(&part, pinner->pinned_free),
			 pinner->pinned_free > unused / 10 * 9 ? "" : " of it ",
			 human_count(&count, pinner->pinned_count),
			 pinner->pinned_count == 1 ? "" : "s",
			 human_bytes(&bytes, pinner->pinned_live), site);
	else if (process->free > unused / 4)
		snprintf(kept, sizeof(kept), ", %s of it on pages without live blocks",
			 human_bytes(&part, process->free));
	table_note(table,
		   "%s (%" PRIu32 "): %s resident, %s live%s; %s free inside the allocator%s%s",
		   process->program ?: "?", process->pid, human_bytes(&resident, process->resident),
		   human_bytes(&live, process->live), untouched, human_bytes(&all, unused), kept,
		   process->has_before ? "; blocks from before the attach or the fork are not known"
				       : "");
}

static void put_processes(const struct resident_state *state, struct tables *tables)
{
	struct table *table = tables_begin(tables, TABLE_resident_processes);
	const struct resident_process *largest = NULL;

	for (size_t i = 0; i < state->processes.count; i++) {
		const struct resident_process *process = &state->processes.items[i];
		struct table_cell *row = table_add(table);

		table_number(CELL(row, resident_processes, resident), process->resident);
		table_number(CELL(row, resident_processes, live), process->live);
		table_number(CELL(row, resident_processes, free), process->between + process->free);
		table_number(CELL(row, resident_processes, trimmable), process->free);
		table_number(CELL(row, resident_processes, pinned), process->pinned);
		table_count(CELL(row, resident_processes, swapped), process->swapped);
		table_number(CELL(row, resident_processes, time),
			     report_time(state->run, process->time_ns));
		table_number(CELL(row, resident_processes, pid), process->pid);
		table_text(table, CELL(row, resident_processes, program), process->program);
		table_backtrace(CELL(row, resident_processes, backtrace), process->backtrace);
		if (!largest || process->resident > largest->resident)
			largest = process;
	}
	table->is_unknown = !largest;
	if (largest)
		say_process(state, table, largest);
	else if (state->run->summary->sample)
		table_note(table,
			   "unknown, because memory was sampled: a page may have blocks that "
			   "are in no sample");
	else
		table_note(table,
			   "not measured%s%s: use `holdtrace report resident --resident PID`, or "
			   "record with --scan=exit",
			   state->failure ? ", " : "", state->failure ?: "");
}

static void put_parts(const struct resident_state *state, struct tables *tables)
{
	struct table *table = tables_begin(tables, TABLE_resident_parts);

	for (size_t i = 0; i < state->parts.count; i++) {
		const struct resident_part *part = &state->parts.items[i];
		const struct resident_process *process = &state->processes.items[part->process];
		bool is_zero = part->part == PART_ZERO;
		struct table_cell *row = table_add(table);
		char name[64];

		snprintf(name, sizeof(name), "%.40s (%" PRIu32 ")", process->program ?: "?",
			 process->pid);
		table_group(table, &row[0], name, part->process);
		table_text(table, CELL(row, resident_parts, part), part_words[part->part]);
		if (is_zero)
			table_number(CELL(row, resident_parts, zero), part->bytes);
		else
			table_number(CELL(row, resident_parts, resident), part->bytes);
		table_count(CELL(row, resident_parts, swapped), part->swapped);
		table_text(table, CELL(row, resident_parts, path), part->path);
	}
}

static void put_site(void *user, struct table *table, const struct tally_place *place,
		     const void *of_place)
{
	const struct resident_state *state = user;
	const struct resident_site *site = of_place;
	struct table_cell *row;

	if (!site->count)
		return;
	row = table_add(table);
	table_number(CELL(row, resident, live), site->live);
	table_number(CELL(row, resident, resident), site->resident);
	table_number(CELL(row, resident, alone), site->alone);
	table_number(CELL(row, resident, untouched), site->untouched);
	table_count(CELL(row, resident, swapped), site->swapped);
	table_number(CELL(row, resident, count), site->count);
	table_text(table, CELL(row, resident, class),
		   ledger_class(state->run->ledger, place->class)->type);
	table_backtrace(CELL(row, resident, backtrace), place->backtrace);
}

static void put_pinned(void *user, struct table *table, const struct tally_place *place,
		       const void *of_place)
{
	const struct resident_site *site = of_place;
	struct table_cell *row;

	(void)user;
	if (!site->pinned_free)
		return;
	row = table_add(table);
	table_number(CELL(row, pinned, free), site->pinned_free);
	table_number(CELL(row, pinned, pages), site->pinned_pages);
	table_number(CELL(row, pinned, live), site->pinned_live);
	table_number(CELL(row, pinned, count), site->pinned_count);
	table_backtrace(CELL(row, pinned, backtrace), place->backtrace);
}

static void resident_end(void *user, struct tables *tables)
{
	struct resident_state *state = user;

	put_processes(state, tables);
	report_places(state->run, state->tally, tables_begin(tables, TABLE_pinned), put_pinned,
		      state);
	report_places(state->run, state->tally, tables_begin(tables, TABLE_resident), put_site,
		      state);
	put_parts(state, tables);
}

const struct report report_resident = {
	.wants_ledger = true,
	.state_size = sizeof(struct resident_state),
	.entry_size = sizeof(struct resident_site),
	.merge = resident_merge,
	.move = resident_move,
	.note = resident_note,
	.process = resident_process,
	.end = resident_end,
	.destroy = resident_destroy,
};
