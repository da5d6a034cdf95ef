/* SPDX-License-Identifier: MIT */
#ifndef BASE_JSON_H
#define BASE_JSON_H

/*
 * Writes JSON. The functions add commas, quotes and escapes, so the output is valid for any input.
 * In an object, call json_key() before each value.
 *
 *   json_begin(&json, '{'); json_key(&json, "pid"); json_unsigned(&json, 7); json_end(&json);
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/out.h"

#define JSON_DEPTH_MAX 64

struct json {
	struct out *out;
	unsigned depth;
	bool is_pretty;		   /* one member per line, indented by two blanks per level */
	bool has_key;		   /* a key was written, but not its value */
	char ends[JSON_DEPTH_MAX]; /* closing bracket of each open level: '}' or ']' */
	bool has_items[JSON_DEPTH_MAX];
};

void json_start(struct json *json, struct out *out, bool is_pretty);

/* bracket: '{' or '['. Levels deeper than JSON_DEPTH_MAX are not written. */
void json_begin(struct json *json, char bracket);
void json_end(struct json *json);

void json_key(struct json *json, const char *key);

/* Invalid UTF-8 becomes U+FFFD, control characters become \u00NN, a NULL pointer becomes null. */
void json_text(struct json *json, const char *text);

void json_unsigned(struct json *json, uint64_t number);
void json_signed(struct json *json, int64_t number);
void json_real(struct json *json, double number);  /* NaN and infinity become null */
void json_hex(struct json *json, uint64_t number); /* as a string: "0x..." */
void json_bool(struct json *json, bool value);
void json_null(struct json *json);

/*
 * Writes `text`, which is already JSON, as a value. `text` must have been produced at the same
 * depth, since its indentation is not changed.
 */
void json_again(struct json *json, const char *text, size_t length);

/* Ends several levels. */
static inline void json_ends(struct json *json, unsigned levels)
{
	while (levels--)
		json_end(json);
}

/* Opens an object or a list as the value of a key. */
static inline void json_open(struct json *json, const char *key, char bracket)
{
	json_key(json, key);
	json_begin(json, bracket);
}

/* Each of the following functions writes a key and its value. */
static inline void json_add_text(struct json *json, const char *key, const char *text)
{
	json_key(json, key);
	json_text(json, text);
}

static inline void json_add_unsigned(struct json *json, const char *key, uint64_t number)
{
	json_key(json, key);
	json_unsigned(json, number);
}

static inline void json_add_signed(struct json *json, const char *key, int64_t number)
{
	json_key(json, key);
	json_signed(json, number);
}

static inline void json_add_real(struct json *json, const char *key, double number)
{
	json_key(json, key);
	json_real(json, number);
}

static inline void json_add_hex(struct json *json, const char *key, uint64_t number)
{
	json_key(json, key);
	json_hex(json, number);
}

static inline void json_add_bool(struct json *json, const char *key, bool value)
{
	json_key(json, key);
	json_bool(json, value);
}

/* Ends the document with a newline. */
void json_finish(struct json *json);

#endif
