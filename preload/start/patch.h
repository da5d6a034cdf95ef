/* SPDX-License-Identifier: MIT */
#ifndef PATCH_H
#define PATCH_H

/*
 * Calls of hooked functions in a program that runs lead to our stubs, and back: in the slots of all
 * modules that hold the real function's address, and in the symbol of the module that defines it,
 * which whatever is bound later goes by. Under the loader's lock, and nobody else is stopped: a
 * slot is changed by compare-and-swap, pages that cannot be written are opened and closed again.
 */

#include <stdbool.h>
#include <stdint.h>

struct patch_counts {
	uint32_t modules;
	uint32_t slots;	  /* changed */
	uint32_t symbols; /* changed */
	uint32_t
		unchanged; /* slots of hooked functions that lead elsewhere, or cannot be written */
};

/* on: to our stubs; else to the real functions, where they lead to our stubs. */
void patch_all(bool on, struct patch_counts *counts);

/*
 * In a program that we were loaded with all calls lead to us but those of what dlopen binds with
 * RTLD_DEEPBIND, to libc before us: before it does, libc's symbols, and those of an allocator, are
 * changed. Once; needs no lock.
 */
void patch_before_deep(void);

#endif
