/* SPDX-License-Identifier: MIT */
#include "trace/text.h"

#include <stdlib.h>
#include <unistd.h>

#include "tests/lib/tap.h"

static char found[8192];

/* print_KIND(): parses a line as this kind and prints it again; "" if it is of another kind. */
#define PRINTED(kind, line)                                       \
	static const char *print_##kind(const char *line)         \
	{                                                         \
		struct text_##kind parsed;                        \
		struct out out;                                   \
		int ends[2];                                      \
		ssize_t length;                                   \
                                                                  \
		if (!text_parse_##kind(slice_of(line), &parsed))  \
			return "";                                \
		if (pipe(ends) != 0)                              \
			exit(99);                                 \
		out_open(&out, ends[1]);                          \
		text_print_##kind(&out, &parsed);                 \
		out_close(&out);                                  \
		close(ends[1]);                                   \
		length = read(ends[0], found, sizeof(found) - 1); \
		close(ends[0]);                                   \
		found[length > 0 ? length - 1 : 0] = '\0';        \
		return found;                                     \
	}

PRINTED(header, line)
PRINTED(mapping, line)
PRINTED(context, line)
PRINTED(resource, line)
PRINTED(attachment, line)
PRINTED(call, line)
PRINTED(argument, line)
PRINTED(frame, line)

static void same(const char *(*print)(const char *line), const char *line)
{
	char sentence[200];

	snprintf(sentence, sizeof(sentence), "comes back as it was: %.120s", line);
	ok_text(print(line), line, sentence);
}

static void becomes(const char *(*print)(const char *line), const char *line, const char *expected)
{
	char sentence[200];

	snprintf(sentence, sizeof(sentence), "%.80s %s", line,
		 *expected ? "is understood" : "is refused");
	ok_text(print(line), expected, sentence);
}

static void header_tests(void)
{
	same(print_header,
	     "version=2.0, arch=x86_64, timestamp=2023.1.2 03:04:05, process=a b, "
	     "pid=1, filter=leaks|compress, backtrace depth=10, origin=sp-rtrace 1.8, ");
	same(print_header, "version=2.0, process=with, commas, and blanks, pid=1, ");
	becomes(print_header, "version=2.0,arch=arm,pid=5", "version=2.0, arch=arm, pid=5, ");
	becomes(print_header, "pid=5, ", "");
	becomes(print_header, "version", "");
}

static void date_is(const char *text, uint32_t seconds)
{
	char sentence[100];

	snprintf(sentence, sizeof(sentence), "%s is %s", text, seconds ? "a date" : "none");
	ok(text_parse_date(slice_of(text)) == seconds, sentence);
}

static void date_tests(void)
{
	setenv("TZ", "EET-2EEST,M3.5.0/3,M10.5.0/4", 1);
	date_is("2023.1.2 03:04:05", 1672621445);
	date_is("02.01.2023 03:04:05", 1672621445);
	date_is("2023.7.2 03:04:05", 1688256245);
	date_is("2023.13.2 03:04:05", 0);
	date_is("2023.1.2 24:00:00", 0);
	date_is("2023.1.0 00:00:00", 0);
	date_is("2023.1.2 03:04:05 ", 0);
	date_is("2023-01-02 03:04:05", 0);
	date_is("99999999999999999999.1.2 03:04:05", 0);
	date_is("", 0);
}

static void surrounding_tests(void)
{
	same(print_mapping, ": /usr/lib/libc.so.6 => 0x7f0000000000-0xffffffffffffffff");
	same(print_mapping, ": /a path/with => 0x1-0x2 => 0x3-0x4");
	becomes(print_mapping, ": /x => 0x1-0x10000000000000000", "");
	becomes(print_mapping, ": /x => 0x1-0x2 ", "");
	same(print_mapping, ": /a => b build-id=12 => 0x1-0x2 build-id=0123456789abcdef");
	becomes(print_mapping, ": /x => 0x1-0x2 build-id=", "");
	becomes(print_mapping, ": /x => 0x1-0x2 build-id=12 ", "");
	same(print_context, "@ 80000000 : start up");
	becomes(print_context, "@ 100000000 : x", "");
	same(print_resource, "<1> : memory (memory allocation in bytes)");
	same(print_resource, "<80000000> : lock (held (or not)) [refcount]");
	same(print_resource, "<2> : odd (a (b) [c] %n)");
	same(print_resource, "<2> : odd (a) [refcount])");
	becomes(print_resource, "<2> : lock (held) [other|refcount]",
		"<2> : lock (held) [refcount]");
	becomes(print_resource, "<2> : lock (held] [refcount]", "");
	becomes(print_resource, "<3> : two (bits)", "");
	becomes(print_resource, "<1> : memory", "");
	becomes(print_resource, "<1> : a (", "");
	same(print_attachment, "& maps : /tmp/a file : b");
}

static void call_tests(void)
{
	same(print_call, "1. malloc(10) = 0x10");
	same(print_call, "12. @1f [01:02:03.004] malloc<memory>(4294967296) = 0xffffffffffffffff");
	same(print_call, "18446744073709551615. free<memory>(0x0)");
	same(print_call, "3. operator new(unsigned long, std::nothrow_t const&)<memory>(8) = 0x8");
	same(print_call, "4. std::vector<int>::push_back(int const&)(0x8)");
	same(print_call, "5. <memory>(1) = 0x8");
	same(print_call, "5. [1193:02:47.295] f(0x1)");
	becomes(print_call, "6. malloc(-1073741824) = 0x10", "6. malloc(3221225472) = 0x10");
	becomes(print_call, "7. [01:02:03.004]malloc(1) = 0x1", "");
	becomes(print_call, "8. malloc(1) = 0x1 ", "");
	becomes(print_call, "9. malloc(99999999999999999999) = 0x1", "");
	becomes(print_call, "10. (0x1)", "");
	becomes(print_call, "11 malloc(0x1)", "");
	becomes(print_call, "12. [99:99:99.999] malloc(0x1)", "");
	becomes(print_call, "13. [01:02:03.004999] free(0x1)", "13. [01:02:03.004] free(0x1)");
	becomes(print_call, "14. [01:02:03.4] free(0x1)", "");
}

static void rest_tests(void)
{
	same(print_argument, "\t$path = /etc/my passwd = x");
	same(print_argument, "\t$empty = ");
	becomes(print_argument, "$1 = document", "\t$1 = document");
	becomes(print_argument, "\t$trimmed =", "\t$trimmed = ");
	becomes(print_argument, "\t$none", "");
	same(print_frame, "\t0x401136");
	same(print_frame, "\t0x401136 main() at demo.c:12");
	same(print_frame, "\t0x401136 in main() from /bin/a b");
	same(print_frame, "\t0x401136 ");
	becomes(print_frame, "\t0x401136x", "");
	becomes(print_frame, "\t0x", "");
}

int main(void)
{
	header_tests();
	date_tests();
	surrounding_tests();
	call_tests();
	rest_tests();
	ok(text_is_passing_comment(slice_of("# x")) && !text_is_passing_comment(slice_of("## x")),
	   "comments with one # pass by, others stay");
	return tap_end();
}
