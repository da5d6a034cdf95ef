/* SPDX-License-Identifier: MIT */
#ifndef SYMBOL_H
#define SYMBOL_H

/*
 * The input and the results of the resolver: types that all its files share. This header includes
 * no other header of the component. resolve.h is the public interface.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Maximum number of frames for one address; further inlined calls are left out. */
#define RESOLVE_FRAMES_MAX 64

enum demangle {
	DEMANGLE_FULL,	/* ns::f<int>(int, char const*), like addr2line -C; the default */
	DEMANGLE_SHORT, /* ns::f<int> */
	DEMANGLE_NO,	/* _ZN2ns1fIiEEvT_PKc */
};

#define RESOLVE_DEBUG_DIRECTORY "/usr/lib/debug"

struct resolve_options {
	const char *root; /* open modules and their debug files below this directory; or NULL */
	/* whether symbol.file includes its directories; otherwise it is only the file name */
	bool full_path;
	bool symbols_only; /* use only ELF symbol tables; find neither lines nor inlined calls */
	bool inlines;	   /* return a frame for each inlined call, too */
	enum demangle demangle;
	/* directory to use instead of /usr/lib/debug; not below root; or NULL */
	const char *debug_dir;
	/*
	 * each "OLD=NEW": if a path in the trace is OLD or below OLD, replace OLD by NEW to open
	 * the file; the last map that matches is used
	 */
	const char *const *maps;
	size_t map_count;
	bool debuginfod;   /* request missing files from the servers of DEBUGINFOD_URLS */
	const char *cache; /* directory in which answers are stored for later runs; or NULL */
	/* number of modules that are read at the same time; 0: one for each processor, at most 8 */
	unsigned jobs;
	/* called with the progress of downloads; or NULL. `text` may contain terminal escapes */
	void (*progress)(void *context, const char *text);
	void *progress_context;
};

struct symbol {
	const char *function; /* the name, without "()" unless has_parameters; NULL: unknown */
	const char *file;     /* source file, NULL: unknown */
	unsigned line;	      /* 0: unknown */
	const char *module;   /* path in the mapping; NULL: the address is in no mapping */
	/* whether `function` ends with a parameter list, as C++ signatures do */
	bool has_parameters;
	bool is_missing; /* the module's file could not be used; resolve_state() says why */
};

/*
 * A mapped file. `from` may be the load bias, the start of the executable mapping, or that start
 * minus the mapping's file offset: programs that write traces differ. layout_bias() infers from the
 * file which of the three `from` is.
 */
struct resolve_module {
	const char *path;
	uint64_t from, to;
	uint64_t exec_start, exec_end, offset; /* the executable mapping; all 0: unknown */
	const uint8_t *build_id;
	unsigned build_id_size; /* bytes, 0: unknown */
};

/* Why a module has no names. */
enum resolve_reason {
	RESOLVE_FINE,
	RESOLVE_SPECIAL,    /* [vdso] and similar mappings without a file */
	RESOLVE_MISSING,    /* file not found or not readable */
	RESOLVE_REFUSED,    /* not a regular file, too large, not ELF, or damaged */
	RESOLVE_WRONG_FILE, /* the build-id differs: the file was replaced after the recording */
	RESOLVE_WRONG_MACHINE,
	RESOLVE_NO_SYMBOLS, /* the file can be read, but no table covers the address */
	/* the process that read the file or its debug information crashed or did not end in time */
	RESOLVE_BROKEN,
};

#endif
