/* SPDX-License-Identifier: MIT */
#include "resolver/demangle.h"

#include <libiberty/demangle.h>
#include <string.h>

char *demangle(const char *name, enum demangle style, bool *has_parameters)
{
	int flags = DMGL_AUTO;
	char *text;

	*has_parameters = false;
	/* demangling is expensive, and all known manglings begin with an underscore */
	if (style == DEMANGLE_NO || name[0] != '_' || strlen(name) > DEMANGLE_NAME_MAX)
		return NULL;
	if (style == DEMANGLE_FULL)
		flags |= DMGL_PARAMS | DMGL_ANSI;
	text = cplus_demangle(name, flags);
	/*
	 * names of Rust functions (_R), and of vtables and similar objects of C++, have no
	 * parameter list
	 */
	if (text && style == DEMANGLE_FULL)
		*has_parameters = strchr(text, '(') != NULL && strncmp(name, "_R", 2) != 0;
	return text;
}

const char *demangle_plain(const char *name)
{
	return strncmp(name, "IA__", 4) == 0 && name[4] ? name + 4 : name;
}
