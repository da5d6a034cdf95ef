/* SPDX-License-Identifier: MIT */
#ifndef DWARF_CURSOR_H
#define DWARF_CURSOR_H

/*
 * Reads numbers in the encodings of .eh_frame. Sources for dwarf_rows.c and dwarf_step.c: LSB 5.0
 * core, chapter 10.6 "Exception Frames", and DWARF 5, sections 6.4 and 2.5.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reading stops at `end`: a read beyond it returns 0 and sets `is_bad`. */
struct cursor {
	const uint8_t *at, *end;
	bool is_bad;
};

static inline uint64_t take(struct cursor *cursor, unsigned int size)
{
	uint64_t value = 0;

	if ((size_t)(cursor->end - cursor->at) < size) {
		cursor->is_bad = true;
		cursor->at = cursor->end;
		return 0;
	}
	/* the tables of this process have its byte order */
	__builtin_memcpy((uint8_t *)&value +
				 (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? 8 - size : 0),
			 cursor->at, size);
	cursor->at += size;
	return value;
}

static inline int64_t take_signed(struct cursor *cursor, unsigned int size)
{
	unsigned int unused_bits = 64 - size * 8;

	return (int64_t)(take(cursor, size) << unused_bits) >> unused_bits;
}

/* Reads a LEB128 number without sign extension. *shift: number of bits; *is_negative: sign bit. */
static inline uint64_t take_leb(struct cursor *cursor, unsigned int *shift, bool *is_negative)
{
	uint64_t value = 0;
	uint64_t byte;

	*shift = 0;
	do {
		byte = take(cursor, 1);
		if (*shift < 64)
			value |= (byte & 0x7f) << *shift;
		*shift += 7;
	} while (byte & 0x80);
	*is_negative = byte & 0x40;
	return value;
}

static inline uint64_t take_uleb(struct cursor *cursor)
{
	unsigned int shift;
	bool is_negative;

	return take_leb(cursor, &shift, &is_negative);
}

static inline int64_t take_sleb(struct cursor *cursor)
{
	unsigned int shift;
	bool is_negative;
	uint64_t value = take_leb(cursor, &shift, &is_negative);

	if (is_negative && shift < 64)
		value |= ~(uint64_t)0 << shift;
	return (int64_t)value;
}

static inline void skip(struct cursor *cursor, uint64_t size)
{
	if ((uint64_t)(cursor->end - cursor->at) < size) {
		cursor->is_bad = true;
		cursor->at = cursor->end;
		return;
	}
	cursor->at += size;
}

#endif
