/* SPDX-License-Identifier: MIT */
#include "naming/runtime.h"

#include <fnmatch.h>
#include <stddef.h>
#include <string.h>

#include "injected.h"

static const struct {
	enum runtime_kind kind;
	const char *pattern;
} rows[] = {
#define RUNTIME(kind, pattern) { RUNTIME_##kind, pattern },
#include "naming/runtime.def"
#undef RUNTIME
};

static bool is_listed(enum runtime_kind kind, const char *text)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (rows[i].kind == kind && !fnmatch(rows[i].pattern, text, FNM_NOESCAPE))
			return true;
	return false;
}

/*
 * Returns the type without its decoration: `core::fmt::Debug as ...` for `<&mut dyn
 * core::fmt::Debug as ...`.
 */
static const char *skip_decoration(const char *type)
{
	static const char *const words[] = { "<",    "&",	"[",	 "(",	  "mut ",
					     "dyn ", "*const ", "*mut ", "impl ", "void " };

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		size_t length = strlen(words[i]);

		if (!strncmp(type, words[i], length))
			return skip_decoration(type + length);
	}
	return type;
}

bool runtime_has(enum runtime_kind kind, const char *text)
{
	const char *type, *as, *path;

	if (kind != RUNTIME_FUNCTION)
		return is_listed(kind, text);
	type = skip_decoration(text);
	/*
	 * if the method's type has no path (u8, T), use its trait instead: `<T as
	 * core::convert::Into<U>>::into`
	 */
	as = strstr(type, " as ");
	path = strstr(type, "::");
	return is_listed(kind, type) ||
	       (*text == '<' && as && path && as < path && is_listed(kind, as + strlen(" as ")));
}
