/* SPDX-License-Identifier: MIT */
#ifndef ELFFILE_H
#define ELFFILE_H

/*
 * Reads one ELF file. The file may be hostile, so only a child process that may crash opens it
 * (resolver/worker.h). If memory runs out, the process ends.
 */

#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "resolver/files.h"
#include "resolver/mappings.h"

struct elffile {
	int fd;
	Elf *elf;
	GElf_Ehdr header;
	struct layout layout;
	const uint8_t *build_id; /* points into `elf` */
	size_t build_id_size;
};

/*
 * Opens an ELF file. Takes ownership of the descriptor, even on failure. Returns 0, or -ENOEXEC if
 * the file is not ELF.
 */
int elffile_open(struct elffile **file, int fd, struct error *err);

/* Returns a request for the file with this build-id. Leaves out a build-id that is too large. */
struct file_want elffile_want(enum file_kind kind, const uint8_t *build_id, size_t size);

/*
 * Tries the places where a file may be, in order, until the file is found. crc: checksum from
 * .gnu_debuglink, or NULL. Returns NULL if no place has the file. If is_harmful is not NULL, sets
 * *is_harmful to true if a place has a file that must not be opened.
 */
struct elffile *elffile_find(const struct file_opener *opener, struct file_want *want,
			     const uint32_t *crc, bool *is_harmful);

/* Writes the path of the file with all symbolic links resolved; empty if unknown. */
void elffile_path(const struct elffile *file, char path[PATH_MAX]);

void elffile_close(struct elffile *file);

/* Whether the file has exactly this build-id. */
bool elffile_has_build_id(const struct elffile *file, const uint8_t *build_id, size_t size);

/* Whether the file has a section of this name that has contents (is not SHT_NOBITS). */
bool elffile_has_section(const struct elffile *file, const char *name);

/* Returns the contents of the section of this name, or NULL. `file` owns the contents. */
Elf_Data *elffile_section(const struct elffile *file, const char *name);

#endif
