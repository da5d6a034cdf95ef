/* SPDX-License-Identifier: MIT */
#ifndef INJECT_MODULES_H
#define INJECT_MODULES_H

/*
 * The places in a program's modules where no thread may be interrupted: in allocators, in the
 * loader, and in what holds a lock of libc's.
 */

#include "inject/symbols.h"
#include "inject/target.h"

/* Of all that is mapped but libc; and whether the program has an allocator or a sanitizer. */
void modules_read(struct target *target);

/* Of libc. */
void modules_forbid_libc(struct target *target, const struct symbols *libc);

/* Why nothing may be interrupted there; NULL: address lies in no such place. */
const char *modules_forbid(const struct target *target, uint64_t address);

#endif
