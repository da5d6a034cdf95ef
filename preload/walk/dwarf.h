/* SPDX-License-Identifier: MIT */
#ifndef DWARF_H
#define DWARF_H

/*
 * Reads call frame information, .eh_frame by way of .eh_frame_hdr: what one code address says about
 * its caller's registers. Pure: no state, no allocation; every length is checked against the
 * segment that holds the tables.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "preload/ground/arch.h"

enum dwarf_how {
	DWARF_SAME,	 /* the caller's value is the one we have */
	DWARF_UNDEFINED, /* lost; of the return address: there is no caller */
	DWARF_AT_CFA,	 /* saved at CFA + where */
	DWARF_CFA_PLUS,	 /* is CFA + where */
	DWARF_REGISTER,	 /* is in register number where */
	DWARF_AT_VALUE,	 /* saved at the value of the expression */
	DWARF_VALUE	 /* is the value of the expression */
};

/* What is true at one code address. */
struct dwarf_row {
	const uint8_t *expressions; /* an expression is where bytes from here: its length, its
				       operations */
	const uint8_t *end;	    /* of the segment */
	int32_t where[DWARF_REGISTERS];
	uint8_t how[DWARF_REGISTERS];
	uint8_t cfa_register;
	bool cfa_is_expression; /* then cfa_where is its place, else it is CFA = register +
				   cfa_where */
	bool is_signal; /* a signal handler's return: the caller's pc is exact, no return address */
	bool ra_is_signed; /* aarch64: the return address carries a code in its upper bits */
	int32_t cfa_where;
};

/*
 * The registers of one frame; a bit in known for each that has a value. Its pc is the one of
 * DWARF_PC.
 */
struct dwarf_frame {
	uintptr_t reg[DWARF_REGISTERS];
	uintptr_t pc;
	uint64_t known;
	bool is_exact; /* pc is an instruction that runs or comes next, not a return address */
};

/* Reads one word of the stack; false where it must not. */
struct dwarf_memory {
	bool (*read)(struct dwarf_memory *memory, uintptr_t address, uintptr_t *value);
};

/* A segment in memory that holds tables: readable from low to before high. */
struct dwarf_tables {
	const uint8_t *low, *high;
	const uint8_t *header; /* .eh_frame_hdr */
};

/*
 * The row of pc; for a return address give the address before it, which is in the call.
 * Returns false where the tables have none, or one we cannot read.
 */
bool dwarf_find(const struct dwarf_tables *tables, uintptr_t pc, struct dwarf_row *row);

enum dwarf_step {
	DWARF_STEP_OK,
	DWARF_STEP_END,	    /* no caller */
	DWARF_STEP_UNKNOWN, /* the rule needs a register whose value is lost, or is no rule we can
			       compute */
	DWARF_STEP_MEMORY   /* memory refused */
};

/* Replaces frame by its caller's. */
enum dwarf_step dwarf_step(const struct dwarf_row *row, struct dwarf_frame *frame,
			   struct dwarf_memory *memory);

#endif
