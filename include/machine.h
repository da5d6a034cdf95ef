/* SPDX-License-Identifier: MIT */
#ifndef MACHINE_H
#define MACHINE_H

/*
 * The ELF machine number of the processor that this code is compiled for. The names of machines in
 * streams are the names that uname(2) returns. An emulated program (qemu-user) and its collector
 * may be compiled for different machines.
 */

#include <stddef.h>
#include <stdint.h>

#include <linux/elf-em.h>

#if defined(__x86_64__)
#define MACHINE_OWN EM_X86_64
#elif defined(__aarch64__)
#define MACHINE_OWN EM_AARCH64
#elif defined(__riscv)
#define MACHINE_OWN EM_RISCV
#elif defined(__powerpc64__)
#define MACHINE_OWN EM_PPC64
#elif defined(__s390x__)
#define MACHINE_OWN EM_S390
#else
#define MACHINE_OWN EM_NONE
#endif

/*
 * Returns the name of a machine. Returns NULL for unknown machines and for the machine of this
 * build; in these cases the caller must ask uname(2), which also distinguishes ppc64 and ppc64le.
 */
static inline const char *machine_name(uint32_t machine)
{
	if (machine == MACHINE_OWN)
		return NULL;
	switch (machine) {
	case EM_X86_64:
		return "x86_64";
	case EM_AARCH64:
		return "aarch64";
	case EM_RISCV:
		return "riscv64";
	case EM_PPC64:
		return __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? "ppc64" : "ppc64le";
	case EM_S390:
		return "s390x";
	default:
		return NULL;
	}
}

#endif
