/* SPDX-License-Identifier: MIT */
#ifndef BASE_HASH_TABLE_H
#define BASE_HASH_TABLE_H

/*
 * A hash table of pointers with open addressing. Each item contains its key. The caller supplies
 * the comparison, and computes hashes with the table's random seed, so that no input can be crafted
 * to cause collisions. The search is inline so that the comparison is inlined, too.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct hash_table_slot {
	uint64_t hash;
	void *item; /* NULL: the slot is free */
};

struct hash_table {
	struct hash_table_slot *slots; /* NULL before the first item */
	size_t mask, count;
	uint64_t seed;
};

/* True if `item` has the key `key`. */
typedef bool hash_table_equal(const void *item, const void *key);

/* Initialises an empty table with a new seed. Does not allocate. */
void hash_table_init(struct hash_table *table);

/* Frees the table, not the items. */
void hash_table_free(struct hash_table *table);

/* Adds an item, which must not be in the table yet. Returns 0 or -ENOMEM. */
int hash_table_add(struct hash_table *table, uint64_t hash, void *item);

/* Removes an item, which must be in the table. */
void hash_table_remove(struct hash_table *table, uint64_t hash, const void *item);

/* The item with that hash and key, or NULL. */
static inline __attribute__((always_inline)) void *hash_table_find(const struct hash_table *table,
								   uint64_t hash,
								   hash_table_equal *equal,
								   const void *key)
{
	if (!table->slots)
		return NULL;
	for (size_t i = hash & table->mask;; i = (i + 1) & table->mask) {
		const struct hash_table_slot *slot = &table->slots[i];

		if (!slot->item)
			return NULL;
		if (slot->hash == hash && equal(slot->item, key))
			return slot->item;
	}
}

/* Multiplies 64 by 64 bits and folds the 128-bit product: the mixing step of wyhash. */
static inline uint64_t hash_mix(uint64_t a, uint64_t b)
{
#ifdef __SIZEOF_INT128__
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
#else
	/* multiplies 32-bit halves and ignores the carries, which mixes equally well */
	uint64_t low = (a & UINT32_MAX) * (b & UINT32_MAX), high = (a >> 32) * (b >> 32);
	uint64_t cross = (a >> 32) * (b & UINT32_MAX), other = (a & UINT32_MAX) * (b >> 32);

	return low ^ high ^ (cross << 32 | cross >> 32) ^ (other << 32 | other >> 32);
#endif
}

static inline uint64_t hash_two(uint64_t seed, uint64_t a, uint64_t b)
{
	return hash_mix(hash_mix(a ^ seed, 0xa0761d6478bd642full) ^ b,
			0xe7037ed1a0b428dbull ^ seed);
}

/* Hash of `count` 64-bit words, which may be unaligned. */
static inline uint64_t hash_words(uint64_t seed, const void *words, size_t count)
{
	const unsigned char *at = words;
	uint64_t hash = seed ^ count, other = seed * 0x9e3779b97f4a7c15ull, one, two;

	/* two independent lanes, so that their multiplications run in parallel */
	for (; count >= 4; count -= 4, at += 32) {
		memcpy(&one, at, 8);
		memcpy(&two, at + 8, 8);
		hash = hash_mix(one ^ 0xa0761d6478bd642full, two ^ hash);
		memcpy(&one, at + 16, 8);
		memcpy(&two, at + 24, 8);
		other = hash_mix(one ^ 0x589965cc75374cc3ull, two ^ other);
	}
	hash ^= other;
	for (; count >= 2; count -= 2, at += 16) {
		memcpy(&one, at, 8);
		memcpy(&two, at + 8, 8);
		hash = hash_mix(one ^ 0xa0761d6478bd642full, two ^ hash);
	}
	if (count) {
		memcpy(&one, at, 8);
		hash = hash_mix(one ^ 0x8ebc6af09c88c6e3ull, hash);
	}
	return hash_mix(hash, 0xe7037ed1a0b428dbull ^ seed);
}

/* Hash of `length` bytes. */
static inline uint64_t hash_bytes(uint64_t seed, const void *bytes, size_t length)
{
	const unsigned char *at = bytes;
	uint64_t hash = seed ^ length, rest = 0;

	for (; length >= 8; length -= 8, at += 8) {
		memcpy(&rest, at, 8);
		hash = hash_mix(rest ^ 0xa0761d6478bd642full, hash ^ 0x8ebc6af09c88c6e3ull);
	}
	rest = 0;
	memcpy(&rest, at, length);
	return hash_mix(rest ^ hash, 0xe7037ed1a0b428dbull ^ seed);
}

#endif
