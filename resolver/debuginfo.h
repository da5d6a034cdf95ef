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

/* ---- ranges ---- */

/*
 * Address ranges that may nest and overlap, each with an item (an index into a table of the
 * caller). After all ranges were added and sorted once, a search finds the innermost range that
 * contains an address. Ends the process if memory runs out (base/memory.h).
 */

struct range {
	uint64_t from, to; /* `to` is the first address after the range */
	uint64_t reach;	   /* maximum of `to` over this range and all ranges before it */
	uint32_t item;
	uint32_t rank; /* of equal ranges, a search returns the one with the highest rank */
};

struct ranges {
	struct range *items;
	size_t count, capacity;
};

/* Adds a range; an empty range is ignored. */
void ranges_add(struct ranges *ranges, uint64_t from, uint64_t to, uint32_t item, uint32_t rank);

/* Sorts the ranges. Call it after the last ranges_add() and before the first search. */
void ranges_sort(struct ranges *ranges);

/*
 * Of all ranges that contain the address, returns the one that begins last; if several begin there,
 * the smallest of them. NULL: no range contains the address.
 */
const struct range *ranges_find(const struct ranges *ranges, uint64_t address);

/*
 * Returns the last range that begins at or before the address, even if it does not contain the
 * address. NULL: there is none.
 */
const struct range *ranges_before(const struct ranges *ranges, uint64_t address);

void ranges_free(struct ranges *ranges);

/* ---- debug information ---- */

struct debuginfo;

struct debug_frame {
	/* linker name or, if DWARF has none, the name in the source; may be NULL */
	const char *name;
	bool is_linkage;
	/*
	 * the type arguments of a generic function of Rust, "<u8, Global>", if the linker name
	 * lacks them, as in Rust's older mangling; else NULL
	 */
	const char *generics;
	/* whether the language mangles names; then the name in the source is incomplete */
	bool is_mangling;
	const char *file; /* path of the source file; may be NULL */
	unsigned line;
};

/*
 * Opens the debug information in `file`. code: the file whose segments contain the code; opener:
 * opens .dwo and .dwp files. All three must outlive the debuginfo. Returns 0 or -ENOEXEC.
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
 * Adds the file that debuginfo_needs_alternate() named; it must outlive the debuginfo. Call this
 * before the first debuginfo_find().
 */
int debuginfo_set_alternate(struct debuginfo *debuginfo, const struct elffile *file);

/*
 * Looks up an address. Fills at most `max` frames, innermost inlined call first. Returns the number
 * of frames, or 0 if no unit covers the address. A frame may have a line but no function. *entry:
 * start of the last frame's function, which is not inlined; 0: unknown.
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
	uint64_t size;	  /* size of the unit in bytes, the limit for walks of a hostile tree */
};

/* Finds the scope of an address. Returns false if its function, line or column is unknown. */
bool debuginfo_scope(struct debuginfo *debuginfo, uint64_t address, struct debug_scope *scope);

/* Sets *die to the index-th unit's first DIE; *size: its bytes. False: there are no more units. */
bool debuginfo_unit(struct debuginfo *debuginfo, size_t index, Dwarf_Die *die, uint64_t *size);

/* Returns the index of the sizes of all units' classes, which the first call builds. */
struct class_index;
const struct class_index *debuginfo_classes(struct debuginfo *debuginfo);

/* Finds the function that begins at the address `entry`. Returns false if there is none. */
bool debuginfo_function(struct debuginfo *debuginfo, uint64_t entry, Dwarf_Die *function);

/* Copies `size` bytes of code. Returns false if the file does not contain the address. */
bool debuginfo_code(const struct debuginfo *debuginfo, uint64_t address, void *bytes, size_t size);

/* Moves *die to its next sibling and decrements *budget. False: no sibling, or no budget left. */
bool debuginfo_next(uint64_t *budget, Dwarf_Die *die);

/* ---- classes of allocated objects ---- */

/*
 * Finds, in debug information, the class of the object that a call of operator new allocates. It is
 * the class of the constructor that the same new-expression calls: the constructor's call is on the
 * same line of the same function and inlined call. It also has the same position there, or its
 * `this` is the result of operator new. The class must have the size that operator new gets.
 */

#define ALLOCATED_MAX 1024u

/*
 * Sets `type` to the class of the object that a call of operator new allocates; returns false if
 * the class is unknown. address: an address inside the call.
 */
bool allocated_type(struct debuginfo *debuginfo, uint64_t address, char type[ALLOCATED_MAX]);

/* Builds the index for debuginfo_classes(), which calls this once. */
struct class_index *allocated_index(struct debuginfo *debuginfo);
void allocated_index_free(struct class_index *index);

/* ---- split units ---- */

/*
 * Reads split units (-gsplit-dwarf). Most of their DWARF is in a .dwo file, or in a .dwp package of
 * all .dwo files of a program. The package's .debug_cu_index locates a unit by its id (version 2 is
 * GNU's, version 5 that of DWARF 5). This code copies the unit to a .dwo file in memory, which
 * libdw opens like a file on disk: libdw before 0.191 cannot read packages, and this process must
 * not open other files. Every byte of the input may be hostile.
 */

struct dwp;

/* The part of a split unit that remains in the program. */
struct dwp_skeleton {
	uint64_t id;
	uint64_t base;	    /* DW_AT_low_pc */
	uint64_t addresses; /* offset of the unit's part of .debug_addr */
	uint64_t ranges;    /* offset of the unit's part of .debug_ranges, before DWARF 5 */
	uint8_t version;    /* version of DWARF; 0: the unit is not split */
	uint8_t address_size;
};

/*
 * Creates a reader. package: the .dwp file, or NULL (a damaged package is ignored); program: the
 * file with the skeletons, which libdw has already opened. Both must outlive the result. Returns
 * NULL on failure.
 */
struct dwp *dwp_create(const struct elffile *package, const struct elffile *program,
		       const struct dwp_skeleton *skeletons, size_t count);

void dwp_destroy(struct dwp *dwp);

/*
 * Finds, in the package, the unit of the index-th skeleton. *unit: the unit's first DIE; *size: the
 * unit's size in bytes. Returns false if the package does not have the unit.
 */
bool dwp_find(struct dwp *dwp, size_t index, Dwarf_Die *unit, uint64_t *size);

/*
 * Like dwp_find(), but finds the unit in a .dwo file, and closes `file`, that file's descriptor.
 * Call it at most once for each skeleton.
 */
bool dwp_take(struct dwp *dwp, size_t index, int file, Dwarf_Die *unit, uint64_t *size);

#endif
