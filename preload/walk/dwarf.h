/* SPDX-License-Identifier: MIT */
#ifndef DWARF_H
#define DWARF_H

/*
 * Reads call frame information from .eh_frame, by way of .eh_frame_hdr: how to recover the caller's
 * registers at one code address. The code has no state and allocates nothing; it checks every
 * length against the segment that contains the tables.
 */

#include <stdbool.h>
#include <stdint.h>

#include "preload/ground/arch.h"

enum dwarf_how {
	DWARF_SAME,	 /* the register is unchanged */
	DWARF_UNDEFINED, /* not recoverable; for the return address: there is no caller */
	DWARF_AT_CFA,	 /* saved in memory at CFA + `where` */
	DWARF_CFA_PLUS,	 /* the value is CFA + `where` */
	DWARF_REGISTER,	 /* saved in the register with number `where` */
	DWARF_AT_VALUE,	 /* saved in memory at the address that the expression computes */
	DWARF_VALUE	 /* the value that the expression computes */
};

/* The row of the unwind table for one code address. */
struct dwarf_row {
	/* a register's expression is at `expressions` + its `where`: length, operations */
	const uint8_t *expressions;
	const uint8_t *end; /* end of the segment */
	int32_t where[DWARF_REGISTERS];
	uint8_t how[DWARF_REGISTERS];
	uint8_t cfa_register;
	bool cfa_is_expression; /* else CFA = register + cfa_where */
	bool is_signal;		/* a signal frame: the caller's pc is exact, not a return address */
	bool ra_is_signed;	/* aarch64: the return address is signed in its upper bits */
	int32_t cfa_where;
};

/* The registers of one frame. `known`: a bit for each known register. The pc is not in `reg`. */
struct dwarf_frame {
	uintptr_t reg[DWARF_REGISTERS];
	uintptr_t pc;
	uint64_t known;
	bool is_exact; /* pc is the address of an instruction, not a return address */
};

/* Reads one word of the stack. Returns false if it may not be read. */
struct dwarf_memory {
	bool (*read)(struct dwarf_memory *memory, uintptr_t address, uintptr_t *value);
};

/* A segment in memory that contains tables, readable from `low` up to `high` (exclusive). */
struct dwarf_tables {
	const uint8_t *low, *high;
	const uint8_t *header; /* start of .eh_frame_hdr */
};

/*
 * Finds the row for pc; for a return address, pass the previous address, which is in the call.
 * Returns false if the tables have no row for pc, or one that we cannot read.
 */
bool dwarf_find(const struct dwarf_tables *tables, uintptr_t pc, struct dwarf_row *row);

enum dwarf_step {
	DWARF_STEP_OK,
	DWARF_STEP_END, /* the frame has no caller */
	/* the rule needs a register of unknown value, or an operation that we do not support */
	DWARF_STEP_UNKNOWN,
	DWARF_STEP_MEMORY /* a word may not be read */
};

/* Replaces *frame by its caller's frame. */
enum dwarf_step dwarf_step(const struct dwarf_row *row, struct dwarf_frame *frame,
			   struct dwarf_memory *memory);

#endif
