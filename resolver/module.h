/* SPDX-License-Identifier: MIT */
#ifndef MODULE_H
#define MODULE_H

/*
 * One module of a trace as a set of files: its ELF file, its debug file (found by build-id or
 * .gnu_debuglink), the file with common parts that dwz made, its symbols. All addresses are those
 * of the file; resolver/mappings.h knows where it was mapped.
 */

#include <stdbool.h>
#include <stdint.h>

#include "resolver/debuginfo.h"
#include "resolver/elffile.h"
#include "resolver/files.h"
#include "resolver/symbol.h"
#include "resolver/symtab.h"

struct module {
	struct elffile *file; /* NULL where only a debug file was found */
	struct elffile *debug, *alternate;
	struct elffile *small; /* from .gnu_debugdata: symbols that Fedora leaves in stripped
				* files */
	struct debuginfo *debuginfo;
	struct symtab symtab;
	bool is_loaded;
	const struct module_request *request;
};

struct module_request {
	int file;		    /* descriptor of the module's own file, or -1 … */
	enum resolve_reason reason; /* … for this reason */
	const char *why;	    /* reason for the user */
	const uint8_t *build_id;
	unsigned build_id_size;
	unsigned machine; /* EM_NONE: any */
	bool is_special;  /* a module of the kernel ([vdso]): no other files of it exist */
	struct resolve_options options;
	struct file_opener opener;
};

/*
 * Opens the module's other files and becomes the owner of the descriptor; the request must outlive
 * the module. On failure *reason has the kind and err the text. Returns 0 or a negative errno
 * value.
 */
int module_open(struct module **module, const struct module_request *request,
		enum resolve_reason *reason, struct error *err);

void module_close(struct module *module);

/* The file whose segments and build-id count as the module's. */
const struct elffile *module_file(const struct module *module);

/* Does the module have more than dynamic symbols? */
bool module_has_symbols(const struct module *module);

/* Like debuginfo_find(), with names from the symbol table where debug information has none. */
unsigned module_find(struct module *module, uint64_t address, struct debug_frame *frames,
		     unsigned max);

#endif
