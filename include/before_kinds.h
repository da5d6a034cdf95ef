/* SPDX-License-Identifier: MIT */
#ifndef BEFORE_KINDS_H
#define BEFORE_KINDS_H

/*
 * Kinds of mappings that a process had before it was attached to, as the collector distinguishes
 * them.
 */

enum before_kind {
	BEFORE_ANONYMOUS,
	BEFORE_FILE,
	BEFORE_SHARED,
	BEFORE_HEAP,  /* brk's heap */
	BEFORE_ARENA, /* of libc's allocator for further threads */
	BEFORE_STACK, /* of a thread */
	BEFORE_KINDS
};

/* Its name in a ~mapped note. */
static inline const char *before_word(enum before_kind kind)
{
	static const char *const words[BEFORE_KINDS] = {
		[BEFORE_ANONYMOUS] = "anonymous", [BEFORE_FILE] = "file",
		[BEFORE_SHARED] = "shared",	  [BEFORE_HEAP] = "heap",
		[BEFORE_ARENA] = "arena",	  [BEFORE_STACK] = "stack",
	};

	return words[kind];
}

#endif
