/* SPDX-License-Identifier: MIT */
#ifndef PATCH_H
#define PATCH_H

/*
 * Makes calls of hooked functions in a running program lead to our stubs, and back: changes the
 * slots of all modules that contain the real function's address, and the symbol in the module that
 * defines it, to which later modules are bound. Runs under the loader's lock while other threads
 * run on: slots are changed by compare-and-swap, and read-only pages are made writable for a
 * moment.
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

/* on: makes calls lead to our stubs; else back to the real functions. */
void patch_all(bool on, struct patch_counts *counts);

/*
 * In a program that was started with the library all calls lead to stubs, except those that dlopen
 * binds with RTLD_DEEPBIND: they are bound to libc first. So this changes the symbols of libc, and
 * of an allocator, before dlopen does that. Works once; needs no lock.
 */
void patch_before_deep(void);

#endif
