/* SPDX-License-Identifier: MIT */
#include "spans.h"

#include <stdlib.h>

#include "base/array.h"

#define SHIFT_FIRST 12u /* log2 of the initial length of a step in ns: 4096 ns */
#define STEPS_LEAST 32u /* steps are merged only while their number is larger */
/*
 * initial maximum number of spans. Only a fraction of them remains when the call sites of each
 * process are merged into call sites of the run
 */
#define MOST_FIRST 1000000u

void spans_init(struct spans *spans)
{
	*spans = (struct spans){ .shift = SHIFT_FIRST, .most = MOST_FIRST, .first = UINT64_MAX };
	hash_table_init(&spans->index);
}

void spans_free(struct spans *spans)
{
	hash_table_free(&spans->index);
	free(spans->list.items);
	pool_free(&spans->pool);
	*spans = (struct spans){ 0 };
}

static bool is_span(const void *item, const void *key)
{
	const struct span *a = item, *b = key;

	return a->site == b->site && a->acquired == b->acquired && a->lost == b->lost &&
	       a->is_left == b->is_left && a->is_last == b->is_last;
}

static void put_span(struct spans *spans, const struct span *wanted)
{
	uint64_t hash = hash_two(spans->index.seed ^ wanted->site, wanted->acquired, wanted->lost);
	struct span *span = hash_table_find(&spans->index, hash, is_span, wanted);

	if (span) {
		span->count += wanted->count;
		span->bytes += wanted->bytes;
		span->since_ns += wanted->since_ns;
		return;
	}
	span = pool_alloc(&spans->pool, sizeof(*span));
	*ARRAY_ADD(&spans->list) = span;
	*span = *wanted;
	hash_table_add(&spans->index, hash, span);
}

static bool is_nothing(const struct span *span)
{
	return !span->count && !span->bytes;
}

/* Inserts all spans again, because their keys have changed. Removes spans whose amounts are 0. */
static void rebuild(struct spans *spans)
{
	struct span **items = spans->list.items;
	size_t count = spans->list.count;
	struct pool pool = spans->pool;

	hash_table_free(&spans->index);
	hash_table_init(&spans->index);
	spans->list.items = NULL;
	spans->list.count = spans->list.capacity = 0;
	spans->pool = (struct pool){ 0 };
	for (size_t i = 0; i < count; i++)
		if (!is_nothing(items[i]))
			put_span(spans, items[i]);
	free(items);
	pool_free(&pool);
}

static void coarsen(struct spans *spans, unsigned by)
{
	for (size_t i = 0; i < spans->list.count; i++) {
		struct span *span = spans->list.items[i];

		span->acquired >>= by;
		if (span->lost != SPANS_NEVER)
			span->lost >>= by;
	}
	spans->shift += by;
	spans->first >>= by;
	spans->last >>= by;
	rebuild(spans);
}

void spans_widen(struct spans *spans, unsigned shift)
{
	if (shift > spans->shift)
		coarsen(spans, shift - spans->shift);
}

void spans_reach(struct spans *spans, uint64_t time_ns)
{
	uint64_t step = time_ns >> spans->shift, first = step, last = step;
	unsigned by = 0;

	if (spans->first <= spans->last) {
		first = step < spans->first ? step : spans->first;
		last = step > spans->last ? step : spans->last;
	}
	while ((last >> by) - (first >> by) >= SPANS_STEPS)
		by++;
	spans->first = first;
	spans->last = last;
	if (by)
		coarsen(spans, by);
}

/*
 * Limits the number of spans while the trace is read: without a limit, there could be as many as
 * the number of call sites times the number of steps.
 */
static void limit_spans(struct spans *spans)
{
	if (spans->list.count <= spans->most)
		return;
	while (spans->list.count > spans->most / 2 && spans->last - spans->first >= STEPS_LEAST)
		coarsen(spans, 1);
	while (spans->list.count > spans->most / 2)
		spans->most *= 2;
}

void spans_add(struct spans *spans, uint32_t site, uint64_t acquired_ns, uint64_t lost_ns,
	       int64_t count, int64_t bytes)
{
	bool is_lost = lost_ns != SPANS_NEVER;

	spans_reach(spans, acquired_ns);
	if (is_lost)
		spans_reach(spans, lost_ns);
	put_span(spans, &(struct span){ .site = site,
					.acquired = acquired_ns >> spans->shift,
					.lost = is_lost ? lost_ns >> spans->shift : SPANS_NEVER,
					.count = count,
					.bytes = bytes });
	limit_spans(spans);
}

void spans_add_wait(struct spans *spans, uint32_t site, uint64_t since_ns, uint64_t until_ns)
{
	spans_reach(spans, since_ns);
	spans_reach(spans, until_ns);
	put_span(spans, &(struct span){ .site = site,
					.acquired = since_ns >> spans->shift,
					.lost = until_ns >> spans->shift,
					.count = 1,
					.bytes = (int64_t)(until_ns - since_ns),
					.since_ns = since_ns });
	limit_spans(spans);
}

/*
 * The spans of these sites are the last ones in the list. Their keys change here, but are never
 * looked up again, so the hash table is not rebuilt.
 */
void spans_release(struct spans *spans, uint32_t from_site, uint64_t lost_ns, bool is_left)
{
	spans_reach(spans, lost_ns);
	for (size_t i = spans->list.count; i-- > 0;) {
		struct span *span = spans->list.items[i];

		if (span->site < from_site)
			break;
		if (span->lost != SPANS_NEVER)
			continue;
		span->lost = lost_ns >> spans->shift;
		span->is_left = is_left;
	}
}

void spans_settle(const struct spans *spans, const uint32_t *renumber, size_t most,
		  struct spans *settled)
{
	spans_init(settled);
	settled->shift = spans->shift;
	settled->first = spans->first;
	settled->last = spans->last;
	for (size_t i = 0; i < spans->list.count; i++) {
		struct span span = *spans->list.items[i];

		span.site = renumber ? renumber[span.site] : span.site;
		if (!is_nothing(&span))
			put_span(settled, &span);
	}
	while (settled->list.count > most && settled->last - settled->first >= STEPS_LEAST)
		coarsen(settled, 1);
}
