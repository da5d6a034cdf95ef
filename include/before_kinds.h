/* SPDX-License-Identifier: MIT */
#ifndef BEFORE_KINDS_H
#define BEFORE_KINDS_H

/* The kinds of mappings that a process had before an attach. */

enum before_kind {
	BEFORE_ANONYMOUS,
	BEFORE_FILE,
	BEFORE_SHARED,
	BEFORE_HEAP,  /* the heap of brk(2) */
	BEFORE_ARENA, /* an arena of libc's allocator for threads other than the first */
	BEFORE_STACK, /* the stack of a thread */
	BEFORE_KINDS
};

/* Returns the word for this kind in a ~mapped note. */
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
