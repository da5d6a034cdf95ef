/* SPDX-License-Identifier: MIT */
#include "resolver/elffile.h"

#include "base/cleanup.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <link.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

/* To look at first: opening some devices does things, and a FIFO's other end notices. */
#define LOOK_FLAGS (O_PATH | O_CLOEXEC)

/* Finds path as a process would see it whose root directory is root. */
static int look_in_root(const char *root, const char *path)
{
	struct open_how how = { .flags = LOOK_FLAGS,
				.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };
	cleanup_fd int directory = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	cleanup_free char *joined = NULL;
	int fd;

	if (directory < 0)
		return -1;
	fd = (int)syscall(SYS_openat2, directory, path, &how, sizeof(how));
	/* Before Linux 5.6, and in containers that filter it: absolute links then lead outside. */
	if (fd >= 0 || (errno != ENOSYS && errno != EPERM))
		return fd;
	if (asprintf(&joined, "%s/%s", root, path) < 0) {
		joined = NULL; /* nobody says what asprintf leaves there */
		return -1;
	}
	return open(joined, LOOK_FLAGS);
}

static int open_regular(const char *root, const char *path, struct error *err)
{
	cleanup_fd int place = root ? look_in_root(root, path) : open(path, LOOK_FLAGS);
	struct stat status;
	char link[32];
	int fd;

	if (place < 0)
		return error_system(err, errno, "cannot be opened");
	if (fstat(place, &status) != 0)
		return error_system(err, errno, "cannot be examined");
	if (!S_ISREG(status.st_mode))
		return error_set(err, ENOEXEC, "is no regular file");
	if ((uint64_t)status.st_size > ELFFILE_SIZE_MAX)
		return error_set(err, ENOEXEC, "is larger than 4 GiB");
	if (status.st_size < (off_t)sizeof(Elf32_Ehdr))
		return error_set(err, ENOEXEC, "is no ELF file");
	snprintf(link, sizeof(link), "/proc/self/fd/%d", place);
	fd = open(link, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	return fd < 0 ? error_system(err, errno, "cannot be opened") : fd;
}

static int read_segments(struct elffile *file, struct error *err)
{
	size_t count;

	if (elf_getphdrnum(file->elf, &count) != 0)
		return error_set(err, ENOEXEC, "is damaged: %s", elf_errmsg(-1));
	file->layout.segments = calloc(count ? count : 1, sizeof(*file->layout.segments));
	if (!file->layout.segments)
		return error_set(err, ENOMEM, "no memory");
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr header;

		if (!gelf_getphdr(file->elf, (int)i, &header) || header.p_type != PT_LOAD)
			continue;
		file->layout.segments[file->layout.count++] = (struct segment){
			.offset = header.p_offset,
			.vaddr = header.p_vaddr,
			.filesz = header.p_filesz,
			.memsz = header.p_memsz,
			.align = header.p_align,
			.is_code = header.p_flags & PF_X,
		};
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

/* Takes the descriptor over, also where it fails. */
static int open_fd(struct elffile **file, int fd, struct error *err)
{
	struct elffile *opened = calloc(1, sizeof(*opened));
	int failure;

	if (!opened) {
		close(fd);
		return error_set(err, ENOMEM, "no memory");
	}
	opened->fd = fd;
	failure = read_file(opened, err);
	if (failure) {
		elffile_close(opened);
		return failure;
	}
	*file = opened;
	return 0;
}

int elffile_open_package(struct elffile **file, const char *root, const char *path,
			 struct error *err)
{
	int fd = open_regular(root, path, err);

	return fd < 0 ? fd : open_fd(file, fd, err);
}

int elffile_open(struct elffile **file, const char *root, const char *path, struct error *err)
{
	struct elffile *opened = NULL;
	int failure = elffile_open_package(&opened, root, path, err);

	if (failure)
		return failure;
	if (opened->header.e_type != ET_DYN && opened->header.e_type != ET_EXEC) {
		elffile_close(opened);
		return error_set(err, ENOEXEC, "is neither a program nor a shared library");
	}
	*file = opened;
	return 0;
}

/* Two pages on x86-64, four at most elsewhere; the section headers stand behind all else. */
static size_t vdso_size(const ElfW(Ehdr) * header)
{
	return header->e_shoff + (size_t)header->e_shnum * header->e_shentsize;
}

int elffile_open_vdso(struct elffile **file, struct error *err)
{
	const ElfW(Ehdr) *header = (const void *)getauxval(AT_SYSINFO_EHDR);
	int fd;

	if (!header)
		return error_set(err, ENOENT, "has no file");
	fd = memfd_create("vdso", MFD_CLOEXEC);
	if (fd < 0)
		return error_system(err, errno, "cannot be copied");
	if (write(fd, header, vdso_size(header)) != (ssize_t)vdso_size(header)) {
		close(fd);
		return error_set(err, EIO, "cannot be copied");
	}
	return open_fd(file, fd, err);
}

void elffile_close(struct elffile *file)
{
	if (!file)
		return;
	elf_end(file->elf);
	close(file->fd);
	free(file->layout.segments);
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
