/* SPDX-License-Identifier: MIT */
#include "base/json_reader.h"

#include <string.h>

/* Skips blanks and returns the next character without reading it. 0: the end, or an error. */
static char peek(struct json_reader *reader)
{
	while (reader->at < reader->end && memchr(" \t\r\n", *reader->at, 4))
		reader->at++;
	return reader->at < reader->end && !reader->is_bad ? *reader->at : '\0';
}

static bool fail(struct json_reader *reader)
{
	reader->is_bad = true;
	return false;
}

static bool take(struct json_reader *reader, char character)
{
	if (!character || peek(reader) != character)
		return false;
	reader->at++;
	return true;
}

bool json_enter(struct json_reader *reader, char bracket)
{
	return take(reader, bracket);
}

/*
 * Reads the comma that must precede each item but the first. Returns false at the closing bracket.
 */
static bool next_item(struct json_reader *reader, char opening, char closing)
{
	const char *before = reader->at - 1;

	if (take(reader, closing))
		return false;
	return *before == opening || take(reader, ',') || fail(reader);
}

bool json_read_item(struct json_reader *reader)
{
	return next_item(reader, '[', ']') && !reader->is_bad;
}

bool json_read_key(struct json_reader *reader, char *key, size_t size)
{
	return next_item(reader, '{', '}') && json_read_text(reader, key, size) &&
	       (take(reader, ':') || fail(reader));
}

/* Reads the four digits of \uNNNN. */
static bool read_digits(struct json_reader *reader, uint32_t *code)
{
	static const char digits[] = "0123456789abcdef0123456789ABCDEF";

	*code = 0;
	for (unsigned i = 0; i < 4; i++) {
		const char *digit = reader->at < reader->end && *reader->at
					    ? strchr(digits, *reader->at)
					    : NULL;

		if (!digit)
			return fail(reader);
		*code = *code << 4 | ((uint32_t)(digit - digits) & 15);
		reader->at++;
	}
	return true;
}

/* Reads the escape sequence after a backslash, as UTF-8. Returns its length in bytes, or 0. */
static size_t read_escape(struct json_reader *reader, char bytes[4])
{
	static const char letters[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
	const char *letter =
		reader->at < reader->end && *reader->at ? strchr(letters, *reader->at) : NULL;
	uint32_t code, low;

	if (letter) {
		reader->at++;
		bytes[0] = meanings[letter - letters];
		return 1;
	}
	if (reader->at >= reader->end || *reader->at++ != 'u' || !read_digits(reader, &code))
		return 0;
	if (code >= 0xd800 && code < 0xdc00 && reader->end - reader->at >= 6 &&
	    reader->at[0] == '\\' && reader->at[1] == 'u') {
		reader->at += 2;
		if (!read_digits(reader, &low))
			return 0;
		code = 0x10000 + ((code & 0x3ff) << 10) + (low & 0x3ff);
	}
	if (code < 0x80) {
		bytes[0] = (char)code;
		return 1;
	}
	if (code < 0x800) {
		bytes[0] = (char)(0xc0 | code >> 6);
		bytes[1] = (char)(0x80 | (code & 0x3f));
		return 2;
	}
	if (code < 0x10000) {
		bytes[0] = (char)(0xe0 | code >> 12);
		bytes[1] = (char)(0x80 | (code >> 6 & 0x3f));
		bytes[2] = (char)(0x80 | (code & 0x3f));
		return 3;
	}
	bytes[0] = (char)(0xf0 | code >> 18);
	bytes[1] = (char)(0x80 | (code >> 12 & 0x3f));
	bytes[2] = (char)(0x80 | (code >> 6 & 0x3f));
	bytes[3] = (char)(0x80 | (code & 0x3f));
	return 4;
}

bool json_read_text(struct json_reader *reader, char *text, size_t size)
{
	size_t used = 0;

	if (!take(reader, '"'))
		return fail(reader);
	while (reader->at < reader->end && *reader->at != '"') {
		char bytes[4] = { *reader->at++ };
		size_t count = bytes[0] == '\\' ? read_escape(reader, bytes) : 1;

		if (!count)
			return fail(reader);
		for (size_t i = 0; i < count && used + 1 < size; i++)
			text[used++] = bytes[i];
	}
	text[used] = '\0';
	return take(reader, '"') || fail(reader);
}

bool json_read_unsigned(struct json_reader *reader, uint64_t *number)
{
	char digit = peek(reader);
	uint64_t value = 0;

	if (digit < '0' || digit > '9')
		return fail(reader);
	for (; reader->at < reader->end && *reader->at >= '0' && *reader->at <= '9'; reader->at++)
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*reader->at - '0'), &value))
			return fail(reader);
	*number = value;
	return true;
}

bool json_skip(struct json_reader *reader)
{
	size_t depth = 0;
	char text[2];

	do {
		char next = peek(reader);

		if (!next || (strchr("]},:", next) && !depth))
			return fail(reader);
		if (next == '"') {
			if (!json_read_text(reader, text, sizeof(text)))
				return false;
			continue;
		}
		reader->at++;
		depth += next == '{' || next == '[';
		depth -= next == '}' || next == ']';
		if (!strchr("{}[],:", next))
			while (reader->at < reader->end && !strchr(" \t\r\n]},", *reader->at))
				reader->at++;
	} while (depth);
	return true;
}
