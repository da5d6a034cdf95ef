/* SPDX-License-Identifier: MIT */
#ifndef HTR_BYTES_H
#define HTR_BYTES_H

/*
 * Decodes the numbers, texts and pieces in a block of an .htr, one after the other. The first
 * failure is permanent. Only the parts of the reader include this (htr_container.h).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "htr_table.h"

struct bytes {
	const uint8_t *at, *end;
	bool has_failed;
};

static inline uint64_t take_number(struct bytes *bytes)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 70; shift += 7) {
		uint8_t byte;

		if (bytes->at == bytes->end)
			break;
		byte = *bytes->at++;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return value;
	}
	bytes->has_failed = true;
	return 0;
}

static inline uint64_t take_difference(struct bytes *bytes)
{
	return htr_unzigzag(take_number(bytes));
}

static inline const char *take_text(struct bytes *bytes)
{
	const char *text = (const char *)bytes->at;
	const uint8_t *nul = memchr(bytes->at, 0, (size_t)(bytes->end - bytes->at));

	if (!nul) {
		bytes->has_failed = true;
		bytes->at = bytes->end;
		return "";
	}
	bytes->at = nul + 1;
	return text;
}

static inline struct htr_bytes take_bytes(struct bytes *bytes)
{
	uint64_t size = take_number(bytes);
	struct htr_bytes found = { bytes->at, 0 };

	if (size > (size_t)(bytes->end - bytes->at)) {
		bytes->has_failed = true;
		return found;
	}
	found.size = (size_t)size;
	bytes->at += size;
	return found;
}

#endif
