/* SPDX-License-Identifier: MIT */
#include "base/pool.h"

#include <stdint.h>

#include "base/array.h"
#include "tests/lib/tap.h"

#include <stdlib.h>

static void recent_tests(struct pool *pool)
{
	struct pool_recent recent = { 0 };
	char text[8] = "malloc";
	bool is_right = true;
	const char *first = pool_text_again(pool, &recent, text);

	ok(first != text && pool_text_again(pool, &recent, "malloc") == first,
	   "a text that comes again is kept once");
	for (unsigned i = 0; i < 100; i++) {
		snprintf(text, sizeof(text), "%u", i);
		is_right &= !strcmp(pool_text_again(pool, &recent, text), text);
	}
	ok(is_right && !strcmp(first, "malloc"), "more than are remembered are as right");
}

static void pool_tests(void)
{
	struct pool pool = { .limit = 1 << 20 };
	bool is_aligned = true, is_kept = true;
	char *first = pool_text(&pool, "first", 5);
	unsigned count = 0;

	for (size_t size = 0; size < 300; size++) {
		unsigned char *piece = pool_zalloc(&pool, size);

		is_aligned &= piece && (uintptr_t)piece % 16 == 0;
		for (size_t i = 0; i < size; i++)
			is_kept &= piece[i] == 0;
		memset(piece, 0xff, size);
	}
	ok(is_aligned, "pieces are aligned for any type");
	ok(is_kept && !strcmp(first, "first"), "pieces do not overlap");
	ok(pool_alloc(&pool, 200 << 10) != NULL, "a piece may be larger than a chunk");
	ok(!pool_alloc(&pool, 2 << 20), "a piece over the limit is refused");
	ok(!pool_alloc(&pool, SIZE_MAX), "so is the largest size there is");
	while (pool_alloc(&pool, 1024))
		count++;
	ok(count > 100 && count < 1024, "many pieces end at the limit");
	pool_reset(&pool);
	recent_tests(&pool);
	ok(pool_alloc(&pool, 16) != NULL, "after a reset there is room again");
	pool_free(&pool);
}

static void array_tests(void)
{
	struct {
		unsigned *items;
		size_t count, capacity;
	} array = { 0 };
	bool is_right = true;
	void *items = NULL;
	size_t capacity = SIZE_MAX / 16;

	for (unsigned i = 0; i < 10000; i++) {
		unsigned *place = ARRAY_ADD(&array);

		is_right &= place == &array.items[i];
		*place = i;
	}
	for (unsigned i = 0; i < 10000; i++)
		is_right &= array.items[i] == i;
	ok(is_right && array.count == 10000, "an array keeps its items when it grows");
	free(array.items);
	ok(array_grow(&items, &capacity, 64) != 0 && !items, "a size that overflows is refused");
}

int main(void)
{
	pool_tests();
	array_tests();
	return tap_end();
}
