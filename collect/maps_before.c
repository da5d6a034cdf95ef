/* SPDX-License-Identifier: MIT */
/*
 * Writes to the stream of a process the mappings that the process had before holdtrace attached to
 * it. The process is not stopped for this. The mappings are read before the library is loaded, and
 * again when the recording has begun; only mappings that exist both times are written. So neither
 * new mappings, for which the stream may have a call, nor mappings of the library are written.
 */
#include "collect/collect_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/order.h"
#include "before_kinds.h"
#include "notes.h"
#include "process/maps.h"
#include "process/proc.h"

/* Linux's default limit of mappings for a process */
#define RANGES_MOST 65536u
/* bytes of an arena of libc's allocator on 64-bit machines */
#define ARENA_SPAN  0x4000000ull
#define GUARD_MOST  65536u
#define PAGES	    (~0xfffull)
#define STACK_LEAST 16384u

enum use { USE_TOLD, USE_MODULE, USE_NOTHING };

struct range {
	struct mapping mapping;
	uint8_t use, kind;
	bool joins; /* the range belongs to the same mapping as the range before it */
};

struct collect_before {
	struct maps maps;
	ARRAY_OF(struct range) ranges;
};

/* ---- reading ---- */

static bool is_nameless(const struct mapping *mapping)
{
	return !*mapping->path && !(mapping->flags & MAPPING_SHARED);
}

static bool can(const struct mapping *mapping, unsigned access)
{
	return (mapping->flags & MAPPING_ACCESS) == access;
}

static void free_before(struct collect_before *before)
{
	if (!before)
		return;
	maps_free(&before->maps);
	free(before->ranges.items);
	free(before);
}

static bool add_range(struct collect_before *before, const struct mapping *mapping)
{
	struct range *place = ARRAY_ADD(&before->ranges);

	if (place)
		*place = (struct range){ .mapping = *mapping };
	return place != NULL;
}

/*
 * Adds the next mapping. If `mapping` is the reserve of an arena of libc's allocator, the mapping
 * before it may contain the used part of the arena together with other memory. That mapping is then
 * split where the arena begins, ARENA_SPAN before the end of the reserve.
 */
static bool add_part(struct collect_before *before, const struct mapping *mapping)
{
	size_t count = before->ranges.count;
	struct mapping *last = count ? &before->ranges.items[count - 1].mapping : NULL;
	struct mapping arena;

	if (!last || !is_nameless(last) || !is_nameless(mapping) ||
	    !can(last, MAPPING_READ | MAPPING_WRITE) || !can(mapping, 0) ||
	    last->to != mapping->from || mapping->to % ARENA_SPAN ||
	    last->from >= mapping->to - ARENA_SPAN || last->to <= mapping->to - ARENA_SPAN)
		return add_range(before, mapping);
	arena = *last;
	arena.from = last->to = mapping->to - ARENA_SPAN;
	return add_range(before, &arena) && add_range(before, mapping);
}

/* Reads the mappings of a process. Returns NULL if they cannot be read, or there is no memory. */
static struct collect_before *read_ranges(int32_t pid)
{
	struct collect_before *before = calloc(1, sizeof(*before));
	cleanup_fd int pagemap = proc_open(pid, 0, "pagemap");
	bool is_known = before && maps_read(&before->maps, pid) == 0 &&
			maps_split(&before->maps, pagemap) == 0;

	for (size_t i = 0; is_known && i < before->maps.count && i < RANGES_MOST; i++)
		is_known = add_part(before, &before->maps.items[i]);
	if (is_known)
		return before;
	free_before(before);
	return NULL;
}

/* ---- kinds ---- */

static bool begins(const char *path, const char *with)
{
	return !strncmp(path, with, strlen(with));
}

ORDER_FUNCTION(by_file, struct mapping, ORDER(a->device, b->device) ?: ORDER(a->inode, b->inode))

static bool is_program_file(const struct mapping *mapping)
{
	return *mapping->path == '/' && !begins(mapping->path, "/memfd:");
}

/* Marks the mappings of modules. A module is a file of which any part is mapped for execution. */
static int find_modules(struct collect_before *before)
{
	ARRAY_OF(struct mapping) executed = { 0 };

	for (size_t i = 0; i < before->ranges.count; i++) {
		const struct mapping *mapping = &before->ranges.items[i].mapping;
		struct mapping *place = NULL;

		if (!(mapping->flags & MAPPING_EXECUTE) || !is_program_file(mapping))
			continue;
		place = ARRAY_ADD(&executed);
		if (!place) {
			free(executed.items);
			return -ENOMEM;
		}
		*place = *mapping;
	}
	ARRAY_SORT(&executed, by_file);
	for (size_t i = 0; executed.count && i < before->ranges.count; i++) {
		struct range *range = &before->ranges.items[i];

		if (is_program_file(&range->mapping) &&
		    bsearch(&range->mapping, executed.items, executed.count,
			    sizeof(*executed.items), by_file))
			range->use = USE_MODULE;
	}
	free(executed.items);
	return 0;
}

/* Decides the kind of a range from its own line in the maps file. */
static void classify(struct range *range)
{
	const char *path = range->mapping.path;

	if (range->use)
		return;
	if (!strcmp(path, "[heap]"))
		range->kind = BEFORE_HEAP;
	else if (*path == '[' || begins(path, "/memfd:holdtrace"))
		range->use = USE_NOTHING;
	else if (begins(path, "/memfd:") || begins(path, "/SYSV") || begins(path, "/dev/shm/") ||
		 begins(path, "/dev/zero") || (!*path && range->mapping.flags & MAPPING_SHARED))
		range->kind = BEFORE_SHARED;
	else if (*path)
		range->kind = BEFORE_FILE;
}

/* If `next` directly follows `range`, decides their kinds, as far as the two together show them. */
static void classify_by_neighbours(struct range *range, struct range *next)
{
	const struct mapping *mapping = &range->mapping, *behind = next ? &next->mapping : NULL;

	if (range->use != USE_TOLD && next && behind->from == mapping->to && is_nameless(behind) &&
	    mapping->flags & MAPPING_WRITE && *mapping->path == '/')
		next->use = range->use; /* the .bss of the module extends beyond its file */
	if (range->use || range->kind != BEFORE_ANONYMOUS || !is_nameless(mapping) || !next ||
	    behind->from != mapping->to || !is_nameless(behind))
		return;
	/* the used part of an arena begins at a multiple of ARENA_SPAN; its reserve follows */
	if (can(mapping, MAPPING_READ | MAPPING_WRITE) && mapping->from % ARENA_SPAN == 0 &&
	    can(behind, 0) && behind->to % ARENA_SPAN == 0) {
		range->kind = BEFORE_ARENA;
		next->use = USE_NOTHING; /* the arena's reserve is only addresses, without memory */
	} else if (can(mapping, 0) && mapping->to - mapping->from <= GUARD_MOST &&
		   can(behind, MAPPING_READ | MAPPING_WRITE) &&
		   behind->to - behind->from >= STACK_LEAST) {
		range->kind = next->kind = BEFORE_STACK;
		next->joins = true;
	}
}

void collect_look_before(struct collector *collector)
{
	int32_t guest = collector->shared.control->guest;
	struct collect_before *before = guest ? read_ranges(guest) : NULL;
	struct range *ranges = before ? before->ranges.items : NULL;
	size_t count = before ? before->ranges.count : 0;

	if (before && find_modules(before)) {
		free_before(before);
		return;
	}
	for (size_t i = 0; i < count; i++)
		classify(&ranges[i]);
	for (size_t i = 0; i < count; i++)
		classify_by_neighbours(&ranges[i], i + 1 < count ? &ranges[i + 1] : NULL);
	for (size_t i = 1; i < count; i++)
		ranges[i].joins |= ranges[i - 1].mapping.to == ranges[i].mapping.from &&
				   ranges[i - 1].use == ranges[i].use &&
				   ranges[i - 1].kind == ranges[i].kind &&
				   ranges[i].kind != BEFORE_STACK &&
				   !by_file(&ranges[i - 1].mapping, &ranges[i].mapping);
	collector->before = before;
}

/* ---- comparison ---- */

/* The piece of a mapping that will be written next. Adjacent pieces of a range are joined. */
struct telling {
	const struct member *member;
	/* memory of the library, rounded to whole pages; a copy of what the process reported */
	struct arena_own own[ARENA_OWN];
	const struct range *range; /* the range that the piece is part of; NULL: no piece */
	uint64_t from, to;
	uint64_t time; /* time of the notes, in ticks */
};

static void say_piece(struct telling *telling)
{
	const struct range *range = telling->range;
	struct facts facts = { .count = 0 };

	if (!range)
		return;
	facts_format(&facts, "from", "0x%" PRIx64, telling->from);
	facts_format(&facts, "to", "0x%" PRIx64, telling->to);
	facts_add(&facts, "kind", before_word(range->kind));
	if (*range->mapping.path == '/')
		facts_add(&facts, "path", range->mapping.path);
	facts_write(&facts, telling->member->stream,
		    (struct encode_note){ .name = NOTE_MAPPED, .time = telling->time });
}

static void add_piece(struct telling *telling, const struct range *range, uint64_t from,
		      uint64_t to)
{
	if (from >= to)
		return;
	if (telling->range == range && telling->to == from) {
		telling->to = to;
		return;
	}
	say_piece(telling);
	telling->range = range;
	telling->from = from;
	telling->to = to;
}

/* Adds a piece, except those parts that are memory of the library from an earlier attach. */
static void add_foreign(struct telling *telling, const struct range *range, uint64_t from,
			uint64_t to)
{
	for (bool is_cut = true; is_cut && from < to;) {
		uint64_t next = to, behind = to;

		is_cut = false;
		for (unsigned i = 0; i < ARENA_OWN; i++) {
			const struct arena_own *own = &telling->own[i];

			if (own->from >= own->to || own->to <= from || own->from >= next)
				continue;
			next = own->from > from ? own->from : from;
			behind = own->to;
			is_cut = true;
		}
		add_piece(telling, range, from, next);
		from = behind;
	}
}

/* Adds the parts of `mapping` (of the first reading) that are still mapped in the second, `now`. */
static void add_both(struct telling *telling, const struct mapping *mapping,
		     const struct range *first, const struct collect_before *now)
{
	size_t i = ARRAY_SEARCH(now->ranges.count, at,
				now->ranges.items[at].mapping.to <= mapping->from);

	for (; i < now->ranges.count; i++) {
		const struct mapping *other = &now->ranges.items[i].mapping;

		if (other->from >= mapping->to)
			return;
		if (mapping->device == other->device && mapping->inode == other->inode &&
		    !strcmp(mapping->path, other->path) &&
		    !((mapping->flags ^ other->flags) & MAPPING_SHARED))
			add_foreign(telling, first,
				    other->from > mapping->from ? other->from : mapping->from,
				    other->to < mapping->to ? other->to : mapping->to);
	}
}

void collect_heed_note(struct collector *collector, struct member *member,
		       const struct merge_event *event)
{
	struct telling telling = { .member = member, .time = event->time };
	const struct collect_before *before = collector->before;
	const struct range *first = NULL;
	const struct record_note *record = (const struct record_note *)event->record;
	const struct arena_own *own = member->chunks[0]->head->own;
	struct collect_before *now;

	if (record->text < sizeof(NOTE_ATTACHED) ||
	    memcmp(record + 1, NOTE_ATTACHED, sizeof(NOTE_ATTACHED)) || member->doubt ||
	    member->watch.our_pid != collector->shared.control->guest)
		return;
	for (unsigned i = 0; i < ARENA_OWN; i++) {
		telling.own[i].from = __atomic_load_n(&own[i].from, __ATOMIC_RELAXED) & PAGES;
		telling.own[i].to =
			(__atomic_load_n(&own[i].to, __ATOMIC_RELAXED) + ~PAGES) & PAGES;
	}
	now = read_ranges(member->watch.our_pid);
	for (size_t i = 0; now && i < before->ranges.count; i++) {
		const struct range *range = &before->ranges.items[i];

		first = range->joins ? first : range;
		if (range->use == USE_TOLD)
			add_both(&telling, &range->mapping, first, now);
	}
	say_piece(&telling);
	free_before(now);
	free_before(collector->before);
	collector->before = NULL;
}
