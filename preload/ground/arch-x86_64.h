/* SPDX-License-Identifier: MIT */
#ifndef ARCH_X86_64_H
#define ARCH_X86_64_H

/* arch.h for x86-64. Register numbers are those of the psABI, figure 3.36. */

static inline long sys_call6(long number, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory", "cc");
	return result;
}

static inline long sys_call3(long number, long a, long b, long c)
{
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c)
			 : "rcx", "r11", "memory", "cc");
	return result;
}

#define ARCH_WALKS	1
#define DWARF_REGISTERS 17
#define DWARF_FP	6
#define DWARF_SP	7
#define DWARF_RA	16
#define DWARF_PC	16

/* On x86-64, libunwind uses DWARF's register numbers. */
#define ARCH_LIBUNWIND "x86_64"

/* The red zone of the psABI, section 3.2.2. */
#define ARCH_RED_ZONE 128u

/* Stores the call-preserved registers, sp and the pc. Returns a bit for each stored register. */
static inline __attribute__((always_inline)) uint64_t arch_registers(uintptr_t *reg, uintptr_t *pc)
{
	uintptr_t here;

	__asm__ volatile("leaq 0f(%%rip), %0\n0:\n\t"
			 "movq %%rbx, 24(%1)\n\tmovq %%rbp, 48(%1)\n\tmovq %%rsp, 56(%1)\n\t"
			 "movq %%r12, 96(%1)\n\tmovq %%r13, 104(%1)\n\tmovq %%r14, 112(%1)\n\t"
			 "movq %%r15, 120(%1)"
			 : "=&a"(here)
			 : "D"(reg)
			 : "memory");
	*pc = here;
	return 0xf0c8;
}

#define ARCH_HAS_THREAD_POINTER 1

static inline uintptr_t arch_thread_pointer(void)
{
	return (uintptr_t)__builtin_thread_pointer();
}

#define ARCH_SIGNS_ADDRESSES 0

static inline uintptr_t arch_plain_address(uintptr_t address)
{
	return address;
}

/*
 * Whether the return address `ip` of a call is still in its stack slot. The slot is overwritten as
 * soon as the caller calls another function. frame: the caller's stack pointer after the return.
 */
static inline bool arch_returns_to(uintptr_t frame, uintptr_t ip)
{
	return ((const uintptr_t *)frame)[-1] == ip;
}

#define ARCH_CHAINS 1

static inline bool arch_follows_call(const uint8_t *code)
{
	/* call rel32 */
	if (code[3] == 0xe8)
		return true;
	/* call r/m64, whose length depends on the form of its operand; a prefix does not matter */
	for (unsigned int size = 2; size <= 7; size++) {
		uint8_t operand = code[9 - size], mode = operand >> 6, base = operand & 7;
		unsigned int length = 2;

		if (code[8 - size] != 0xff || (operand & 0x38) != 0x10)
			continue;
		if (mode != 3 && base == 4) {
			base = size > 2 ? code[10 - size] & 7 : 0;
			length++;
		}
		if (mode == 2 || (mode == 0 && base == 5))
			length += 4;
		length += mode == 1;
		if (length == size)
			return true;
	}
	return false;
}

/* syscall()'s seventh argument (the system call's sixth) is on the stack, at `cfa`. */
#define ARCH_SIXTH_PARAMETER
#define ARCH_SIXTH(cfa) (*(const volatile long *)(cfa))

/* clang-format off */
#define ARCH_PUSH(reg)	"	pushq %" reg "\n	.cfi_adjust_cfa_offset 8\n"
#define ARCH_POP(reg)	"	popq %" reg "\n	.cfi_adjust_cfa_offset -8\n"
#define ARCH_PAD	"	subq $8, %rsp\n	.cfi_adjust_cfa_offset 8\n"
#define ARCH_UNPAD	"	addq $8, %rsp\n	.cfi_adjust_cfa_offset -8\n"

#define ARCH_VFORK ARCH_FUNCTION("vfork", \
	"	movq (%rsp), %rdi\n" \
	"	leaq 8(%rsp), %rsi\n" \
	"	movq %rbp, %rdx\n" \
	ARCH_PAD \
	"	call hand_vfork_enter\n" \
	ARCH_UNPAD \
	"	testq %rdx, %rdx\n" \
	"	jnz 1f\n" \
	"	jmp *%rax\n" /* not recorded */ \
	"1:" ARCH_UNPAD \
	"	.cfi_undefined rip\n" \
	"	call *%rax\n" \
	"	movq %rsp, %rsi\n" \
	"	movq %rbp, %rdx\n" \
	"	pushq %rax\n" \
	"	subq $8, %rsp\n" \
	"	movq %rax, %rdi\n" \
	"	call hand_vfork_leave\n" \
	"	movq %rax, %rcx\n" \
	"	addq $8, %rsp\n" \
	"	popq %rax\n" \
	"	jmp *%rcx\n")

/* hand_numbers is defined in preload/hooks/hand_syscall.c. */
#define ARCH_SYSCALL ARCH_FUNCTION("syscall", \
	"	leaq hand_numbers(%rip), %r11\n" \
	"	cmpq $512, %rdi\n" \
	"	jae 1f\n" \
	"	cmpb $1, (%r11,%rdi)\n" \
	"	jae 2f\n" \
	"1:	jmp *512(%r11)\n" \
	"2:	je hand_syscall\n" \
	ARCH_PUSH("rdi") ARCH_PUSH("rsi") ARCH_PUSH("rdx") \
	ARCH_PUSH("rcx") ARCH_PUSH("r8") ARCH_PUSH("r9") ARCH_PAD \
	"	call hand_syscall_note\n" \
	ARCH_UNPAD ARCH_POP("r9") ARCH_POP("r8") ARCH_POP("rcx") \
	ARCH_POP("rdx") ARCH_POP("rsi") ARCH_POP("rdi") \
	"	jmp *hand_numbers+512(%rip)\n")

#define ARCH_DLOPEN ARCH_FUNCTION("dlopen", \
	ARCH_PUSH("rdi") ARCH_PUSH("rsi") ARCH_PAD \
	"	call hand_dlopen_enter\n" \
	ARCH_UNPAD ARCH_POP("rsi") ARCH_POP("rdi") \
	"	jmp *%rax\n")

#define ARCH_DLMOPEN ARCH_FUNCTION("dlmopen", \
	ARCH_PUSH("rdi") ARCH_PUSH("rsi") ARCH_PUSH("rdx") \
	"	call hand_dlmopen_enter\n" \
	ARCH_POP("rdx") ARCH_POP("rsi") ARCH_POP("rdi") \
	"	jmp *%rax\n")
/* clang-format on */

#endif
