/* SPDX-License-Identifier: MIT */
#ifndef DWARF_PARTS_H
#define DWARF_PARTS_H

/*
 * Between the parts of dwarf.h: numbers as the tables write them, the entry of an address
 * (dwarf_entry.c), its rows (dwarf_rows.c), expressions (dwarf_expression.c), the way to the caller
 * (dwarf_step.c). The sources: LSB 5.0 core, chapter 10.6 "Exception Frames", and DWARF 5,
 * sections 6.4 and 2.5. Nobody else includes this.
 */

#include "dwarf.h"

/* Reading stops at end: what lies behind is 0 and makes the whole bad. */
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
	/* The bytes are in our own order, because this is our own code. */
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

/* A number in LEB128, not extended by its sign. *shift: bits that were read. */
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

/* What a CIE says for its FDEs. */
struct dwarf_common {
	struct cursor instructions;
	uint64_t code_factor;
	int64_t data_factor;
	unsigned int pointer_encoding;
	bool has_augmentation;
	bool is_signal;
};

/* What the tables say of the code from start on. */
struct dwarf_entry {
	struct dwarf_common common;
	struct cursor instructions;
	uintptr_t start;
};

/* The entry that has pc; false if there is none, or none that we can read. */
bool dwarf_find_entry(const struct dwarf_tables *tables, uintptr_t pc, struct dwarf_entry *entry);

/* A pointer in this encoding. */
uintptr_t dwarf_take_pointer(struct cursor *cursor, unsigned int encoding);

/*
 * The value of the row's expression at where. cfa: on the stack at the start, for all but the CFA's
 * own expression, which says NULL.
 */
enum dwarf_step dwarf_evaluate(const struct dwarf_row *row, int32_t where,
			       const struct dwarf_frame *frame, struct dwarf_memory *memory,
			       const uintptr_t *cfa, uintptr_t *value);

#endif
