/* SPDX-License-Identifier: MIT */
#include "resolver/debuginfo.h"

#include "base/cleanup.h"
#include "base/memory.h"

#include <dwarf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * Limits in bytes of one unit and of all units together. Without these limits, a hostile index
 * could refer to the same bytes any number of times.
 */
#define UNIT_SIZE_MAX  (64u << 20)
#define UNITS_SIZE_MAX (UINT64_C(1) << 30)

/* Maximum size in bytes of a skeleton from put_skeleton(): 36 bytes and two names. */
#define SKELETON_SIZE_MAX 96

/* The sections of a .dwo file, each with the column of .debug_cu_index that has its position. */
static const struct {
	const char *name;
	uint32_t column; /* 0: there is no column, because all units share the section */
} parts[] = {
	{ ".debug_info.dwo", 1 }, { ".debug_abbrev.dwo", 3 },	   { ".debug_line.dwo", 4 },
	{ ".debug_str.dwo", 0 },  { ".debug_str_offsets.dwo", 6 }, { ".debug_rnglists.dwo", 8 },
};

enum {
	PART_INFO,
	PART_STR = 3,
	PART_STR_OFFSETS,
	PART_RNGLISTS,
	PARTS,
};

_Static_assert(sizeof(parts) / sizeof(*parts) == PARTS, "`parts` needs a number for each part");

struct piece {
	const uint8_t *bytes;
	uint64_t size;
};

/* The parsed .debug_cu_index. Its tables are adjacent in memory. */
struct index {
	uint32_t version, columns, units, slots;
	const uint8_t *ids, *rows, *names, *offsets, *sizes;
};

struct dwp {
	const struct elffile *program;
	bool is_big_endian, has_package;
	struct index index;
	struct piece sections[PARTS];
	uint64_t *ids; /* the ids of the skeletons */
	/* for each skeleton, the offset of its first DIE in the file that write_skeletons() made */
	Dwarf_Off *places;
	int fd; /* descriptor of the file that write_skeletons() made */
	/* libdw opens the .dwo file as /proc/self/fd/N, where N is this descriptor */
	int shown;
	Elf *elf;
	Dwarf *dwarf;
	uint64_t used; /* bytes of memory used for units so far */
};

static uint64_t read_number(const struct dwp *dwp, const uint8_t *bytes, unsigned size)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < size; i++)
		value = value << 8 | bytes[dwp->is_big_endian ? i : size - 1 - i];
	return value;
}

/* Writes a number in the program's byte order. Returns the address after the number. */
static uint8_t *write_number(const struct dwp *dwp, uint8_t *bytes, uint64_t value, unsigned size)
{
	for (unsigned i = 0; i < size; i++)
		bytes[dwp->is_big_endian ? size - 1 - i : i] = (uint8_t)(value >> 8 * i);
	return bytes + size;
}

/* ---- the index ---- */

static bool read_index(struct dwp *dwp, const Elf_Data *data)
{
	struct index *index = &dwp->index;
	const uint8_t *at = data->d_buf;
	uint64_t table;

	if (!at || data->d_size < 16)
		return false;
	/* GNU's version (2) has four bytes; DWARF 5's has two, and two bytes of padding follow */
	index->version = (uint32_t)read_number(dwp, at, 4);
	if (index->version != 2)
		index->version = (uint32_t)read_number(dwp, at, 2);
	index->columns = (uint32_t)read_number(dwp, at + 4, 4);
	index->units = (uint32_t)read_number(dwp, at + 8, 4);
	index->slots = (uint32_t)read_number(dwp, at + 12, 4);
	if ((index->version != 2 && index->version != 5) || index->columns > 64 ||
	    index->slots == 0 || (index->slots & (index->slots - 1)) != 0)
		return false;
	table = UINT64_C(4) * index->units * index->columns;
	if (UINT64_C(12) * index->slots + UINT64_C(4) * index->columns + 2 * table >
	    data->d_size - 16)
		return false;
	index->ids = at + 16;
	index->rows = index->ids + UINT64_C(8) * index->slots;
	index->names = index->rows + UINT64_C(4) * index->slots;
	index->offsets = index->names + UINT64_C(4) * index->columns;
	index->sizes = index->offsets + table;
	return true;
}

/* Returns the row of the unit with this id, from 1; 0: the index does not contain the id. */
static uint32_t find_row(const struct dwp *dwp, uint64_t id)
{
	const struct index *index = &dwp->index;
	uint32_t mask = index->slots - 1, slot = (uint32_t)id & mask;
	uint32_t step = ((uint32_t)(id >> 32) & mask) | 1;

	for (uint32_t i = 0; i < index->slots; i++, slot = (slot + step) & mask) {
		uint32_t row = (uint32_t)read_number(dwp, index->rows + UINT64_C(4) * slot, 4);

		if (row == 0 || row > index->units)
			return 0;
		if (read_number(dwp, index->ids + UINT64_C(8) * slot, 8) == id)
			return row;
	}
	return 0;
}

/*
 * Returns the part of a section that belongs to the unit in the row; empty if the unit has none, or
 * if the part exceeds the section.
 */
static struct piece part_of_unit(const struct dwp *dwp, uint32_t row, unsigned part)
{
	const struct index *index = &dwp->index;
	const struct piece *section = &dwp->sections[part];

	for (uint32_t i = 0; i < index->columns; i++) {
		uint64_t cell = UINT64_C(4) * ((uint64_t)(row - 1) * index->columns + i);
		uint64_t offset = read_number(dwp, index->offsets + cell, 4);
		uint64_t size = read_number(dwp, index->sizes + cell, 4);

		if (read_number(dwp, index->names + UINT64_C(4) * i, 4) == parts[part].column &&
		    offset <= section->size && size <= section->size - offset)
			return (struct piece){ section->bytes + offset, size };
	}
	return (struct piece){ 0 };
}

/* ---- strings ---- */

/* The strings of one unit, and the table of their offsets. */
struct strings {
	uint8_t *offsets;
	char *text;
	size_t size;
};

static void free_strings(struct strings *strings)
{
	free(strings->offsets);
	free(strings->text);
}

/* Copies only the strings that the unit uses, because the package may have many times more. */
static void copy_strings(const struct dwp *dwp, const struct piece *offsets,
			 struct strings *strings)
{
	uint64_t head = dwp->index.version < 5 ? 0 : 8;
	unsigned each = 4;
	FILE *text = open_memstream(&strings->text, &strings->size);

	if (head && offsets->size >= 16 && read_number(dwp, offsets->bytes, 4) == UINT32_MAX) {
		head = 16;
		each = 8;
	}
	if (!text)
		memory_none();
	strings->offsets = memory_alloc(offsets->size);
	if (offsets->size)
		memcpy(strings->offsets, offsets->bytes, offsets->size);
	for (uint64_t i = head, end = 0; i + each <= offsets->size; i += each) {
		const struct piece *all = &dwp->sections[PART_STR];
		uint64_t from = read_number(dwp, offsets->bytes + i, each);
		/* an empty string replaces a string that is not terminated */
		struct piece string = { (const uint8_t *)"", 1 };
		const uint8_t *last =
			from < all->size ? memchr(all->bytes + from, 0, all->size - from) : NULL;

		if (last)
			string = (struct piece){ all->bytes + from,
						 (uint64_t)(last - all->bytes) - from + 1 };
		if (string.size > UNIT_SIZE_MAX - end)
			break;
		write_number(dwp, strings->offsets + i, end, each);
		end += string.size;
		fwrite(string.bytes, 1, string.size, text);
	}
	if (fclose(text) != 0)
		memory_none();
}

/* ---- files in memory ---- */

struct section {
	const char *name;
	struct piece content;
};

static bool put_sections(Elf *elf, const struct section *sections, unsigned count)
{
	char names[256] = "";
	size_t used = 1;

	for (unsigned i = 0; i <= count; i++) {
		const struct section last = { ".shstrtab", { (uint8_t *)names, sizeof(names) } };
		const struct section *section = i < count ? &sections[i] : &last;
		size_t name = used;
		GElf_Shdr header;
		Elf_Data *data;
		Elf_Scn *scn;

		if (used + strlen(section->name) >= sizeof(names))
			return false;
		strcpy(names + used, section->name);
		used += strlen(section->name) + 1;
		if (i < count && !section->content.size)
			continue;
		scn = elf_newscn(elf);
		data = scn ? elf_newdata(scn) : NULL;
		if (!data || !gelf_getshdr(scn, &header))
			return false;
		data->d_buf = (void *)section->content.bytes;
		data->d_size = section->content.size;
		data->d_type = ELF_T_BYTE;
		data->d_align = 1;
		header.sh_name = (GElf_Word)name;
		header.sh_type = i < count ? SHT_PROGBITS : SHT_STRTAB;
		if (!gelf_update_shdr(scn, &header))
			return false;
	}
	/* keep `names` until here, because elf_update() reads it */
	return elf_update(elf, ELF_C_WRITE) >= 0;
}

/*
 * Writes an ELF file in memory, with the program's class and byte order. Returns its descriptor, or
 * -1.
 */
static int write_file(const struct dwp *dwp, const struct section *sections, unsigned count)
{
	const GElf_Ehdr *like = &dwp->program->header;
	int fd = memfd_create("dwo", MFD_CLOEXEC);
	Elf *elf = fd < 0 ? NULL : elf_begin(fd, ELF_C_WRITE, NULL);
	GElf_Ehdr header = { 0 };
	size_t filled = 0;
	bool is_written;

	for (unsigned i = 0; i < count; i++)
		filled += sections[i].content.size != 0;
	is_written =
		elf && gelf_newehdr(elf, like->e_ident[EI_CLASS]) && gelf_getehdr(elf, &header);
	if (is_written) {
		header.e_ident[EI_DATA] = like->e_ident[EI_DATA];
		header.e_type = ET_DYN;
		header.e_machine = like->e_machine;
		header.e_version = EV_CURRENT;
		header.e_shstrndx = (GElf_Half)(filled + 1);
		is_written = gelf_update_ehdr(elf, &header) && put_sections(elf, sections, count);
	}
	elf_end(elf);
	if (is_written)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/* ---- skeletons ---- */

/*
 * The abbreviations of skeletons in DWARF 5 and in GNU's older form. The last two attributes of
 * each are the name and the directory of the .dwo file.
 */
static const uint8_t abbreviations[] = {
	/* clang-format off */
	1, DW_TAG_skeleton_unit, DW_CHILDREN_no,
	DW_AT_low_pc, DW_FORM_addr, DW_AT_addr_base, DW_FORM_sec_offset,
	DW_AT_dwo_name, DW_FORM_string, DW_AT_comp_dir, DW_FORM_string, 0, 0,
	2, DW_TAG_compile_unit, DW_CHILDREN_no,
	DW_AT_low_pc, DW_FORM_addr, 0xb3, 0x42 /* DW_AT_GNU_addr_base */, DW_FORM_sec_offset,
	0xb1, 0x42 /* DW_AT_GNU_dwo_id */, DW_FORM_data8,
	0xb2, 0x42 /* DW_AT_GNU_ranges_base */, DW_FORM_sec_offset,
	0xb0, 0x42 /* DW_AT_GNU_dwo_name */, DW_FORM_string, DW_AT_comp_dir, DW_FORM_string, 0, 0,
	0,
	/* clang-format on */
};

/*
 * Writes a skeleton that names the descriptor dwp->shown as its .dwo file. Sets *die to the address
 * of the skeleton's DIE. Returns the address after the skeleton.
 */
static uint8_t *put_skeleton(const struct dwp *dwp, uint8_t *start,
			     const struct dwp_skeleton *skeleton, uint8_t **die)
{
	bool is_new = skeleton->version >= 5;
	uint8_t *at = write_number(dwp, start + 4, skeleton->version, 2);

	if (is_new) {
		at = write_number(dwp, at, DW_UT_skeleton, 1);
		at = write_number(dwp, at, skeleton->address_size, 1);
	}
	at = write_number(dwp, at, 0, 4);
	at = is_new ? write_number(dwp, at, skeleton->id, 8)
		    : write_number(dwp, at, skeleton->address_size, 1);
	*die = at;
	at = write_number(dwp, at, is_new ? 1 : 2, 1);
	at = write_number(dwp, at, skeleton->base, skeleton->address_size);
	at = write_number(dwp, at, skeleton->addresses, 4);
	if (!is_new) {
		at = write_number(dwp, at, skeleton->id, 8);
		at = write_number(dwp, at, skeleton->ranges, 4);
	}
	at += sprintf((char *)at, "/proc/self/fd/%d", dwp->shown) + 1;
	at += sprintf((char *)at, "/") + 1;
	write_number(dwp, start, (uint64_t)(at - start) - 4, 4);
	return at;
}

static struct piece section_of(const struct elffile *file, const char *name)
{
	Elf_Data *data = elffile_section(file, name);

	return data && data->d_buf ? (struct piece){ data->d_buf, data->d_size }
				   : (struct piece){ 0 };
}

/* Writes a file with skeletons, all of which name dwp->shown as their .dwo file. */
static void write_skeletons(struct dwp *dwp, const struct dwp_skeleton *skeletons, size_t count)
{
	cleanup_free uint8_t *units = memory_alloc(count * SKELETON_SIZE_MAX);
	uint8_t *at = units, *die;

	dwp->ids = memory_zalloc(count, sizeof(*dwp->ids));
	dwp->places = memory_zalloc(count, sizeof(*dwp->places));
	for (size_t i = 0; i < count; i++) {
		const struct dwp_skeleton *skeleton = &skeletons[i];

		if ((skeleton->version != 4 && skeleton->version != 5) ||
		    (skeleton->address_size != 4 && skeleton->address_size != 8))
			continue;
		at = put_skeleton(dwp, at, skeleton, &die);
		dwp->ids[i] = skeleton->id;
		dwp->places[i] = (Dwarf_Off)(die - units);
	}
	const struct section sections[] = {
		{ ".debug_info", { units, (uint64_t)(at - units) } },
		{ ".debug_abbrev", { abbreviations, sizeof(abbreviations) } },
		{ ".debug_addr", section_of(dwp->program, ".debug_addr") },
		{ ".debug_ranges", section_of(dwp->program, ".debug_ranges") },
	};

	dwp->fd = write_file(dwp, sections, sizeof(sections) / sizeof(*sections));
}

struct dwp *dwp_create(const struct elffile *package, const struct elffile *program,
		       const struct dwp_skeleton *skeletons, size_t count)
{
	Elf_Data *data = package ? elffile_section(package, ".debug_cu_index") : NULL;
	struct dwp *dwp = memory_zalloc(1, sizeof(*dwp));

	dwp->program = program;
	dwp->is_big_endian = program->header.e_ident[EI_DATA] == ELFDATA2MSB;
	dwp->shown = open("/dev/null", O_RDONLY | O_CLOEXEC);
	dwp->has_package = data &&
			   package->header.e_ident[EI_DATA] == program->header.e_ident[EI_DATA] &&
			   read_index(dwp, data);
	for (unsigned i = 0; dwp->has_package && i < PARTS; i++) {
		/* before DWARF 5, column 8 has another meaning and is ignored */
		if (i != PART_RNGLISTS || dwp->index.version >= 5)
			dwp->sections[i] = section_of(package, parts[i].name);
	}
	write_skeletons(dwp, skeletons, count);
	if (dwp->fd >= 0)
		dwp->elf = elf_begin(dwp->fd, ELF_C_READ_MMAP, NULL);
	if (dwp->elf)
		dwp->dwarf = dwarf_begin_elf(dwp->elf, DWARF_C_READ, NULL);
	if (dwp->dwarf && dwp->shown >= 0)
		return dwp;
	dwp_destroy(dwp);
	return NULL;
}

void dwp_destroy(struct dwp *dwp)
{
	if (!dwp)
		return;
	dwarf_end(dwp->dwarf);
	elf_end(dwp->elf);
	if (dwp->fd >= 0)
		close(dwp->fd);
	if (dwp->shown >= 0)
		close(dwp->shown);
	free(dwp->places);
	free(dwp->ids);
	free(dwp);
}

/* ---- units ---- */

/* Duplicates the .dwo file to the descriptor that the skeletons name; libdw then reads it. */
static bool show_file(struct dwp *dwp, size_t index, int file, uint64_t size, Dwarf_Die *unit)
{
	Dwarf_Die skeleton;

	dwp->used += size;
	return dup3(file, dwp->shown, O_CLOEXEC) >= 0 &&
	       dwarf_offdie(dwp->dwarf, dwp->places[index], &skeleton) &&
	       dwarf_cu_info(skeleton.cu, NULL, NULL, NULL, unit, NULL, NULL, NULL) == 0 &&
	       unit->cu;
}

static bool has_room(const struct dwp *dwp, uint64_t size)
{
	return size <= UNIT_SIZE_MAX && size <= UNITS_SIZE_MAX - dwp->used;
}

bool dwp_find(struct dwp *dwp, size_t index, Dwarf_Die *unit, uint64_t *size)
{
	bool is_known = dwp->has_package && dwp->places[index];
	uint32_t row = is_known ? find_row(dwp, dwp->ids[index]) : 0;
	struct strings strings __attribute__((cleanup(free_strings))) = { 0 };
	struct section sections[PARTS];
	cleanup_fd int fd = -1;
	uint64_t all = 0;

	if (row == 0)
		return false;
	for (unsigned i = 0; i < PARTS; i++)
		sections[i] = (struct section){ parts[i].name, part_of_unit(dwp, row, i) };
	copy_strings(dwp, &sections[PART_STR_OFFSETS].content, &strings);
	sections[PART_STR].content = (struct piece){ (uint8_t *)strings.text, strings.size };
	sections[PART_STR_OFFSETS].content.bytes = strings.offsets;
	for (unsigned i = 0; i < PARTS; i++)
		all += sections[i].content.size;
	*size = sections[PART_INFO].content.size;
	if (has_room(dwp, all))
		fd = write_file(dwp, sections, PARTS);
	return fd >= 0 && show_file(dwp, index, fd, all, unit);
}

bool dwp_take(struct dwp *dwp, size_t index, int file, Dwarf_Die *unit, uint64_t *size)
{
	cleanup_fd int original = file, copy = memfd_create("dwo", MFD_CLOEXEC);
	struct stat status;
	ssize_t done = 1;

	/* the size of the file's first unit is not known yet: use the limit */
	*size = UNIT_SIZE_MAX;
	if (copy < 0 || !dwp->places[index] || fstat(original, &status) != 0 ||
	    !has_room(dwp, (uint64_t)status.st_size))
		return false;
	for (uint64_t left = (uint64_t)status.st_size; left > 0 && done > 0; left -= (uint64_t)done)
		done = sendfile(copy, original, NULL, left);
	return done > 0 && show_file(dwp, index, copy, (uint64_t)status.st_size, unit);
}
