/* SPDX-License-Identifier: MIT */
#ifndef PRELOAD_SANITIZED_H
#define PRELOAD_SANITIZED_H

/*
 * Programs with a sanitizer that has its own malloc are not traced: AddressSanitizer ends a program
 * in which it is not the first library, and others would find our memory. If this process has such
 * a sanitizer and LD_PRELOAD names this library, executes the program again without the library,
 * before any code of the program has run. Returns if there is nothing to do, or exec failed.
 */
void sanitized_leave(char **argv, char *const *environment);

#endif
