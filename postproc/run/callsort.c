/* SPDX-License-Identifier: MIT */
#include "callsort.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"

#define CALLSORT_RECORDS (CALLSORT_MEMORY / sizeof(struct callsort_record))

void callsort_init(struct callsort *sort, int directory)
{
	memset(sort, 0, sizeof(*sort));
	spill_init(&sort->spill, directory);
}

static int compare_words(uint64_t one, uint64_t two)
{
	return (one > two) - (one < two);
}

static int compare_records(const struct callsort_record *one, const struct callsort_record *two)
{
	if (one->place != two->place)
		return compare_words(one->place, two->place);
	if (one->number != two->number)
		return compare_words(one->number, two->number);
	if (one->rank != two->rank)
		return compare_words(one->rank, two->rank);
	return compare_words(one->enter_ns, two->enter_ns);
}

static int compare(const void *one, const void *two)
{
	return compare_records(one, two);
}

static bool is_sorted(const struct callsort *sort)
{
	for (size_t i = 1; i < sort->count; i++)
		if (compare_records(&sort->records[i - 1], &sort->records[i]) > 0)
			return false;
	return true;
}

static void sort_records(struct callsort *sort)
{
	if (!is_sorted(sort))
		qsort(sort->records, sort->count, sizeof(*sort->records), compare);
}

/* Writes the records in memory to the temporary file as a run. */
static int put_run(struct callsort *sort, struct error *err)
{
	struct callsort_run *run = ARRAY_ADD(&sort->runs);
	size_t count = sort->count;

	*run = (struct callsort_run){ .left = count };
	sort_records(sort);
	sort->count = 0;
	return spill_append(&sort->spill, sort->records, count * sizeof(*sort->records),
			    &run->offset, err);
}

int callsort_add(struct callsort *sort, const struct callsort_record *record, struct error *err)
{
	if (!sort->records)
		sort->records = memory_alloc(CALLSORT_MEMORY);
	if (sort->count == CALLSORT_RECORDS) {
		int rc = put_run(sort, err);

		if (rc)
			return rc;
	}
	sort->records[sort->count++] = *record;
	return 0;
}

/* Reads the next part of a run. Returns 1, 0 if there is none, or a negative errno. */
static int fill(struct callsort *sort, struct callsort_run *run, struct error *err)
{
	size_t count = run->left < sort->window ? (size_t)run->left : sort->window;
	size_t size = count * sizeof(*run->window);
	int rc;

	if (!count)
		return 0;
	rc = spill_read(&sort->spill, run->offset, run->window, size, err);
	if (rc)
		return rc;
	run->offset += size;
	run->left -= count;
	run->next = run->window;
	run->end = run->window + count;
	return 1;
}

/* Moves the run at that place of the heap down until no run below it has a smaller record. */
static void sink_down(struct callsort *sort, size_t place)
{
	struct callsort_run **heap = sort->heap, *run = heap[place];

	for (;;) {
		size_t child = 2 * place + 1;

		if (child + 1 < sort->heap_count &&
		    compare_records(heap[child + 1]->next, heap[child]->next) < 0)
			child++;
		if (child >= sort->heap_count || compare_records(run->next, heap[child]->next) <= 0)
			break;
		heap[place] = heap[child];
		place = child;
	}
	heap[place] = run;
}

static int start_merge(struct callsort *sort, struct error *err)
{
	sort->heap = memory_alloc(sort->runs.count * sizeof(struct callsort_run *));
	sort->window = CALLSORT_RECORDS / sort->runs.count;
	if (!sort->window)
		return error_set(err, EFBIG, "has more calls than can be sorted");
	for (size_t i = 0; i < sort->runs.count; i++) {
		struct callsort_run *run = &sort->runs.items[i];
		int rc;

		run->window = sort->records + i * sort->window;
		rc = fill(sort, run, err);
		if (rc < 0)
			return rc;
		sort->heap[sort->heap_count++] = run;
	}
	for (size_t i = sort->heap_count / 2; i-- > 0;)
		sink_down(sort, i);
	return 0;
}

int callsort_finish(struct callsort *sort, struct error *err)
{
	int rc;

	if (!sort->runs.count) {
		sort_records(sort);
		return 0;
	}
	rc = put_run(sort, err);
	return rc ? rc : start_merge(sort, err);
}

/* Takes the smallest record of all runs. */
static int next_merged(struct callsort *sort, struct callsort_record *record, struct error *err)
{
	struct callsort_run *run;

	if (!sort->heap_count)
		return 0;
	run = sort->heap[0];
	*record = *run->next++;
	if (run->next == run->end) {
		int rc = fill(sort, run, err);

		if (rc < 0)
			return rc;
		if (rc == 0)
			sort->heap[0] = sort->heap[--sort->heap_count];
	}
	if (sort->heap_count)
		sink_down(sort, 0);
	return 1;
}

static int next_any(struct callsort *sort, struct callsort_record *record, struct error *err)
{
	if (sort->runs.count)
		return next_merged(sort, record, err);
	if (sort->at == sort->count)
		return 0;
	*record = sort->records[sort->at++];
	return 1;
}

/* Whether this is another record of the previous call; a call after its return is another one. */
static bool is_repeated(const struct callsort *sort, const struct callsort_record *record)
{
	const struct callsort_record *last = &sort->last;

	return sort->has_last && record->place == last->place && record->number == last->number &&
	       record->enter_ns <= last->leave_ns;
}

int callsort_next(struct callsort *sort, struct callsort_record *record, struct error *err)
{
	int rc;

	do
		rc = next_any(sort, record, err);
	while (rc > 0 && is_repeated(sort, record));
	sort->has_last = rc > 0;
	if (rc > 0)
		sort->last = *record;
	return rc;
}

void callsort_free(struct callsort *sort)
{
	free(sort->records);
	free(sort->runs.items);
	free(sort->heap);
	spill_close(&sort->spill);
}
