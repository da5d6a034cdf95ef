/* SPDX-License-Identifier: MIT */
#include "resolver/cache.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CACHE_SIZE_MAX (256u << 20)

/* First in each file: files of another version or byte order are not read, and written anew. */
static const uint64_t mark = UINT64_C(0x0001736d616e7468);

int cache_open(const char *directory, struct error *err)
{
	struct stat status;

	if (mkdir(directory, 0777) != 0 && errno != EEXIST)
		return error_system(err, errno, "%s: cannot be made to keep names in", directory);
	if (stat(directory, &status) == 0 && !S_ISDIR(status.st_mode))
		return error_set(err, ENOTDIR, "%s: is no directory to keep names in", directory);
	if (access(directory, R_OK | X_OK) != 0)
		return error_system(err, errno, "%s: cannot be read", directory);
	return 0;
}

static const uint8_t *build_id_of(const struct entry *entry, unsigned *size)
{
	if (entry->build_id_size) {
		*size = entry->build_id_size;
		return entry->build_id;
	}
	*size = entry->facts.build_id_size;
	return entry->facts.build_id;
}

/* The file for this module, or NULL if it has none. Styles whose answers differ have their own. */
static char *path_of(const struct crew *crew, const struct entry *entry)
{
	const struct resolve_options *options = &crew->options;
	char digits[2 * MESSAGE_BUILD_ID + 1] = "";
	const uint8_t *build_id;
	unsigned size;
	char *path;

	build_id = build_id_of(entry, &size);
	if (!options->cache || options->symbols_only || entry->broken || size < 8)
		return NULL;
	for (unsigned i = 0; i < size; i++)
		sprintf(digits + 2 * i, "%02x", build_id[i]);
	if (asprintf(&path, "%s/%s-%c%u%c.names", options->cache, digits,
		     options->inlines ? 'i' : 'o', options->demangle,
		     options->full_path ? 'p' : 'b') < 0)
		return NULL;
	return path;
}

static int read_whole(const char *path, struct message_buffer *buffer)
{
	cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY);
	struct stat status;

	if (fd < 0 || fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) ||
	    status.st_size > CACHE_SIZE_MAX)
		return -EINVAL;
	buffer->items = malloc((size_t)status.st_size + 1);
	if (!buffer->items)
		return -ENOMEM;
	while (buffer->count < (size_t)status.st_size) {
		ssize_t size = read(fd, buffer->items + buffer->count,
				    (size_t)status.st_size - buffer->count);

		if (size <= 0)
			return -EIO;
		buffer->count += (size_t)size;
	}
	return 0;
}

static void take_message(struct crew *crew, struct entry *entry, const struct message *message)
{
	struct answer *answer;
	struct facts facts;

	if (message->kind == MESSAGE_ANSWER && message_get_answer(message, &answer) == 0)
		crew_add_answer(crew, entry, answer);
	if (message->kind != MESSAGE_FACTS || entry->facts.is_known ||
	    message_get_facts(message, &facts) != 0)
		return;
	if (facts.reason == RESOLVE_FINE)
		entry->facts = facts;
	else
		facts_free(&facts);
}

void cache_load(struct crew *crew, struct entry *entry)
{
	cleanup_free char *path = path_of(crew, entry);
	struct message_buffer buffer = { 0 };
	struct message message;
	size_t used = sizeof(mark);

	/* Without a build-id in the trace the file's own is to be awaited. */
	entry->is_cached = path || entry->facts.is_known || entry->is_given_up;
	if (!path)
		return;
	if (read_whole(path, &buffer) == 0 && buffer.count > sizeof(mark) &&
	    memcmp(buffer.items, &mark, sizeof(mark)) == 0) {
		while (message_next(&buffer, &used, &message) == 1)
			take_message(crew, entry, &message);
	}
	free(buffer.items);
}

static bool is_whole(const struct answer *answer)
{
	for (unsigned i = 0; i < answer->count; i++) {
		const struct symbol *symbol = &answer->symbols[i];

		if (!symbol->function || !symbol->file || !symbol->line)
			return false;
	}
	return true;
}

static void keep(struct entry *entry, const struct answer *answer)
{
	if (entry->kept.count == 0 && message_put_facts(&entry->kept, &entry->facts) != 0)
		return;
	(void)message_put_answer(&entry->kept, answer->address, answer->symbols, answer->count);
}

/* A file is there whole or not at all, also for others who use the cache now. */
static void write_file(const char *path, const struct message_buffer *kept)
{
	cleanup_free char *fresh = NULL;
	cleanup_file FILE *file = NULL;
	bool is_written;
	int fd;

	if (asprintf(&fresh, "%s.XXXXXX", path) < 0) {
		fresh = NULL;
		return;
	}
	fd = mkostemp(fresh, O_CLOEXEC);
	if (fd < 0)
		return;
	file = fdopen(fd, "w");
	if (!file) {
		close(fd);
		unlink(fresh);
		return;
	}
	is_written = fwrite(&mark, sizeof(mark), 1, file) == 1 &&
		     fwrite(kept->items, kept->count, 1, file) == 1 && fflush(file) == 0;
	if (!is_written || rename(fresh, path) != 0)
		unlink(fresh);
}

void cache_save(struct crew *crew, struct entry *const *entries, size_t count)
{
	if (!crew->options.cache)
		return;
	for (size_t i = 0; crew->answers.slots && i <= crew->answers.mask; i++) {
		const struct answer *answer = crew->answers.slots[i].item;
		struct entry *entry = answer ? (struct entry *)answer->owner : NULL;

		/* Without a child there was nothing new. */
		if (entry && entry->is_employed && !entry->facts.layout.is_debug &&
		    is_whole(answer))
			keep(entry, answer);
	}
	for (size_t i = 0; i < count; i++) {
		cleanup_free char *path = path_of(crew, entries[i]);

		if (path && entries[i]->kept.count)
			write_file(path, &entries[i]->kept);
	}
}
