/* SPDX-License-Identifier: MIT */
#ifndef ARCH_H
#define ARCH_H

/*
 * The seam: all that the library knows of one processor. A processor has
 *
 *   arch_call3, arch_call6     system calls; they return the result, or -errno
 *   ARCH_WALKS                 1: frames are walked, by our own rules or libunwind (accessors.h);
 *                              0: a backtrace is the caller alone
 *   DWARF_REGISTERS            how many registers of DWARF a frame is made of
 *   DWARF_FP, DWARF_SP         numbers of the frame pointer, of the stack pointer,
 *   DWARF_RA, DWARF_PC         of where a return address stands, of the pc that a signal saved
 *   ARCH_LIBUNWIND             how libunwind calls the processor, where frames are walked; its
 *                              registers must have the numbers of DWARF
 *   ARCH_RED_ZONE              bytes below sp that a signal leaves as they were
 *   arch_registers             the registers of the function that says it
 *   arch_thread_pointer        what glibc's __rseq_offset counts from (0 where the compiler
 *                              need not know it: ARCH_HAS_THREAD_POINTER)
 *   ARCH_SIGNS_ADDRESSES       1: return addresses on the stack may carry a code (pointer
 *                              authentication)
 *   arch_plain_address         a return address without it
 *   arch_returns_to            whether a call's return address is still on the stack
 *   ARCH_VFORK                 the stub of vfork (none: vfork goes unseen)
 *   ARCH_DLOPEN                the stub of dlopen (none: what is bound past us goes unseen)
 *
 * and where no unwind table describes it (ARCH_SIGNAL_FRAME) what the kernel leaves on the stack
 * for a signal.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(ARCH_IS_OTHER) /* tests/e2e/cross: as if nobody had described this one */
#include "arch-other.h"
#elif defined(__x86_64__) && defined(__LP64__)
#include "arch-x86_64.h"
#elif defined(__aarch64__) && defined(__LP64__) && defined(__AARCH64EL__)
#include "arch-aarch64.h"
#else
#include "arch-other.h"
#endif

#endif
