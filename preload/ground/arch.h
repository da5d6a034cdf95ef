/* SPDX-License-Identifier: MIT */
#ifndef ARCH_H
#define ARCH_H

/*
 * Everything in the library that depends on the processor. A port of the library defines:
 *
 *   sys_call3, sys_call6       system calls; they return the result, or -errno
 *   ARCH_WALKS                 1: frames are walked, by our own rules or libunwind (accessors.h);
 *                              0: a backtrace is the caller alone
 *   DWARF_REGISTERS            number of DWARF registers in a frame
 *   DWARF_FP, DWARF_SP         DWARF numbers of the frame pointer and of the stack pointer
 *   DWARF_RA, DWARF_PC         DWARF numbers of the return address and of the pc in a signal frame
 *   ARCH_LIBUNWIND             libunwind's name for the processor, if ARCH_WALKS; libunwind must
 *                              number the registers as DWARF does
 *   ARCH_RED_ZONE              bytes below sp that a signal does not overwrite
 *   arch_registers             reads the registers of the calling function
 *   arch_thread_pointer        the thread pointer, from which glibc's __rseq_offset counts (0
 *                              where ARCH_HAS_THREAD_POINTER is 0)
 *   ARCH_SIGNS_ADDRESSES       1: return addresses on the stack may be signed (pointer
 *                              authentication)
 *   arch_plain_address         strips the signature of a return address
 *   arch_returns_to            whether a call's return address is still on the stack
 *   ARCH_CHAINS                1: a function with a frame pointer has the caller's frame pointer at
 *                              fp and its return address at fp + 8, where its frame ends. Then
 *                              arch_follows_call finds out, from the 8 bytes before an address,
 *                              whether a call instruction ends at the address
 *   ARCH_VFORK                 the stub of vfork (if absent, vfork is not recorded)
 *   ARCH_DLOPEN                the stub of dlopen (if absent, calls of modules that were loaded
 *                              with RTLD_DEEPBIND are not recorded)
 *   ARCH_DLMOPEN               the stub of dlmopen; defined if ARCH_DLOPEN is
 *   ARCH_SYSCALL               the stub of syscall (if absent, syscall is not recorded). If the
 *                              call is not recorded, the stub executes at most eight
 *                              instructions before libc's function. Otherwise it jumps to
 *                              hand_syscall() with unchanged arguments
 *   ARCH_SIXTH_PARAMETER       declares hand_syscall()'s last parameter, if it is in a register
 *   ARCH_SIXTH                 reads that argument from its register or from the stack
 *
 * and, with ARCH_SIGNAL_FRAME, the position of the registers in the kernel's signal frame (for
 * kernels whose code that returns from a signal has no unwind table).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An exported function in assembly. */
#define ARCH_FUNCTION(name, code)                                       \
	".text\n.globl " name "\n.type " name ", STT_FUNC\n" name ":\n" \
	"	.cfi_startproc\n" code "	.cfi_endproc\n"                \
	".size " name ", .-" name "\n"

#if defined(ARCH_IS_OTHER) /* tests/e2e/cross: use the fallback on a known processor */
#include "arch-other.h"
#elif defined(__x86_64__) && defined(__LP64__)
#include "arch-x86_64.h"
#elif defined(__aarch64__) && defined(__LP64__) && defined(__AARCH64EL__)
#include "arch-aarch64.h"
#else
#include "arch-other.h"
#endif

#endif
