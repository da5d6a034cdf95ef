/* SPDX-License-Identifier: MIT */
#ifndef RUNTIME_H
#define RUNTIME_H

/*
 * Recognizes frames that belong to a language's runtime or to a system library, not to the program.
 * The rows of runtime.def list them.
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
	RUNTIME_STUB,	  /* function of the runtime of a language with a JIT compiler */
	RUNTIME_SCRIPTS,  /* file name of an interpreter of scripts, which is treated as the
			     program's own code */
	/*
	 * file name of a language runtime that makes its locks from conditions or semaphores, so
	 * that the trace has no lock calls for these locks
	 */
	RUNTIME_LOCKS,
};

/* Whether a row of runtime.def of this kind matches the text. */
bool runtime_has(enum runtime_kind kind, const char *text);

#endif
