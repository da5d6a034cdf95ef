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
#include "resolver/layout.h"

/* Larger files are refused: they cannot be mapped on every machine. */
#define ELFFILE_SIZE_MAX (UINT64_C(4) << 30)

struct elffile {
	int fd;
	Elf *elf;
	GElf_Ehdr header;
	struct layout layout;
	const uint8_t *build_id; /* inside elf */
	size_t build_id_size;
};

/*
 * root: directory in which path (and every symbolic link on it) is taken, or NULL.
 * Returns 0, -ENOENT and its like, or -ENOEXEC for what is there but will not be used.
 */
int elffile_open(struct elffile **file, const char *root, const char *path, struct error *err);

/* The same for a file of debug information alone, which is neither a program nor a library. */
int elffile_open_package(struct elffile **file, const char *root, const char *path,
			 struct error *err);

/* The [vdso] of this process, copied. */
int elffile_open_vdso(struct elffile **file, struct error *err);

void elffile_close(struct elffile *file);

/* Does the file carry exactly this build-id? */
bool elffile_has_build_id(const struct elffile *file, const uint8_t *build_id, size_t size);

/* Is there a section of this name that has contents? */
bool elffile_has_section(const struct elffile *file, const char *name);

/* The contents of the section of this name, or NULL; they belong to the file. */
Elf_Data *elffile_section(const struct elffile *file, const char *name);

/* The checksum that .gnu_debuglink asks for, over the whole file. Returns 0 or -EIO. */
int elffile_crc(const struct elffile *file, uint32_t *crc);

#endif
