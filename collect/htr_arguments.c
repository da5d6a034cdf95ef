/* SPDX-License-Identifier: MIT */
/*
 * The arguments of calls, in the column `others`. They are added one by one, as texts. The result
 * for a call is remembered by the bytes of its record: a server often opens the same files and
 * accepts connections in the same way.
 */
#include "collect/htr_parts.h"

#include <stdlib.h>

#define LIST_BITS 5    /* log2 of the number of remembered lists */
#define GIVEN_MAX 112u /* bytes of a record */
#define LIST_MAX  120u /* bytes in the column */

struct htr_list {
	uint32_t tag;
	uint16_t given_size, size; /* size 0: not known */
	uint8_t given[GIVEN_MAX], bytes[LIST_MAX];
};

inline_ bool has_room(const struct column *column, size_t size)
{
	return column_size(column) + size <= HTR_OTHERS_FULL + HTR_EVENT_MOST;
}

/* The place in `lists` for arguments with these bytes. */
inline_ struct htr_list *list_of(struct htr *htr, uint32_t tag, const uint8_t *given, size_t size)
{
	uint64_t hash = tag, word = 0;

	for (; size >= sizeof(word); size -= sizeof(word), given += sizeof(word)) {
		memcpy(&word, given, sizeof(word));
		hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
	}
	for (; size; size--)
		hash = (hash ^ *given++) * 0x9e3779b97f4a7c15u;
	return &htr->lists[hash >> (64 - LIST_BITS)];
}

bool htr_arguments_again(struct htr *htr, uint32_t tag, const void *given, size_t size)
{
	struct column *to = &htr->columns[HTR_COLUMN_others];
	struct htr_list *list;

	htr->list = NULL;
	if (size > GIVEN_MAX || !has_room(to, LIST_MAX))
		return false;
	if (!htr->lists)
		htr->lists = calloc(1u << LIST_BITS, sizeof(*htr->lists));
	if (!htr->lists)
		return false;
	list = list_of(htr, tag, given, size);
	if (list->size && list->tag == tag && list->given_size == size &&
	    !memcmp(list->given, given, size)) {
		memcpy(to->at, list->bytes, sizeof(list->bytes));
		to->at += list->size;
		return true;
	}
	list->tag = tag;
	list->given_size = (uint16_t)size;
	list->size = 0;
	memcpy(list->given, given, size);
	htr->list = list;
	htr->list_begin = column_size(to);
	return false;
}

void htr_argument(struct htr *htr, uint32_t name, const char *value, size_t length)
{
	struct column *to = &htr->columns[HTR_COLUMN_others];

	/* arguments of hooks are much shorter; those of a converted stream may not be */
	if (!has_room(to, HTR_VARINT_MAX + length)) {
		htr->list = NULL;
		return;
	}
	put_number(to, name + 1ull);
	put_text_bytes(to, value, length);
}

void htr_arguments_end(struct htr *htr)
{
	const struct column *to = &htr->columns[HTR_COLUMN_others];
	struct htr_list *list = htr->list;
	size_t size;

	put_number(&htr->columns[HTR_COLUMN_others], 0);
	htr->list = NULL;
	if (!list)
		return;
	size = column_size(to) - htr->list_begin;
	if (size > LIST_MAX)
		return;
	memcpy(list->bytes, to->start + htr->list_begin, size);
	list->size = (uint16_t)size;
}
