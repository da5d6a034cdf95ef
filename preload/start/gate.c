/* SPDX-License-Identifier: MIT */
#include "gate.h"

#include <stddef.h>
#include <elf.h>

#include "preload/ground/plain.h"
#include "preload/ground/self.h"

#define OURS "holdtrace"

/* Whether the file is holdtrace or holdtrace-WORD, whatever argv[0] is. */
static bool is_our_own(const char *path, size_t length)
{
	const char *name = path, *ours = OURS;

	for (size_t i = 0; i < length; i++)
		if (path[i] == '/')
			name = path + i + 1;
	for (; *ours; ours++, name++)
		if (name == path + length || *name != *ours)
			return false;
	/* or " (deleted)", while a new version is being installed */
	return name == path + length || *name == '-' || *name == ' ';
}

bool gate_is_closed(void)
{
	const char *path;

	/* the environment comes from a user with fewer rights */
	if (self_auxiliary(AT_SECURE))
		return true;
	path = self_path();
	return *path && is_our_own(path, plain_length(path));
}
