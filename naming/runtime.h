/* SPDX-License-Identifier: MIT */
#ifndef RUNTIME_H
#define RUNTIME_H

/*
 * Which frames belong to a language's runtime or to a library of the system and not to the program:
 * rows of runtime.def.
 */

#include <stdbool.h>

enum runtime_kind {
	RUNTIME_MODULE,	  /* the name of a file that is mapped, without directories */
	RUNTIME_FUNCTION, /* demangled; of a Rust method also the type that it is of */
	RUNTIME_FILE,	  /* a source file, as the debug information has it */
	RUNTIME_LIBRARY,  /* the path of a library that the program did not bring along */
	RUNTIME_PROGRAM,  /* the path of a program of the system */
	RUNTIME_SCRIPTS,  /* the name of a file that runs scripts: as own as the program */
};

/* Whether a row of the kind matches. */
bool runtime_has(enum runtime_kind kind, const char *text);

#endif
