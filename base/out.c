/* SPDX-License-Identifier: MIT */
#include "base/out.h"

#include <endian.h>
#include <errno.h>
#include <locale.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#include "base/memory.h"

void out_open(struct out *out, int fd)
{
	memset(out, 0, sizeof(*out));
	out->fd = fd;
	out->buffer = memory_alloc(OUT_SIZE);
}

static void out_write(struct out *out, const char *bytes, size_t size)
{
	while (size && !out->error) {
		ssize_t written = write(out->fd, bytes, size);

		if (written < 0 && errno != EINTR)
			out->error = -errno;
		if (written <= 0)
			continue;
		bytes += written;
		size -= (size_t)written;
	}
}

void out_flush(struct out *out)
{
	out_write(out, out->buffer, out->used);
	out->used = 0;
}

int out_error(const struct out *out)
{
	return out->error;
}

int out_close(struct out *out)
{
	out_flush(out);
	free(out->buffer);
	out->buffer = NULL;
	return out->error;
}

void out_many_bytes(struct out *out, const void *bytes, size_t size)
{
	out_flush(out);
	if (size > OUT_SIZE) {
		out_write(out, bytes, size);
		return;
	}
	memcpy(out->buffer, bytes, size);
	out->used = size;
}

void out_text(struct out *out, const char *text)
{
	out_bytes(out, text, strlen(text));
}

void out_padded(struct out *out, uint64_t number, unsigned digits)
{
	char text[32];
	char *at = text + sizeof(text);

	do {
		*--at = (char)('0' + number % 10);
		number /= 10;
	} while (number || (at > text && (size_t)(text + sizeof(text) - at) < digits));
	out_bytes(out, at, (size_t)(text + sizeof(text) - at));
}

void out_unsigned(struct out *out, uint64_t number)
{
	out_padded(out, number, 1);
}

void out_signed(struct out *out, int64_t number)
{
	if (number < 0)
		out_char(out, '-');
	out_unsigned(out, number < 0 ? -(uint64_t)number : (uint64_t)number);
}

/*
 * Writes the 8 hexadecimal digits of `number`: spreads its nibbles to 8 bytes and converts them
 * together.
 */
static void hex_digits(char *text, uint32_t number)
{
	const uint64_t ones = 0x0101010101010101;
	uint64_t digits = number, letters;

	digits = (digits | digits << 16) & 0x0000ffff0000ffff;
	digits = (digits | digits << 8) & 0x00ff00ff00ff00ff;
	digits = (digits | digits << 4) & 0x0f0f0f0f0f0f0f0f;
	letters = (digits + 6 * ones) >> 4 & ones;
	digits = htobe64(digits + '0' * ones + letters * ('a' - '0' - 10));
	memcpy(text, &digits, sizeof(digits));
}

/*
 * Converts all 16 digits without a loop and keeps the significant digits. The speed matters, since
 * a text trace consists mostly of addresses.
 */
void out_hex(struct out *out, uint64_t number)
{
	unsigned digits = (67 - (unsigned)__builtin_clzll(number | 1)) / 4;
	uint64_t left = number << (64 - 4 * digits);

	if (out->used > OUT_SIZE - 16)
		out_flush(out);
	hex_digits(out->buffer + out->used, (uint32_t)(left >> 32));
	hex_digits(out->buffer + out->used + 8, (uint32_t)left);
	out->used += digits;
}

void out_format(struct out *out, const char *format, ...)
{
	char text[1024];
	va_list args;
	int length;

	va_start(args, format);
	length = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (length > 0)
		out_bytes(out, text,
			  (size_t)length < sizeof(text) ? (size_t)length : sizeof(text) - 1);
}

unsigned utf8_decode(const char *text, size_t length, uint32_t *code)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	unsigned char first = (unsigned char)text[0];
	unsigned size = first < 0x80   ? 1
			: first < 0xc0 ? 0
			: first < 0xe0 ? 2
			: first < 0xf0 ? 3
				       : 4;

	if (size == 0 || size > length || first > 0xf4)
		return 0;
	*code = size == 1 ? first : first & (0x7fu >> size);
	for (unsigned i = 1; i < size; i++) {
		if (((unsigned char)text[i] & 0xc0) != 0x80)
			return 0;
		*code = *code << 6 | ((unsigned char)text[i] & 0x3f);
	}
	if (*code < least[size] || *code > 0x10ffff || (*code >= 0xd800 && *code < 0xe000))
		return 0;
	return size;
}

bool code_is_plain(uint32_t code)
{
	if (code < 0x20 || (code >= 0x7f && code < 0xa0))
		return false;
	/* characters that change the order of displayed text (CVE-2021-42574) */
	if (code == 0x061c || code == 0x200e || code == 0x200f ||
	    (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069))
		return false;
	/* line separators, and invisible characters such as tags and the byte order mark */
	return code != 0x2028 && code != 0x2029 && code != 0xfeff &&
	       !(code >= 0xfff9 && code <= 0xfffb) && !(code >= 0xe0000 && code <= 0xe0fff);
}

/*
 * Length of the character at `text` if it may be printed unchanged; 0: its first byte must be
 * escaped.
 */
static unsigned plain_length(const char *text, size_t length, enum escape escape)
{
	unsigned char first = (unsigned char)*text;
	uint32_t code;
	unsigned size;

	if (first < 0x20 || first == 0x7f)
		return first == '\t' && escape == ESCAPE_LINES;
	if (first < 0x80)
		return 1;
	size = utf8_decode(text, length, &code);
	return size && code_is_plain(code) ? size : 0;
}

void out_name(struct out *out, const char *text, size_t length, enum escape escape)
{
	size_t start = 0, at = 0;

	while (at < length) {
		unsigned plain = plain_length(text + at, length - at, escape);

		if (plain) {
			at += plain;
			continue;
		}
		out_bytes(out, text + start, at - start);
		out_text(out, "\\x");
		out_char(out, "0123456789abcdef"[(unsigned char)text[at] >> 4]);
		out_char(out, "0123456789abcdef"[text[at] & 15]);
		start = ++at;
	}
	out_bytes(out, text + start, at - start);
}

static void print_name(FILE *to, const char *text)
{
	size_t left = strlen(text);

	while (left) {
		unsigned plain = plain_length(text, left, ESCAPE_ALL);

		if (plain)
			fwrite(text, 1, plain, to);
		else
			fprintf(to, "\\x%02x", (unsigned char)*text);
		text += plain ? plain : 1;
		left -= plain ? plain : 1;
	}
}

void print_message_list(FILE *to, const char *before, const char *format, va_list list)
{
	char text[8192];

	if (vsnprintf(text, sizeof(text), format, list) < 0)
		return;
	flockfile(to);
	print_name(to, before);
	print_name(to, text);
	fputc('\n', to);
	funlockfile(to);
}

void print_message(FILE *to, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	print_message_list(to, "", format, list);
	va_end(list);
}

static locale_t unicode;

static void open_unicode(void)
{
	unicode = newlocale(LC_CTYPE_MASK, "C.UTF-8", NULL);
}

/*
 * Returns the number of columns of the text's first character. *size: the length of the character
 * in bytes; 1 if it is escaped. Names are UTF-8 in any locale, so the widths are those of the
 * locale C.UTF-8; if the machine lacks this locale, each character counts as one column.
 */
static size_t character_columns(const char *text, size_t length, size_t *size)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	uint32_t code;
	int columns = 1;

	*size = plain_length(text, length, ESCAPE_ALL);
	if (!*size) {
		*size = 1;
		return strlen("\\x00");
	}
	if (*size == 1 || !utf8_decode(text, length, &code))
		return 1;
	pthread_once(&once, open_unicode);
	if (unicode) {
		locale_t before = uselocale(unicode);

		columns = wcwidth((wchar_t)code);
		uselocale(before);
	}
	return columns < 0 ? 1 : (size_t)columns;
}

size_t name_start(const char *text, size_t length, size_t columns)
{
	size_t at = 0, size;

	while (at < length) {
		size_t width = character_columns(text + at, length - at, &size);

		if (width > columns)
			break;
		columns -= width;
		at += size;
	}
	return at;
}

size_t name_columns(const char *text, size_t length)
{
	size_t columns = 0, size;

	for (size_t at = 0; at < length; at += size)
		columns += character_columns(text + at, length - at, &size);
	return columns;
}

void out_xml(struct out *out, const char *text, size_t length)
{
	while (length) {
		size_t plain = strcspn(text, "&<>\"'");

		plain = plain < length ? plain : length;
		out_name(out, text, plain, ESCAPE_ALL);
		text += plain;
		length -= plain;
		if (!length)
			return;
		out_format(out, "&#%d;", *text);
		text++;
		length--;
	}
}

void out_cell(struct out *out, const char *text, size_t length, bool begins)
{
	if (begins && length && strchr("=+-@\t\r", *text))
		out_char(out, '\'');
	while (length) {
		const char *quote = memchr(text, '"', length);
		size_t size = quote ? (size_t)(quote - text) + 1 : length;

		out_name(out, text, size, ESCAPE_ALL);
		if (quote)
			out_char(out, '"');
		text += size;
		length -= size;
	}
}
