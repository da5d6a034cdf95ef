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
#include "resolver/files.h"
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

/* A want for what this build-id names; without one if no linker makes such an id. */
struct file_want elffile_want(enum file_kind kind, const uint8_t *build_id, size_t size);

/*
 * Looks at one place after the other, and opens the file that the want means. crc: what
 * .gnu_debuglink asks for, or NULL. Returns NULL if the file is nowhere; *is_harmful, if not NULL,
 * tells whether something else is there that nobody may open.
 */
struct elffile *elffile_find(const struct file_opener *opener, struct file_want *want,
			     const uint32_t *crc, bool *is_harmful);

/* Where the file lies, all symbolic links followed; empty if that is not known. */
void elffile_path(const struct elffile *file, char path[PATH_MAX]);

void elffile_close(struct elffile *file);

/* Does the file carry exactly this build-id? */
bool elffile_has_build_id(const struct elffile *file, const uint8_t *build_id, size_t size);

/* Is there a section of this name that has contents? */
bool elffile_has_section(const struct elffile *file, const char *name);

/* The contents of the section of this name, or NULL; they belong to the file. */
Elf_Data *elffile_section(const struct elffile *file, const char *name);

#endif
