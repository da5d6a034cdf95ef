/* SPDX-License-Identifier: MIT */
#ifndef MODULE_H
#define MODULE_H

/*
 * One module of a trace, which consists of several files: its ELF file, its debug file (found by
 * build-id or .gnu_debuglink), the file to which dwz moved common parts, and its symbols. Addresses
 * are addresses in the file; resolver/mappings.h converts addresses in memory to file addresses.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "resolver/debuginfo.h"
#include "resolver/elffile.h"
#include "resolver/files.h"
#include "resolver/symbol.h"

/* The functions in the symbol tables of a module's files, sorted by address. */

struct symtab {
	struct ranges sized, unsized; /* items are indices in `names` */
	ARRAY_OF(const char *) names; /* the strings are in the ELF files */
};

struct module {
	struct elffile *file; /* the module's own file; NULL: only a debug file was found */
	struct elffile *debug, *alternate;
	/* .gnu_debugdata: a small ELF file with the symbols that Fedora leaves in stripped files */
	struct elffile *small;
	struct debuginfo *debuginfo;
	struct symtab symtab;
	bool is_loaded;
	const struct module_request *request;
};

struct module_request {
	/* descriptor of the module's own file; -1: the file cannot be used */
	int file;
	enum resolve_reason reason; /* why `file` is -1 */
	const char *why;	    /* the reason as a text for the user */
	const uint8_t *build_id;
	unsigned build_id_size;
	unsigned machine; /* expected e_machine; EM_NONE: any */
	/* whether the kernel provides the module ([vdso]); no debug file is searched for it */
	bool is_special;
	struct resolve_options options;
	struct file_opener opener;
};

/*
 * Opens a module: its own file, from the descriptor request->file, and its other files. Takes
 * ownership of the descriptor. *request must outlive the module. On failure, sets *reason, and err
 * to a text for the user. Returns 0 or a negative errno value.
 */
int module_open(struct module **module, const struct module_request *request,
		enum resolve_reason *reason, struct error *err);

void module_close(struct module *module);

/* Returns the file whose segments and build-id are those of the module. */
const struct elffile *module_file(const struct module *module);

/*
 * Like debuginfo_find(), but takes the name from the symbol table if the debug information has
 * none.
 */
unsigned module_find(struct module *module, uint64_t address, struct debug_frame *frames,
		     unsigned max);

/* Sets `type` to the type of the object that the call at an address allocates. False: unknown. */
bool module_allocated(struct module *module, uint64_t address, char type[ALLOCATED_MAX]);

/*
 * The worker_run function that a child process of the resolver runs. Opens the files of one module,
 * sends facts about them, then answers requests for addresses until the parent closes the socket.
 * job: a struct module_request; the parameter `file` replaces its member `file`.
 */
void lookup_run(int socket, int file, const void *job);

#endif
