/* SPDX-License-Identifier: MIT */
#ifndef PYTHON_LAYOUT_H
#define PYTHON_LAYOUT_H

/* The layout of the structs of CPython that preload/record/python.c and live/python.c read. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Offsets of the members of CPython's structs that a walk reads; 0: the version lacks the member.
 * The offsets are those in the headers of 3.8.18, 3.9.18, 3.10.13, 3.11.7, 3.12.1, 3.13.0, 3.14.10
 * and 3.15.2, for 64-bit builds with a GIL. Members do not move within a minor version.
 */
struct python_layout {
	uint16_t thread_id; /* offset in PyThreadState */
	uint16_t cframe;    /* offset in PyThreadState */
	uint16_t cframe_previous;
	/* offset of the pointer to the innermost frame, in the cframe or in PyThreadState */
	uint16_t current;
	bool is_in_cframe; /* `current` is a member of the cframe */
	/* the frame's member at offset `at` is a pointer to the instruction, not its offset */
	bool is_instruction;
	uint8_t scale;		     /* unit of the instruction's offset, in bytes */
	uint16_t previous, code, at; /* offsets in the frame */
	/* offset in the frame of a flag that is set in the outermost frame of a cframe */
	uint16_t is_entry;
	/* offset in the frame of the owner, a number; PYTHON_OWNED_BY_C or more: an entry frame */
	uint16_t owner;
	uint16_t file, name, first, lines, instructions; /* offsets in PyCodeObject */
	/*
	 * offset in PyCodeObject of its version, which no other code object of the interpreter ever
	 * has; the version is 0 if the interpreter has used all 4 billion numbers
	 */
	uint16_t version;
	uint8_t ascii, compact; /* sizes of PyASCIIObject and PyCompactUnicodeObject */
	/*
	 * interpreters: offset in _PyRuntime of the first interpreter. next_interpreter, threads:
	 * offsets in PyInterpreterState of the next interpreter and of the first thread. gil: from
	 * 3.12 on, offset in PyInterpreterState of the pointer to the GIL; before 3.12, offset in
	 * _PyRuntime of the GIL; 0: unknown.
	 */
	uint16_t interpreters, next_interpreter, threads, gil;
};

#define PYTHON_OWNED_BY_C 3

/* clang-format off */
#define PYTHON_LAYOUT(MEMBER) /*    3.8   3.9  3.10  3.11  3.12  3.13  3.14  3.15 */ \
	MEMBER(thread_id,        176,  176,  176,  152,  136,  152,  152,  176) \
	MEMBER(cframe,             0,    0,   48,   56,   56,    0,    0,    0) \
	MEMBER(cframe_previous,    0,    0,    8,   16,    8,    0,    0,    0) \
	MEMBER(current,           24,   24,   24,    8,    0,   72,   72,   72) \
	MEMBER(is_in_cframe,       0,    0,    0,    1,    1,    0,    0,    0) \
	MEMBER(is_instruction,     0,    0,    0,    1,    1,    1,    1,    1) \
	MEMBER(scale,              1,    1,    2,    0,    0,    0,    0,    0) \
	MEMBER(previous,          24,   24,   24,   48,    8,    8,    8,    8) \
	MEMBER(code,              32,   32,   32,   32,    0,    0,    0,    0) \
	MEMBER(at,               104,  104,   96,   56,   56,   56,   56,   56) \
	MEMBER(is_entry,           0,    0,    0,   68,    0,    0,    0,    0) \
	MEMBER(owner,              0,    0,    0,    0,   70,   70,   74,   74) \
	MEMBER(file,             104,  104,  104,  112,  112,  112,  112,  112) \
	MEMBER(name,             112,  112,  112,  128,  128,  128,  128,  128) \
	MEMBER(first,             40,   40,   40,   72,   68,   68,   68,   68) \
	MEMBER(lines,            120,  120,  120,  136,  136,  136,  136,  136) \
	MEMBER(instructions,       0,    0,    0,  184,  192,  200,  208,  208) \
	MEMBER(version,            0,    0,    0,    0,   92,   92,   92,   92) \
	MEMBER(ascii,             48,   48,   48,   48,   40,   40,   40,   40) \
	MEMBER(compact,           72,   72,   72,   72,   56,   56,   56,   56) \
	MEMBER(interpreters,       0,   32,   32,   40,   40,  632,  808,  936) \
	MEMBER(next_interpreter,   0,    0,    0,    0,    0, 7264, 7272, 7264) \
	MEMBER(threads,            0,    8,    8,   16,   72, 7344, 7344, 7336) \
	MEMBER(gil,                0,  352,  352,  360,  384,   16,   16,   16)

#define PYTHON_3_8(name, a, ...)                       .name = a,
#define PYTHON_3_9(name, a, b, ...)                    .name = b,
#define PYTHON_3_10(name, a, b, c, ...)                .name = c,
#define PYTHON_3_11(name, a, b, c, d, ...)             .name = d,
#define PYTHON_3_12(name, a, b, c, d, e, ...)          .name = e,
#define PYTHON_3_13(name, a, b, c, d, e, f, ...)       .name = f,
#define PYTHON_3_14(name, a, b, c, d, e, f, g, ...)    .name = g,
#define PYTHON_3_15(name, a, b, c, d, e, f, g, h)      .name = h,

static const struct python_layout python_layouts[] = {
	[8] = { PYTHON_LAYOUT(PYTHON_3_8) },
	[9] = { PYTHON_LAYOUT(PYTHON_3_9) },
	[10] = { PYTHON_LAYOUT(PYTHON_3_10) },
	[11] = { PYTHON_LAYOUT(PYTHON_3_11) },
	[12] = { PYTHON_LAYOUT(PYTHON_3_12) },
	[13] = { PYTHON_LAYOUT(PYTHON_3_13) },
	[14] = { PYTHON_LAYOUT(PYTHON_3_14) },
	[15] = { PYTHON_LAYOUT(PYTHON_3_15) },
};
/* clang-format on */

/* offsets in PyObject, bytes and str, which are the same in all versions */
#define PYTHON_OBJECT_TYPE  8
#define PYTHON_BYTES_SIZE   16
#define PYTHON_BYTES_DATA   32
#define PYTHON_TEXT_LENGTH  16
#define PYTHON_TEXT_HASH    24
#define PYTHON_TEXT_STATE   32
#define PYTHON_TEXT_COMPACT 0x20u
#define PYTHON_TEXT_ASCII   0x40u

/* maximum line number: the addresses of a function's lines must fit into its range */
#define PYTHON_LINE_MAX 0xffffeu

struct python_table {
	const uint8_t *at, *end;
};

static inline uint8_t python_take_byte(struct python_table *table)
{
	return table->at < table->end ? *table->at++ : 0;
}

/* Reads a number from a line table of 3.11 or later: six bits per byte, lowest first. */
static inline uint32_t python_take_number(struct python_table *table)
{
	uint32_t byte = python_take_byte(table), value = byte & 63;

	for (int shift = 6; byte & 64 && shift < 32; shift += 6) {
		byte = python_take_byte(table);
		value |= (byte & 63) << shift;
	}
	return value;
}

/* Finds the line of offset `at` in a table of 3.11 or later; see CPython's Objects/locations.md. */
static inline int64_t python_find_line(struct python_table table, int64_t line, int64_t at)
{
	for (int64_t end = 0; table.at < table.end;) {
		uint8_t head = python_take_byte(&table), form = head >> 3 & 15;
		bool has_line = form != 15;
		uint32_t number;

		if (form == 13 || form == 14) {
			number = python_take_number(&table);
			line += number & 1 ? -(int64_t)(number >> 1) : (int64_t)(number >> 1);
			for (int i = 0; i < 3 && form == 14; i++)
				python_take_number(&table);
		} else if (form >= 10 && form <= 12) {
			line += form - 10;
			table.at += 2;
		} else if (form < 10) {
			table.at++;
		}
		end += ((head & 7) + 1) * 2;
		if (at < end)
			return has_line ? line : 0;
	}
	return 0;
}

/*
 * Finds the line of offset `at` in a line table of 3.10, which has pairs of numbers: the size of a
 * range in bytes, and the difference between its line and the line of the range before it.
 */
static inline int64_t python_find_line_310(struct python_table table, int64_t line, int64_t at)
{
	for (int64_t end = 0; table.at < table.end;) {
		uint8_t size = python_take_byte(&table);
		int8_t step = (int8_t)python_take_byte(&table);

		end += size;
		if (step != INT8_MIN)
			line += step;
		if (at < end)
			return step == INT8_MIN ? 0 : line;
	}
	return 0;
}

/* Finds the line in a line table of 3.9 or earlier: pairs of an address step and a line step. */
static inline int64_t python_find_line_39(struct python_table table, int64_t line, int64_t at)
{
	for (int64_t address = 0; table.at < table.end;) {
		address += python_take_byte(&table);
		if (address > at)
			break;
		line += (int8_t)python_take_byte(&table);
	}
	return line;
}

/*
 * Returns the line of the instruction at offset `at` of a code object, or 0 if no line is known.
 * table: the object's line table; first: the object's first line.
 */
static inline uint32_t python_line_of(int minor, struct python_table table, int32_t first,
				      int32_t at)
{
	int64_t line = at < 0	     ? first
		       : minor >= 11 ? python_find_line(table, first, at)
		       : minor == 10 ? python_find_line_310(table, first, at)
				     : python_find_line_39(table, first, at);

	return line < 0 || line > PYTHON_LINE_MAX ? 0 : (uint32_t)line;
}

#define PYTHON_UTF8_MAX 4 /* maximum number of bytes that python_put_character() writes */

/* Writes a character of a str as UTF-8, or "?" for a control character. kind: bytes in the str. */
static inline char *python_put_character(char *to, const void *from, uint32_t kind)
{
	uint32_t c = kind == 1	 ? *(const uint8_t *)from
		     : kind == 2 ? *(const uint16_t *)from
				 : *(const uint32_t *)from;

	if (c < ' ')
		c = '?';
	if (c < 0x80) {
		*to++ = (char)c;
		return to;
	}
	if (c >= 0x10000)
		*to++ = (char)(0xf0 | (c >> 18 & 7));
	if (c >= 0x800)
		*to++ = (char)((c >= 0x10000 ? 0x80 : 0xe0) | (c >> 12 & (c >= 0x10000 ? 63 : 15)));
	*to++ = (char)((c >= 0x800 ? 0x80 : 0xc0) | (c >> 6 & (c >= 0x800 ? 63 : 31)));
	*to++ = (char)(0x80 | (c & 63));
	return to;
}

#endif
