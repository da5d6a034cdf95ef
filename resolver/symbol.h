/* SPDX-License-Identifier: MIT */
#ifndef SYMBOL_H
#define SYMBOL_H

/*
 * What a resolver is told and what it answers: the words that all of this room share. Includes
 * nothing of it; resolve.h, which asks, stands on top.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
	/* OLD=NEW: files that a trace has at or below OLD are taken from NEW; the last one counts
	 */
	const char *const *maps;
	size_t map_count;
	bool debuginfod;   /* ask the servers of DEBUGINFOD_URLS for what is not here */
	const char *cache; /* directory for answers that are worth keeping, or NULL */
	unsigned jobs; /* modules that are read at one time, 0: as many as there are processors */
	/* NULL, or told about downloads; text is not safe for a terminal */
	void (*progress)(void *context, const char *text);
	void *progress_context;
};

struct symbol {
	const char *function; /* without "()" unless has_parameters; NULL: not known */
	const char *file;     /* source file, NULL: not known */
	unsigned line;	      /* 0: not known */
	const char *module;   /* path as in the mapping, NULL: the address lies in no mapping */
	bool has_parameters;  /* function ends in a parameter list: a C++ signature */
	bool is_missing;      /* the module's file could not be used, see resolve_state */
};

/*
 * A file as it was mapped. from may be the load bias, the start of the executable mapping, with or
 * without its file offset taken off: writers differ, the file decides (see layout_bias()).
 */
struct resolve_module {
	const char *path;
	uint64_t from, to;
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
	RESOLVE_BROKEN,	    /* reading it, or its debug information, crashed or did not end */
};

#endif
