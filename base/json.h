/* SPDX-License-Identifier: MIT */
#ifndef BASE_JSON_H
#define BASE_JSON_H

/*
 * JSON as it is written: commas, quotes and escapes are set here, so that what comes out is valid
 * whatever goes in. In an object every value comes after its json_key().
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
	bool is_pretty;		   /* one member a line, indented by two blanks */
	bool has_key;		   /* a key was written, its value was not */
	char ends[JSON_DEPTH_MAX]; /* '}' or ']' */
	bool has_items[JSON_DEPTH_MAX];
};

void json_start(struct json *json, struct out *out, bool is_pretty);

/* bracket: '{' or '['. Deeper than JSON_DEPTH_MAX nothing is written. */
void json_begin(struct json *json, char bracket);
void json_end(struct json *json);

void json_key(struct json *json, const char *key);

/* Bytes that are no UTF-8 become U+FFFD; control characters \u00NN. NULL is written as null. */
void json_text(struct json *json, const char *text);

void json_unsigned(struct json *json, uint64_t number);
void json_signed(struct json *json, int64_t number);
void json_real(struct json *json, double number);  /* nan and infinite are null */
void json_hex(struct json *json, uint64_t number); /* "0x..." */
void json_bool(struct json *json, bool value);
void json_null(struct json *json);

/* A value as it was written before at the same depth. */
void json_again(struct json *json, const char *text, size_t length);

/* Begins an object or a list that is the value of a key. */
static inline void json_open(struct json *json, const char *key, char bracket)
{
	json_key(json, key);
	json_begin(json, bracket);
}

/* A key and its value in one. */
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

/* A newline after the last bracket. */
void json_finish(struct json *json);

#endif
