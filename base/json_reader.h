/* SPDX-License-Identifier: MIT */
#ifndef BASE_JSON_READER_H
#define BASE_JSON_READER_H

/*
 * Reads JSON from memory, value by value. The text is not trusted: after the first error, each
 * function returns false and changes nothing.
 *
 *   while (json_read_key(&reader, text, sizeof(text)))
 *           if (!strcmp(text, "pid")) json_read_unsigned(&reader, &pid); else json_skip(&reader);
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json_reader {
	const char *at, *end;
	bool is_bad;
};

/*
 * Begins an object ('{') or a list ('['): the functions below then read its items. If the next
 * value is something else, does not read it and returns false.
 */
bool json_enter(struct json_reader *reader, char bracket);

/* Goes to the next item of a list. At the end of the list, leaves the list and returns false. */
bool json_read_item(struct json_reader *reader);

/*
 * Reads the next key of an object; the caller must then read or skip the value. At the end of the
 * object, leaves the object and returns false. A key that is too long is cut.
 */
bool json_read_key(struct json_reader *reader, char *key, size_t size);

/* Reads a string. A string that is longer than `size` - 1 bytes is cut. */
bool json_read_text(struct json_reader *reader, char *text, size_t size);

/* Reads a number without sign, fraction and exponent. */
bool json_read_unsigned(struct json_reader *reader, uint64_t *number);

/* Skips a value of any kind. */
bool json_skip(struct json_reader *reader);

#endif
