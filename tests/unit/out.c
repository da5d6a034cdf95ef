/* SPDX-License-Identifier: MIT */
#include "base/out.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/json.h"
#include "tests/lib/tap.h"

static struct out out;
static int ends[2];
static char found[4096];

static void begin(void)
{
	if (pipe(ends) != 0)
		exit(99);
	out_open(&out, ends[1]);
}

static const char *end(void)
{
	ssize_t length;

	out_close(&out);
	close(ends[1]);
	length = read(ends[0], found, sizeof(found) - 1);
	found[length > 0 ? length : 0] = '\0';
	close(ends[0]);
	return found;
}

static void name_is(const char *name, enum escape escape, const char *expected,
		    const char *sentence)
{
	begin();
	out_name(&out, name, strlen(name), escape);
	ok_text(end(), expected, sentence);
}

static void cell_is(const char *text, bool begins, const char *expected, const char *sentence)
{
	begin();
	out_cell(&out, text, strlen(text), begins);
	ok_text(end(), expected, sentence);
}

static void cell_tests(void)
{
	cell_is("=1+1", true, "'=1+1", "a cell that begins as a formula is a text");
	cell_is("@SUM", true, "'@SUM", "so is one with the old sign of functions");
	cell_is("-[Object name]", true, "'-[Object name]", "a minus begins one, too");
	cell_is("=1+1", false, "=1+1", "behind other text nothing does");
	cell_is("a\"b", true, "a\"\"b", "quotes are doubled");
	cell_is("a\xff\xf3\xa0\x81\x81", true, "a\\xff\\xf3\\xa0\\x81\\x81",
		"no UTF-8, and letters that nobody sees, are escaped");
}

static void number_tests(void)
{
	begin();
	out_unsigned(&out, 0);
	out_char(&out, ' ');
	out_unsigned(&out, UINT64_MAX);
	out_char(&out, ' ');
	out_signed(&out, INT64_MIN);
	out_char(&out, ' ');
	out_hex(&out, 0);
	out_char(&out, ' ');
	out_hex(&out, UINT64_MAX);
	out_char(&out, ' ');
	out_padded(&out, 7, 3);
	out_char(&out, ' ');
	out_padded(&out, 12345, 3);
	ok_text(end(), "0 18446744073709551615 -9223372036854775808 0 ffffffffffffffff 007 12345",
		"numbers at their ends");
}

static void name_tests(void)
{
	name_is("plain \xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", ESCAPE_ALL,
		"plain \xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", "UTF-8 is printed as it is");
	name_is("a\nb\033[0m\x7f", ESCAPE_ALL, "a\\x0ab\\x1b[0m\\x7f", "controls are escaped");
	name_is("\xc2\x9b"
		"1m",
		ESCAPE_ALL, "\\xc2\\x9b1m", "so are those above 0x7f");
	name_is("\xe2\x80\xae"
		"x\xe2\x81\xa6",
		ESCAPE_ALL, "\\xe2\\x80\\xaex\\xe2\\x81\\xa6", "and marks of writing direction");
	ok(name_columns("\xc3\xa4\xe2\x82\xac\n\xff", 7) == 10,
	   "a letter takes one column, what is escaped four");
	name_is("\xff\xc3", ESCAPE_ALL, "\\xff\\xc3", "bytes that are no UTF-8 are escaped");
	name_is("\xc0\xaf\xed\xa0\x80\xf5\x80\x80\x80", ESCAPE_ALL,
		"\\xc0\\xaf\\xed\\xa0\\x80\\xf5\\x80\\x80\\x80",
		"so are long forms, surrogates and what lies behind Unicode");
	name_is("a\tb\xff\n\xc2\x9b\xe2\x80\xae", ESCAPE_LINES,
		"a\tb\\xff\\x0a\\xc2\\x9b\\xe2\\x80\\xae", "a line of text keeps its tabs alone");
}

/* Writes pieces of many sizes, in total more than the buffer. */
static void large_test(void)
{
	char path[] = "/tmp/holdtrace-out-XXXXXX";
	int file = mkstemp(path);
	static char piece[100000];
	uint64_t sum = 0;
	off_t size;

	memset(piece, 'x', sizeof(piece));
	if (file < 0)
		exit(99);
	out_open(&out, file);
	unlink(path);
	for (size_t i = 0; i < sizeof(piece); i += 997) {
		out_bytes(&out, piece, i);
		sum += i;
	}
	ok(out_close(&out) == 0, "pieces larger than the buffer are written");
	size = lseek(file, 0, SEEK_END);
	ok(size >= 0 && (uint64_t)size == sum, "and nothing is lost");
	close(file);
}

/* Compares numbers of all lengths, also across the end of the buffer, with those of printf(). */
static void hex_tests(void)
{
	static char wanted[400000], got[400000];
	FILE *file = tmpfile();
	uint64_t number = 0x9abcdef012345678;
	size_t length = 0;

	if (!file)
		exit(99);
	out_open(&out, fileno(file));
	for (unsigned i = 0; i < 20000; i++) {
		uint64_t shown = number >> i % 64;

		out_hex(&out, shown);
		out_char(&out, '\n');
		length += (size_t)sprintf(wanted + length, "%" PRIx64 "\n", shown);
		number = number << 7 ^ number >> 3 ^ i;
	}
	ok(out_close(&out) == 0 && pread(fileno(file), got, sizeof(got), 0) == (ssize_t)length &&
		   !memcmp(got, wanted, length),
	   "hexadecimal numbers of every length are those of printf");
	fclose(file);
}

static void error_tests(void)
{
	int full = open("/dev/full", O_WRONLY);

	signal(SIGPIPE, SIG_IGN);
	begin();
	close(ends[0]);
	out_text(&out, "x");
	out_flush(&out);
	out_text(&out, "y");
	ok(out_error(&out) == -EPIPE, "a reader that has gone is seen");
	ok(out_close(&out) == -EPIPE, "and stays known");
	close(ends[1]);
	if (full < 0) {
		ok(true, "a full disk is seen # SKIP no /dev/full");
		return;
	}
	out_open(&out, full);
	out_text(&out, "x");
	ok(out_close(&out) == -ENOSPC, "a full disk is seen");
	close(full);
}

static void json_tests(void)
{
	struct json json;

	begin();
	json_start(&json, &out, false);
	json_begin(&json, '{');
	json_key(&json, "a\"b");
	json_begin(&json, '[');
	json_unsigned(&json, 1);
	json_signed(&json, -1);
	json_bool(&json, true);
	json_null(&json);
	json_text(&json, NULL);
	json_hex(&json, 255);
	json_end(&json);
	json_key(&json, "empty");
	json_begin(&json, '{');
	json_end(&json);
	json_add_real(&json, "real", 0.5);
	json_add_real(&json, "none", 1e308 * 10);
	json_end(&json);
	ok_text(end(),
		"{\"a\\\"b\":[1,-1,true,null,null,\"0xff\"],\"empty\":{},\"real\":0.5,\"none\":"
		"null}",
		"JSON of every kind");
	begin();
	json_start(&json, &out, false);
	json_text(&json, "\\\n\x1f\xff\xc2\x85\xe2\x80\xae\xc3\xa4");
	ok_text(end(), "\"\\\\\\u000a\\u001f\xef\xbf\xbd\\u0085\\u202e\xc3\xa4\"",
		"JSON text is valid whatever the bytes");
	begin();
	json_start(&json, &out, true);
	json_begin(&json, '{');
	json_key(&json, "a");
	json_begin(&json, '[');
	json_unsigned(&json, 1);
	json_unsigned(&json, 2);
	json_end(&json);
	json_end(&json);
	json_finish(&json);
	ok_text(end(), "{\n  \"a\": [\n    1,\n    2\n  ]\n}\n", "JSON for people");
	begin();
	json_start(&json, &out, true);
	json_begin(&json, '[');
	json_unsigned(&json, 1);
	json_again(&json, "{}", 2);
	json_begin(&json, '{');
	json_key(&json, "a");
	json_again(&json, "2", 1);
	json_end(&json);
	json_end(&json);
	ok_text(end(), "[\n  1,\n  {},\n  {\n    \"a\": 2\n  }\n]", "and what was written before");
}

int main(void)
{
	cell_tests();
	number_tests();
	name_tests();
	large_test();
	hex_tests();
	error_tests();
	json_tests();
	return tap_end();
}
