/* SPDX-License-Identifier: MIT */
#ifndef INJECT_MODULES_H
#define INJECT_MODULES_H

/*
 * Address ranges in a program's modules where no thread may be borrowed: allocators, the loader,
 * and functions that hold a lock of libc.
 */

#include "inject/symbols.h"
#include "inject/target.h"

/*
 * Finds the ranges in all modules but libc, and whether the program has an allocator or a
 * sanitizer.
 */
void modules_read(struct target *target);

/* Finds the ranges in libc. */
void modules_forbid_libc(struct target *target, const struct symbols *libc);

/* What no thread may be borrowed in, at this address; NULL: it may. */
const char *modules_forbid(const struct target *target, uint64_t address);

#endif
