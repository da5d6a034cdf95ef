/* SPDX-License-Identifier: MIT */
#ifndef ELFFILE_H
#define ELFFILE_H

/*
 * One ELF file. It is hostile: only a process that may crash opens it (resolver/worker.h), and that
 * process ends if it has no memory.
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

/* Owns the descriptor from now on, also on failure. Returns 0, or -ENOEXEC: not an ELF file. */
int elffile_open(struct elffile **file, int fd, struct error *err);

/* Makes a want for this build-id; without the id if no linker makes one of that size. */
struct file_want elffile_want(enum file_kind kind, const uint8_t *build_id, size_t size);

/*
 * Tries all possible places of the file one after the other, until the file is found. crc:
 * checksum from .gnu_debuglink, or NULL. Returns NULL if no place has the file; sets *is_harmful,
 * if not NULL, where a place has something that must not be opened.
 */
struct elffile *elffile_find(const struct file_opener *opener, struct file_want *want,
			     const uint32_t *crc, bool *is_harmful);

/* The path of the file with all symbolic links resolved; empty if unknown. */
void elffile_path(const struct elffile *file, char path[PATH_MAX]);

void elffile_close(struct elffile *file);

/* Does the file carry exactly this build-id? */
bool elffile_has_build_id(const struct elffile *file, const uint8_t *build_id, size_t size);

/* Does the file have a section of this name with contents? */
bool elffile_has_section(const struct elffile *file, const char *name);

/* The contents of the section of this name, or NULL; the file owns them. */
Elf_Data *elffile_section(const struct elffile *file, const char *name);

#endif
