/* SPDX-License-Identifier: MIT */
#ifndef INSPECT_H
#define INSPECT_H

/*
 * Looks at a program before it runs, so that one that no preloaded library can enter gets a clear
 * word and never an empty report.
 */

#include <stdbool.h>

#include "base/error.h"

/*
 * path: the file; a script's interpreter is looked at in its place. Returns 0 if the program can
 * be traced; -ENOTSUP with the reason and the next step if not; 0, too, where the file cannot be
 * read (then nobody knows). *ignores: it can be run with LD_PRELOAD nevertheless, which takes no
 * notice of it and hands it on to its children.
 */
int inspect_program(const char *path, bool *ignores, struct error *err);

#endif
