/* SPDX-License-Identifier: MIT */
#include "base/spill_sort.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/order.h"

#define WINDOW_MAX (256u << 10) /* maximum bytes to read from a run at a time */
#define WINDOW_MIN (16u << 10)
#define BLOCK_SIZE (1u << 20) /* bytes per write */

/* Precedes each piece in the spill file. */
struct spill_head {
	struct spill_key key;
	uint64_t size;
};

/* The sorted contents of one buffer in the spill file. */
struct spill_run {
	uint64_t at, end; /* the part of the file that has not been read yet */
	char *window;
	size_t start, filled, capacity;
	struct spill_head head; /* header of the piece at `start` */
};

void spill_sort_init(struct spill_sort *sort, int directory, size_t limit)
{
	memset(sort, 0, sizeof(*sort));
	sort->limit = limit ? limit : SPILL_SORT_BUFFER;
	spill_init(&sort->spill, directory);
}

static int compare_keys(const struct spill_key *a, const struct spill_key *b)
{
	return ORDER(a->first, b->first)
		?: ORDER(a->second, b->second)
		?: ORDER(a->third, b->third);
}

ORDER_FUNCTION(compare_entries, struct spill_entry,
	       compare_keys(&a->key, &b->key) ?: ORDER(a->offset, b->offset))

static void sort_strays(struct spill_sort *sort)
{
	ARRAY_SORT(&sort->strays, compare_entries);
}

/* Removes and returns the next entry in key order; NULL: there is none. */
static const struct spill_entry *take_entry(struct spill_sort *sort)
{
	const struct spill_entry *straight = NULL, *stray = NULL;

	if (sort->straight_at < sort->straight.count)
		straight = &sort->straight.items[sort->straight_at];
	if (sort->strays_at < sort->strays.count)
		stray = &sort->strays.items[sort->strays_at];
	if (stray && (!straight || compare_entries(stray, straight) < 0)) {
		sort->strays_at++;
		return stray;
	}
	sort->straight_at += straight != NULL;
	return straight;
}

/* ---- adding ---- */

static void add_to_block(struct spill_sort *sort, char *block, size_t *used, const void *bytes,
			 size_t size)
{
	if (size > BLOCK_SIZE - *used) {
		spill_append(&sort->spill, block, *used);
		*used = 0;
	}
	if (size > BLOCK_SIZE) {
		spill_append(&sort->spill, bytes, size);
		return;
	}
	memcpy(block + *used, bytes, size);
	*used += size;
}

/* Writes the buffer to the spill file as a run. */
static void spill_buffer_as_run(struct spill_sort *sort)
{
	struct spill_run *run = ARRAY_ADD(&sort->runs);
	char *block = memory_alloc(BLOCK_SIZE);
	const struct spill_entry *entry;
	size_t used = 0;

	*run = (struct spill_run){ .at = sort->spill.size };
	sort_strays(sort);
	while ((entry = take_entry(sort)) != NULL) {
		struct spill_head head = { entry->key, entry->size };

		add_to_block(sort, block, &used, &head, sizeof(head));
		add_to_block(sort, block, &used, sort->buffer + entry->offset, entry->size);
	}
	spill_append(&sort->spill, block, used);
	free(block);
	run->end = sort->spill.size;
	sort->straight.count = sort->strays.count = 0;
	sort->straight_at = sort->strays_at = 0;
	sort->used = 0;
}

char *spill_sort_reserve(struct spill_sort *sort, size_t most)
{
	size_t capacity = sort->capacity ? sort->capacity : 64u << 10;

	if (sort->used && sort->used + most > sort->limit)
		spill_buffer_as_run(sort);
	while (capacity - sort->used < most)
		capacity *= 2;
	if (capacity != sort->capacity)
		sort->buffer = memory_resize(sort->buffer, capacity);
	sort->capacity = capacity;
	return sort->buffer + sort->used;
}

void spill_sort_commit(struct spill_sort *sort, struct spill_key key, size_t size)
{
	size_t count = sort->straight.count;
	const struct spill_entry *last = count ? &sort->straight.items[count - 1] : NULL;
	bool is_straight = !last || compare_keys(&last->key, &key) <= 0;
	struct spill_entry *entry = ARRAY_ADD(is_straight ? &sort->straight : &sort->strays);

	*entry = (struct spill_entry){ key, sort->used, size };
	sort->used += size;
}

/* ---- merging ---- */

/*
 * Makes the next `wanted` bytes of the run available in its window. The run must have that many
 * bytes left.
 */
static bool run_need(struct spill_sort *sort, struct spill_run *run, size_t wanted)
{
	size_t left = run->filled - run->start, more;

	if (left >= wanted)
		return true;
	memmove(run->window, run->window + run->start, left);
	if (wanted > run->capacity) {
		run->window = memory_resize(run->window, wanted);
		run->capacity = wanted;
	}
	more = run->capacity - left;
	if (more > run->end - run->at)
		more = (size_t)(run->end - run->at);
	run->start = 0;
	run->filled = left + more;
	run->at += more;
	return !sort->spill.failure.number &&
	       !spill_read(&sort->spill, run->at - more, run->window + left, more,
			   &sort->spill.failure);
}

/* Reads the next piece of a run. False at the end of the run, or after a failure. */
static bool run_next(struct spill_sort *sort, struct spill_run *run)
{
	if ((run->start == run->filled && run->at == run->end) ||
	    !run_need(sort, run, sizeof(run->head)))
		return false;
	memcpy(&run->head, run->window + run->start, sizeof(run->head));
	return run_need(sort, run, sizeof(run->head) + run->head.size);
}

/* True if the next piece of `one` comes first. If the keys are equal, the older run comes first. */
static bool run_is_before(const struct spill_run *one, const struct spill_run *two)
{
	return (compare_keys(&one->head.key, &two->head.key) ?: ORDER(one, two)) < 0;
}

static void sift_down(struct spill_sort *sort, size_t at)
{
	struct spill_run **heap = sort->heap;

	for (;;) {
		size_t child = 2 * at + 1;
		struct spill_run *moved = heap[at];

		if (child + 1 < sort->heap_count && run_is_before(heap[child + 1], heap[child]))
			child++;
		if (child >= sort->heap_count || !run_is_before(heap[child], moved))
			return;
		heap[at] = heap[child];
		heap[child] = moved;
		at = child;
	}
}

int spill_sort_finish(struct spill_sort *sort, struct error *err)
{
	size_t share;

	if (!sort->runs.count) {
		sort_strays(sort);
		return 0;
	}
	if (sort->used)
		spill_buffer_as_run(sort);
	free(sort->buffer);
	sort->buffer = NULL;
	sort->capacity = 0;
	share = sort->limit / sort->runs.count;
	share = share > WINDOW_MAX ? WINDOW_MAX : share < WINDOW_MIN ? WINDOW_MIN : share;
	sort->heap = memory_alloc(sort->runs.count * sizeof(struct spill_run *));
	for (size_t i = 0; i < sort->runs.count; i++) {
		struct spill_run *run = &sort->runs.items[i];

		run->window = memory_alloc(share);
		run->capacity = share;
		if (run_next(sort, run))
			sort->heap[sort->heap_count++] = run;
	}
	for (size_t i = sort->heap_count / 2; i-- > 0;)
		sift_down(sort, i);
	return spill_error(&sort->spill, err);
}

int spill_sort_next(struct spill_sort *sort, struct spill_piece *piece, struct error *err)
{
	const struct spill_entry *entry;
	struct spill_run *run;

	if (!sort->heap) {
		entry = take_entry(sort);
		if (entry)
			*piece = (struct spill_piece){ entry->key, entry->size,
						       sort->buffer + entry->offset };
		return entry != NULL;
	}
	/*
	 * Drops the piece that the previous call returned, which had to stay valid until now. After
	 * spill_sort_finish(), straight_at is only a flag: not 0 if the previous call returned a
	 * piece.
	 */
	if (sort->straight_at) {
		run = sort->heap[0];
		run->start += sizeof(run->head) + run->head.size;
		if (!run_next(sort, run))
			sort->heap[0] = sort->heap[--sort->heap_count];
		if (sort->heap_count)
			sift_down(sort, 0);
	}
	sort->straight_at = sort->heap_count != 0;
	if (!sort->heap_count || sort->spill.failure.number)
		return spill_error(&sort->spill, err);
	run = sort->heap[0];
	*piece = (struct spill_piece){ run->head.key, run->head.size,
				       run->window + run->start + sizeof(run->head) };
	return 1;
}

void spill_sort_free(struct spill_sort *sort)
{
	for (size_t i = 0; i < sort->runs.count; i++)
		free(sort->runs.items[i].window);
	free(sort->runs.items);
	free(sort->heap);
	free(sort->straight.items);
	free(sort->strays.items);
	free(sort->buffer);
	spill_close(&sort->spill);
}
