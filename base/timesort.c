/* SPDX-License-Identifier: MIT */
#include "base/timesort.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"

#define RANK_SHIFT 30
#define WINDOW_MAX (256u << 10) /* bytes of a run that are read at once */
#define WINDOW_MIN (16u << 10)

/* precedes each piece in the temporary file */
struct head {
	uint64_t time;
	uint32_t order, size;
};

/* One buffer, sorted, in the temporary file. */
struct timesort_run {
	uint64_t at, end; /* the part that has not been read yet */
	size_t number;
	char *window;
	size_t start, filled, capacity;
	struct head head; /* of the piece at `start` */
};

void timesort_init(struct timesort *sort, int directory, size_t limit)
{
	memset(sort, 0, sizeof(*sort));
	sort->limit = limit ? limit : TIMESORT_BUFFER;
	spill_init(&sort->spill, directory);
}

static bool is_before(uint64_t time, uint32_t order, uint64_t other_time, uint32_t other_order)
{
	return time != other_time ? time < other_time : order < other_order;
}

static int compare_entries(const void *one, const void *two)
{
	const struct timesort_entry *a = one, *b = two;

	return is_before(a->time, a->order, b->time, b->order) ? -1 : 1;
}

static void sort_strays(struct timesort *sort)
{
	if (sort->strays.count)
		qsort(sort->strays.items, sort->strays.count, sizeof(*sort->strays.items),
		      compare_entries);
}

/* The earliest entry that was not returned yet, or NULL. */
static const struct timesort_entry *take_entry(struct timesort *sort)
{
	const struct timesort_entry *straight = NULL, *stray = NULL;

	if (sort->straight_at < sort->straight.count)
		straight = &sort->straight.items[sort->straight_at];
	if (sort->strays_at < sort->strays.count)
		stray = &sort->strays.items[sort->strays_at];
	if (stray &&
	    (!straight || is_before(stray->time, stray->order, straight->time, straight->order))) {
		sort->strays_at++;
		return stray;
	}
	sort->straight_at += straight != NULL;
	return straight;
}

/* ---- the temporary file ---- */

#define BLOCK (1u << 20)

struct block {
	struct timesort *sort;
	size_t used;
	char bytes[BLOCK];
};

static int block_write(struct block *block, const void *bytes, size_t size, struct error *err)
{
	struct spill_file *spill = &block->sort->spill;
	uint64_t offset;
	int rc = 0;

	if (size > BLOCK - block->used) {
		rc = spill_append(spill, block->bytes, block->used, &offset, err);
		block->used = 0;
	}
	if (rc == 0 && size > BLOCK)
		return spill_append(spill, bytes, size, &offset, err);
	if (rc == 0) {
		memcpy(block->bytes + block->used, bytes, size);
		block->used += size;
	}
	return rc;
}

static int write_entries(struct timesort *sort, struct block *block, struct error *err)
{
	const struct timesort_entry *entry;
	uint64_t offset;
	int rc = 0;

	while (rc == 0 && (entry = take_entry(sort)) != NULL) {
		struct head head = { entry->time, entry->order, entry->size };

		rc = block_write(block, &head, sizeof(head), err);
		if (rc == 0)
			rc = block_write(block, sort->buffer + entry->offset, entry->size, err);
	}
	return rc ? rc : spill_append(&sort->spill, block->bytes, block->used, &offset, err);
}

static void forget_entries(struct timesort *sort)
{
	sort->straight.count = sort->strays.count = 0;
	sort->straight_at = sort->strays_at = 0;
	sort->used = 0;
}

/* Writes the buffer to the temporary file as a run. */
static int spill(struct timesort *sort, struct error *err)
{
	struct timesort_run *run = ARRAY_ADD(&sort->runs);
	struct block *block = memory_alloc(sizeof(*block));
	int rc;

	if (!run || !block) {
		sort->runs.count -= run != NULL;
		free(block);
		return error_system(err, ENOMEM, "sorting by time");
	}
	block->sort = sort;
	block->used = 0;
	*run = (struct timesort_run){ .at = sort->spill.size, .number = sort->runs.count - 1 };
	sort_strays(sort);
	rc = write_entries(sort, block, err);
	run->end = sort->spill.size;
	free(block);
	forget_entries(sort);
	return rc;
}

/* ---- adding ---- */

static int grow(struct timesort *sort, size_t most)
{
	size_t capacity = sort->capacity ? sort->capacity : 64u << 10;
	char *buffer;

	while (capacity - sort->used < most)
		capacity *= 2;
	if (capacity == sort->capacity)
		return 0;
	buffer = memory_resize(sort->buffer, capacity);
	if (!buffer)
		return -ENOMEM;
	sort->buffer = buffer;
	sort->capacity = capacity;
	return 0;
}

char *timesort_reserve(struct timesort *sort, size_t most, struct error *err)
{
	if (sort->used && sort->used + most > sort->limit && spill(sort, err))
		return NULL;
	if (most > sort->capacity - sort->used && grow(sort, most)) {
		error_system(err, ENOMEM, "sorting by time");
		return NULL;
	}
	return sort->buffer + sort->used;
}

int timesort_commit(struct timesort *sort, uint64_t time, unsigned rank, size_t size)
{
	size_t count = sort->straight.count;
	const struct timesort_entry *last = count ? &sort->straight.items[count - 1] : NULL;
	uint32_t order = (uint32_t)rank << RANK_SHIFT | (uint32_t)(count + sort->strays.count);
	bool is_straight = !last || !is_before(time, order, last->time, last->order);
	struct timesort_list *list = is_straight ? &sort->straight : &sort->strays;
	struct timesort_entry *entry = ARRAY_ADD(list);

	if (!entry)
		return -ENOMEM;
	*entry = (struct timesort_entry){ time, order, (uint32_t)size, sort->used };
	sort->used += size;
	return 0;
}

/* ---- merging ---- */

/* Makes `wanted` bytes of the run available in its window; the run must have that many. */
static int run_need(struct timesort *sort, struct timesort_run *run, size_t wanted,
		    struct error *err)
{
	size_t left = run->filled - run->start, more;
	int rc;

	if (left >= wanted)
		return 0;
	memmove(run->window, run->window + run->start, left);
	run->start = 0;
	run->filled = left;
	if (wanted > run->capacity) {
		char *window = memory_resize(run->window, wanted);

		if (!window)
			return error_system(err, ENOMEM, "sorting by time");
		run->window = window;
		run->capacity = wanted;
	}
	more = run->capacity - left;
	if (more > run->end - run->at)
		more = (size_t)(run->end - run->at);
	rc = spill_read(&sort->spill, run->at, run->window + left, more, err);
	run->at += more;
	run->filled += more;
	return rc;
}

/* Reads the next piece of a run. Returns 1, 0 at its end, or a negative errno. */
static int run_next(struct timesort *sort, struct timesort_run *run, struct error *err)
{
	int rc;

	if (run->start == run->filled && run->at == run->end)
		return 0;
	rc = run_need(sort, run, sizeof(run->head), err);
	if (rc)
		return rc;
	memcpy(&run->head, run->window + run->start, sizeof(run->head));
	rc = run_need(sort, run, sizeof(run->head) + run->head.size, err);
	return rc ? rc : 1;
}

/* Compares by time, then rank, then run: the pieces of one run are already ordered. */
static bool run_is_before(const struct timesort_run *one, const struct timesort_run *two)
{
	uint32_t ranks[2] = { one->head.order >> RANK_SHIFT, two->head.order >> RANK_SHIFT };

	if (one->head.time != two->head.time)
		return one->head.time < two->head.time;
	return ranks[0] != ranks[1] ? ranks[0] < ranks[1] : one->number < two->number;
}

static void sift_down(struct timesort *sort, size_t at)
{
	struct timesort_run **heap = sort->heap;

	for (;;) {
		size_t child = 2 * at + 1;
		struct timesort_run *moved = heap[at];

		if (child >= sort->heap_count)
			return;
		if (child + 1 < sort->heap_count && run_is_before(heap[child + 1], heap[child]))
			child++;
		if (!run_is_before(heap[child], heap[at]))
			return;
		heap[at] = heap[child];
		heap[child] = moved;
		at = child;
	}
}

static int open_run(struct timesort *sort, struct timesort_run *run, struct error *err)
{
	size_t share = sort->limit / sort->runs.count;
	int rc;

	run->capacity = share > WINDOW_MAX ? WINDOW_MAX : share < WINDOW_MIN ? WINDOW_MIN : share;
	run->window = memory_alloc(run->capacity);
	if (!run->window)
		return error_system(err, ENOMEM, "sorting by time");
	rc = run_next(sort, run, err);
	if (rc == 1)
		sort->heap[sort->heap_count++] = run;
	return rc < 0 ? rc : 0;
}

int timesort_finish(struct timesort *sort, struct error *err)
{
	int rc = 0;

	if (!sort->runs.count) {
		sort_strays(sort);
		return 0;
	}
	if (sort->used)
		rc = spill(sort, err);
	free(sort->buffer);
	sort->buffer = NULL;
	sort->capacity = 0;
	sort->heap = memory_zalloc(sort->runs.count, sizeof(*sort->heap));
	if (rc == 0 && !sort->heap)
		rc = error_system(err, ENOMEM, "sorting by time");
	for (size_t i = 0; rc == 0 && i < sort->runs.count; i++)
		rc = open_run(sort, &sort->runs.items[i], err);
	for (size_t i = sort->heap_count / 2; rc == 0 && i-- > 0;)
		sift_down(sort, i);
	return rc;
}

static int next_in_memory(struct timesort *sort, struct timesort_piece *piece)
{
	const struct timesort_entry *entry = take_entry(sort);

	if (!entry)
		return 0;
	piece->time = entry->time;
	piece->size = entry->size;
	piece->bytes = sort->buffer + entry->offset;
	return 1;
}

/* Moves on from the piece that was returned last: the next of its run, or the next run. */
static int advance(struct timesort *sort, struct error *err)
{
	struct timesort_run *run = sort->heap[0];
	int rc;

	run->start += sizeof(run->head) + run->head.size;
	rc = run_next(sort, run, err);
	if (rc < 0)
		return rc;
	if (rc == 0)
		sort->heap[0] = sort->heap[--sort->heap_count];
	if (sort->heap_count)
		sift_down(sort, 0);
	return 0;
}

int timesort_next(struct timesort *sort, struct timesort_piece *piece, struct error *err)
{
	struct timesort_run *run;
	int rc = 0;

	if (!sort->heap)
		return next_in_memory(sort, piece);
	/*
	 * The piece that was returned last stays valid until now; straight_at: there is such a
	 * piece.
	 */
	if (sort->straight_at)
		rc = advance(sort, err);
	sort->straight_at = 1;
	if (rc || !sort->heap_count)
		return rc;
	run = sort->heap[0];
	piece->time = run->head.time;
	piece->size = run->head.size;
	piece->bytes = run->window + run->start + sizeof(run->head);
	return 1;
}

void timesort_free(struct timesort *sort)
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
