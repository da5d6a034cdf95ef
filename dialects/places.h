/* SPDX-License-Identifier: MIT */
#ifndef PLACES_H
#define PLACES_H

/*
 * The working directory of a process and the paths of its descriptors, as far as the trace shows
 * them. They are used to make paths absolute. The file system is not accessed, so symbolic links
 * are not resolved.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/array.h"

struct places {
	char *directory;	/* the working directory; NULL: unknown */
	ARRAY_OF(char *) paths; /* paths of descriptors; NULL: unknown */
};

/* A path in a buffer that grows; `text` ends with NUL. */
struct path {
	char *text;
	size_t length, capacity;
};

void places_free(struct places *places);

/* Copies the parent's state after a fork. */
void places_copy(struct places *places, const struct places *from);

/* Removes all data, before the notes of a new program image. */
void places_clear(struct places *places);

void places_set_directory(struct places *places, const char *path);

/*
 * Sets the path of a descriptor; NULL: the descriptor was closed. Ignores descriptors above the
 * default limit of Linux (fs.nr_open).
 */
void places_set_fd(struct places *places, uint64_t fd, const char *path);

/* Returns the path of a descriptor, or NULL. */
const char *places_fd(const struct places *places, uint64_t fd);

/*
 * Sets *path to the directory of dirfd (AT_FDCWD: the working directory), a slash and `text`. If
 * `text` is absolute or the directory is unknown, sets *path to `text` alone. Does not call
 * path_clean().
 */
void places_join(const struct places *places, int64_t dirfd, const char *text, struct path *path);

/*
 * Removes empty parts, `.` and `..` from the text of the path, without access to the file system.
 */
void path_clean(struct path *path);

void path_set(struct path *path, const char *text, size_t length);
void path_append(struct path *path, const char *text, size_t length);
void path_free(struct path *path);

#endif
