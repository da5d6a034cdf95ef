/* SPDX-License-Identifier: MIT */
/* Entries of .eh_frame: the one that has an address, found by the table in .eh_frame_hdr. */
#include "dwarf_parts.h"

#if ARCH_WALKS

/* A pointer's encoding: format in the low four bits, what it is relative to in the next three. */
enum {
	PE_ABSOLUTE = 0x00,
	PE_ULEB = 0x01,
	PE_U2 = 0x02,
	PE_U4 = 0x03,
	PE_U8 = 0x04,
	PE_SLEB = 0x09,
	PE_S2 = 0x0a,
	PE_S4 = 0x0b,
	PE_S8 = 0x0c,
	PE_FORMAT = 0x0f,
	PE_PC = 0x10,
	PE_DATA = 0x30,
	PE_RELATIVE = 0x70,
	PE_OMIT = 0xff
};

static uint64_t take_format(struct cursor *cursor, unsigned int encoding)
{
	switch (encoding & PE_FORMAT) {
	case PE_ABSOLUTE:
	case PE_U8:
	case PE_S8:
		return take(cursor, 8);
	case PE_ULEB:
		return take_uleb(cursor);
	case PE_SLEB:
		return (uint64_t)take_sleb(cursor);
	case PE_U2:
		return take(cursor, 2);
	case PE_S2:
		return (uint64_t)take_signed(cursor, 2);
	case PE_U4:
		return take(cursor, 4);
	case PE_S4:
		return (uint64_t)take_signed(cursor, 4);
	default:
		cursor->is_bad = true;
		return 0;
	}
}

uintptr_t dwarf_take_pointer(struct cursor *cursor, unsigned int encoding)
{
	uintptr_t here = (uintptr_t)cursor->at;

	switch (encoding & PE_RELATIVE) {
	case 0:
		return take_format(cursor, encoding);
	case PE_PC:
		return here + take_format(cursor, encoding);
	default:
		cursor->is_bad = true;
		return 0;
	}
}

/* One entry: its length, then the cursor ends with it. Entries of more than 4 GiB are not read. */
static bool enter_entry(struct cursor *cursor)
{
	uint64_t size = take(cursor, 4);

	if (cursor->is_bad || size == 0 || size == 0xffffffff ||
	    size > (uint64_t)(cursor->end - cursor->at))
		return false;
	cursor->end = cursor->at + size;
	return true;
}

static void take_augmentation(struct cursor *cursor, const char *letters,
			      struct dwarf_common *common)
{
	const uint8_t *end;
	uint64_t size = take_uleb(cursor);

	if (size > (uint64_t)(cursor->end - cursor->at)) {
		cursor->is_bad = true;
		return;
	}
	end = cursor->at + size;
	for (; *letters != 0; letters++) {
		if (*letters == 'R')
			common->pointer_encoding = (unsigned int)take(cursor, 1);
		else if (*letters == 'L')
			take(cursor, 1);
		else if (*letters == 'P')
			/* The personality routine: only its length matters. */
			take_format(cursor, (unsigned int)take(cursor, 1));
		else if (*letters == 'S')
			common->is_signal = true;
		else if (*letters != 'B' && *letters != 'G')
			/*
			 * The size says where the instructions are, but not what the letter would
			 * change.
			 */
			break;
	}
	cursor->at = end;
}

static bool read_common(const struct dwarf_tables *tables, const uint8_t *at,
			struct dwarf_common *common)
{
	struct cursor cursor = { .at = at, .end = tables->high };
	const char *letters;
	uint64_t version;
	uint64_t return_column;

	if (!enter_entry(&cursor) || take(&cursor, 4) != 0)
		return false;
	version = take(&cursor, 1);
	letters = (const char *)cursor.at;
	while (take(&cursor, 1) != 0)
		;
	if (version == 4)
		skip(&cursor, 2); /* sizes of an address and of a segment selector */
	common->code_factor = take_uleb(&cursor);
	common->data_factor = take_sleb(&cursor);
	return_column = version == 1 ? take(&cursor, 1) : take_uleb(&cursor);
	common->pointer_encoding = PE_ABSOLUTE;
	common->is_signal = false;
	common->has_augmentation = !cursor.is_bad && letters[0] == 'z';
	if (common->has_augmentation)
		take_augmentation(&cursor, letters + 1, common);
	common->instructions = cursor;
	return !cursor.is_bad && (version == 1 || version == 3 || version == 4) &&
	       return_column == DWARF_RA && (common->has_augmentation || letters[0] == 0);
}

/* A place in the segment, else NULL. */
static const uint8_t *inside(const struct dwarf_tables *tables, const uint8_t *at)
{
	return at >= tables->low && at < tables->high ? at : NULL;
}

/*
 * The place of the FDE that may hold pc, by binary search in the header's table; NULL if there is
 * none.
 */
static const uint8_t *search(const struct dwarf_tables *tables, uintptr_t pc)
{
	struct cursor cursor = { .at = inside(tables, tables->header), .end = tables->high };
	intptr_t wanted = (intptr_t)(pc - (uintptr_t)tables->header);
	const int32_t *table; /* pairs of start and entry, counted from the header */
	unsigned int frame_encoding, count_encoding;
	size_t low = 0, high;

	if (cursor.at == NULL || take(&cursor, 1) != 1)
		return NULL;
	frame_encoding = (unsigned int)take(&cursor, 1);
	count_encoding = (unsigned int)take(&cursor, 1);
	/* All linkers write the table so; without it the segment would have to be read through. */
	if (take(&cursor, 1) != (PE_DATA | PE_S4) || count_encoding == PE_OMIT)
		return NULL;
	if (frame_encoding != PE_OMIT)
		take_format(&cursor, frame_encoding);
	high = take_format(&cursor, count_encoding);
	if (cursor.is_bad || high == 0 || high > (size_t)(cursor.end - cursor.at) / 8 ||
	    ((uintptr_t)cursor.at & 3) != 0)
		return NULL;
	table = (const int32_t *)(const void *)cursor.at;
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (table[middle * 2] <= wanted)
			low = middle;
		else
			high = middle;
	}
	return table[low * 2] <= wanted ? tables->header + table[low * 2 + 1] : NULL;
}

bool dwarf_find_entry(const struct dwarf_tables *tables, uintptr_t pc, struct dwarf_entry *entry)
{
	struct cursor fde = { .at = inside(tables, search(tables, pc)), .end = tables->high };
	const uint8_t *common_at;
	uintptr_t size;

	if (fde.at == NULL || !enter_entry(&fde))
		return false;
	common_at = fde.at;
	common_at = inside(tables, common_at - take(&fde, 4));
	if (common_at == NULL || !read_common(tables, common_at, &entry->common))
		return false;
	entry->start = dwarf_take_pointer(&fde, entry->common.pointer_encoding);
	size = take_format(&fde, entry->common.pointer_encoding);
	if (entry->common.has_augmentation)
		skip(&fde, take_uleb(&fde));
	entry->instructions = fde;
	return !fde.is_bad && pc - entry->start < size;
}

#endif
