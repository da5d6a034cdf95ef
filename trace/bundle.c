/* SPDX-License-Identifier: MIT */
#include "trace/bundle.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/checksum.h"
#include "base/cleanup.h"
#include "base/memory.h"
#include "base/order.h"
#include "htr_table.h"
#include "trace/state.h"

#define WINDOW	    (64u << 10) /* bytes per read when searching for the next piece after damage */
#define STREAMS_MAX (1u << 22)

static void bundle_free(struct bundle *bundle)
{
	free(bundle->extents);
	free(bundle->streams);
	*bundle = (struct bundle){ 0 };
}

bool bundle_recognises(const unsigned char *bytes, size_t size)
{
	return size >= HTR_SIZE_bundle && htr_get_qword(&bytes) == HTR_MAGIC_BUNDLE;
}

bool bundle_split_name(const char *path, size_t *length, size_t *stream)
{
	const char *mark = strrchr(path, '#');
	char *end;

	if (!mark || mark == path || mark[1] < '0' || mark[1] > '9')
		return false;
	errno = 0;
	*stream = strtoul(mark + 1, &end, 10);
	*length = (size_t)(mark - path);
	return !*end && !errno;
}

/* ---- looking through a file ---- */

/* A piece of a stream that the search has found in the file. */
struct found {
	uint32_t stream;
	struct source_extent extent;
	uint64_t missing; /* bytes of the stream that are missing before this piece */
};

struct search {
	int fd;
	bool is_live;
	uint64_t size, offset; /* size of the file and current position in it, in bytes */
	ARRAY_OF(struct found) pieces;
	/* indexed by stream: the offset in the stream at which its next piece must start */
	ARRAY_OF(uint64_t) places;
};

static bool get_piece(const uint8_t *bytes, struct htr_piece *piece)
{
	htr_get_piece(bytes, piece);
	return piece->magic == HTR_MAGIC_PIECE &&
	       piece->check == checksum(0, bytes + 8, HTR_SIZE_piece - 8) && piece->size &&
	       piece->stream < STREAMS_MAX;
}

/* Adds a piece, unless it overlaps an earlier piece of its stream. */
static int take_piece(struct search *search, const struct htr_piece *piece, uint64_t size)
{
	struct found *found;
	uint64_t *place;

	if (!ARRAY_REACH(&search->places, piece->stream))
		return -ENOMEM;
	place = &search->places.items[piece->stream];
	if (piece->place < *place || piece->place > UINT64_MAX / 2)
		return 0;
	found = ARRAY_ADD(&search->pieces);
	if (!found)
		return -ENOMEM;
	*found = (struct found){ .stream = piece->stream,
				 .extent = { search->offset + HTR_SIZE_piece, size },
				 .missing = piece->place - *place };
	*place = piece->place + size;
	return 0;
}

static int no_memory(struct error *err, const char *what)
{
	return error_system(err, ENOMEM, "cannot store the list of %s", what);
}

/*
 * Moves to the next position that looks like a piece, or to the end. Returns 0 or a negative errno.
 */
static int search_piece(struct search *search, struct error *err)
{
	static const char magic[] = { 'H', 'T', 'R', 'P' };
	uint8_t *window = memory_alloc(WINDOW);
	int rc = window ? 0 : no_memory(err, "streams");

	for (search->offset++; rc == 0 && search->offset < search->size;) {
		ssize_t got = pread(search->fd, window, WINDOW, (off_t)search->offset);
		const uint8_t *at = got > 0 ? memmem(window, (size_t)got, magic, 4) : NULL;
		struct htr_piece piece;

		if (got < 0)
			rc = error_system(err, errno, "cannot read");
		else if (at && at + HTR_SIZE_piece <= window + got && get_piece(at, &piece)) {
			search->offset += (uint64_t)(at - window);
			break;
		} else if (got < HTR_SIZE_piece)
			search->offset = search->size;
		else
			search->offset += at ? (uint64_t)(at - window) + 1 : (uint64_t)got - 3;
	}
	free(window);
	return rc;
}

static int search_file(struct search *search, struct error *err)
{
	while (search->offset + HTR_SIZE_piece <= search->size) {
		uint8_t bytes[HTR_SIZE_piece];
		struct htr_piece piece;
		uint64_t left = search->size - search->offset - HTR_SIZE_piece, size;
		ssize_t got = pread(search->fd, bytes, sizeof(bytes), (off_t)search->offset);

		if (got < 0)
			return error_system(err, errno, "cannot read");
		if (got < (ssize_t)sizeof(bytes))
			return 0;
		if (!get_piece(bytes, &piece)) {
			int rc = search_piece(search, err);

			if (rc)
				return rc;
			continue;
		}
		if (piece.size > left && search->is_live)
			return 0;
		size = piece.size < left ? piece.size : left;
		if (size && take_piece(search, &piece, size))
			return no_memory(err, "streams");
		search->offset += HTR_SIZE_piece + size;
	}
	return 0;
}

/* ---- by stream ---- */

ORDER_FUNCTION(compare_pieces, struct found,
	       ORDER(a->stream, b->stream) ?: ORDER(a->extent.offset, b->extent.offset))

static int bundle_make(struct bundle *bundle, struct search *search, struct error *err)
{
	size_t count = search->pieces.count;

	if (!count)
		return error_set(err, ENODATA, "has no stream: nothing was recorded");
	qsort(search->pieces.items, count, sizeof(*search->pieces.items), compare_pieces);
	bundle->extents = memory_zalloc(count, sizeof(*bundle->extents));
	bundle->streams = memory_zalloc(search->places.count, sizeof(*bundle->streams));
	if (!bundle->extents || !bundle->streams)
		return no_memory(err, "streams");
	for (size_t i = 0; i < count; i++) {
		const struct found *found = &search->pieces.items[i];
		struct bundle_stream *stream;

		if (!i || found->stream != found[-1].stream)
			bundle->streams[bundle->stream_count++] = (struct bundle_stream){
				.number = found->stream, .first = i, .has_start = !found->missing
			};
		stream = &bundle->streams[bundle->stream_count - 1];
		stream->count++;
		stream->size += found->extent.size;
		if (found->missing && !stream->missing)
			stream->missing_at = found->extent.offset;
		stream->missing += found->missing;
		bundle->extents[i] = found->extent;
	}
	bundle->extent_count = count;
	return 0;
}

int bundle_read(struct bundle *bundle, int fd, bool is_live, struct error *err)
{
	struct search search = { .fd = fd, .is_live = is_live, .offset = HTR_SIZE_bundle };
	uint8_t bytes[HTR_SIZE_bundle];
	struct htr_bundle start;
	struct stat facts;
	int rc = 0;

	*bundle = (struct bundle){ 0 };
	if (fstat(fd, &facts) || pread(fd, bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return error_system(err, errno ? errno : EIO, "cannot read");
	htr_get_bundle(bytes, &start);
	if (start.version != HTR_BUNDLE_VERSION)
		return error_set(
			err, EPROTO,
			"has several streams in a format of version %u, but only version %u is "
			"supported: use the holdtrace-postproc of the version that wrote it",
			start.version, HTR_BUNDLE_VERSION);
	search.size = (uint64_t)facts.st_size;
	rc = search_file(&search, err);
	if (rc == 0)
		rc = bundle_make(bundle, &search, err);
	free(search.pieces.items);
	free(search.places.items);
	if (rc)
		bundle_free(bundle);
	return rc;
}

const struct bundle_stream *bundle_stream_at(const struct bundle *bundle, size_t number)
{
	size_t i = ARRAY_SEARCH(bundle->stream_count, at, bundle->streams[at].number < number);

	return i < bundle->stream_count && bundle->streams[i].number == number ? &bundle->streams[i]
									       : NULL;
}

/* ---- several files ---- */

struct known {
	dev_t device;
	ino_t inode;
	struct bundle bundle;
};

struct bundles {
	struct known **items;
	size_t count, capacity;
};

struct bundles *bundles_create(void)
{
	return memory_zalloc(1, sizeof(struct bundles));
}

void bundles_free(struct bundles *bundles)
{
	if (!bundles)
		return;
	for (size_t i = 0; i < bundles->count; i++) {
		bundle_free(&bundles->items[i]->bundle);
		free(bundles->items[i]);
	}
	free(bundles->items);
	free(bundles);
}

int bundles_find(struct bundles *bundles, int fd, bool is_live, const struct bundle **bundle,
		 struct error *err)
{
	struct known *known, **place;
	unsigned char start[HTR_SIZE_bundle];
	struct stat facts;
	int rc;

	*bundle = NULL;
	if (fstat(fd, &facts) || !S_ISREG(facts.st_mode) ||
	    pread(fd, start, sizeof(start), 0) != (ssize_t)sizeof(start) ||
	    !bundle_recognises(start, sizeof(start)))
		return 0;
	/* searches backwards, because the file that was read last is probably read again */
	for (size_t i = bundles->count; i-- > 0;) {
		known = bundles->items[i];
		if (known->device == facts.st_dev && known->inode == facts.st_ino) {
			*bundle = &known->bundle;
			return 0;
		}
	}
	known = memory_zalloc(1, sizeof(*known));
	rc = known ? bundle_read(&known->bundle, fd, is_live, err) : no_memory(err, "streams");
	place = rc == 0 ? ARRAY_ADD(bundles) : NULL;
	if (!place) {
		if (rc == 0)
			bundle_free(&known->bundle);
		free(known);
		return rc ? rc : no_memory(err, "streams");
	}
	known->device = facts.st_dev;
	known->inode = facts.st_ino;
	*place = known;
	*bundle = &known->bundle;
	return 0;
}

/* ---- the inputs of a command ---- */

static int inputs_add(struct inputs *inputs, const char *path, struct error *err)
{
	const char **place = ARRAY_ADD(inputs);

	if (!place)
		return no_memory(err, "inputs");
	*place = path;
	return 0;
}

/*
 * Sets *bundle to the streams of a file. *bundle stays NULL if the path is not a regular file,
 * cannot be read, or has one stream only.
 */
static int find_streams(const char *path, const struct trace_options *options,
			const struct bundle **bundle, struct error *err)
{
	cleanup_fd int fd = -1;
	struct stat facts;
	bool is_live;
	int rc;

	/* a FIFO is not opened: closing it again would kill its writer with SIGPIPE */
	if (!strcmp(path, "-") || !options->bundles || stat(path, &facts) ||
	    !S_ISREG(facts.st_mode))
		return 0;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &facts) || !S_ISREG(facts.st_mode))
		return 0;
	if (options->opened)
		options->opened(options->user, fd);
	rc = trace_wait(fd, path, options, &is_live, err);
	if (rc == 0 && bundles_find(options->bundles, fd, is_live, bundle, NULL))
		*bundle = NULL;
	return rc;
}

int inputs_expand(struct inputs *inputs, const char *const *paths, size_t count,
		  const struct trace_options *options, struct error *err)
{
	int rc = 0;

	*inputs = (struct inputs){ 0 };
	for (size_t i = 0; rc == 0 && i < count; i++) {
		const struct bundle *bundle = NULL;

		rc = find_streams(paths[i], options, &bundle, err);
		/* a file with a single stream is added under its own name */
		if (rc == 0 && (!bundle || bundle->stream_count < 2))
			rc = inputs_add(inputs, paths[i], err);
		else
			for (size_t k = 0; rc == 0 && k < bundle->stream_count; k++) {
				char **name = ARRAY_ADD(&inputs->made);

				if (name && asprintf(name, "%s#%u", paths[i],
						     bundle->streams[k].number) >= 0) {
					rc = inputs_add(inputs, *name, err);
					continue;
				}
				inputs->made.count -= name != NULL;
				rc = no_memory(err, "inputs");
			}
	}
	return rc;
}

void inputs_free(struct inputs *inputs)
{
	for (size_t i = 0; i < inputs->made.count; i++)
		free(inputs->made.items[i]);
	free(inputs->made.items);
	free(inputs->items);
	*inputs = (struct inputs){ 0 };
}
