/* SPDX-License-Identifier: MIT */
#include "wait_sums.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

void wait_sums_init(struct wait_sums *sums)
{
	*sums = (struct wait_sums){ 0 };
	hash_table_init(&sums->table);
}

void wait_sums_free(struct wait_sums *sums)
{
	hash_table_free(&sums->table);
	free(sums->list.items);
	pool_free(&sums->pool);
}

static bool is_sum(const void *item, const void *key)
{
	const struct wait_sum *sum = item;
	const struct lane_wait *wait = key;

	return sum->kind == wait->kind && sum->waiter == wait->waiter &&
	       sum->waker == wait->waker && !strcmp(sum->function, wait->function);
}

void wait_sums_add(struct wait_sums *sums, const struct lane_wait *wait)
{
	uint64_t hash = hash_two(sums->table.seed ^ wait->kind, (uintptr_t)wait->waiter,
				 (uintptr_t)wait->waker);
	struct wait_sum *sum = hash_table_find(&sums->table, hash, is_sum, wait);

	if (!sum) {
		sum = pool_zalloc(&sums->pool, sizeof(*sum));
		*ARRAY_ADD(&sums->list) = sum;
		sum->kind = wait->kind;
		sum->waiter = wait->waiter;
		sum->waker = wait->waker;
		sum->function = pool_text(&sums->pool, wait->function, strlen(wait->function));
		hash_table_add(&sums->table, hash, sum);
	}
	sum->count++;
	sum->ns += wait->until_ns > wait->since_ns ? wait->until_ns - wait->since_ns : 0;
}
