/* SPDX-License-Identifier: MIT */
/*
 * What a process had mapped before it was attached to, for its stream. Nothing stands still for it:
 * the mappings are read before anything is brought into the process and again when its recording
 * has begun. Told is what is there both times, so neither what came meanwhile, which a call of the
 * stream may have gained, nor what is of the library itself.
 */
#include "collect/collect_parts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "before_kinds.h"
#include "notes.h"

#define LINE_SIZE   4352u
#define RANGES_MOST 65536u	 /* as many as Linux allows by itself */
#define ARENA_SPAN  0x4000000ull /* of libc's allocator, on 64 bits */
#define GUARD_MOST  65536u
#define PAGES	    (~0xfffull)
#define STACK_LEAST 16384u

enum use { USE_TOLD, USE_MODULE, USE_NOTHING };

struct range {
	uint64_t from, to, device, inode;
	char permissions[5];
	uint8_t use, kind;
	bool joins; /* with the one before it */
	char *path;
};

struct collect_before {
	ARRAY_OF(struct range) ranges;
};

/* ---- reading ---- */

static bool is_nameless(const struct range *range)
{
	return !*range->path && range->permissions[3] == 'p';
}

static bool can(const struct range *range, const char *permissions)
{
	return !strncmp(range->permissions, permissions, 3);
}

static void free_before(struct collect_before *before)
{
	for (size_t i = 0; before && i < before->ranges.count; i++)
		free(before->ranges.items[i].path);
	if (before)
		free(before->ranges.items);
	free(before);
}

static bool parse(struct range *range, char *line)
{
	unsigned major, minor;
	int path = 0;

	*range = (struct range){ 0 };
	line[strcspn(line, "\n")] = '\0';
	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %*x %x:%x %" SCNu64 " %n", &range->from,
		   &range->to, range->permissions, &major, &minor, &range->inode, &path) < 6)
		return false;
	range->device = (uint64_t)major << 32 | minor;
	range->path = strdup(path ? line + path : "");
	return range->path != NULL;
}

static bool add_range(struct collect_before *before, const struct range *range)
{
	struct range *place = ARRAY_ADD(&before->ranges);

	if (place)
		*place = *range;
	else
		free(range->path);
	return place != NULL;
}

/*
 * The next one. What lies below an arena may be one mapping with it: an arena begins where arenas
 * do, and what it may still need ends where it ends.
 */
static bool add_part(struct collect_before *before, const struct range *range)
{
	size_t count = before->ranges.count;
	struct range *last = count ? &before->ranges.items[count - 1] : NULL;
	struct range arena;

	if (!last || !is_nameless(last) || !is_nameless(range) || !can(last, "rw-") ||
	    !can(range, "---") || last->to != range->from || range->to % ARENA_SPAN ||
	    last->from >= range->to - ARENA_SPAN || last->to <= range->to - ARENA_SPAN)
		return add_range(before, range);
	arena = *last;
	arena.path = strdup("");
	arena.from = last->to = range->to - ARENA_SPAN;
	return arena.path && add_range(before, &arena) && add_range(before, range);
}

/* NULL: they may not be read, or there is no memory. */
static struct collect_before *read_ranges(int32_t pid)
{
	struct collect_before *before = calloc(1, sizeof(*before));
	char path[64], line[LINE_SIZE];
	cleanup_file FILE *file = NULL;
	bool has_memory = true;

	snprintf(path, sizeof(path), "/proc/%" PRId32 "/maps", pid);
	file = before ? fopen(path, "re") : NULL;
	while (file && has_memory && before->ranges.count < RANGES_MOST &&
	       fgets(line, sizeof(line), file)) {
		struct range range;

		if (parse(&range, line))
			has_memory = add_part(before, &range);
	}
	if (file && has_memory && before->ranges.count)
		return before;
	free_before(before);
	return NULL;
}

/* ---- what it is ---- */

static bool begins(const char *path, const char *with)
{
	return !strncmp(path, with, strlen(with));
}

static int compare(const void *left, const void *right)
{
	const struct range *a = left, *b = right;

	if (a->device != b->device)
		return a->device < b->device ? -1 : 1;
	return (a->inode > b->inode) - (a->inode < b->inode);
}

static bool is_program_file(const struct range *range)
{
	return *range->path == '/' && !begins(range->path, "/memfd:");
}

/* All of a file that is executed somewhere is the loader's. */
static int find_modules(struct collect_before *before)
{
	ARRAY_OF(struct range) executed = { 0 };

	for (size_t i = 0; i < before->ranges.count; i++) {
		const struct range *range = &before->ranges.items[i];
		struct range *place = NULL;

		if (range->permissions[2] != 'x' || !is_program_file(range))
			continue;
		place = ARRAY_ADD(&executed);
		if (!place) {
			free(executed.items);
			return -ENOMEM;
		}
		*place = *range;
	}
	if (executed.count)
		qsort(executed.items, executed.count, sizeof(*executed.items), compare);
	for (size_t i = 0; executed.count && i < before->ranges.count; i++) {
		struct range *range = &before->ranges.items[i];

		if (is_program_file(range) && bsearch(range, executed.items, executed.count,
						      sizeof(*executed.items), compare))
			range->use = USE_MODULE;
	}
	free(executed.items);
	return 0;
}

/* The part of an arena that is in use begins where arenas do, and what it may still need follows.
 */
static bool is_arena(const struct range *range, const struct range *next)
{
	return is_nameless(range) && can(range, "rw-") && range->from % ARENA_SPAN == 0 && next &&
	       next->from == range->to && is_nameless(next) && can(next, "---") &&
	       next->to % ARENA_SPAN == 0;
}

static bool is_guard(const struct range *range, const struct range *next)
{
	return is_nameless(range) && can(range, "---") && range->to - range->from <= GUARD_MOST &&
	       next && next->from == range->to && is_nameless(next) && can(next, "rw-") &&
	       next->to - next->from >= STACK_LEAST;
}

/* What one line says by itself. */
static void judge(struct range *range)
{
	const char *path = range->path;

	if (range->use)
		return;
	if (!strcmp(path, "[heap]"))
		range->kind = BEFORE_HEAP;
	else if (*path == '[' || begins(path, "/memfd:holdtrace"))
		range->use = USE_NOTHING;
	else if (begins(path, "/memfd:") || begins(path, "/SYSV") || begins(path, "/dev/shm/") ||
		 begins(path, "/dev/zero") || (!*path && range->permissions[3] == 's'))
		range->kind = BEFORE_SHARED;
	else if (*path)
		range->kind = BEFORE_FILE;
}

/* And what its neighbours add. */
static void judge_neighbours(struct range *range, struct range *next)
{
	if (range->use != USE_TOLD && next && next->from == range->to && is_nameless(next) &&
	    range->permissions[1] == 'w' && *range->path == '/')
		next->use = range->use; /* what a module has beyond its file */
	if (range->use || range->kind != BEFORE_ANONYMOUS)
		return;
	if (is_arena(range, next)) {
		range->kind = BEFORE_ARENA;
		next->use = USE_NOTHING; /* addresses that are kept, no memory */
	} else if (is_guard(range, next)) {
		range->kind = next->kind = BEFORE_STACK;
		next->joins = true;
	}
}

static bool continues(const struct range *before, const struct range *range)
{
	return before->to == range->from && before->use == range->use &&
	       before->kind == range->kind && before->inode == range->inode &&
	       before->device == range->device && range->kind != BEFORE_STACK;
}

static int judge_all(struct collect_before *before)
{
	struct range *ranges = before->ranges.items;
	size_t count = before->ranges.count;

	if (find_modules(before))
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		judge(&ranges[i]);
	for (size_t i = 0; i < count; i++)
		judge_neighbours(&ranges[i], i + 1 < count ? &ranges[i + 1] : NULL);
	for (size_t i = 1; i < count; i++)
		ranges[i].joins |= continues(&ranges[i - 1], &ranges[i]);
	return 0;
}

void collect_look_before(struct collector *collector)
{
	int32_t guest = collector->shared.board->guest;

	collector->before = guest ? read_ranges(guest) : NULL;
	if (collector->before && judge_all(collector->before)) {
		free_before(collector->before);
		collector->before = NULL;
	}
}

/* ---- what is still there ---- */

static bool is_same(const struct range *a, const struct range *b)
{
	return a->device == b->device && a->inode == b->inode && !strcmp(a->path, b->path) &&
	       a->permissions[3] == b->permissions[3];
}

/* What is to be told: pieces of it that lie side by side are one. */
struct telling {
	const struct member *member;
	struct arena_own own[ARENA_OWN]; /* as pages; a copy of what the process says */
	const struct range *range;	 /* that the next piece is of; NULL: there is none */
	uint64_t from, to;
	uint64_t time; /* of the notes */
};

static void say_piece(struct telling *telling)
{
	const struct range *range = telling->range;
	char texts[2][24];
	const struct wire_value values[] = { { "from", texts[0] },
					     { "to", texts[1] },
					     { "kind", range ? before_word(range->kind) : "" },
					     { "path", range ? range->path : "" } };

	if (!range)
		return;
	snprintf(texts[0], sizeof(texts[0]), "0x%" PRIx64, telling->from);
	snprintf(texts[1], sizeof(texts[1]), "0x%" PRIx64, telling->to);
	stream_note(telling->member->stream,
		    &(struct encode_note){ .name = NOTE_MAPPED,
					   .values = values,
					   .count = 3u + (*range->path == '/'),
					   .time = telling->time });
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

/* Without what an attach before has left there: that is the library's, own of them looked at. */
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

/* Whatever of a range is there now, too. */
static void add_both(struct telling *telling, const struct range *range, const struct range *first,
		     const struct collect_before *now)
{
	const struct range *other =
		now->ranges.items +
		ARRAY_SEARCH(now->ranges.count, at, now->ranges.items[at].to <= range->from);

	for (; other < now->ranges.items + now->ranges.count && other->from < range->to; other++)
		if (is_same(range, other))
			add_foreign(telling, first,
				    other->from > range->from ? other->from : range->from,
				    other->to < range->to ? other->to : range->to);
}

static void say_all(struct collector *collector, struct telling *telling,
		    const struct collect_before *now)
{
	const struct collect_before *before = collector->before;
	const struct range *first = NULL;

	for (size_t i = 0; i < before->ranges.count; i++) {
		const struct range *range = &before->ranges.items[i];

		first = range->joins ? first : range;
		if (range->use == USE_TOLD)
			add_both(telling, range, first, now);
	}
	say_piece(telling);
}

static void copy_own(struct arena_own to[ARENA_OWN], const struct arena_own *own)
{
	for (unsigned i = 0; i < ARENA_OWN; i++) {
		to[i].from = __atomic_load_n(&own[i].from, __ATOMIC_RELAXED) & PAGES;
		to[i].to = (__atomic_load_n(&own[i].to, __ATOMIC_RELAXED) + ~PAGES) & PAGES;
	}
}

static bool is_beginning(const struct merge_event *event)
{
	const struct record_note *record = (const struct record_note *)event->record;

	return record->text >= sizeof(NOTE_ATTACHED) &&
	       !memcmp(record + 1, NOTE_ATTACHED, sizeof(NOTE_ATTACHED));
}

void collect_heed_note(struct collector *collector, struct member *member,
		       const struct merge_event *event)
{
	struct telling telling = { .member = member, .time = event->time };
	struct collect_before *now;

	if (!is_beginning(event) || member->doubt ||
	    member->watch.our_pid != collector->shared.board->guest)
		return;
	copy_own(telling.own, member->chunks[0]->head->own);
	now = read_ranges(member->watch.our_pid);
	if (now)
		say_all(collector, &telling, now);
	free_before(now);
	free_before(collector->before);
	collector->before = NULL;
}
