/* SPDX-License-Identifier: MIT */
#include "resolver/demangle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int number, failures;

/* expected: NULL if the name must stay unchanged. */
static void check(const char *name, enum demangle style, const char *expected, bool has_parameters)
{
	bool found_parameters = !has_parameters;
	char *text = demangle(name, style, &found_parameters);
	bool is_right = expected ? text && strcmp(text, expected) == 0 : !text;

	is_right = is_right && found_parameters == has_parameters;
	printf("%sok %d - %.60s reads %.60s\n", is_right ? "" : "not ", ++number, name,
	       expected ? expected : "as it is");
	if (!is_right) {
		printf("# got %s, parameters %d\n", text ? text : "NULL", found_parameters);
		failures++;
	}
	free(text);
}

static void check_plain(const char *name, const char *expected)
{
	bool is_right = strcmp(demangle_plain(name), expected) == 0;

	printf("%sok %d - %s is called %s\n", is_right ? "" : "not ", ++number, name, expected);
	failures += !is_right;
}

int main(void)
{
	static char longest[DEMANGLE_NAME_MAX + 3] = "_Z1";

	check("malloc", DEMANGLE_FULL, NULL, false);
	check("i", DEMANGLE_FULL, NULL, false);
	check("", DEMANGLE_FULL, NULL, false);
	check("_Z", DEMANGLE_FULL, NULL, false);
	check("_ZN2ns1fEi", DEMANGLE_FULL, "ns::f(int)", true);
	check("_ZN2ns1fEi", DEMANGLE_SHORT, "ns::f", false);
	check("_ZN2ns1fEi", DEMANGLE_NO, NULL, false);
	check("_Z1fIiEvT_", DEMANGLE_FULL, "void f<int>(int)", true);
	check("_Z1fIiEvT_", DEMANGLE_SHORT, "f<int>", false);
	check("_ZNK1A1gEv", DEMANGLE_FULL, "A::g() const", true);
	check("_ZN1nD1Ev.cold", DEMANGLE_FULL, "n::~n() [clone .cold]", true);
	check("_ZN4core3fmt5write17h0123456789abcdefE", DEMANGLE_FULL, "core::fmt::write", false);
	check("_RNvCskwGfYPst2Cb_3foo16example_function", DEMANGLE_FULL, "foo::example_function",
	      false);
	memset(longest + 2, '1', sizeof(longest) - 3);
	check(longest, DEMANGLE_FULL, NULL, false);
	check_plain("IA__g_free", "g_free");
	check_plain("IA__", "IA__");
	check_plain("g_IA__free", "g_IA__free");
	printf("1..%d\n", number);
	return failures > 0;
}
