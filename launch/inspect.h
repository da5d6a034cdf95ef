/* SPDX-License-Identifier: MIT */
#ifndef INSPECT_H
#define INSPECT_H

/*
 * Inspects a program before it runs. If no library can be preloaded into it, the user gets the
 * reason instead of an empty trace.
 */

#include <stdbool.h>

#include "base/error.h"

/*
 * Inspects the program at `path`; if it is a script, inspects its interpreter. Returns 0 if the
 * program can be traced or the file cannot be read, else -ENOTSUP with the reason and advice in
 * `err`. Sets *program to the path of the program or interpreter, if it was found; the caller frees
 * it. Sets *ignores if the program ignores LD_PRELOAD, but can run with it and passes it on to its
 * children.
 */
int inspect_program(const char *path, char **program, bool *ignores, struct error *err);

#endif
