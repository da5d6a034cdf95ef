/* SPDX-License-Identifier: MIT */
#include "account/mapped.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

void mapped_free(struct mapped *mapped)
{
	free(mapped->items);
	*mapped = (struct mapped){ 0 };
}

/* Index of the first range whose end is above the address. */
static size_t first_behind(const struct mapped *mapped, uint64_t address)
{
	return ARRAY_SEARCH(mapped->count, at, mapped->items[at].end <= address);
}

bool mapped_add(struct mapped *mapped, uint64_t start, uint64_t end, uint32_t item)
{
	size_t at = first_behind(mapped, start);

	if (mapped->count >= MAPPED_MAX)
		return false;
	ARRAY_ADD(mapped);
	memmove(&mapped->items[at + 1], &mapped->items[at],
		(mapped->count - 1 - at) * sizeof(*mapped->items));
	mapped->items[at] = (struct mapped_range){ start, end, item };
	return true;
}

bool mapped_cut(struct mapped *mapped, uint64_t start, uint64_t end, struct mapped_piece *piece)
{
	size_t at = first_behind(mapped, start);
	struct mapped_range *range, old;

	if (start >= end || at == mapped->count || mapped->items[at].start >= end)
		return false;
	range = &mapped->items[at];
	old = *range;
	if (start < old.start)
		start = old.start;
	if (end > old.end)
		end = old.end;
	*piece = (struct mapped_piece){ .item = old.item, .bytes = end - start, .end = end };
	if (start == old.start && end == old.end) {
		mapped->count--;
		memmove(range, range + 1, (mapped->count - at) * sizeof(*range));
		piece->ranges = -1;
	} else if (start == old.start) {
		range->start = end;
	} else {
		range->end = start;
		piece->ranges = end < old.end && mapped_add(mapped, end, old.end, old.item);
		if (!piece->ranges)
			piece->bytes += old.end - end;
	}
	return true;
}

struct mapped_range *mapped_at(const struct mapped *mapped, uint64_t start)
{
	size_t at = first_behind(mapped, start);

	return at < mapped->count && mapped->items[at].start == start ? &mapped->items[at] : NULL;
}

bool mapped_meets(const struct mapped *mapped, uint64_t start, uint64_t end)
{
	size_t at = first_behind(mapped, start);

	return at < mapped->count && mapped->items[at].start < end;
}

void before_add(struct before *before, const struct event *note)
{
	const char *word = event_argument(note, "kind");
	enum before_kind kind = 0;
	uint64_t from = event_number(note, "from"), to = event_number(note, "to");

	while (word && kind < BEFORE_KINDS && strcmp(word, before_word(kind)) != 0)
		kind++;
	/* unknown kinds, which a newer collector may write, count as anonymous */
	if (!word || kind == BEFORE_KINDS)
		kind = BEFORE_ANONYMOUS;
	if (from >= to || mapped_meets(&before->mapped, from, to) ||
	    !mapped_add(&before->mapped, from, to, kind))
		return;
	before->sums[kind].ranges++;
	before->sums[kind].bytes += to - from;
}

void before_cut(struct before *before, uint64_t start, uint64_t end, bool is_loss)
{
	struct mapped_piece piece;
	bool has_lost = false;

	while (mapped_cut(&before->mapped, start, end, &piece)) {
		before->sums[piece.item].lost += is_loss ? piece.bytes : 0;
		has_lost = is_loss;
	}
	before->calls += has_lost;
}

void before_add_up(struct before_sum *sum, const struct before_sum *part)
{
	sum->ranges += part->ranges;
	sum->bytes += part->bytes;
	sum->lost += part->lost;
}

struct before_sum before_mappings(const struct before_sum *sums)
{
	struct before_sum sum = { 0 };

	before_add_up(&sum, &sums[BEFORE_ANONYMOUS]);
	before_add_up(&sum, &sums[BEFORE_FILE]);
	before_add_up(&sum, &sums[BEFORE_SHARED]);
	return sum;
}

struct before_sum before_heap(const struct before_sum *sums)
{
	struct before_sum sum = { 0 };

	before_add_up(&sum, &sums[BEFORE_HEAP]);
	before_add_up(&sum, &sums[BEFORE_ARENA]);
	return sum;
}

void before_free(struct before *before)
{
	mapped_free(&before->mapped);
	*before = (struct before){ 0 };
}
