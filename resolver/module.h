/* SPDX-License-Identifier: MIT */
#ifndef MODULE_H
#define MODULE_H

/*
 * What is known about one module of a trace: its ELF file, its debug file if it has one (by
 * build-id, by .gnu_debuglink, the parts that dwz moved away), its symbols. Knows files and their
 * own addresses; where they were mapped is the resolver's business.
 */

#include <stdbool.h>
#include <stdint.h>

#include "resolver/debuginfo.h"
#include "resolver/elffile.h"
#include "resolver/files.h"
#include "resolver/symbol.h"
#include "resolver/symtab.h"

struct module {
	struct elffile *file; /* NULL where only the debug file was found */
	struct elffile *debug, *alternate;
	struct elffile *small; /* from .gnu_debugdata: what Fedora leaves in stripped files */
	struct debuginfo *debuginfo;
	struct symtab symtab;
	bool is_loaded;
	const struct module_request *request;
};

struct module_request {
	int file;		    /* descriptor of the module's own file, or -1 … */
	enum resolve_reason reason; /* … and why that is so, */
	const char *why;	    /* in words */
	const uint8_t *build_id;
	unsigned build_id_size;
	unsigned machine; /* EM_NONE: any */
	bool is_special;  /* the kernel's own module: nobody else has files of it */
	struct resolve_options options;
	struct file_opener opener;
};

/*
 * Takes the descriptor and opens the module's other files; the request must outlive it. *reason
 * tells the kind of a failure, err tells it in words. Returns 0 or a negative errno value.
 */
int module_open(struct module **module, const struct module_request *request,
		enum resolve_reason *reason, struct error *err);

void module_close(struct module *module);

/* The file whose segments and build-id speak for the module. */
const struct elffile *module_file(const struct module *module);

/* Is there more than the dynamic symbols? */
bool module_has_symbols(const struct module *module);

/* As debuginfo_find(), with the symbol table's name where debug information has none. */
unsigned module_find(struct module *module, uint64_t address, struct debug_frame *frames,
		     unsigned max);

#endif
