/* SPDX-License-Identifier: MIT */
#ifndef ELFFILE_H
#define ELFFILE_H

/*
 * One ELF file, read with distrust by a process that may crash over it (resolver/worker.h) and that
 * ends where it has no memory.
 */

#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "resolver/layout.h"

struct elffile {
	int fd;
	Elf *elf;
	GElf_Ehdr header;
	struct layout layout;
	const uint8_t *build_id; /* inside elf */
	size_t build_id_size;
};

/* Takes the descriptor over, also where it fails. Returns 0, or -ENOEXEC: it is no ELF file. */
int elffile_open(struct elffile **file, int fd, struct error *err);

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
