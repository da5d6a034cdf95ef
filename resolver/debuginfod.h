/* SPDX-License-Identifier: MIT */
#ifndef DEBUGINFOD_H
#define DEBUGINFOD_H

/*
 * Files by build-id from debuginfod servers. libdebuginfod is opened when it is first needed, so
 * that nobody who does not ask the network depends on it; DEBUGINFOD_URLS and its like, which the
 * program sets, say which servers, and for how long.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum debuginfod_kind {
	DEBUGINFOD_EXECUTABLE,
	DEBUGINFOD_DEBUGINFO,
};

struct debuginfod_question {
	enum debuginfod_kind kind;
	const uint8_t *build_id;
	size_t build_id_size;
	const char *name;				   /* of the module, for the progress */
	void (*progress)(void *context, const char *text); /* or NULL; about once a second */
	void *context;
};

/* Returns the path of the file in the user's cache, to be freed, or NULL. */
char *debuginfod_find(const struct debuginfod_question *question);

/*
 * The directory that downloads are kept in, made if it is not there: the only one that whoever
 * downloads writes into. False where there is none; then libdebuginfod's own search ends nowhere.
 */
bool debuginfod_cache(char *path, size_t size);

#endif
