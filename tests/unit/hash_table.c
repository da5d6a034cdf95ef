/* SPDX-License-Identifier: MIT */
#include "base/hash_table.h"

#include "tests/lib/tap.h"

#define ITEMS 5000

static bool has_number(const void *item, const void *key)
{
	return *(const unsigned *)item == *(const unsigned *)key;
}

static unsigned numbers[ITEMS];

/* All hashes have nearly the same low bits, so that all items compete for the same few slots. */
static uint64_t crowded(unsigned number)
{
	return (uint64_t)number << 32 | number % 3;
}

static uint64_t spread(unsigned number)
{
	return hash_two(1, number, 0);
}

static bool finds(const struct hash_table *table, uint64_t (*hash)(unsigned), unsigned number)
{
	return hash_table_find(table, hash(number), has_number, &number) == &numbers[number];
}

static void fill_and_empty(uint64_t (*hash)(unsigned), unsigned count, const char *how)
{
	struct hash_table table;
	bool is_right = true;
	char sentence[100];

	hash_table_init(&table);
	for (unsigned i = 0; i < count; i++)
		is_right &= hash_table_add(&table, hash(i), &numbers[i]) == 0;
	for (unsigned i = 0; i < count; i++)
		is_right &= finds(&table, hash, i);
	snprintf(sentence, sizeof(sentence), "every item is found, hashes %s", how);
	ok(is_right && table.count == count, sentence);
	for (unsigned i = 0; i < count; i += 2)
		hash_table_remove(&table, hash(i), &numbers[i]);
	for (unsigned i = 0; i < count; i++)
		is_right &= finds(&table, hash, i) == (i % 2 != 0);
	snprintf(sentence, sizeof(sentence), "what was removed, and that alone, is gone, hashes %s",
		 how);
	ok(is_right && table.count == count / 2, sentence);
	hash_table_free(&table);
}

static void hash_tests(void)
{
	static const char text[40] = "abcdefghijklmnopqrstuvwxyz0123456789";
	bool is_right = true;

	for (size_t length = 0; length < 36; length++)
		is_right &= hash_bytes(7, text, length) != hash_bytes(7, text, length + 1);
	ok(is_right, "texts of different length have different hashes");
	ok(hash_bytes(7, text, 36) != hash_bytes(8, text, 36), "the seed changes a hash");
	ok(hash_words(7, text, 4) != hash_words(7, text + 1, 4), "words may stand anywhere");
}

int main(void)
{
	struct hash_table table;
	unsigned number = 1;

	for (unsigned i = 0; i < ITEMS; i++)
		numbers[i] = i;
	hash_table_init(&table);
	ok(!hash_table_find(&table, 1, has_number, &number), "an empty table finds nothing");
	hash_table_free(&table);
	fill_and_empty(spread, ITEMS, "spread");
	fill_and_empty(crowded, 600, "crowded");
	hash_tests();
	return tap_end();
}
