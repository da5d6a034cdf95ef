/* SPDX-License-Identifier: MIT */
#ifndef DEBUGINFO_H
#define DEBUGINFO_H

/*
 * DWARF of one ELF file: the functions, inlined calls and source lines at an address. Units are
 * found by .debug_aranges and, where a compiler wrote none (clang), by their own ranges; a unit is
 * read when one of its addresses is first looked up. libdw decodes; its own searches are not used,
 * because they walk a unit anew for each address.
 */

#include <stdbool.h>
#include <stdint.h>

#include "resolver/elffile.h"

struct debuginfo;

struct debug_frame {
	const char *name; /* linker name if the unit has one, else the name in the source; may be
			   * NULL */
	bool is_linkage;
	bool is_mangling; /* the unit's language mangles names, so a plain name is incomplete */
	const char *file; /* with directories; may be NULL */
	unsigned line;
};

/*
 * file: has .debug_info; code: the file whose segments say what is code; opener: opens .dwo and
 * .dwp files. All must outlive the debuginfo. Returns 0 or -ENOEXEC.
 */
int debuginfo_create(struct debuginfo **debuginfo, const struct elffile *file,
		     const struct elffile *code, const struct file_opener *opener,
		     struct error *err);

void debuginfo_destroy(struct debuginfo *debuginfo);

/* The file with common parts that dwz made. Returns false if there is none. */
bool debuginfo_needs_alternate(struct debuginfo *debuginfo, const char **name,
			       const uint8_t **build_id, size_t *size);

/* Adds that file, which must outlive the debuginfo. Call it before the first debuginfo_find(). */
int debuginfo_set_alternate(struct debuginfo *debuginfo, const struct elffile *file);

/*
 * Fills at most max frames, innermost inlined call first. Returns how many there are; 0 if no unit
 * covers address. The function may be missing where the line is known. *entry: start of the
 * function (not of an inlined one), 0 if unknown.
 */
unsigned debuginfo_find(struct debuginfo *debuginfo, uint64_t address, struct debug_frame *frames,
			unsigned max, uint64_t *entry);

#endif
