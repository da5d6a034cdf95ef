/* SPDX-License-Identifier: MIT */
/* Rows: what the instructions of an entry, run up to an address, say of the caller's registers. */
#include "dwarf_parts.h"

#if !ARCH_WALKS

bool dwarf_find(const struct dwarf_tables *tables, uintptr_t pc, struct dwarf_row *row)
{
	(void)tables, (void)pc, (void)row;
	return false;
}

#else

/*
 * Instructions of the call frame machine. Those of the first three rows have an operand in their
 * low six bits.
 */
enum {
	CFA_ADVANCE = 0x40,
	CFA_OFFSET = 0x80,
	CFA_RESTORE = 0xc0,

	CFA_NOP = 0x00,
	CFA_SET_LOC = 0x01,
	CFA_ADVANCE1 = 0x02,
	CFA_ADVANCE2 = 0x03,
	CFA_ADVANCE4 = 0x04,
	CFA_OFFSET_EXTENDED = 0x05,
	CFA_RESTORE_EXTENDED = 0x06,
	CFA_UNDEFINED = 0x07,
	CFA_SAME_VALUE = 0x08,
	CFA_REGISTER = 0x09,
	CFA_REMEMBER = 0x0a,
	CFA_RESTORE_STATE = 0x0b,
	CFA_DEF = 0x0c,
	CFA_DEF_REGISTER = 0x0d,
	CFA_DEF_OFFSET = 0x0e,
	CFA_DEF_EXPRESSION = 0x0f,
	CFA_EXPRESSION = 0x10,
	CFA_OFFSET_EXTENDED_SF = 0x11,
	CFA_DEF_SF = 0x12,
	CFA_DEF_OFFSET_SF = 0x13,
	CFA_VAL_OFFSET = 0x14,
	CFA_VAL_OFFSET_SF = 0x15,
	CFA_VAL_EXPRESSION = 0x16,
	CFA_AARCH64_NEGATE_RA_STATE_WITH_PC = 0x2c,
	CFA_AARCH64_NEGATE_RA_STATE = 0x2d,
	CFA_GNU_ARGS_SIZE = 0x2e,
	CFA_GNU_NEGATIVE_OFFSET = 0x2f
};

/* Compilers remember one state at a time. */
#define REMEMBERED_MAX 4

struct machine {
	struct cursor code;
	const struct dwarf_common *common;
	const struct dwarf_tables *tables;
	uintptr_t location;
	struct dwarf_row row;
	struct dwarf_row initial;
	struct dwarf_row remembered[REMEMBERED_MAX];
	unsigned int remembered_count;
};

static int32_t narrow(struct machine *machine, int64_t value)
{
	if (value != (int32_t)value)
		machine->code.is_bad = true;
	return (int32_t)value;
}

static int32_t factored(struct machine *machine, int64_t value)
{
	int64_t product;

	if (__builtin_mul_overflow(value, machine->common->data_factor, &product))
		machine->code.is_bad = true;
	return narrow(machine, product);
}

/* Registers that no frame needs (vectors) have rules, too: they are read and dropped. */
static void set_rule(struct machine *machine, uint64_t number, enum dwarf_how how, int32_t where)
{
	if (number >= DWARF_REGISTERS)
		return;
	machine->row.how[number] = (uint8_t)how;
	machine->row.where[number] = where;
}

static void restore_rule(struct machine *machine, uint64_t number)
{
	if (number < DWARF_REGISTERS)
		set_rule(machine, number, machine->initial.how[number],
			 machine->initial.where[number]);
}

static void set_cfa_register(struct machine *machine, uint64_t number)
{
	if (number >= DWARF_REGISTERS)
		machine->code.is_bad = true;
	machine->row.cfa_register = (uint8_t)number;
	machine->row.cfa_is_expression = false;
}

/* The place of an expression, which is then skipped. */
static int32_t take_expression(struct machine *machine)
{
	int32_t where = narrow(machine, machine->code.at - machine->tables->low);

	skip(&machine->code, take_uleb(&machine->code));
	return where;
}

static void remember(struct machine *machine)
{
	if (machine->remembered_count == REMEMBERED_MAX)
		machine->code.is_bad = true;
	else
		machine->remembered[machine->remembered_count++] = machine->row;
}

static void restore_state(struct machine *machine)
{
	if (machine->remembered_count == 0)
		machine->code.is_bad = true;
	else
		machine->row = machine->remembered[--machine->remembered_count];
}

static void execute_extended(struct machine *machine, unsigned int operation)
{
	struct cursor *code = &machine->code;
	uint64_t number;

	switch (operation) {
	case CFA_NOP:
		return;
	case CFA_REMEMBER:
		remember(machine);
		return;
	case CFA_RESTORE_STATE:
		restore_state(machine);
		return;
	case CFA_DEF_OFFSET:
		machine->row.cfa_where = narrow(machine, (int64_t)take_uleb(code));
		return;
	case CFA_DEF_OFFSET_SF:
		machine->row.cfa_where = factored(machine, take_sleb(code));
		return;
	case CFA_DEF_EXPRESSION:
		machine->row.cfa_where = take_expression(machine);
		machine->row.cfa_is_expression = true;
		return;
	case CFA_GNU_ARGS_SIZE:
		take_uleb(code);
		return;
#if defined(__aarch64__)
	case CFA_AARCH64_NEGATE_RA_STATE_WITH_PC:
	case CFA_AARCH64_NEGATE_RA_STATE:
		machine->row.ra_is_signed = !machine->row.ra_is_signed;
		return;
#endif
	default:
		break;
	}

	/* All others begin with a register. */
	number = take_uleb(code);
	switch (operation) {
	case CFA_OFFSET_EXTENDED:
		set_rule(machine, number, DWARF_AT_CFA,
			 factored(machine, (int64_t)take_uleb(code)));
		return;
	case CFA_OFFSET_EXTENDED_SF:
		set_rule(machine, number, DWARF_AT_CFA, factored(machine, take_sleb(code)));
		return;
	case CFA_GNU_NEGATIVE_OFFSET:
		set_rule(machine, number, DWARF_AT_CFA,
			 factored(machine, -(int64_t)take_uleb(code)));
		return;
	case CFA_VAL_OFFSET:
		set_rule(machine, number, DWARF_CFA_PLUS,
			 factored(machine, (int64_t)take_uleb(code)));
		return;
	case CFA_VAL_OFFSET_SF:
		set_rule(machine, number, DWARF_CFA_PLUS, factored(machine, take_sleb(code)));
		return;
	case CFA_RESTORE_EXTENDED:
		restore_rule(machine, number);
		return;
	case CFA_UNDEFINED:
		set_rule(machine, number, DWARF_UNDEFINED, 0);
		return;
	case CFA_SAME_VALUE:
		set_rule(machine, number, DWARF_SAME, 0);
		return;
	case CFA_REGISTER:
		set_rule(machine, number, DWARF_REGISTER,
			 narrow(machine, (int64_t)take_uleb(code)));
		return;
	case CFA_EXPRESSION:
		set_rule(machine, number, DWARF_AT_VALUE, take_expression(machine));
		return;
	case CFA_VAL_EXPRESSION:
		set_rule(machine, number, DWARF_VALUE, take_expression(machine));
		return;
	case CFA_DEF:
		set_cfa_register(machine, number);
		machine->row.cfa_where = narrow(machine, (int64_t)take_uleb(code));
		return;
	case CFA_DEF_SF:
		set_cfa_register(machine, number);
		machine->row.cfa_where = factored(machine, take_sleb(code));
		return;
	case CFA_DEF_REGISTER:
		set_cfa_register(machine, number);
		return;
	default:
		code->is_bad = true;
	}
}

/* Whether the operation moves the location, and whereto. */
static bool take_advance(struct machine *machine, unsigned int operation, uintptr_t *location)
{
	struct cursor *code = &machine->code;
	uint64_t delta;

	if ((operation & 0xc0) == CFA_ADVANCE)
		delta = operation & 0x3f;
	else if (operation >= CFA_ADVANCE1 && operation <= CFA_ADVANCE4)
		delta = take(code, 1u << (operation - CFA_ADVANCE1));
	else if (operation == CFA_SET_LOC) {
		*location = dwarf_take_pointer(code, machine->common->pointer_encoding);
		return true;
	} else
		return false;
	*location = machine->location + delta * machine->common->code_factor;
	return true;
}

/* Runs instructions up to the row of pc, or to their end. */
static bool execute(struct machine *machine, struct cursor code, uintptr_t pc)
{
	machine->code = code;
	while (machine->code.at < machine->code.end && !machine->code.is_bad) {
		unsigned int operation = (unsigned int)take(&machine->code, 1);
		uintptr_t location;

		if (take_advance(machine, operation, &location)) {
			if (location > pc)
				break;
			machine->location = location;
		} else if ((operation & 0xc0) == CFA_OFFSET) {
			set_rule(machine, operation & 0x3f, DWARF_AT_CFA,
				 factored(machine, (int64_t)take_uleb(&machine->code)));
		} else if ((operation & 0xc0) == CFA_RESTORE) {
			restore_rule(machine, operation & 0x3f);
		} else {
			execute_extended(machine, operation);
		}
	}
	return !machine->code.is_bad;
}

/* Before any instruction: nothing is known of the CFA, and all registers are as they were. */
static void start_row(struct dwarf_row *row, const struct dwarf_tables *tables)
{
	for (unsigned int number = 0; number < DWARF_REGISTERS; number++) {
		row->how[number] = DWARF_SAME;
		row->where[number] = 0;
	}
	row->expressions = tables->low;
	row->end = tables->high;
	row->cfa_register = DWARF_SP;
	row->cfa_where = 0;
	row->cfa_is_expression = false;
	row->is_signal = false;
	row->ra_is_signed = false;
}

/* Runs what all entries of the CIE begin with, then the entry's own instructions. */
bool dwarf_find(const struct dwarf_tables *tables, uintptr_t pc, struct dwarf_row *row)
{
	struct dwarf_entry entry;
	struct machine machine;

	if (!dwarf_find_entry(tables, pc, &entry))
		return false;
	machine.common = &entry.common;
	machine.tables = tables;
	machine.location = entry.start;
	machine.remembered_count = 0;
	start_row(&machine.row, tables);
	machine.initial = machine.row;
	if (!execute(&machine, entry.common.instructions, ~(uintptr_t)0))
		return false;
	machine.location = entry.start;
	machine.initial = machine.row;
	if (!execute(&machine, entry.instructions, pc))
		return false;
	*row = machine.row;
	row->is_signal = entry.common.is_signal;
	return true;
}

#endif
