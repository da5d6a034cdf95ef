/* SPDX-License-Identifier: MIT */
#include "base/json.h"

#include <math.h>
#include <string.h>

void json_start(struct json *json, struct out *out, bool is_pretty)
{
	memset(json, 0, sizeof(*json));
	json->out = out;
	json->is_pretty = is_pretty;
}

static void json_line(struct json *json)
{
	if (!json->is_pretty)
		return;
	out_char(json->out, '\n');
	for (unsigned i = 0; i < json->depth; i++)
		out_text(json->out, "  ");
}

/* Writes the comma and the line break that must precede the next key or value, if any. */
static void json_separate(struct json *json)
{
	if (json->has_key) {
		json->has_key = false;
		return;
	}
	if (json->depth == 0 || json->depth > JSON_DEPTH_MAX)
		return;
	if (json->has_items[json->depth - 1])
		out_char(json->out, ',');
	json->has_items[json->depth - 1] = true;
	json_line(json);
}

void json_begin(struct json *json, char bracket)
{
	if (json->depth >= JSON_DEPTH_MAX) {
		json->depth++;
		return;
	}
	json_separate(json);
	out_char(json->out, bracket);
	json->ends[json->depth] = bracket == '{' ? '}' : ']';
	json->has_items[json->depth++] = false;
}

void json_end(struct json *json)
{
	if (json->depth == 0 || json->depth-- > JSON_DEPTH_MAX)
		return;
	if (json->has_items[json->depth])
		json_line(json);
	out_char(json->out, json->ends[json->depth]);
}

static void json_quote(struct json *json, const char *text, size_t length)
{
	struct out *out = json->out;
	size_t at = 0;

	/* usually the whole text needs no escape */
	while (at < length && text[at] >= ' ' && text[at] <= '~' && text[at] != '"' &&
	       text[at] != '\\')
		at++;
	out_char(out, '"');
	out_bytes(out, text, at);
	while (at < length) {
		unsigned char first = (unsigned char)text[at];
		uint32_t code = 0xfffd;
		unsigned size = utf8_decode(text + at, length - at, &code);

		if (size == 0) {
			out_text(out, "\xef\xbf\xbd");
			size = 1;
		} else if (first == '"' || first == '\\') {
			out_char(out, '\\');
			out_char(out, (char)first);
		} else if (!code_is_plain(code)) {
			/*
			 * a code point of more than 16 bits is written as a surrogate pair (RFC
			 * 8259)
			 */
			if (code > 0xffff)
				out_format(out, "\\u%04x", 0xd7c0 + (code >> 10));
			out_format(out, "\\u%04x", code > 0xffff ? 0xdc00 + (code & 0x3ff) : code);
		} else {
			out_bytes(out, text + at, size);
		}
		at += size;
	}
	out_char(out, '"');
}

void json_key(struct json *json, const char *key)
{
	if (json->depth > JSON_DEPTH_MAX)
		return;
	json_separate(json);
	json_quote(json, key, strlen(key));
	out_text(json->out, json->is_pretty ? ": " : ":");
	json->has_key = true;
}

static void json_word(struct json *json, const char *word)
{
	if (json->depth > JSON_DEPTH_MAX)
		return;
	json_separate(json);
	out_text(json->out, word);
}

void json_text(struct json *json, const char *text)
{
	if (!text) {
		json_null(json);
		return;
	}
	json_word(json, "");
	if (json->depth <= JSON_DEPTH_MAX)
		json_quote(json, text, strlen(text));
}

void json_unsigned(struct json *json, uint64_t number)
{
	json_word(json, "");
	if (json->depth <= JSON_DEPTH_MAX)
		out_unsigned(json->out, number);
}

void json_signed(struct json *json, int64_t number)
{
	json_word(json, "");
	if (json->depth <= JSON_DEPTH_MAX)
		out_signed(json->out, number);
}

void json_real(struct json *json, double number)
{
	if (!isfinite(number)) {
		json_null(json);
		return;
	}
	json_word(json, "");
	if (json->depth <= JSON_DEPTH_MAX)
		out_format(json->out, "%.9g", number);
}

void json_hex(struct json *json, uint64_t number)
{
	json_word(json, "\"0x");
	if (json->depth > JSON_DEPTH_MAX)
		return;
	out_hex(json->out, number);
	out_char(json->out, '"');
}

void json_bool(struct json *json, bool value)
{
	json_word(json, value ? "true" : "false");
}

void json_null(struct json *json)
{
	json_word(json, "null");
}

void json_again(struct json *json, const char *text, size_t length)
{
	json_word(json, "");
	if (json->depth <= JSON_DEPTH_MAX)
		out_bytes(json->out, text, length);
}

void json_finish(struct json *json)
{
	out_char(json->out, '\n');
}
