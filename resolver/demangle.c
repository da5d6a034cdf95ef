/* SPDX-License-Identifier: MIT */
#include "resolver/demangle.h"

#include <libiberty/demangle.h>
#include <string.h>

char *demangle(const char *name, enum demangle style, bool *has_parameters)
{
	int flags = DMGL_AUTO;
	char *text;

	*has_parameters = false;
	/* All known manglings begin with an underscore; calling the demangler is expensive. */
	if (style == DEMANGLE_NO || name[0] != '_' || strlen(name) > DEMANGLE_NAME_MAX)
		return NULL;
	if (style == DEMANGLE_FULL)
		flags |= DMGL_PARAMS | DMGL_ANSI;
	text = cplus_demangle(name, flags);
	/* Rust names have no parameters in any style, nor do _Z names of vtables and the like. */
	if (text && style == DEMANGLE_FULL)
		*has_parameters = strchr(text, '(') != NULL && strncmp(name, "_R", 2) != 0;
	return text;
}

const char *demangle_plain(const char *name)
{
	return strncmp(name, "IA__", 4) == 0 && name[4] ? name + 4 : name;
}
