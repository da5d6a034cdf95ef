/* SPDX-License-Identifier: MIT */
#include "live/follow.h"

#include "base/checksum.h"
#include "htr_table.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define PART_SIZE (64u << 10)

static int begin_stream(struct follow *follow, size_t stream, struct error *err)
{
	void *reader = NULL;
	int ends[2], status;

	if (pipe2(ends, O_CLOEXEC))
		return error_system(err, errno, "cannot make a pipe");
	status = follow->begins(follow->user, ends[0], &reader, err);
	if (status) {
		close(ends[0]);
		close(ends[1]);
		return status;
	}
	follow->streams[stream] = (struct follow_stream){ .input = ends[1], .reader = reader };
	if (follow->count <= stream)
		follow->count = stream + 1;
	return 0;
}

static int write_all(struct follow_stream *stream, const uint8_t *bytes, size_t size)
{
	for (size_t done = 0; done < size;) {
		ssize_t wrote = write(stream->input, bytes + done, size - done);

		if (wrote < 0 && errno == EINTR)
			continue;
		/* the reader found damage in the stream, which it reports, and closed the pipe */
		if (wrote < 0)
			return -errno;
		done += (size_t)wrote;
	}
	return 0;
}

/*
 * Writes the next `size` bytes of the file to the pipe of the stream. The file must have these
 * bytes.
 */
static int pass_on(struct follow *follow, size_t number, uint64_t size, struct error *err)
{
	struct follow_stream *stream =
		number < FOLLOW_STREAMS_MAX ? &follow->streams[number] : NULL;
	uint8_t bytes[PART_SIZE];

	while (size) {
		ssize_t got = pread(follow->fd, bytes, size < PART_SIZE ? size : PART_SIZE,
				    (off_t)follow->offset);

		if (got <= 0)
			return got ? error_system(err, errno, "cannot read") : 0;
		if (stream && stream->input >= 0 && write_all(stream, bytes, (size_t)got)) {
			close(stream->input);
			stream->input = -1;
		}
		if (stream)
			stream->next += (uint64_t)got;
		follow->offset += (uint64_t)got;
		size -= (uint64_t)got;
	}
	return 0;
}

/*
 * Reads the header of the piece at the current offset. Returns 1 if the whole piece is in the file,
 * 0 if not yet, or a negative errno.
 */
static int look_at_piece(const struct follow *follow, uint64_t size, struct htr_piece *piece,
			 struct error *err)
{
	uint8_t bytes[HTR_SIZE_piece];

	if (size - follow->offset < HTR_SIZE_piece ||
	    pread(follow->fd, bytes, sizeof(bytes), (off_t)follow->offset) != HTR_SIZE_piece)
		return 0;
	htr_get_piece(bytes, piece);
	if (piece->magic != HTR_MAGIC_PIECE ||
	    piece->check != checksum(0, bytes + 8, HTR_SIZE_piece - 8))
		return error_set(err, EBADMSG, "is damaged at byte %llu",
				 (unsigned long long)follow->offset);
	return piece->size <= size - follow->offset - HTR_SIZE_piece;
}

static int pump_pieces(struct follow *follow, uint64_t size, struct error *err)
{
	struct htr_piece piece;
	int status;

	while ((status = look_at_piece(follow, size, &piece, err)) > 0) {
		struct follow_stream *stream =
			piece.stream < FOLLOW_STREAMS_MAX ? &follow->streams[piece.stream] : NULL;

		follow->offset += HTR_SIZE_piece;
		follow->left_out += !stream && !piece.place;
		status = stream && !piece.place && !stream->next
				 ? begin_stream(follow, piece.stream, err)
				 : 0;
		if (!status)
			status = pass_on(follow, piece.stream, piece.size, err);
		if (status)
			return status;
	}
	return status;
}

static int recognise(struct follow *follow, struct error *err)
{
	uint8_t bytes[HTR_SIZE_bundle];
	const unsigned char *at = bytes;

	if (pread(follow->fd, bytes, sizeof(bytes), 0) != sizeof(bytes))
		return 0;
	follow->is_known = true;
	follow->is_bundle = htr_get_qword(&at) == HTR_MAGIC_BUNDLE;
	if (!follow->is_bundle)
		return begin_stream(follow, 0, err);
	follow->offset = HTR_SIZE_bundle;
	return 0;
}

int follow_open(struct follow *follow, const char *path, struct error *err)
{
	struct stat status;

	follow->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (follow->fd < 0)
		return error_system(err, errno, "%s", path);
	if (fstat(follow->fd, &status) || !S_ISREG(status.st_mode)) {
		close(follow->fd);
		return error_set(err, EINVAL, "%s is not a regular file, and cannot be followed",
				 path);
	}
	for (size_t i = 0; i < FOLLOW_STREAMS_MAX; i++)
		follow->streams[i].input = -1;
	return 0;
}

int follow_pump(struct follow *follow, struct error *err)
{
	/* the writer holds a lock on the file until the file is complete */
	bool is_complete = flock(follow->fd, LOCK_SH | LOCK_NB) == 0;
	struct stat status;
	int result = 0;

	if (is_complete)
		flock(follow->fd, LOCK_UN);
	/* called after flock(): if the file was complete then, this size is final */
	if (fstat(follow->fd, &status))
		return error_system(err, errno, "trace");
	if (!follow->is_known)
		result = recognise(follow, err);
	if (!result && follow->is_known && follow->is_bundle)
		result = pump_pieces(follow, (uint64_t)status.st_size, err);
	else if (!result && follow->is_known && (uint64_t)status.st_size > follow->offset)
		result = pass_on(follow, 0, (uint64_t)status.st_size - follow->offset, err);
	follow->is_complete = is_complete;
	return result;
}

void follow_close(struct follow *follow)
{
	for (size_t i = 0; i < follow->count; i++)
		if (follow->streams[i].input >= 0)
			close(follow->streams[i].input);
	close(follow->fd);
}
