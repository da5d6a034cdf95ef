/* SPDX-License-Identifier: MIT */
#ifndef ARCH_AARCH64_H
#define ARCH_AARCH64_H

/* arch.h for aarch64. Register numbers: "DWARF for the Arm 64-bit Architecture", section 4.1. */

static inline long sys_call6(long number, long a, long b, long c, long d, long e, long f)
{
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;

	__asm__ volatile("svc #0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory", "cc");
	return x0;
}

static inline long sys_call3(long number, long a, long b, long c)
{
	return sys_call6(number, a, b, c, 0, 0, 0);
}

/* A call leaves the return address in x30; the pc of a signal frame has its own DWARF number. */
#define ARCH_WALKS	1
#define DWARF_REGISTERS 33
#define DWARF_FP	29
#define DWARF_SP	31
#define DWARF_RA	30
#define DWARF_PC	32

/* On aarch64, libunwind uses DWARF's register numbers. */
#define ARCH_LIBUNWIND "aarch64"

#define ARCH_RED_ZONE 0u

static inline __attribute__((always_inline)) uint64_t arch_registers(uintptr_t *reg, uintptr_t *pc)
{
	uintptr_t here;

	__asm__ volatile("adr %0, 0f\n0:\n\t"
			 "stp x19, x20, [%1, 152]\n\tstp x21, x22, [%1, 168]\n\t"
			 "stp x23, x24, [%1, 184]\n\tstp x25, x26, [%1, 200]\n\t"
			 "stp x27, x28, [%1, 216]\n\tstp x29, x30, [%1, 232]\n\t"
			 "mov x9, sp\n\tstr x9, [%1, 248]"
			 : "=&r"(here)
			 : "r"(reg)
			 : "memory", "x9");
	*pc = here;
	return 0xfff80000;
}

#define ARCH_HAS_THREAD_POINTER 1

static inline uintptr_t arch_thread_pointer(void)
{
	return (uintptr_t)__builtin_thread_pointer();
}

#define ARCH_SIGNS_ADDRESSES 1

static inline uintptr_t arch_plain_address(uintptr_t address)
{
	/* xpaclri, a hint instruction: does nothing on processors without pointer authentication */
	register uintptr_t x30 __asm__("x30") = address;

	__asm__("hint #7" : "+r"(x30));
	return x30;
}

/*
 * Always true: a callee may keep its return address anywhere, so the stack does not show whether
 * the call is still open.
 */
static inline bool arch_returns_to(uintptr_t frame, uintptr_t ip)
{
	(void)frame, (void)ip;
	return true;
}

/*
 * The kernel's code that returns from a signal handler has no unwind table since Linux 5.8; in
 * older kernels, its table restores only x29 and x30. We recognise this code by its instructions:
 * mov x8, #139; svc #0. The stack pointer points to 128 bytes of siginfo_t, then ucontext_t, with
 * struct sigcontext at offset 176 (asm/sigcontext.h): an address, x0 to x30, sp, pc.
 */
#define ARCH_SIGNAL_FRAME     1
#define ARCH_SIGNAL_CODE      0xd4000001d2801168u
#define ARCH_SIGNAL_REGISTERS (128 + 176 + 8)

/* 0: the frame record is at the lower end of a frame, so it does not show the caller's sp. */
#define ARCH_CHAINS 0

/* syscall()'s seventh argument (the sixth of the system call) is passed in a register, too. */
#define ARCH_SIXTH_PARAMETER , long sixth
#define ARCH_SIXTH(cfa)	     sixth

/* clang-format off */
/* ARCH_ENTER begins a frame of `size` bytes, which starts with x29 and x30; ARCH_LEAVE ends it */
#define ARCH_ENTER(size) \
	"	stp x29, x30, [sp, #-" size "]!\n	.cfi_adjust_cfa_offset " size "\n" \
	"	.cfi_rel_offset x29, 0\n	.cfi_rel_offset x30, 8\n"
#define ARCH_LEAVE(size) \
	"	ldp x29, x30, [sp], #" size "\n	.cfi_adjust_cfa_offset -" size "\n" \
	"	.cfi_restore x29\n	.cfi_restore x30\n"

#define ARCH_VFORK ARCH_FUNCTION("vfork", \
	"	hint #34\n" /* bti c */ \
	ARCH_ENTER("16") \
	"	mov x0, x30\n" \
	"	add x1, sp, #16\n" \
	"	mov x2, x29\n" \
	"	bl hand_vfork_enter\n" \
	"	mov x16, x0\n" \
	ARCH_LEAVE("16") \
	"	cbnz x1, 1f\n" \
	"	br x16\n" /* not recorded */ \
	"1:	.cfi_undefined x30\n" \
	"	blr x16\n" \
	"	mov x1, sp\n" \
	"	mov x2, x29\n" \
	"	str x0, [sp, #-16]!\n" \
	"	.cfi_adjust_cfa_offset 16\n" \
	"	bl hand_vfork_leave\n" \
	"	mov x30, x0\n" \
	"	ldr x0, [sp], #16\n" \
	"	.cfi_adjust_cfa_offset -16\n" \
	"	ret\n")

/* hand_numbers is defined in preload/hooks/hand_syscall.c. */
#define ARCH_SYSCALL ARCH_FUNCTION("syscall", \
	"	hint #34\n" /* bti c */ \
	"	adrp x17, hand_numbers\n" \
	"	add x17, x17, :lo12:hand_numbers\n" \
	"	cmp x0, #512\n" \
	"	b.hs 1f\n" \
	"	ldrb w16, [x17, x0]\n" \
	"	cbnz w16, 2f\n" \
	"1:	ldr x16, [x17, #512]\n" \
	"	br x16\n" \
	"2:	cmp w16, #1\n" \
	"	b.eq hand_syscall\n" \
	ARCH_ENTER("80") \
	"	stp x0, x1, [sp, #16]\n" \
	"	stp x2, x3, [sp, #32]\n" \
	"	stp x4, x5, [sp, #48]\n" \
	"	str x6, [sp, #64]\n" \
	"	bl hand_syscall_note\n" \
	"	ldr x6, [sp, #64]\n" \
	"	ldp x4, x5, [sp, #48]\n" \
	"	ldp x2, x3, [sp, #32]\n" \
	"	ldp x0, x1, [sp, #16]\n" \
	ARCH_LEAVE("80") \
	"	adrp x17, hand_numbers\n" \
	"	add x17, x17, :lo12:hand_numbers\n" \
	"	b 1b\n")

#define ARCH_DLOPEN ARCH_FUNCTION("dlopen", \
	"	hint #34\n" /* bti c */ \
	ARCH_ENTER("32") \
	"	stp x0, x1, [sp, #16]\n" \
	"	bl hand_dlopen_enter\n" \
	"	mov x16, x0\n" \
	"	ldp x0, x1, [sp, #16]\n" \
	ARCH_LEAVE("32") \
	"	br x16\n")

#define ARCH_DLMOPEN ARCH_FUNCTION("dlmopen", \
	"	hint #34\n" /* bti c */ \
	ARCH_ENTER("48") \
	"	stp x0, x1, [sp, #16]\n" \
	"	str x2, [sp, #32]\n" \
	"	bl hand_dlmopen_enter\n" \
	"	mov x16, x0\n" \
	"	ldr x2, [sp, #32]\n" \
	"	ldp x0, x1, [sp, #16]\n" \
	ARCH_LEAVE("48") \
	"	br x16\n")
/* clang-format on */

#endif
