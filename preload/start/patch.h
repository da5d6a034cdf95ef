/* SPDX-License-Identifier: MIT */
#ifndef PATCH_H
#define PATCH_H

/*
 * Redirects the calls of hooked functions in a running program to our stubs, and back. In all
 * modules, it changes the slots that contain the address of a real function; in the module that
 * defines the function, it changes the symbol, to which later modules are bound. It runs under the
 * loader's lock while other threads keep running, so slots are changed by compare-and-swap, and
 * read-only pages are writable only for a moment.
 */

#include <stdbool.h>
#include <stdint.h>

struct patch_counts {
	uint32_t modules;
	uint32_t slots;	    /* slots that were changed */
	uint32_t symbols;   /* symbols that were changed */
	uint32_t unchanged; /* slots of hooked functions that could not be changed */
};

/* If `on`, redirects calls to our stubs, else back to the real functions. */
void patch_all(bool on, struct patch_counts *counts);

/*
 * In a program that was started with the library, all calls lead to stubs. Only libraries that
 * dlopen opens with RTLD_DEEPBIND are bound to libc first. So this function changes the symbols of
 * libc, and those of an allocator, before such a dlopen. Only the first call has an effect. It
 * needs no lock.
 */
void patch_before_deep(void);

/*
 * Hides exported functions that this process's libc lacks, so that the program finds the same
 * functions as without this library. Before glibc 2.34 these are the functions of libpthread, librt
 * and libdl in a program that does not load those libraries: it uses a weak reference or dlsym() to
 * find out whether it has threads. If it loads such a library later, it calls its functions
 * directly, without stubs. Call it before the constructors of other modules run.
 */
void patch_hide_missing(void);

#endif
