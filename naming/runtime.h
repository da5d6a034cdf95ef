/* SPDX-License-Identifier: MIT */
#ifndef RUNTIME_H
#define RUNTIME_H

/*
 * Frames that belong to a language's runtime or to a system library rather than to the program:
 * rows of runtime.def.
 */

#include <stdbool.h>

enum runtime_kind {
	RUNTIME_MODULE,	  /* name of a mapped file, without directories */
	RUNTIME_FUNCTION, /* demangled name; of a Rust method also its type */
	RUNTIME_FILE,	  /* source file in the debug information */
	RUNTIME_LIBRARY,  /* path of a library that the program did not bring along */
	RUNTIME_PROGRAM,  /* path of a system program */
	RUNTIME_SCRIPTS,  /* name of a file that runs scripts: counts as the program's own */
};

/* Whether a row of the kind matches. */
bool runtime_has(enum runtime_kind kind, const char *text);

#endif
