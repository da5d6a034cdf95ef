/* SPDX-License-Identifier: MIT */
#ifndef ELFFILE_H
#define ELFFILE_H

/*
 * One ELF file, opened with distrust: whoever wrote the trace chose the path. It must be a regular
 * file of sane size, is never waited for, and no device, FIFO or terminal is touched.
 */

#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Larger files are refused: they cannot be mapped on every machine. */
#define ELFFILE_SIZE_MAX (UINT64_C(4) << 30)

struct segment {
	uint64_t offset, vaddr, filesz, memsz, align;
	bool is_code;
};

struct elffile {
	int fd;
	Elf *elf;
	GElf_Ehdr header;
	struct segment *segments; /* PT_LOAD only */
	size_t segment_count;
	const uint8_t *build_id; /* inside elf */
	size_t build_id_size;
};

/*
 * root: directory in which path (and every symbolic link on it) is taken, or NULL.
 * Returns 0, -ENOENT and its like, or -ENOEXEC for what is there but will not be used.
 */
int elffile_open(struct elffile **file, const char *root, const char *path, struct error *err);

void elffile_close(struct elffile *file);

/* Does the file carry exactly this build-id? */
bool elffile_has_build_id(const struct elffile *file, const uint8_t *build_id, size_t size);

/* Is address in an executable segment, as the file counts addresses? */
bool elffile_is_code(const struct elffile *file, uint64_t address);

/* Is there a section of this name that has contents? */
bool elffile_has_section(const struct elffile *file, const char *name);

/* The contents of the section of this name, or NULL; they belong to the file. */
Elf_Data *elffile_section(const struct elffile *file, const char *name);

/* The checksum that .gnu_debuglink asks for, over the whole file. Returns 0 or -EIO. */
int elffile_crc(const struct elffile *file, uint32_t *crc);

#endif
