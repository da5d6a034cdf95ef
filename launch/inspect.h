/* SPDX-License-Identifier: MIT */
#ifndef INSPECT_H
#define INSPECT_H

/*
 * Inspects a program before it runs: a program that no library can be preloaded into is reported,
 * with the reason, instead of giving an empty trace.
 */

#include <stdbool.h>

#include "base/error.h"

/*
 * path: the file; for a script, its interpreter is inspected. Returns 0 if the program can be
 * traced or the file cannot be read, else -ENOTSUP with the reason and advice. *ignores: the
 * program can be run with LD_PRELOAD set: it ignores the variable and passes it on to its children.
 */
int inspect_program(const char *path, bool *ignores, struct error *err);

#endif
