/* SPDX-License-Identifier: MIT */
/*
 * A program of the musl C library that a traced one starts has this library in its LD_PRELOAD, too.
 * The loader of musl ends a program whose preloaded library it cannot relocate, but takes a library
 * with these two names for a libc and leaves it out. glibc's loader would find its own `stdin`
 * here, so preload/link makes the names hidden afterwards: glibc ignores hidden names, musl does
 * not.
 */
#include "stub.h"

extern EXPORT const char hand_musl_start[1] __asm__("__libc_start_main");
extern EXPORT const char hand_musl_stdin[1] __asm__("stdin");

const char hand_musl_start[1] = { 0 }, hand_musl_stdin[1] = { 0 };
