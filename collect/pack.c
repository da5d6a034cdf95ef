/* SPDX-License-Identifier: MIT */
#include "collect/pack.h"

#include "base/array.h"
#include "base/checksum.h"

#include <errno.h>
#include <stdlib.h>
#include <zstd.h>

struct pack {
	ZSTD_CCtx *zstd;
	int level;
	uint8_t *bytes;
	size_t room;
	uint64_t offset; /* offset of the next piece in the stream */
	ARRAY_OF(struct htr_entry) entries;
};

struct pack *pack_create(int level)
{
	struct pack *pack = calloc(1, sizeof(*pack));

	if (!pack)
		return NULL;
	pack->level = level;
	pack->room = HTR_SIZE_block + ZSTD_compressBound(64u << 10);
	pack->bytes = malloc(pack->room);
	pack->zstd = ZSTD_createCCtx();
	if (!pack->bytes || !pack->zstd) {
		pack_destroy(pack);
		return NULL;
	}
	return pack;
}

void pack_destroy(struct pack *pack)
{
	if (!pack)
		return;
	ZSTD_freeCCtx(pack->zstd);
	free(pack->bytes);
	free(pack->entries.items);
	free(pack);
}

static int make_room(struct pack *pack, size_t room)
{
	uint8_t *bytes;

	if (room <= pack->room)
		return 0;
	bytes = realloc(pack->bytes, room);
	if (!bytes)
		return -ENOMEM;
	pack->bytes = bytes;
	pack->room = room;
	return 0;
}

static struct pack_piece piece_of(struct pack *pack, size_t size)
{
	pack->offset += size;
	return (struct pack_piece){ pack->bytes, size };
}

struct pack_piece pack_start(struct pack *pack)
{
	struct htr_file file = { .magic = HTR_MAGIC, .version = HTR_VERSION };

	htr_put_file(pack->bytes, &file);
	pack->offset = 0;
	pack->entries.count = 0;
	return piece_of(pack, HTR_SIZE_file);
}

/* Compresses a part to offset `used` of pack->bytes. Returns the new size or a negative errno. */
static int64_t pack_part(struct pack *pack, size_t used, const uint8_t *bytes, size_t size)
{
	size_t packed;

	if (!size)
		return 0;
	if (make_room(pack, used + ZSTD_compressBound(size)))
		return -ENOMEM;
	packed = ZSTD_compressCCtx(pack->zstd, pack->bytes + used, pack->room - used, bytes, size,
				   pack->level);
	return ZSTD_isError(packed) ? -EIO : (int64_t)packed;
}

int pack_block(struct pack *pack, const struct htr_block_parts *parts, struct pack_piece *piece,
	       struct error *err)
{
	struct htr_block header = parts->header;
	struct htr_entry *entry = ARRAY_ADD(&pack->entries);
	size_t used = HTR_SIZE_block;
	int64_t size = pack_part(pack, used, parts->bytes, header.definitions_size);

	if (size >= 0) {
		header.definitions_packed = (uint32_t)size;
		used += (size_t)size;
		size = pack_part(pack, used, parts->bytes + header.definitions_size,
				 header.events_size);
	}
	if (size < 0 || !entry)
		return error_system(err, entry ? (int)-size : ENOMEM, "cannot compress a block");
	header.events_packed = (uint32_t)size;
	used += (size_t)size;
	header.definitions_check =
		checksum(0, pack->bytes + HTR_SIZE_block, header.definitions_packed);
	header.events_check = checksum(0, pack->bytes + HTR_SIZE_block + header.definitions_packed,
				       header.events_packed);
	header.magic = HTR_MAGIC_BLOCK;
	htr_put_block(pack->bytes, &header);
	header.check = checksum(0, pack->bytes + 8, HTR_SIZE_block - 8);
	htr_put_block(pack->bytes, &header);
	*entry = (struct htr_entry){ .offset = pack->offset,
				     .first_ns = header.first_ns,
				     .last_ns = header.last_ns,
				     .events = header.events,
				     .definitions_size = header.definitions_size };
	*piece = piece_of(pack, used);
	return 0;
}

struct pack_piece pack_end(struct pack *pack)
{
	size_t entries_size = pack->entries.count * HTR_SIZE_entry;
	size_t size = HTR_SIZE_index + entries_size + HTR_SIZE_end;
	struct htr_index index = { .magic = HTR_MAGIC_INDEX,
				   .entries = (uint32_t)pack->entries.count };
	struct htr_end end = { .back = size, .magic = HTR_MAGIC_END };
	uint8_t *at;

	if (make_room(pack, size))
		return (struct pack_piece){ 0 };
	at = pack->bytes + HTR_SIZE_index;
	for (size_t i = 0; i < pack->entries.count; i++, at += HTR_SIZE_entry)
		htr_put_entry(at, &pack->entries.items[i]);
	index.check = checksum(0, pack->bytes + HTR_SIZE_index, entries_size);
	htr_put_index(pack->bytes, &index);
	htr_put_end(at, &end);
	end.check = checksum(0, at, 8);
	htr_put_end(at, &end);
	return piece_of(pack, size);
}
