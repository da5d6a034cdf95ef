/* SPDX-License-Identifier: MIT */
#ifndef SELF_H
#define SELF_H

/*
 * The file that this process runs, as /proc/self/exe has it; "" if nobody says. Asked of the kernel
 * once, and at the start by the gate: what a child of fork runs is the same file.
 */
const char *self_path(void);

#endif
