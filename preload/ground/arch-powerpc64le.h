/* SPDX-License-Identifier: MIT */
#ifndef ARCH_POWERPC64LE_H
#define ARCH_POWERPC64LE_H

/*
 * Little-endian 64-bit Power behind the seam of arch.h: its registers, and libunwind walks. The
 * numbers are those of "64-Bit ELF V2 ABI Specification: Power Architecture", section 2.4.
 */

#include <stdbool.h>

/* The kernel says by the summary overflow bit of cr0 that r3 is an errno. */
static inline long arch_call6(long number, long a, long b, long c, long d, long e, long f)
{
	register long r0 __asm__("r0") = number;
	register long r3 __asm__("r3") = a;
	register long r4 __asm__("r4") = b;
	register long r5 __asm__("r5") = c;
	register long r6 __asm__("r6") = d;
	register long r7 __asm__("r7") = e;
	register long r8 __asm__("r8") = f;

	__asm__ volatile("sc\n\tbns+ 0f\n\tneg 3, 3\n0:"
			 : "+r"(r0), "+r"(r3), "+r"(r4), "+r"(r5), "+r"(r6), "+r"(r7), "+r"(r8)
			 :
			 : "memory", "cr0", "ctr", "r9", "r10", "r11", "r12");
	return r3;
}

static inline long arch_call3(long number, long a, long b, long c)
{
	return arch_call6(number, a, b, c, 0, 0, 0);
}

/* r0 to r31. No return address is asked for: remote_walk() has saved its own. */
#define ARCH_WALKS	0
#define DWARF_REGISTERS 32
#define DWARF_FP	31
#define DWARF_SP	1
#define DWARF_RA	0
#define DWARF_PC	0

/* Its numbers are DWARF's, which has none for the pc: UNW_PPC64_NIP. */
#define ARCH_LIBUNWIND	  "ppc64"
#define ARCH_LIBUNWIND_PC 114

/* ABI 2.2.3.4. */
#define ARCH_RED_ZONE 288u

/*
 * Sets r1 and those that a call preserves, and returns a bit for each. Only the link register can
 * tell the pc; so the function that says this has to save it before.
 */
static inline __attribute__((always_inline)) uint64_t arch_registers(uintptr_t *reg, uintptr_t *pc)
{
	uintptr_t here;

	__asm__ volatile("bcl 20, 31, 0f\n0:\tmflr %0\n\t"
			 "std 1, 8(%1)\n\t"
			 "std 14, 112(%1)\n\tstd 15, 120(%1)\n\tstd 16, 128(%1)\n\t"
			 "std 17, 136(%1)\n\tstd 18, 144(%1)\n\tstd 19, 152(%1)\n\t"
			 "std 20, 160(%1)\n\tstd 21, 168(%1)\n\tstd 22, 176(%1)\n\t"
			 "std 23, 184(%1)\n\tstd 24, 192(%1)\n\tstd 25, 200(%1)\n\t"
			 "std 26, 208(%1)\n\tstd 27, 216(%1)\n\tstd 28, 224(%1)\n\t"
			 "std 29, 232(%1)\n\tstd 30, 240(%1)\n\tstd 31, 248(%1)"
			 : "=&r"(here)
			 : "b"(reg)
			 : "memory", "lr");
	*pc = here;
	return 0xffffc002;
}

/* ABI 3.7.2. */
#define ARCH_HAS_THREAD_POINTER 1
#define ARCH_THREAD_OFFSET	0x7000

static inline uintptr_t arch_thread_pointer(void)
{
	uintptr_t pointer;

	__asm__("mr %0, 13" : "=r"(pointer));
	return pointer;
}

#define ARCH_SIGNS_ADDRESSES 0

static inline uintptr_t arch_plain_address(uintptr_t address)
{
	return address;
}

/*
 * ABI 2.2.3.1: what is called keeps it at frame + 16. Not relied on as long as nobody has seen it
 * on a real machine: a wrong answer takes a walk under way for one that was left.
 */
static inline bool arch_returns_to(uintptr_t frame, uintptr_t ip)
{
	(void)frame, (void)ip;
	return true;
}

/*
 * The return address goes back to where a walk looks for it before there is one. r2, by which this
 * library finds its data, is the called one's after a call into another module.
 */
#define ARCH_VFORK                                                                 \
	".text\n"                                                                  \
	".globl vfork\n"                                                           \
	".type vfork, @function\n"                                                 \
	"vfork:\n"                                                                 \
	"	.cfi_startproc\n"                                                        \
	"0:	addis 2, 12, .TOC.-0b@ha\n"                                            \
	"	addi 2, 2, .TOC.-0b@l\n"                                                 \
	"	.localentry vfork, .-vfork\n"                                            \
	"	mflr 0\n"                                                                \
	"	std 0, 16(1)\n"                                                          \
	"	.cfi_offset 65, 16\n"                                                    \
	"	mr 3, 0\n"                                                               \
	"	mr 4, 1\n"                                                               \
	"	mr 5, 31\n"                                                              \
	"	stdu 1, -32(1)\n"                                                        \
	"	.cfi_adjust_cfa_offset 32\n"                                             \
	"	bl hand_vfork_enter\n"                                                   \
	"	nop\n"                                                                   \
	"	addi 1, 1, 32\n"                                                         \
	"	.cfi_adjust_cfa_offset -32\n"                                            \
	"	ld 0, 16(1)\n"                                                           \
	"	mtlr 0\n"                                                                \
	"	.cfi_restore 65\n"                                                       \
	"	mr 12, 3\n"                                                              \
	"	mtctr 12\n"                                                              \
	"	cmpdi 4, 0\n"                                                            \
	"	bne 1f\n"                                                                \
	"	bctr\n" /* From here on the return address is with the thread: the \
			   stack is the caller's own. */                           \
	"1:	.cfi_undefined 65\n"                                                   \
	"	bctrl\n"                                                                 \
	"	bcl 20, 31, 2f\n"                                                        \
	"2:	mflr 12\n"                                                             \
	"	addis 2, 12, .TOC.-2b@ha\n"                                              \
	"	addi 2, 2, .TOC.-2b@l\n"                                                 \
	"	addis 9, 2, vfork_return@got@tprel@ha\n"                                 \
	"	ld 9, vfork_return@got@tprel@l(9)\n"                                     \
	"	add 9, 9, vfork_return@tls\n"                                            \
	"	ld 0, 0(9)\n"                                                            \
	"	std 0, 16(1)\n"                                                          \
	"	.cfi_offset 65, 16\n"                                                    \
	"	mr 4, 1\n"                                                               \
	"	mr 5, 31\n"                                                              \
	"	stdu 1, -48(1)\n"                                                        \
	"	.cfi_adjust_cfa_offset 48\n"                                             \
	"	std 3, 32(1)\n"                                                          \
	"	bl hand_vfork_leave\n"                                                   \
	"	nop\n"                                                                   \
	"	mtlr 3\n"                                                                \
	"	ld 3, 32(1)\n"                                                           \
	"	addi 1, 1, 48\n"                                                         \
	"	.cfi_adjust_cfa_offset -48\n"                                            \
	"	blr\n"                                                                   \
	"	.cfi_endproc\n"                                                          \
	".size vfork, .-vfork\n"

#endif
