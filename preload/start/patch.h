/* SPDX-License-Identifier: MIT */
#ifndef PATCH_H
#define PATCH_H

/*
 * Redirects calls to hooked functions in a running program to our stubs, and back. patch_all()
 * changes, in all modules, the linkage slots (GOT entries) that contain the address of a real
 * function. In the module that defines the function, it also changes the function's symbol, so that
 * modules that are loaded later call the stub. patch_all() runs under the loader's lock, but other
 * threads keep running. So it changes slots by compare-and-swap, and makes read-only pages writable
 * only for a short time.
 */

#include <stdbool.h>

struct late_order;

/* Redirects calls to our stubs if `on`, else back to the real functions. Sets counts of `order`. */
void patch_all(bool on, struct late_order *order);

/*
 * In a program that was started with the library, all calls lead to stubs, except those of
 * libraries that are opened with RTLD_DEEPBIND, which lead to libc. So this function changes the
 * symbols of libc, and those of an allocator, before such a dlopen. Only the first call has an
 * effect. Needs no lock.
 */
void patch_before_deep(void);

/*
 * Hides exported functions that this process's libc lacks, so that the program finds the same
 * functions as it would without this library. Before glibc 2.34 these are the functions of
 * libpthread, librt and libdl in a program that does not load those libraries. Such a program uses
 * a weak reference or dlsym() to find out whether it has threads. If the program loads one of these
 * libraries later, it calls that library's functions directly, without our stubs. Call this
 * function before the constructors of other modules run.
 */
void patch_hide_missing(void);

#endif
