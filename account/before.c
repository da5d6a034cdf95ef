/* SPDX-License-Identifier: MIT */
#include "account/before.h"

#include <stdlib.h>
#include <string.h>

/* The kind with that name. Unknown kinds, which a newer collector may write, count as anonymous. */
static enum before_kind kind_of(const char *word)
{
	for (enum before_kind kind = 0; word && kind < BEFORE_KINDS; kind++)
		if (!strcmp(word, before_word(kind)))
			return kind;
	return BEFORE_ANONYMOUS;
}

static uint64_t number_of(const struct event *note, const char *name)
{
	const char *text = event_argument(note, name);

	return text ? strtoull(text, NULL, 16) : 0;
}

void before_add(struct before *before, const struct event *note)
{
	enum before_kind kind = kind_of(event_argument(note, "kind"));
	uint64_t from = number_of(note, "from"), to = number_of(note, "to");

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
