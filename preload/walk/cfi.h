/* SPDX-License-Identifier: MIT */
#ifndef CFI_H
#define CFI_H

/*
 * Unwind rules lead from a return address to the caller's frame. A rule is compiled from .eh_frame
 * when its address is first seen, and kept in a lock-free table from which no entry is removed.
 */

#include <stdbool.h>
#include <stdint.h>

struct dwarf_row;

enum cfi_form {
	CFI_NO_RULE, /* there is no unwind table for this address, and no chain of frame pointers */
	CFI_END,     /* the outermost frame: its return address is undefined */
	CFI_FULL,    /* the rule needs more than sp and fp: rare DWARF expressions (dwarf.h) */
	CFI_SIGNAL,  /* signal frame: sp saved at sp + cfa, exact pc at sp + ra, fp at sp + fp */
	CFI_SP,	     /* CFA = sp + cfa */
	CFI_FP,	     /* CFA = fp + cfa */
	CFI_FP_DEREF, /* CFA = *(fp + cfa): a function that realigned its stack */
	/*
	 * code without an unwind table (from a JIT compiler, or written in assembly), which may or
	 * may not have a frame pointer: like CFI_FP, if fp is plausible
	 */
	CFI_CHAIN
};

enum cfi_fp {
	CFI_FP_SAME,   /* the caller's frame pointer is unchanged */
	CFI_FP_AT_CFA, /* the caller's frame pointer is saved at CFA + fp */
	CFI_FP_AT_FP   /* the caller's frame pointer is saved at the callee's frame pointer + fp */
};

/* Set in a rule's key if the key is the pc of an interrupted function, not a return address. */
#define CFI_EXACT ((uintptr_t)1 << (sizeof(uintptr_t) * 8 - 1))

/* 32 bytes, so two fit in a cache line. In the table, only the hints of a rule change. */
struct cfi_rule {
	uintptr_t ip; /* the key; 0: free; 1: being written, or its module was unloaded */
	int32_t cfa;
	int32_t ra; /* the return address is at CFA + ra */
	int32_t fp;
	uint32_t hint[2]; /* byte offsets of callers' rules in the table; 0: unknown */
	uint16_t module;  /* module number (maps.h) */
	uint8_t form;	  /* enum cfi_form */
	uint8_t fp_form;  /* enum cfi_fp */
};

struct cfi_table {
	struct cfi_rule *rules;
	uint32_t size; /* number of entries, a power of two */
	uint32_t shift;
	uint32_t used;
};

extern struct cfi_table *cfi_table_now;

/* The current table. It remains valid forever, but a larger one may replace it. */
static inline struct cfi_table *cfi_table(void)
{
	return __atomic_load_n(&cfi_table_now, __ATOMIC_ACQUIRE);
}

/*
 * The rule of all code outside of modules. It is not in a table: a module may be loaded at such an
 * address later.
 */
extern struct cfi_rule cfi_outside;

/*
 * Returns the rule of a return address, or of a pc with CFI_EXACT. If the table lacks the rule,
 * compiles the rule and adds it if there is room. scratch: storage for a rule that cannot be added.
 */
struct cfi_rule *cfi_find(struct cfi_table *table, uintptr_t ip, struct cfi_rule *scratch);

/* Returns the entry in ip's home slot (its hash): nearly always ip's rule, rarely another rule. */
static inline struct cfi_rule *cfi_guess(const struct cfi_table *table, uintptr_t ip)
{
	return &table->rules[(uint32_t)((ip * 0x9e3779b97f4a7c15u) >> table->shift)];
}

/*
 * Reads the whole row of the unwind table for pc. is_exact: pc is the address of an instruction,
 * not a return address. Sets *module to the module's number, or MAPS_MODULE_NONE. Returns false if
 * there is no row.
 */
bool cfi_row(uintptr_t pc, bool is_exact, struct dwarf_row *row, unsigned int *module);

/* Compiles a rule without using the table. For cfi_find() and tests. */
void cfi_compile(uintptr_t ip, struct cfi_rule *rule);

/* Marks the rules of an unloaded module as unused. */
void cfi_forget(unsigned int module);

#endif
