/* SPDX-License-Identifier: MIT */
#include "resolver/cache.h"

#include "base/cleanup.h"
#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CACHE_SIZE_MAX (256u << 20)

/* The start of each cache file. A file of another version or byte order is ignored and replaced. */
static const uint64_t mark = UINT64_C(0x0002736d616e7468);

int cache_open(const char *directory, struct error *err)
{
	struct stat status;

	if (mkdir(directory, 0777) != 0 && errno != EEXIST)
		return error_system(err, errno, "%s: cannot create this directory for names",
				    directory);
	if (stat(directory, &status) == 0 && !S_ISDIR(status.st_mode))
		return error_set(err, ENOTDIR, "%s: cannot store names there: not a directory",
				 directory);
	if (access(directory, R_OK | X_OK) != 0)
		return error_system(err, errno, "%s: cannot be read", directory);
	return 0;
}

/*
 * Returns the path of the cache file for this module and the style of names that the options
 * select, or NULL if the module's answers are not cached. The caller frees it.
 */
static char *path_of(const struct workers *workers, const struct entry *entry)
{
	const struct resolve_options *options = &workers->options;
	char digits[2 * FILES_BUILD_ID_MAX + 1] = "";
	const uint8_t *build_id = entry->build_id_size ? entry->build_id : entry->facts.build_id;
	unsigned size = entry->build_id_size ? entry->build_id_size : entry->facts.build_id_size;

	if (!options->cache || options->symbols_only || entry->broken || size < 8)
		return NULL;
	for (unsigned i = 0; i < size; i++)
		sprintf(digits + 2 * i, "%02x", build_id[i]);
	return memory_format("%s/%s-%c%u%c.names", options->cache, digits,
			     options->inlines ? 'i' : 'o', options->demangle,
			     options->full_path ? 'p' : 'b');
}

/* Returns the contents of the file, or NULL. The caller frees them. */
static char *read_whole(const char *path, size_t *size)
{
	cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY);
	cleanup_file FILE *file = NULL;
	struct stat status;
	char *bytes;

	if (fd < 0 || fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) ||
	    status.st_size > CACHE_SIZE_MAX)
		return NULL;
	bytes = memory_alloc((size_t)status.st_size);
	file = fdopen(fd, "r");
	if (!file) {
		free(bytes);
		return NULL;
	}
	fd = -1;
	*size = bytes ? fread(bytes, 1, (size_t)status.st_size, file) : 0;
	return bytes;
}

void cache_load(struct workers *workers, struct entry *entry)
{
	cleanup_free char *path = path_of(workers, entry);
	cleanup_free char *bytes = NULL;
	size_t size = 0, used = sizeof(mark);
	struct message message;
	struct answer *answer;
	struct facts facts;

	/*
	 * if neither the trace nor the file has given the build-id yet, a later call will try again
	 */
	entry->is_cached = path || entry->facts.is_known || entry->is_given_up;
	if (path)
		bytes = read_whole(path, &size);
	if (!bytes || size < sizeof(mark) || memcmp(bytes, &mark, sizeof(mark)) != 0)
		return;
	while (message_next(bytes, size, &used, &message) == 1)
		if (message_get_answer(&message, &answer) == 0)
			workers_add_answer(workers, entry, answer);
		else if (!entry->facts.is_known && message_get_facts(&message, &facts) == 0 &&
			 facts.reason == RESOLVE_FINE)
			entry->facts = facts;
}

/*
 * Creates a file in the directory of the old one. Sets *fresh to its path, which the caller frees.
 */
static FILE *begin_file(const char *path, char **fresh)
{
	FILE *file;
	int fd;

	*fresh = memory_format("%s.XXXXXX", path);
	fd = *fresh ? mkostemp(*fresh, O_CLOEXEC) : -1;
	if (fd < 0)
		return NULL;
	file = fdopen(fd, "w");
	if (file)
		return file;
	close(fd);
	unlink(*fresh);
	return NULL;
}

/* Replaces the file atomically, because other processes may use the cache at the same time. */
static void save_module(const struct workers *workers, const struct entry *entry, const char *path)
{
	cleanup_free char *fresh = NULL;
	FILE *file = begin_file(path, &fresh);
	bool has_failed;

	if (!file)
		return;
	fwrite(&mark, sizeof(mark), 1, file);
	message_put(file, MESSAGE_FACTS, &entry->facts, sizeof(entry->facts));
	for (size_t i = 0; workers->answers.slots && i <= workers->answers.mask; i++) {
		const struct answer *answer = workers->answers.slots[i].item;
		bool is_whole = answer && answer->owner == entry;

		for (unsigned k = 0; is_whole && k < answer->count; k++)
			is_whole = answer->symbols[k].function && answer->symbols[k].file &&
				   answer->symbols[k].line;
		if (is_whole)
			message_put_answer(file, answer->address, answer->symbols, answer->count);
	}
	has_failed = ferror(file);
	if (fclose(file) != 0 || has_failed || rename(fresh, path) != 0)
		unlink(fresh);
}

void cache_save(const struct workers *workers, struct entry *const *entries, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct entry *entry = entries[i];
		cleanup_free char *path = path_of(workers, entry);

		/* without a child process, there are no new answers */
		if (path && entry->is_employed && entry->facts.reason == RESOLVE_FINE &&
		    !entry->facts.layout.is_debug)
			save_module(workers, entry, path);
	}
}
