/* SPDX-License-Identifier: MIT */
#ifndef CFI_H
#define CFI_H

/*
 * Return address -> how to find the caller's frame. A rule is compiled from .eh_frame when its
 * address is first seen and kept in a lock-free, insert-only table.
 */

#include <stdbool.h>
#include <stdint.h>

struct dwarf_row;

enum cfi_form {
	CFI_NO_RULE, /* the module has no table for this address, or one that makes no sense */
	CFI_END,     /* outermost: the return address is undefined */
	CFI_FULL,    /* needs more than sp and fp: rare expressions (dwarf.h) */
	CFI_SIGNAL, /* the kernel saved sp at sp + cfa, pc at sp + ra, fp at sp + fp; pc is exact */
	CFI_SP,	    /* CFA = sp + cfa */
	CFI_FP,	    /* CFA = fp + cfa */
	CFI_FP_DEREF /* CFA = *(fp + cfa): a realigned stack */
};

enum cfi_fp {
	CFI_FP_SAME,   /* the caller's frame pointer is the one we have */
	CFI_FP_AT_CFA, /* saved at CFA + fp */
	CFI_FP_AT_FP   /* saved at our fp + fp */
};

/* Marks the key of a rule for the pc of what a signal interrupted, where others are return
 * addresses. */
#define CFI_EXACT ((uintptr_t)1 << (sizeof(uintptr_t) * 8 - 1))

/* 32 bytes, two to a cache line. Only the hints change once the rule can be found. */
struct cfi_rule {
	uintptr_t ip; /* its key. 0: free; 1: being written, or its module is gone */
	int32_t cfa;
	int32_t ra; /* the return address is at CFA + ra */
	int32_t fp;
	uint32_t hint[2]; /* where in the table callers' rules are, in bytes; 0: nowhere yet */
	uint16_t module;  /* number in maps.h */
	uint8_t form;	  /* enum cfi_form */
	uint8_t fp_form;  /* enum cfi_fp */
};

struct cfi_table {
	struct cfi_rule *rules;
	uint32_t size; /* a power of two */
	uint32_t shift;
	uint32_t used;
};

extern struct cfi_table *cfi_table_now;

/* The table of now. It stays valid for ever, but a later one may have taken its place. */
static inline struct cfi_table *cfi_table(void)
{
	return __atomic_load_n(&cfi_table_now, __ATOMIC_ACQUIRE);
}

/*
 * The rule of a return address, or of CFI_EXACT and a pc: from the table, else compiled and, if
 * there is room, kept. scratch: where a rule that cannot be kept is put.
 */
struct cfi_rule *cfi_find(struct cfi_table *table, uintptr_t ip, struct cfi_rule *scratch);

/* The rule of ip, if it lies at its own place, as nearly all do; else that of another. */
static inline struct cfi_rule *cfi_guess(const struct cfi_table *table, uintptr_t ip)
{
	return &table->rules[(uint32_t)((ip * 0x9e3779b97f4a7c15u) >> table->shift)];
}

/*
 * The whole row behind a rule. is_exact: pc is an instruction, not a return address.
 * module: its number, MAPS_MODULE_NONE if nobody knows. Returns false where there is no row.
 */
bool cfi_row(uintptr_t pc, bool is_exact, struct dwarf_row *row, unsigned int *module);

/* Compiles without the table. For tests; cfi_find() uses it, too. */
void cfi_compile(uintptr_t ip, struct cfi_rule *rule);

/* Forgets the rules of a module that is gone. */
void cfi_forget(unsigned int module);

#endif
