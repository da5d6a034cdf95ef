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
	RUNTIME_FUNCTION, /* demangled name of a function; a Rust method is also matched by the name
			     of its type */
	RUNTIME_FILE,	  /* source file in the debug information */
	RUNTIME_LIBRARY,  /* path of a system library */
	RUNTIME_PROGRAM,  /* path of a system program */
	RUNTIME_PYTHON,	  /* file of Python's standard library */
	RUNTIME_CODE,	  /* function or file of the libraries of a language with a JIT compiler */
	RUNTIME_STUB,	  /* function that is part of such a language's runtime */
	RUNTIME_SCRIPTS,  /* file name of an interpreter of scripts, which is treated as the
			     program's own code */
	/*
	 * file name of a language runtime whose locks are made from conditions or semaphores, so
	 * that calls for these locks are not recorded as calls for locks
	 */
	RUNTIME_LOCKS,
};

/* Whether a row of runtime.def of this kind matches the text. */
bool runtime_has(enum runtime_kind kind, const char *text);

#endif
