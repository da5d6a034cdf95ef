/* SPDX-License-Identifier: MIT */
/* Computes the caller's frame from a row and its expressions. */
#include "dwarf.h"
#include "dwarf_cursor.h"

#if !ARCH_WALKS

enum dwarf_step dwarf_step(const struct dwarf_row *row, struct dwarf_frame *frame,
			   struct dwarf_memory *memory)
{
	(void)row, (void)frame, (void)memory;
	return DWARF_STEP_UNKNOWN;
}

#else

/* ---- expressions: a small stack machine ---- */

enum {
	OP_ADDR = 0x03,
	OP_DEREF = 0x06,
	OP_CONST1U = 0x08,
	OP_CONST1S = 0x09,
	OP_CONST2U = 0x0a,
	OP_CONST2S = 0x0b,
	OP_CONST4U = 0x0c,
	OP_CONST4S = 0x0d,
	OP_CONST8U = 0x0e,
	OP_CONST8S = 0x0f,
	OP_CONSTU = 0x10,
	OP_CONSTS = 0x11,
	OP_DUP = 0x12,
	OP_DROP = 0x13,
	OP_OVER = 0x14,
	OP_PICK = 0x15,
	OP_SWAP = 0x16,
	OP_ROT = 0x17,
	OP_ABS = 0x19,
	OP_AND = 0x1a,
	OP_MINUS = 0x1c,
	OP_MUL = 0x1e,
	OP_NEG = 0x1f,
	OP_NOT = 0x20,
	OP_OR = 0x21,
	OP_PLUS = 0x22,
	OP_PLUS_UCONST = 0x23,
	OP_SHL = 0x24,
	OP_SHR = 0x25,
	OP_SHRA = 0x26,
	OP_XOR = 0x27,
	OP_EQ = 0x29,
	OP_GE = 0x2a,
	OP_GT = 0x2b,
	OP_LE = 0x2c,
	OP_LT = 0x2d,
	OP_NE = 0x2e,
	OP_LIT0 = 0x30,
	OP_BREG0 = 0x70,
	OP_BREGX = 0x92,
	OP_NOP = 0x96
};

#define OPERANDS_MAX 16

struct evaluation {
	struct cursor code;
	const struct dwarf_frame *frame;
	struct dwarf_memory *memory;
	enum dwarf_step state;
	unsigned int count;
	uint64_t operands[OPERANDS_MAX];
};

static void fail_evaluation(struct evaluation *evaluation, enum dwarf_step state)
{
	if (evaluation->state == DWARF_STEP_OK)
		evaluation->state = state;
}

static void push_operand(struct evaluation *evaluation, uint64_t value)
{
	if (evaluation->count == OPERANDS_MAX)
		fail_evaluation(evaluation, DWARF_STEP_UNKNOWN);
	else
		evaluation->operands[evaluation->count++] = value;
}

static uint64_t pop_operand(struct evaluation *evaluation)
{
	if (evaluation->count == 0) {
		fail_evaluation(evaluation, DWARF_STEP_UNKNOWN);
		return 0;
	}
	return evaluation->operands[--evaluation->count];
}

/* Pushes a copy of the operand `depth` positions below the top. */
static void pick_operand(struct evaluation *evaluation, uint64_t depth)
{
	if (depth >= evaluation->count)
		fail_evaluation(evaluation, DWARF_STEP_UNKNOWN);
	else
		push_operand(evaluation, evaluation->operands[evaluation->count - 1 - depth]);
}

static void push_register(struct evaluation *evaluation, uint64_t number, int64_t offset)
{
	const struct dwarf_frame *frame = evaluation->frame;

	if (number == DWARF_PC) {
		push_operand(evaluation, frame->pc + (uint64_t)offset);
		return;
	}
	if (number >= DWARF_REGISTERS || (frame->known >> number & 1) == 0)
		fail_evaluation(evaluation, DWARF_STEP_UNKNOWN);
	else
		push_operand(evaluation, frame->reg[number] + (uint64_t)offset);
}

/* Applies a binary operation (`left` was pushed first), or clears *is_known for any other one. */
static uint64_t combine_operands(unsigned int operation, uint64_t left, uint64_t right,
				 bool *is_known)
{
	switch (operation) {
	case OP_AND:
		return left & right;
	case OP_MINUS:
		return left - right;
	case OP_MUL:
		return left * right;
	case OP_OR:
		return left | right;
	case OP_PLUS:
		return left + right;
	case OP_SHL:
		return right < 64 ? left << right : 0;
	case OP_SHR:
		return right < 64 ? left >> right : 0;
	case OP_SHRA:
		return (uint64_t)((int64_t)left >> (right < 64 ? right : 63));
	case OP_XOR:
		return left ^ right;
	case OP_EQ:
		return left == right;
	case OP_GE:
		return (int64_t)left >= (int64_t)right;
	case OP_GT:
		return (int64_t)left > (int64_t)right;
	case OP_LE:
		return (int64_t)left <= (int64_t)right;
	case OP_LT:
		return (int64_t)left < (int64_t)right;
	case OP_NE:
		return left != right;
	default:
		*is_known = false;
		return 0;
	}
}

/* Divisions, jumps and operations on objects do not occur in call frame information. */
static void operate_on_stack(struct evaluation *evaluation, unsigned int operation)
{
	uint64_t top, next, third;
	uintptr_t value = 0;
	bool is_known = true;

	switch (operation) {
	case OP_NOP:
		return;
	case OP_DEREF:
		top = pop_operand(evaluation);
		if (evaluation->state == DWARF_STEP_OK &&
		    !evaluation->memory->read(evaluation->memory, top, &value))
			fail_evaluation(evaluation, DWARF_STEP_MEMORY);
		push_operand(evaluation, value);
		return;
	case OP_DUP:
		pick_operand(evaluation, 0);
		return;
	case OP_DROP:
		pop_operand(evaluation);
		return;
	case OP_OVER:
		pick_operand(evaluation, 1);
		return;
	case OP_PICK:
		pick_operand(evaluation, take(&evaluation->code, 1));
		return;
	case OP_SWAP:
		top = pop_operand(evaluation);
		next = pop_operand(evaluation);
		push_operand(evaluation, top);
		push_operand(evaluation, next);
		return;
	case OP_ROT:
		top = pop_operand(evaluation);
		next = pop_operand(evaluation);
		third = pop_operand(evaluation);
		push_operand(evaluation, top);
		push_operand(evaluation, third);
		push_operand(evaluation, next);
		return;
	case OP_ABS:
		top = pop_operand(evaluation);
		push_operand(evaluation, (int64_t)top < 0 ? -top : top);
		return;
	case OP_NEG:
		push_operand(evaluation, -pop_operand(evaluation));
		return;
	case OP_NOT:
		push_operand(evaluation, ~pop_operand(evaluation));
		return;
	case OP_PLUS_UCONST:
		push_operand(evaluation, pop_operand(evaluation) + take_uleb(&evaluation->code));
		return;
	default:
		top = pop_operand(evaluation);
		next = pop_operand(evaluation);
		push_operand(evaluation, combine_operands(operation, next, top, &is_known));
		if (!is_known)
			fail_evaluation(evaluation, DWARF_STEP_UNKNOWN);
	}
}

/* Pushes a constant. Returns false for any other operation. */
static bool push_constant(struct evaluation *evaluation, unsigned int operation)
{
	struct cursor *code = &evaluation->code;

	if (operation >= OP_LIT0 && operation < OP_LIT0 + 32)
		push_operand(evaluation, operation - OP_LIT0);
	else if (operation >= OP_CONST1U && operation <= OP_CONST8S)
		/* pairs of operations for 1, 2, 4, 8 bytes; the second of a pair is signed */
		push_operand(evaluation, operation & 1
						 ? (uint64_t)take_signed(
							   code, 1u << (operation - OP_CONST1U) / 2)
						 : take(code, 1u << (operation - OP_CONST1U) / 2));
	else if (operation == OP_ADDR)
		push_operand(evaluation, take(code, 8));
	else if (operation == OP_CONSTU)
		push_operand(evaluation, take_uleb(code));
	else if (operation == OP_CONSTS)
		push_operand(evaluation, (uint64_t)take_sleb(code));
	else
		return false;
	return true;
}

/*
 * Evaluates the expression at offset `where` of row->expressions. cfa: the CFA, which is pushed
 * first; NULL for the expression that computes the CFA itself.
 */
static enum dwarf_step evaluate_expression(const struct dwarf_row *row, int32_t where,
					   const struct dwarf_frame *frame,
					   struct dwarf_memory *memory, const uintptr_t *cfa,
					   uintptr_t *value)
{
	struct evaluation evaluation = { .frame = frame, .memory = memory, .state = DWARF_STEP_OK };
	struct cursor *code = &evaluation.code;
	uint64_t size;

	code->at = row->expressions + where;
	code->end = row->end;
	size = take_uleb(code);
	if (size > (uint64_t)(code->end - code->at))
		return DWARF_STEP_UNKNOWN;
	code->end = code->at + size;
	if (cfa != NULL)
		push_operand(&evaluation, *cfa);
	while (code->at < code->end && evaluation.state == DWARF_STEP_OK) {
		unsigned int operation = (unsigned int)take(code, 1);

		if (operation >= OP_BREG0 && operation < OP_BREG0 + 32)
			push_register(&evaluation, operation - OP_BREG0, take_sleb(code));
		else if (operation == OP_BREGX) {
			uint64_t number = take_uleb(code);

			push_register(&evaluation, number, take_sleb(code));
		} else if (!push_constant(&evaluation, operation))
			operate_on_stack(&evaluation, operation);
	}
	*value = pop_operand(&evaluation);
	return code->is_bad ? DWARF_STEP_UNKNOWN : evaluation.state;
}

/* ---- the step ---- */

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
 * Recovers the caller's value of one register. dwarf_step() fails only if the return address is
 * unknown; any other unknown value is an error only if a later step needs it.
 */
static enum dwarf_step recover_register(const struct dwarf_row *row, unsigned int number,
					const struct dwarf_frame *frame,
					struct dwarf_memory *memory, uintptr_t cfa,
					uintptr_t *value)
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
		return evaluate_expression(row, where, frame, memory, &cfa, value);
	case DWARF_AT_CFA:
		*value = cfa + (uintptr_t)where;
		break;
	case DWARF_AT_VALUE:
		state = evaluate_expression(row, where, frame, memory, &cfa, value);
		break;
	}
	if (state == DWARF_STEP_OK && !memory->read(memory, *value, value))
		state = DWARF_STEP_MEMORY;
	return state;
}

enum dwarf_step dwarf_step(const struct dwarf_row *row, struct dwarf_frame *frame,
			   struct dwarf_memory *memory)
{
	struct dwarf_frame caller = { .known = 0, .is_exact = row->is_signal };
	enum dwarf_step state;
	uintptr_t cfa = 0;
	uintptr_t value = 0;

	if (row->cfa_is_expression) {
		state = evaluate_expression(row, row->cfa_where, frame, memory, NULL, &cfa);
		if (state != DWARF_STEP_OK)
			return state;
	} else {
		if (!is_known(frame, row->cfa_register))
			return DWARF_STEP_UNKNOWN;
		cfa = frame->reg[row->cfa_register] + (uintptr_t)row->cfa_where;
	}
	state = recover_register(row, row->is_signal ? DWARF_PC : DWARF_RA, frame, memory, cfa,
				 &value);
	if (state != DWARF_STEP_OK)
		return state;
	caller.pc = row->ra_is_signed ? arch_plain_address(value) : value;
	for (unsigned int number = 0; number < DWARF_REGISTERS; number++)
		if (recover_register(row, number, frame, memory, cfa, &value) == DWARF_STEP_OK)
			set_register(&caller, number, value);
	/* if the stack pointer has no rule, its value in the caller is the CFA */
	if (row->how[DWARF_SP] == DWARF_SAME)
		set_register(&caller, DWARF_SP, cfa);
	*frame = caller;
	return DWARF_STEP_OK;
}

#endif
