/* SPDX-License-Identifier: MIT */
#ifndef RESOLVE_H
#define RESOLVE_H

/*
 * Addresses to names. A resolver is told which file was mapped where, and answers addresses with
 * function, file and line. Each file is opened once, each distinct address is looked up once; the
 * files are hostile until they have proved to be the right ones. Nothing here asks the network.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct resolve;

/* Inlined calls at one address beyond this many are not told apart. */
#define RESOLVE_FRAMES_MAX 64

enum demangle {
	DEMANGLE_FULL, /* ns::f<int>(int, char const*), as addr2line -C; what zeroed options mean */
	DEMANGLE_SHORT, /* ns::f<int> */
	DEMANGLE_NO,	/* _ZN2ns1fIiEEvT_PKc */
};

struct resolve_options {
	const char *root;  /* take modules and their debug files from under here, or NULL */
	bool full_path;	   /* symbol.file with its directories, not the base name */
	bool symbols_only; /* ELF symbol tables only: no lines, no inlined calls */
	bool inlines;	   /* one frame for each inlined call, too */
	enum demangle demangle;
	const char *debug_dir; /* instead of /usr/lib/debug; never taken under root */
};

struct symbol {
	const char *function; /* without "()" unless has_parameters; NULL: not known */
	const char *file;     /* source file, NULL: not known */
	unsigned line;	      /* 0: not known */
	const char *module;   /* path as in the mapping, NULL: the address lies in no mapping */
	bool has_parameters;  /* function ends in a parameter list: a C++ signature */
	bool is_missing;      /* the module's file could not be used, see resolve_state */
};

/* What resolve_module.from is, which depends on who wrote the stream. */
enum resolve_base {
	RESOLVE_BASE_LOAD,    /* start of the executable mapping - its file offset: holdtrace */
	RESOLVE_BASE_MAPPING, /* start of the executable mapping: sp-rtrace */
	RESOLVE_BASE_UNKNOWN, /* nobody says: the size of the range decides */
};

struct resolve_module {
	const char *path;
	uint64_t from, to;
	enum resolve_base base;
	uint64_t exec_start, exec_end, offset; /* the executable mapping; all 0: not known */
	const uint8_t *build_id;
	unsigned build_id_size; /* bytes, 0: not known */
};

/* Why a module gave no names. */
enum resolve_reason {
	RESOLVE_FINE,
	RESOLVE_SPECIAL,    /* [vdso] and the like: there is no file */
	RESOLVE_MISSING,    /* no such file, or not readable */
	RESOLVE_REFUSED,    /* no regular file, too large, not ELF, damaged */
	RESOLVE_WRONG_FILE, /* another build-id: the file was replaced since */
	RESOLVE_WRONG_MACHINE,
	RESOLVE_NO_SYMBOLS, /* readable, but the address is in none of its tables */
};

/* What became of one module that was asked for. */
struct resolve_state {
	const char *module;
	const uint8_t *build_id; /* of the trace, else of the file */
	unsigned build_id_size;
	uint64_t asked;	     /* frames */
	uint64_t unresolved; /* frames of those that have no function name */
	enum resolve_reason reason;
	const char *text;   /* the reason in words */
	const char *advice; /* the next step in words, NULL if there is none */
};

/* options is copied, its strings too. Returns 0 or -ENOMEM. */
int resolve_create(struct resolve **resolve, const struct resolve_options *options,
		   struct error *err);

void resolve_destroy(struct resolve *resolve);

/*
 * From now on only files for this machine (EM_X86_64 …) are used; EM_NONE takes any. A machine's
 * 32-bit partner is taken, too.
 */
void resolve_expect_machine(struct resolve *resolve, unsigned machine);

/* Later mappings win over earlier ones where they overlap. Returns 0, -EINVAL or -ENOMEM. */
int resolve_map(struct resolve *resolve, const struct resolve_module *module);

/*
 * address: a return address, so that the call before it is looked up; is_exact: itself instead.
 * Fills at most max symbols, innermost inlined call first, and returns how many there are: always
 * at least one, which may be empty. The strings live as long as the resolver.
 */
unsigned resolve_address(struct resolve *resolve, uint64_t address, bool is_exact,
			 struct symbol *symbols, unsigned max);

/* The index-th module that was asked for at least once. Returns false after the last one. */
bool resolve_state(const struct resolve *resolve, unsigned index, struct resolve_state *state);

/* Frames asked for that lie in no mapping. */
uint64_t resolve_unmapped(const struct resolve *resolve);

#endif
