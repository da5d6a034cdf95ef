/* SPDX-License-Identifier: MIT */
#include "control/control.h"

#include "base/array.h"
#include "base/checksum.h"
#include "base/cleanup.h"
#include "base/memory.h"
#include "htr_table.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NUMBERS_MAX 10000

/* For each stream, the position up to which its pieces were read. */
struct places {
	struct place {
		uint64_t next;
		/* is_ended: the last piece of the stream that was read is an index */
		bool is_begun, is_ended;
	} * items;
	size_t count, capacity;
};

/* Returns the position after the last complete piece of a bundle, or the size of any other file. */
static uint64_t find_end(int fd, struct places *places)
{
	uint8_t bytes[HTR_SIZE_piece];
	const unsigned char *read = bytes;
	uint64_t at = HTR_SIZE_bundle, size;
	struct stat facts;

	if (fstat(fd, &facts) || pread(fd, bytes, 8, 0) != 8)
		return 0;
	size = (uint64_t)facts.st_size;
	if (htr_get_qword(&read) != HTR_MAGIC_BUNDLE)
		return size;
	while (pread(fd, bytes, sizeof(bytes), (off_t)at) == (ssize_t)sizeof(bytes)) {
		uint8_t first[4] = { 0 };
		struct htr_piece piece;
		struct place *place;

		htr_get_piece(bytes, &piece);
		if (piece.magic != HTR_MAGIC_PIECE ||
		    piece.check != checksum(0, bytes + 8, HTR_SIZE_piece - 8) ||
		    at + HTR_SIZE_piece + piece.size > size || piece.stream > 1u << 22)
			break;
		place = ARRAY_AT(places, piece.stream);
		if (pread(fd, first, sizeof(first), (off_t)(at + HTR_SIZE_piece)) < 0)
			break;
		place->next = piece.place + piece.size;
		place->is_begun = true;
		read = first;
		place->is_ended = htr_get_dword(&read) == HTR_MAGIC_INDEX;
		at += HTR_SIZE_piece + piece.size;
	}
	return at;
}

static bool write_all(int to, const void *bytes, size_t size)
{
	const char *at = bytes;

	while (size) {
		ssize_t wrote = write(to, at, size);

		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote <= 0)
			return false;
		at += wrote;
		size -= (size_t)wrote;
	}
	return true;
}

static bool copy_start(int from, int to, uint64_t size)
{
	uint8_t bytes[65536];

	for (uint64_t at = 0; at < size;) {
		size_t part = size - at < sizeof(bytes) ? size - at : sizeof(bytes);
		ssize_t got = pread(from, bytes, part, (off_t)at);

		if (got <= 0 || !write_all(to, bytes, (size_t)got))
			return false;
		at += (uint64_t)got;
	}
	return true;
}

/* Ends a stream by an empty index: readers then treat the stream as complete up to here. */
static bool end_stream(int to, uint32_t stream, uint64_t next)
{
	const struct htr_index index = { .magic = HTR_MAGIC_INDEX };
	struct htr_piece piece = { .magic = HTR_MAGIC_PIECE,
				   .stream = stream,
				   .size = HTR_SIZE_index + HTR_SIZE_end,
				   .place = next };
	struct htr_end end = { .back = HTR_SIZE_index + HTR_SIZE_end, .magic = HTR_MAGIC_END };
	uint8_t bytes[HTR_SIZE_piece + HTR_SIZE_index + HTR_SIZE_end];
	uint8_t *last = bytes + HTR_SIZE_piece + HTR_SIZE_index;

	htr_put_piece(bytes, &piece);
	piece.check = checksum(0, bytes + 8, HTR_SIZE_piece - 8);
	htr_put_piece(bytes, &piece);
	htr_put_index(bytes + HTR_SIZE_piece, &index);
	htr_put_end(last, &end);
	end.check = checksum(0, last, 8);
	htr_put_end(last, &end);
	return write_all(to, bytes, sizeof(bytes));
}

/*
 * Copies a trace in its current state. The collector may continue to write the trace; the copy does
 * not change. The copy of a flight recorder's trace ends with the most recent events. to: path of
 * the copy; NULL: an unused name in the same directory. *name: the path of the copy, which the
 * caller frees. Returns 0 or a negative errno.
 */
static int kept_copy(const char *path, const char *to, char **name, struct error *err)
{
	/* the path is not trusted: the collector that named it may belong to another user */
	cleanup_fd int from = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY);
	size_t length = strlen(path);
	bool is_htr = length > 4 && !strcmp(path + length - 4, ".htr"), is_whole;
	struct places places = { 0 };
	cleanup_fd int output = -1;
	struct stat facts;
	int rc = 0;

	*name = NULL;
	if (from < 0 || fstat(from, &facts))
		return error_system(err, errno, "%s", path);
	if (!S_ISREG(facts.st_mode))
		return error_set(err, EINVAL, "%s: not a regular file", path);
	if (!to && facts.st_uid != geteuid())
		return error_set(err, EACCES,
				 "%s belongs to another user: give a name for the copy", path);
	if (to) {
		*name = memory_text(to);
		output = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	} else {
		/* create "t.kept-1.htr" for "t.htr", or a file with the next unused number */
		for (int number = 1; output < 0 && number < NUMBERS_MAX; number++) {
			free(*name);
			*name = memory_format("%.*s.kept-%d%s", (int)(is_htr ? length - 4 : length),
					      path, number, is_htr ? ".htr" : "");
			output = open(*name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
			if (output < 0 && errno != EEXIST)
				break;
		}
	}
	if (output < 0)
		return error_system(err, errno, "cannot create %s", *name);
	is_whole = copy_start(from, output, find_end(from, &places));
	for (size_t i = 0; is_whole && i < places.count; i++)
		if (places.items[i].is_begun && !places.items[i].is_ended)
			is_whole = end_stream(output, (uint32_t)i, places.items[i].next);
	if (!is_whole)
		rc = error_system(err, errno ? errno : EIO, "cannot write %s", *name);
	/* remove an incomplete copy, since it would look like a complete one */
	if (rc)
		unlink(*name);
	free(places.items);
	return rc;
}

int ctl_keep(const struct ctl_run *run, int pid, const char *to, struct error *err)
{
	cleanup_free char *paths = NULL;
	int rc = ctl_paths(run, pid, &paths, err), left_out;

	if (!rc && !*paths)
		rc = error_set(err, ENOENT, "no trace of process %d's run is written to a file",
			       pid);
	if (rc)
		return rc;
	left_out = ctl_cut(paths, err);
	if (to && strchr(paths, '\n') != paths + strlen(paths) - 1)
		return error_set(err, EINVAL,
				 "the run has several files: omit %s, and each file gets a copy "
				 "in its directory",
				 to);
	for (char *save = NULL, *path = strtok_r(paths, "\n", &save); !rc && path;
	     path = strtok_r(NULL, "\n", &save)) {
		cleanup_free char *name = NULL;

		rc = kept_copy(path, to, &name, err);
		if (!rc)
			ctl_print(name);
	}
	return rc ? rc : left_out;
}
