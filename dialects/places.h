/* SPDX-License-Identifier: MIT */
#ifndef PLACES_H
#define PLACES_H

/*
 * Where a process is: its directory and the paths behind its descriptors, as far as its trace
 * says; from them come absolute paths. Nothing here asks a file system: links are not resolved.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/array.h"

struct places {
	char *directory;	/* NULL: not known */
	ARRAY_OF(char *) paths; /* by descriptor; NULL: not known */
};

/* A path that grows: text always ends in NUL. */
struct path {
	char *text;
	size_t length, capacity;
};

void places_free(struct places *places);

/* As after a fork. */
void places_copy(struct places *places, const struct places *from);

/* A new image tells its own. */
void places_clear(struct places *places);

void places_set_directory(struct places *places, const char *path);

/* fd: what is out of all bounds is not noted. path NULL: the descriptor is closed. */
void places_set_fd(struct places *places, uint64_t fd, const char *path);

/* The path of a descriptor, or NULL. */
const char *places_fd(const struct places *places, uint64_t fd);

/*
 * text behind the directory that dirfd stands for (AT_FDCWD: the process's) as one path, joined
 * and not cleaned; text itself if it is absolute or the directory is not known.
 */
void places_join(const struct places *places, int64_t dirfd, const char *text, struct path *path);

/* Takes out empty parts, `.` and `..`, as far as a reader of the text alone can. */
void path_clean(struct path *path);

void path_set(struct path *path, const char *text, size_t length);
void path_append(struct path *path, const char *text, size_t length);
void path_free(struct path *path);

#endif
