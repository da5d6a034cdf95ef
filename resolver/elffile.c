/* SPDX-License-Identifier: MIT */
#include "resolver/elffile.h"

#include "base/memory.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int read_segments(struct elffile *file, struct error *err)
{
	size_t count;

	if (elf_getphdrnum(file->elf, &count) != 0)
		return error_set(err, ENOEXEC, "is damaged: %s", elf_errmsg(-1));
	for (size_t i = 0; i < count && file->layout.count < LAYOUT_SEGMENTS_MAX; i++) {
		GElf_Phdr header;

		if (gelf_getphdr(file->elf, (int)i, &header) && header.p_type == PT_LOAD &&
		    (header.p_flags & PF_X))
			file->layout.segments[file->layout.count++] =
				(struct segment){ header.p_offset, header.p_vaddr, header.p_filesz,
						  header.p_memsz };
	}
	return 0;
}

static int read_file(struct elffile *file, struct error *err)
{
	const void *build_id;
	ssize_t size;

	elf_version(EV_CURRENT);
	file->elf = elf_begin(file->fd, ELF_C_READ_MMAP, NULL);
	if (!file->elf || elf_kind(file->elf) != ELF_K_ELF ||
	    !gelf_getehdr(file->elf, &file->header))
		return error_set(err, ENOEXEC, "is no ELF file");
	size = dwelf_elf_gnu_build_id(file->elf, &build_id);
	if (size > 0) {
		file->build_id = build_id;
		file->build_id_size = (size_t)size;
	}
	return read_segments(file, err);
}

int elffile_open(struct elffile **file, int fd, struct error *err)
{
	struct elffile *opened = memory_zalloc(1, sizeof(*opened));
	int failure;

	opened->fd = fd;
	failure = read_file(opened, err);
	if (failure)
		elffile_close(opened);
	else
		*file = opened;
	return failure;
}

void elffile_close(struct elffile *file)
{
	if (!file)
		return;
	elf_end(file->elf);
	close(file->fd);
	free(file);
}

bool elffile_has_build_id(const struct elffile *file, const uint8_t *build_id, size_t size)
{
	return file->build_id_size == size && memcmp(file->build_id, build_id, size) == 0;
}

static Elf_Scn *find_section(const struct elffile *file, const char *name)
{
	Elf_Scn *section = NULL;
	size_t names;

	if (elf_getshdrstrndx(file->elf, &names) != 0)
		return NULL;
	while ((section = elf_nextscn(file->elf, section)) != NULL) {
		GElf_Shdr header;
		const char *found;

		if (!gelf_getshdr(section, &header) || header.sh_type == SHT_NOBITS)
			continue;
		found = elf_strptr(file->elf, names, header.sh_name);
		if (found && strcmp(found, name) == 0)
			return section;
	}
	return NULL;
}

bool elffile_has_section(const struct elffile *file, const char *name)
{
	return find_section(file, name) != NULL;
}

Elf_Data *elffile_section(const struct elffile *file, const char *name)
{
	Elf_Scn *section = find_section(file, name);

	return section ? elf_rawdata(section, NULL) : NULL;
}

static uint32_t crc_step(uint32_t crc, const uint8_t *bytes, size_t size)
{
	static uint32_t table[256];

	if (!table[1]) {
		for (uint32_t i = 0; i < 256; i++) {
			uint32_t value = i;

			for (int bit = 0; bit < 8; bit++)
				value = value & 1 ? value >> 1 ^ 0xedb88320 : value >> 1;
			table[i] = value;
		}
	}
	for (size_t i = 0; i < size; i++)
		crc = table[(crc ^ bytes[i]) & 0xff] ^ crc >> 8;
	return crc;
}

int elffile_crc(const struct elffile *file, uint32_t *crc)
{
	uint8_t bytes[16384];
	uint32_t value = 0xffffffff;
	off_t offset = 0;

	for (;;) {
		ssize_t size = pread(file->fd, bytes, sizeof(bytes), offset);

		if (size < 0 && errno == EINTR)
			continue;
		if (size < 0)
			return -EIO;
		if (size == 0)
			break;
		value = crc_step(value, bytes, (size_t)size);
		offset += size;
	}
	*crc = ~value;
	return 0;
}
