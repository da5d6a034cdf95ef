/* SPDX-License-Identifier: MIT */
#include "scan/words.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/order.h"

#define PAGE_WORDS (WORDS_PAGE / 8)

/* ---- ranges ---- */

void ranges_add(struct ranges *ranges, uint64_t from, uint64_t to)
{
	if (from < to)
		*ARRAY_ADD(ranges) = (struct range){ from, to };
}

ORDER_FUNCTION(by_start, struct range, ORDER(a->from, b->from))

void ranges_settle(struct ranges *ranges)
{
	size_t kept = 0;

	if (!ranges->count)
		return;
	ARRAY_SORT(ranges, by_start);
	for (size_t i = 1; i < ranges->count; i++) {
		struct range *last = &ranges->items[kept];

		if (ranges->items[i].from > last->to)
			ranges->items[++kept] = ranges->items[i];
		else if (ranges->items[i].to > last->to)
			last->to = ranges->items[i].to;
	}
	ranges->count = kept + 1;
}

void ranges_free(struct ranges *ranges)
{
	free(ranges->items);
	*ranges = (struct ranges){ 0 };
}

size_t ranges_after(const struct ranges *ranges, uint64_t address)
{
	return ARRAY_SEARCH(ranges->count, at, ranges->items[at].to <= address);
}

/* ---- words ---- */

void words_add(struct words *words, const struct ranges *targets, uint64_t address,
	       const void *bytes, size_t size)
{
	struct words_run *run =
		words->runs.count ? &words->runs.items[words->runs.count - 1] : NULL;
	uint64_t low, high;
	struct range last;

	if (!targets->count || !size)
		return;
	low = targets->items[0].from;
	high = targets->items[targets->count - 1].to;
	last = targets->items[0]; /* the range of the word that was kept last */
	if (!run || run->to != address) {
		run = ARRAY_ADD(&words->runs);
		*run = (struct words_run){ address, address, words->pages.count };
	}
	for (size_t at = 0; at < size; at += WORDS_PAGE, run->to += WORDS_PAGE) {
		struct words_page *page = ARRAY_ADD(&words->pages);

		*page = (struct words_page){ .first = words->values.count };
		for (unsigned i = 0; i < PAGE_WORDS; i++) {
			uint64_t word, value;
			size_t found;
			bool is_in;

			memcpy(&word, (const char *)bytes + at + i * 8, sizeof(word));
			value = untagged(word);
			/*
			 * keep a word that equals the end of a range: it may point to the end of a
			 * block, one past the block's last byte
			 */
			if (value < low || value > high)
				continue;
			is_in = value >= last.from && value <= last.to;
			found = is_in ? 0 : ranges_after(targets, value - 1);
			if (!is_in &&
			    (found == targets->count || targets->items[found].from > value))
				continue;
			if (!is_in)
				last = targets->items[found];
			page->bits[i / 64] |= 1ull << i % 64;
			*ARRAY_ADD(&words->values) = word;
		}
	}
}

void words_free(struct words *words)
{
	free(words->runs.items);
	free(words->pages.items);
	free(words->values.items);
	*words = (struct words){ 0 };
}

/* Returns the index of the first run that ends after `address`. */
static size_t find_run(const struct words *words, uint64_t address)
{
	return ARRAY_SEARCH(words->runs.count, at, words->runs.items[at].to <= address);
}

/* Counts the kept words of a page before the word with the index `word`. */
static uint64_t count_before(const struct words_page *page, unsigned word)
{
	uint64_t count = 0;

	for (unsigned i = 0; i < word / 64; i++)
		count += (unsigned)__builtin_popcountll(page->bits[i]);
	return count +
	       (unsigned)__builtin_popcountll(page->bits[word / 64] & ((1ull << word % 64) - 1));
}

static const struct words_page *page_at(const struct words *words, const struct words_run *run,
					uint64_t address)
{
	return &words->pages.items[run->first + (address - run->from) / WORDS_PAGE];
}

uint64_t words_at(const struct words *words, uint64_t address)
{
	size_t found = find_run(words, address);
	unsigned word = address % WORDS_PAGE / 8;
	const struct words_page *page;

	if (found == words->runs.count || words->runs.items[found].from > address)
		return 0;
	page = page_at(words, &words->runs.items[found], address);
	if (!(page->bits[word / 64] >> word % 64 & 1))
		return 0;
	return words->values.items[page->first + count_before(page, word)];
}

struct words_walk words_begin(const struct words *words, uint64_t from, uint64_t to)
{
	from = from > UINT64_MAX - 7 ? UINT64_MAX & ~7ull : (from + 7) & ~7ull;
	return (struct words_walk){ words, find_run(words, from), from, to };
}

/* Returns the index of the first kept word of a page from the index `word` on; PAGE_WORDS: none. */
static unsigned next_in_page(const struct words_page *page, unsigned word)
{
	uint64_t bits = page->bits[word / 64] >> word % 64 << word % 64;

	for (unsigned i = word / 64;;) {
		if (bits)
			return i * 64 + (unsigned)__builtin_ctzll(bits);
		if (++i == PAGE_WORDS / 64)
			return PAGE_WORDS;
		bits = page->bits[i];
	}
}

bool words_next(struct words_walk *walk, uint64_t *address, uint64_t *value)
{
	const struct words *words = walk->words;

	while (walk->run < words->runs.count) {
		const struct words_run *run = &words->runs.items[walk->run];
		const struct words_page *page;
		uint64_t start;
		unsigned word;

		if (walk->at < run->from)
			walk->at = run->from;
		if (walk->at >= walk->to || walk->to - walk->at < 8)
			return false;
		if (walk->at >= run->to) {
			walk->run++;
			continue;
		}
		start = walk->at & ~(uint64_t)(WORDS_PAGE - 1);
		page = page_at(words, run, walk->at);
		word = next_in_page(page, walk->at % WORDS_PAGE / 8);
		walk->at = start + word * 8ull;
		if (word == PAGE_WORDS)
			continue;
		if (walk->at >= walk->to || walk->to - walk->at < 8)
			return false;
		*address = walk->at;
		*value = words->values.items[page->first + count_before(page, word)];
		walk->at += 8;
		return true;
	}
	return false;
}
