/* SPDX-License-Identifier: MIT */
/* From a frame to its caller's, by a row. */
#include "dwarf_parts.h"

#if !ARCH_WALKS

enum dwarf_step dwarf_step(const struct dwarf_row *row, struct dwarf_frame *frame,
			   struct dwarf_memory *memory)
{
	(void)row, (void)frame, (void)memory;
	return DWARF_STEP_UNKNOWN;
}

#else

static bool is_known(const struct dwarf_frame *frame, unsigned int number)
{
	return frame->known >> number & 1;
}

static void set_register(struct dwarf_frame *frame, unsigned int number, uintptr_t value)
{
	frame->reg[number] = value;
	frame->known |= (uint64_t)1 << number;
}

/*
 * The caller's value of one register. One that cannot be told is no failure until somebody needs
 * it, so the state is kept only for the return address.
 */
static enum dwarf_step recover(const struct dwarf_row *row, unsigned int number,
			       const struct dwarf_frame *frame, struct dwarf_memory *memory,
			       uintptr_t cfa, uintptr_t *value)
{
	enum dwarf_step state = DWARF_STEP_OK;
	int32_t where = row->where[number];

	switch ((enum dwarf_how)row->how[number]) {
	case DWARF_SAME:
		*value = frame->reg[number];
		return is_known(frame, number) ? DWARF_STEP_OK : DWARF_STEP_UNKNOWN;
	case DWARF_UNDEFINED:
		return DWARF_STEP_END;
	case DWARF_CFA_PLUS:
		*value = cfa + (uintptr_t)where;
		return DWARF_STEP_OK;
	case DWARF_REGISTER:
		if (where < 0 || where >= DWARF_REGISTERS || !is_known(frame, (unsigned int)where))
			return DWARF_STEP_UNKNOWN;
		*value = frame->reg[where];
		return DWARF_STEP_OK;
	case DWARF_VALUE:
		return dwarf_evaluate(row, where, frame, memory, &cfa, value);
	case DWARF_AT_CFA:
		*value = cfa + (uintptr_t)where;
		break;
	case DWARF_AT_VALUE:
		state = dwarf_evaluate(row, where, frame, memory, &cfa, value);
		break;
	}
	if (state == DWARF_STEP_OK && !memory->read(memory, *value, value))
		state = DWARF_STEP_MEMORY;
	return state;
}

static enum dwarf_step find_cfa(const struct dwarf_row *row, const struct dwarf_frame *frame,
				struct dwarf_memory *memory, uintptr_t *cfa)
{
	if (row->cfa_is_expression)
		return dwarf_evaluate(row, row->cfa_where, frame, memory, NULL, cfa);
	if (!is_known(frame, row->cfa_register))
		return DWARF_STEP_UNKNOWN;
	*cfa = frame->reg[row->cfa_register] + (uintptr_t)row->cfa_where;
	return DWARF_STEP_OK;
}

enum dwarf_step dwarf_step(const struct dwarf_row *row, struct dwarf_frame *frame,
			   struct dwarf_memory *memory)
{
	struct dwarf_frame caller = { .known = 0, .is_exact = row->is_signal };
	enum dwarf_step state;
	uintptr_t cfa = 0;
	uintptr_t value = 0;

	state = find_cfa(row, frame, memory, &cfa);
	if (state != DWARF_STEP_OK)
		return state;
	state = recover(row, row->is_signal ? DWARF_PC : DWARF_RA, frame, memory, cfa, &value);
	if (state != DWARF_STEP_OK)
		return state;
	caller.pc = row->ra_is_signed ? arch_plain_address(value) : value;
	for (unsigned int number = 0; number < DWARF_REGISTERS; number++)
		if (recover(row, number, frame, memory, cfa, &value) == DWARF_STEP_OK)
			set_register(&caller, number, value);
	/* Where nothing is said of it, the stack pointer is the CFA: the frame is popped. */
	if (row->how[DWARF_SP] == DWARF_SAME)
		set_register(&caller, DWARF_SP, cfa);
	*frame = caller;
	return DWARF_STEP_OK;
}

#endif
