/* SPDX-License-Identifier: MIT */
#ifndef SELF_H
#define SELF_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The file that this process runs, as /proc/self/exe has it; "" if nobody says. Asked of the kernel
 * once, and at the start by the gate: what a child of fork runs is the same file.
 */
const char *self_path(void);

/* Whether that was found by the name that exec was told, which then is another name of the file. */
bool self_is_as_told(void);

/* What the kernel told the program at exec (getauxval(3), of which a page may be untouched); or 0.
 */
uintptr_t self_auxiliary(unsigned long type);

#endif
