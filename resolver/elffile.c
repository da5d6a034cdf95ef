/* SPDX-License-Identifier: MIT */
#include "resolver/elffile.h"

#include "base/memory.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int read_head(struct elffile *file, struct error *err)
{
	const void *build_id;
	size_t count;
	ssize_t size;

	elf_version(EV_CURRENT);
	file->elf = elf_begin(file->fd, ELF_C_READ_MMAP, NULL);
	if (!file->elf || elf_kind(file->elf) != ELF_K_ELF ||
	    !gelf_getehdr(file->elf, &file->header))
		return error_set(err, ENOEXEC, "is not an ELF file");
	size = dwelf_elf_gnu_build_id(file->elf, &build_id);
	if (size > 0) {
		file->build_id = build_id;
		file->build_id_size = (size_t)size;
	}
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

int elffile_open(struct elffile **file, int fd, struct error *err)
{
	struct elffile *opened = memory_zalloc(1, sizeof(*opened));
	int failure;

	opened->fd = fd;
	failure = read_head(opened, err);
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

/* Computes the CRC-32 of the whole file, the checksum in .gnu_debuglink. Returns 0 or -EIO. */
static int sum_up(const struct elffile *file, uint32_t *crc)
{
	static uint32_t table[256];
	uint8_t bytes[16384];
	uint32_t value = 0xffffffff;
	off_t offset = 0;

	for (uint32_t i = 0; !table[255] && i < 256; i++) {
		table[i] = i;
		for (int bit = 0; bit < 8; bit++)
			table[i] = table[i] & 1 ? table[i] >> 1 ^ 0xedb88320 : table[i] >> 1;
	}
	for (;;) {
		ssize_t size = pread(file->fd, bytes, sizeof(bytes), offset);

		if (size < 0 && errno == EINTR)
			continue;
		if (size < 0)
			return -EIO;
		if (size == 0)
			break;
		for (ssize_t i = 0; i < size; i++)
			value = table[(value ^ bytes[i]) & 0xff] ^ value >> 8;
		offset += size;
	}
	*crc = ~value;
	return 0;
}

/*
 * Whether `file` is the file that `want` requests. Compares the build-id, or the checksum
 * `expected` if the file or the request has no build-id.
 */
static bool is_wanted(const struct elffile *file, const struct file_want *want,
		      const uint32_t *expected)
{
	uint32_t crc;

	if (want->kind == FILE_PACKAGE)
		return true;
	/* the type is not checked for files from dwz, which are relocatable */
	if (want->kind != FILE_ALTERNATE && file->header.e_type != ET_DYN &&
	    file->header.e_type != ET_EXEC)
		return false;
	if (want->build_id_size && (file->build_id_size || !expected))
		return elffile_has_build_id(file, want->build_id, want->build_id_size);
	return expected && sum_up(file, &crc) == 0 && crc == *expected;
}

struct elffile *elffile_find(const struct file_opener *opener, struct file_want *want,
			     const uint32_t *crc, bool *is_harmful)
{
	for (want->number = 0;; want->number++) {
		struct elffile *file = NULL;
		int fd = opener->open(opener->context, want);

		if (fd == -ERANGE)
			return NULL;
		if (is_harmful)
			*is_harmful |= fd == -ENOEXEC;
		if (fd < 0 || elffile_open(&file, fd, NULL) != 0)
			continue;
		if (is_wanted(file, want, crc))
			return file;
		elffile_close(file);
	}
}

struct file_want elffile_want(enum file_kind kind, const uint8_t *build_id, size_t size)
{
	struct file_want want = { .kind = kind };

	if (size > 0 && size <= sizeof(want.build_id)) {
		want.build_id_size = (uint32_t)size;
		memcpy(want.build_id, build_id, size);
	}
	return want;
}

void elffile_path(const struct elffile *file, char path[PATH_MAX])
{
	char link[32];
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", file->fd);
	length = readlink(link, path, PATH_MAX - 1);
	path[length > 0 && path[0] == '/' ? length : 0] = 0;
}
