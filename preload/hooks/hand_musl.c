/* SPDX-License-Identifier: MIT */
/*
 * A traced program may start one that uses the musl C library; this library is in its LD_PRELOAD,
 * too. musl's loader ends a program if it cannot relocate a preloaded library, but it takes a
 * library that defines these two names for a libc and ignores it. glibc's loader would bind the
 * program's own `stdin` to ours, so preload/link makes the names hidden afterwards: glibc ignores
 * hidden symbols, musl does not.
 */
#include "stub.h"

extern EXPORT const char hand_musl_start[1] __asm__("__libc_start_main");
extern EXPORT const char hand_musl_stdin[1] __asm__("stdin");

const char hand_musl_start[1] = { 0 }, hand_musl_stdin[1] = { 0 };
