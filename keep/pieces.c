/* SPDX-License-Identifier: MIT */
#include "keep/pieces.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/checksum.h"
#include "base/order.h"
#include "htr_table.h"

/* Reads the piece at an offset. Returns 1; 0 if it is not complete yet; or a negative errno. */
static int read_piece(struct piece *piece, int fd, uint64_t offset, uint64_t size,
		      struct error *err)
{
	uint8_t bytes[HTR_SIZE_piece + HTR_SIZE_block];
	ssize_t got = pread(fd, bytes, sizeof(bytes), (off_t)offset);
	const unsigned char *inside = bytes + HTR_SIZE_piece;
	struct htr_piece header;
	struct htr_block block;
	size_t size_inside;

	if (got < 0)
		return error_system(err, errno, "cannot read the trace");
	if (got < HTR_SIZE_piece)
		return 0;
	htr_get_piece(bytes, &header);
	if (header.magic != HTR_MAGIC_PIECE ||
	    header.check != checksum(0, bytes + 8, HTR_SIZE_piece - 8))
		return error_set(err, EBADMSG, "the trace is damaged at byte %llu",
				 (unsigned long long)offset);
	/* the file may have grown since its size was read */
	if (size < offset + HTR_SIZE_piece || header.size > size - offset - HTR_SIZE_piece)
		return 0;
	*piece = (struct piece){ .stream = header.stream,
				 .size = header.size,
				 .offset = offset + HTR_SIZE_piece,
				 .place = header.place };
	/* the first bytes of the contents say what the piece is */
	size_inside = (size_t)got - HTR_SIZE_piece;
	if (size_inside > header.size)
		size_inside = header.size;
	piece->begins = size_inside >= HTR_SIZE_file && htr_get_qword(&inside) == HTR_MAGIC;
	if (size_inside < HTR_SIZE_block)
		return 1;
	htr_get_block(bytes + HTR_SIZE_piece, &block);
	if (block.magic == HTR_MAGIC_BLOCK)
		piece->last_ns = block.last_ns;
	return 1;
}

int pieces_read(struct pieces *pieces, int fd, uint64_t from, struct error *err)
{
	struct stat facts;
	struct piece piece;
	int rc;

	pieces->read = from ? from : HTR_SIZE_bundle;
	if (fstat(fd, &facts))
		return error_system(err, errno, "cannot read the trace");
	while ((rc = read_piece(&piece, fd, pieces->read, (uint64_t)facts.st_size, err)) > 0) {
		*ARRAY_ADD(pieces) = piece;
		pieces->read = piece.offset + piece.size;
	}
	return rc;
}

ORDER_FUNCTION(compare, struct piece, ORDER(a->stream, b->stream) ?: ORDER(a->offset, b->offset))

void pieces_sort(struct pieces *pieces)
{
	ARRAY_SORT(pieces, compare);
}

void pieces_free(struct pieces *pieces)
{
	free(pieces->items);
	*pieces = (struct pieces){ 0 };
}
