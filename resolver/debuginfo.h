/* SPDX-License-Identifier: MIT */
#ifndef DEBUGINFO_H
#define DEBUGINFO_H

/*
 * Reads the DWARF of one ELF file: functions, inlined calls and source lines of an address. Units
 * are found through .debug_aranges, or through their own ranges if the compiler wrote no
 * .debug_aranges (clang). A unit is read when one of its addresses is looked up for the first time.
 * libdw decodes the data; its search functions are not used, because they walk a unit again for
 * each address.
 */

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

#include "resolver/elffile.h"

struct debuginfo;

struct debug_frame {
	/* linker name or, if DWARF has none, the name in the source; may be NULL */
	const char *name;
	bool is_linkage;
	/*
	 * the arguments of the types of a generic function of Rust, "<u8, Global>", which linker
	 * names of the older mangling lack; NULL: none
	 */
	const char *generics;
	/* whether the language mangles names, so that the name in the source is incomplete */
	bool is_mangling;
	const char *file; /* path of the source file; may be NULL */
	unsigned line;
};

/*
 * file: the file with .debug_info; code: the file whose segments contain the code; opener: opens
 * .dwo and .dwp files. All three must outlive the debuginfo. Returns 0 or -ENOEXEC.
 */
int debuginfo_create(struct debuginfo **debuginfo, const struct elffile *file,
		     const struct elffile *code, const struct file_opener *opener,
		     struct error *err);

void debuginfo_destroy(struct debuginfo *debuginfo);

/*
 * Whether the debug information needs another file, to which dwz moved common parts. If so, sets
 * its name and build-id.
 */
bool debuginfo_needs_alternate(struct debuginfo *debuginfo, const char **name,
			       const uint8_t **build_id, size_t *size);

/*
 * Adds the file of debuginfo_needs_alternate(), which must outlive the debuginfo. Call it before
 * the first debuginfo_find().
 */
int debuginfo_set_alternate(struct debuginfo *debuginfo, const struct elffile *file);

/*
 * Looks up an address. Fills at most `max` frames, innermost inlined call first. Returns the number
 * of frames, or 0 if no unit covers the address. A frame may have a line but no function. *entry:
 * start of the function that is not inlined; 0: unknown.
 */
unsigned debuginfo_find(struct debuginfo *debuginfo, uint64_t address, struct debug_frame *frames,
			unsigned max, uint64_t *entry);

/* The function that contains an address, and the position of the address in the source. */
struct debug_scope {
	Dwarf_Die unit, function;
	Dwarf_Die innermost; /* the innermost inlined call, or the function */
	int line, column;
	unsigned machine; /* EM_X86_64 ... */
	bool is_gnu;	  /* gcc made the unit */
	uint64_t size;	  /* size of the unit in bytes, which limits a walk of a hostile tree */
};

/* Returns false if no function, line or column is known at the address. */
bool debuginfo_scope(struct debuginfo *debuginfo, uint64_t address, struct debug_scope *scope);

/* Sets the DIE of the index-th unit. Returns false after the last one. */
bool debuginfo_unit(struct debuginfo *debuginfo, size_t index, Dwarf_Die *die, uint64_t *size);

/* Returns the sizes of the classes of all units (resolver/allocated.h). */
struct class_index;
const struct class_index *debuginfo_classes(struct debuginfo *debuginfo);

/* Finds the function that begins at an address. */
bool debuginfo_function(struct debuginfo *debuginfo, uint64_t entry, Dwarf_Die *function);

/* Copies code from the file. Returns false if the file does not have it. */
bool debuginfo_code(const struct debuginfo *debuginfo, uint64_t address, void *bytes, size_t size);

/* Like dwarf_siblingof(): moves to the next sibling. *budget: number of further steps. */
bool debuginfo_next(uint64_t *budget, Dwarf_Die *die);

#endif
