/* SPDX-License-Identifier: MIT */
#include "dialects/places.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"

#define FD_MAX (1u << 20) /* limit of descriptors: the default of fs.nr_open */

void places_clear(struct places *places)
{
	for (size_t i = 0; i < places->paths.count; i++)
		free(places->paths.items[i]);
	places->paths.count = 0;
	free(places->directory);
	places->directory = NULL;
}

void places_free(struct places *places)
{
	places_clear(places);
	free(places->paths.items);
	memset(places, 0, sizeof(*places));
}

static void set_text(char **place, const char *text)
{
	char *copy = text ? memory_text(text) : NULL;

	free(*place);
	*place = copy;
}

void places_set_directory(struct places *places, const char *path)
{
	set_text(&places->directory, path);
}

void places_set_fd(struct places *places, uint64_t fd, const char *path)
{
	char **place;

	if (fd >= FD_MAX || (!path && fd >= places->paths.count))
		return;
	place = ARRAY_AT(&places->paths, fd);
	set_text(place, path);
}

const char *places_fd(const struct places *places, uint64_t fd)
{
	return fd < places->paths.count ? places->paths.items[fd] : NULL;
}

void places_copy(struct places *places, const struct places *from)
{
	places_set_directory(places, from->directory);
	for (size_t i = 0; i < from->paths.count; i++)
		places_set_fd(places, i, from->paths.items[i]);
}

void path_append(struct path *path, const char *text, size_t length)
{
	while (path->capacity < path->length + length + 1)
		array_grow(&path->text, &path->capacity, 1);
	memcpy(path->text + path->length, text, length);
	path->length += length;
	path->text[path->length] = '\0';
}

void path_set(struct path *path, const char *text, size_t length)
{
	path->length = 0;
	path_append(path, text, length);
}

void places_join(const struct places *places, int64_t dirfd, const char *text, struct path *path)
{
	const char *base = dirfd == AT_FDCWD ? places->directory
			   : dirfd < 0	     ? NULL
					     : places_fd(places, (uint64_t)dirfd);

	if (*text == '/' || !base) {
		path_set(path, text, strlen(text));
		return;
	}
	path_set(path, base, strlen(base));
	path_append(path, "/", 1);
	path_append(path, text, strlen(text));
}

void path_clean(struct path *path)
{
	char *from = path->text, *to, *start;

	/* `..` in a relative path cannot be resolved */
	if (!path->length || *from != '/')
		return;
	start = to = ++from;
	for (bool is_last = false; !is_last;) {
		size_t length = strcspn(from, "/");
		char *next = from + length + 1;

		is_last = !from[length]; /* read it now, because the NUL may be overwritten below */

		if (length == 2 && !memcmp(from, "..", 2)) {
			if (to > start)
				to--;
			while (to > start && to[-1] != '/')
				to--;
		} else if (length && !(length == 1 && *from == '.')) {
			memmove(to, from, length);
			to += length;
			*to++ = '/';
		}
		from = next;
	}
	if (to > start)
		to--;
	*to = '\0';
	path->length = (size_t)(to - path->text);
}

void path_free(struct path *path)
{
	free(path->text);
	memset(path, 0, sizeof(*path));
}
