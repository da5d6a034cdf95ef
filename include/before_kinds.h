/* SPDX-License-Identifier: MIT */
#ifndef BEFORE_KINDS_H
#define BEFORE_KINDS_H

/* What a process had mapped when it was attached to, as the collector tells kinds of it apart. */

enum before_kind {
	BEFORE_ANONYMOUS,
	BEFORE_FILE,
	BEFORE_SHARED,
	BEFORE_HEAP,  /* of brk */
	BEFORE_ARENA, /* of libc's allocator, for its threads */
	BEFORE_STACK, /* of a thread */
	BEFORE_KINDS
};

/* Its word in a ~mapped note. */
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
