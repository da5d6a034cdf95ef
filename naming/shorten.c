/* SPDX-License-Identifier: MIT */
#include "naming/shorten.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* ---- C++ and Rust ---- */

/* Replaces `from` by `to` everywhere in the name; `to` must not be longer than `from`. */
static void replace_all(char *name, const char *from, const char *to)
{
	size_t length = strlen(from), less = strlen(to);
	char *end = name;

	for (const char *at = name; *at;) {
		bool is_here = !strncmp(at, from, length);

		if (is_here)
			memcpy(end, to, less);
		else
			*end = *at;
		end += is_here ? less : 1;
		at += is_here ? length : 1;
	}
	*end = '\0';
}

/* Removes the hash at the end of a name in Rust's old mangling: ::h and 16 hexadecimal digits. */
static void remove_hash(char *name)
{
	size_t length = strlen(name);
	char *at = name + length - 19;

	if (length <= 19 || strncmp(at, "::h", 3) != 0)
		return;
	for (int i = 3; i < 19; i++)
		if (!isxdigit((unsigned char)at[i]))
			return;
	*at = '\0';
}

/*
 * Returns 1 if the character opens an angle bracket, -1 if it closes one, else 0, for example for
 * the arrow of Fn() -> T.
 */
static int bracket_at(const char *name, const char *at)
{
	const char *before = at;

	if (*at != '<' && *at != '>')
		return 0;
	/* a bracket in an operator's name (operator<, operator->) does not enclose parameters */
	for (int i = 0; i < 3 && before > name && strchr("<>-=(", before[-1]); i++)
		before--;
	if (before - name >= 8 && !strncmp(before - 8, "operator", 8))
		return 0;
	if (*at == '>' && at > name && at[-1] == '-')
		return 0;
	return *at == '<' ? 1 : -1;
}

/*
 * Removes all text inside <>. If the name begins with a bracket (<T as U>::f), this first pair of
 * brackets and its text are kept.
 */
static void remove_parameters(char *name)
{
	long depth = 0, kept = *name == '<';
	char *to = name;

	for (const char *at = name; *at && depth >= 0; at++)
		depth += bracket_at(name, at);
	if (depth != 0)
		return;
	for (const char *from = name; *from; from++) {
		int bracket = bracket_at(name, from);

		depth += bracket > 0;
		if (depth <= kept || (bracket && depth == kept + 1))
			*to++ = *from;
		depth -= bracket < 0;
		if (bracket < 0 && depth == 0)
			kept = 0;
	}
	*to = '\0';
}

/* Returns the bracket that closes the bracket at the start of the name, or NULL. */
static char *closing_of(char *name)
{
	for (char *at = name + 1; *name == '<' && *at; at++)
		if (bracket_at(name, at) < 0)
			return at;
	return NULL;
}

/* Shortens <T>::f to T::f and, if drops_trait, <T as U>::f to T::f. */
static void unwrap(char *name, bool drops_trait)
{
	char *closing = closing_of(name);
	char *as = strstr(name, " as ");
	char *end = closing && as && as < closing ? as : closing;

	if (!closing || (end != closing && !drops_trait))
		return;
	memmove(end, closing + 1, strlen(closing + 1) + 1);
	memmove(name, name + 1, strlen(name + 1) + 1);
}

static bool is_long(const char *name)
{
	return strlen(name) > SHORTEN_MAX;
}

/*
 * Cuts the name by removing outer namespaces. If even the last part is too long, keeps the start of
 * the name, cut between two characters.
 */
static void cut_name(char *name)
{
	static const char dots[] = "...";
	size_t room = SHORTEN_MAX - strlen(dots);
	const char *part = strstr(name + strlen(name) - room - 2, "::");

	if (part && part[2]) {
		memmove(name + strlen(dots), part + 2, strlen(part + 2) + 1);
		memcpy(name, dots, strlen(dots));
		return;
	}
	while (room && ((unsigned char)name[room] & 0xC0) == 0x80)
		room--;
	memcpy(name + room, dots, sizeof(dots));
}

void shorten_name(char *name)
{
	remove_hash(name);
	replace_all(name, "__cxx11::", "");
	replace_all(name, "(anonymous namespace)::", "");
	replace_all(name, "{anonymous}::", "");
	replace_all(name, "std::basic_string<char, std::char_traits<char>, std::allocator<char> >",
		    "std::string");
	remove_parameters(name);
	replace_all(name, "::<>", "");
	replace_all(name, "<>", "");
	/* removing the parameters of `operator<< <char>` leaves a blank at the end */
	while (*name && name[strlen(name) - 1] == ' ')
		name[strlen(name) - 1] = '\0';
	unwrap(name, is_long(name));
	if (is_long(name))
		cut_name(name);
}

/* ---- the C library ---- */

static bool has_end(const char *name, const char *end)
{
	size_t length = strlen(name), less = strlen(end);

	return length > less && !strcmp(name + length - less, end);
}

void shorten_public(char *name)
{
	static const char *const starts[] = { "__GI_",	  "___",       "__libc_",
					      "__new_",	  "__isoc99_", "__isoc23_",
					      "_IO_new_", "_IO_",      "__" };
	bool goes_on = true;
	size_t end;

	/* remove versions: pthread_create@GLIBC_2.2.5, __pthread_create_2_1 */
	name[strcspn(name, "@")] = '\0';
	end = strlen(name);
	if (end > 4 && name[end - 4] == '_' && isdigit((unsigned char)name[end - 3]) &&
	    name[end - 2] == '_' && isdigit((unsigned char)name[end - 1]))
		name[end - 4] = '\0';
	if (has_end(name, "_chk") || has_end(name, "_impl"))
		*strrchr(name, '_') = '\0';
	while (goes_on) {
		goes_on = false;
		for (size_t i = 0; i < sizeof(starts) / sizeof(*starts) && !goes_on; i++) {
			size_t length = strlen(starts[i]);

			goes_on = !strncmp(name, starts[i], length) && name[length];
			if (goes_on)
				memmove(name, name + length, strlen(name + length) + 1);
		}
	}
}
