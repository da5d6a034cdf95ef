/* SPDX-License-Identifier: MIT */
#include "dwarf.h"

/* The sources: LSB 5.0 core, chapter 10.6 "Exception Frames", and DWARF 5, sections 6.4 and 2.5. */

#if !ARCH_WALKS

bool dwarf_find(const struct dwarf_tables *tables, uintptr_t pc, struct dwarf_row *row)
{
	(void)tables, (void)pc, (void)row;
	return false;
}

enum dwarf_step dwarf_step(const struct dwarf_row *row, struct dwarf_frame *frame,
			   struct dwarf_memory *memory)
{
	(void)row, (void)frame, (void)memory;
	return DWARF_STEP_UNKNOWN;
}

#else

/* Reading stops at end: what lies behind is 0 and makes the whole bad. */
struct cursor {
	const uint8_t *at, *end;
	bool is_bad;
};

static uint64_t take(struct cursor *cursor, unsigned int size)
{
	uint64_t value = 0;

	if ((size_t)(cursor->end - cursor->at) < size) {
		cursor->is_bad = true;
		cursor->at = cursor->end;
		return 0;
	}
	/* The bytes are in our own order, because this is our own code. */
	__builtin_memcpy((uint8_t *)&value +
				 (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? 8 - size : 0),
			 cursor->at, size);
	cursor->at += size;
	return value;
}

static int64_t take_signed(struct cursor *cursor, unsigned int size)
{
	unsigned int unused_bits = 64 - size * 8;

	return (int64_t)(take(cursor, size) << unused_bits) >> unused_bits;
}

/* A number in LEB128, not extended by its sign. *shift: bits that were read. */
static uint64_t take_leb(struct cursor *cursor, unsigned int *shift, bool *is_negative)
{
	uint64_t value = 0;
	uint64_t byte;

	*shift = 0;
	do {
		byte = take(cursor, 1);
		if (*shift < 64)
			value |= (byte & 0x7f) << *shift;
		*shift += 7;
	} while (byte & 0x80);
	*is_negative = byte & 0x40;
	return value;
}

static uint64_t take_uleb(struct cursor *cursor)
{
	unsigned int shift;
	bool is_negative;

	return take_leb(cursor, &shift, &is_negative);
}

static int64_t take_sleb(struct cursor *cursor)
{
	unsigned int shift;
	bool is_negative;
	uint64_t value = take_leb(cursor, &shift, &is_negative);

	if (is_negative && shift < 64)
		value |= ~(uint64_t)0 << shift;
	return (int64_t)value;
}

static void skip(struct cursor *cursor, uint64_t size)
{
	if ((uint64_t)(cursor->end - cursor->at) < size) {
		cursor->is_bad = true;
		cursor->at = cursor->end;
		return;
	}
	cursor->at += size;
}

/* A pointer's encoding: format in the low four bits, what it is relative to in the next three. */
enum {
	PE_ABSOLUTE = 0x00,
	PE_ULEB = 0x01,
	PE_U2 = 0x02,
	PE_U4 = 0x03,
	PE_U8 = 0x04,
	PE_SLEB = 0x09,
	PE_S2 = 0x0a,
	PE_S4 = 0x0b,
	PE_S8 = 0x0c,
	PE_FORMAT = 0x0f,
	PE_PC = 0x10,
	PE_DATA = 0x30,
	PE_RELATIVE = 0x70,
	PE_OMIT = 0xff
};

static uint64_t take_format(struct cursor *cursor, unsigned int encoding)
{
	switch (encoding & PE_FORMAT) {
	case PE_ABSOLUTE:
	case PE_U8:
	case PE_S8:
		return take(cursor, 8);
	case PE_ULEB:
		return take_uleb(cursor);
	case PE_SLEB:
		return (uint64_t)take_sleb(cursor);
	case PE_U2:
		return take(cursor, 2);
	case PE_S2:
		return (uint64_t)take_signed(cursor, 2);
	case PE_U4:
		return take(cursor, 4);
	case PE_S4:
		return (uint64_t)take_signed(cursor, 4);
	default:
		cursor->is_bad = true;
		return 0;
	}
}

static uintptr_t take_pointer(struct cursor *cursor, unsigned int encoding)
{
	uintptr_t here = (uintptr_t)cursor->at;

	switch (encoding & PE_RELATIVE) {
	case 0:
		return take_format(cursor, encoding);
	case PE_PC:
		return here + take_format(cursor, encoding);
	default:
		cursor->is_bad = true;
		return 0;
	}
}

/* What a CIE says for its FDEs. */
struct common {
	struct cursor instructions;
	uint64_t code_factor;
	int64_t data_factor;
	unsigned int pointer_encoding;
	bool has_augmentation;
	bool is_signal;
};

/* One entry: its length, then the cursor ends with it. Entries of more than 4 GiB are not read. */
static bool enter_entry(struct cursor *cursor)
{
	uint64_t size = take(cursor, 4);

	if (cursor->is_bad || size == 0 || size == 0xffffffff ||
	    size > (uint64_t)(cursor->end - cursor->at))
		return false;
	cursor->end = cursor->at + size;
	return true;
}

static void take_augmentation(struct cursor *cursor, const char *letters, struct common *common)
{
	const uint8_t *end;
	uint64_t size = take_uleb(cursor);

	if (size > (uint64_t)(cursor->end - cursor->at)) {
		cursor->is_bad = true;
		return;
	}
	end = cursor->at + size;
	for (; *letters != 0; letters++) {
		if (*letters == 'R')
			common->pointer_encoding = (unsigned int)take(cursor, 1);
		else if (*letters == 'L')
			take(cursor, 1);
		else if (*letters == 'P')
			/* The personality routine: only its length matters. */
			take_format(cursor, (unsigned int)take(cursor, 1));
		else if (*letters == 'S')
			common->is_signal = true;
		else if (*letters != 'B' && *letters != 'G')
			/*
			 * The size says where the instructions are, but not what the letter would
			 * change.
			 */
			break;
	}
	cursor->at = end;
}

static bool read_common(const struct dwarf_tables *tables, const uint8_t *at, struct common *common)
{
	struct cursor cursor = { .at = at, .end = tables->high };
	const char *letters;
	uint64_t version;
	uint64_t return_column;

	if (!enter_entry(&cursor) || take(&cursor, 4) != 0)
		return false;
	version = take(&cursor, 1);
	letters = (const char *)cursor.at;
	while (take(&cursor, 1) != 0)
		;
	if (version == 4)
		skip(&cursor, 2); /* sizes of an address and of a segment selector */
	common->code_factor = take_uleb(&cursor);
	common->data_factor = take_sleb(&cursor);
	return_column = version == 1 ? take(&cursor, 1) : take_uleb(&cursor);
	common->pointer_encoding = PE_ABSOLUTE;
	common->is_signal = false;
	common->has_augmentation = !cursor.is_bad && letters[0] == 'z';
	if (common->has_augmentation)
		take_augmentation(&cursor, letters + 1, common);
	common->instructions = cursor;
	return !cursor.is_bad && (version == 1 || version == 3 || version == 4) &&
	       return_column == DWARF_RA && (common->has_augmentation || letters[0] == 0);
}

/* A place in the segment, else NULL. */
static const uint8_t *inside(const struct dwarf_tables *tables, const uint8_t *at)
{
	return at >= tables->low && at < tables->high ? at : NULL;
}

/*
 * The place of the FDE that may hold pc, by binary search in the header's table; NULL if there is
 * none.
 */
static const uint8_t *search(const struct dwarf_tables *tables, uintptr_t pc)
{
	struct cursor cursor = { .at = inside(tables, tables->header), .end = tables->high };
	intptr_t wanted = (intptr_t)(pc - (uintptr_t)tables->header);
	const int32_t *table; /* pairs of start and entry, counted from the header */
	unsigned int frame_encoding, count_encoding;
	size_t low = 0, high;

	if (cursor.at == NULL || take(&cursor, 1) != 1)
		return NULL;
	frame_encoding = (unsigned int)take(&cursor, 1);
	count_encoding = (unsigned int)take(&cursor, 1);
	/* All linkers write the table so; without it the segment would have to be read through. */
	if (take(&cursor, 1) != (PE_DATA | PE_S4) || count_encoding == PE_OMIT)
		return NULL;
	if (frame_encoding != PE_OMIT)
		take_format(&cursor, frame_encoding);
	high = take_format(&cursor, count_encoding);
	if (cursor.is_bad || high == 0 || high > (size_t)(cursor.end - cursor.at) / 8 ||
	    ((uintptr_t)cursor.at & 3) != 0)
		return NULL;
	table = (const int32_t *)(const void *)cursor.at;
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (table[middle * 2] <= wanted)
			low = middle;
		else
			high = middle;
	}
	return table[low * 2] <= wanted ? tables->header + table[low * 2 + 1] : NULL;
}

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
	const struct common *common;
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
		*location = take_pointer(code, machine->common->pointer_encoding);
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

bool dwarf_find(const struct dwarf_tables *tables, uintptr_t pc, struct dwarf_row *row)
{
	struct cursor fde = { .at = inside(tables, search(tables, pc)), .end = tables->high };
	const uint8_t *common_at;
	struct common common;
	struct machine machine;
	uintptr_t start, size;

	if (fde.at == NULL || !enter_entry(&fde))
		return false;
	common_at = fde.at;
	common_at = inside(tables, common_at - take(&fde, 4));
	if (common_at == NULL || !read_common(tables, common_at, &common))
		return false;
	start = take_pointer(&fde, common.pointer_encoding);
	size = take_format(&fde, common.pointer_encoding);
	if (common.has_augmentation)
		skip(&fde, take_uleb(&fde));
	if (fde.is_bad || pc - start >= size)
		return false;

	machine.common = &common;
	machine.tables = tables;
	machine.location = start;
	machine.remembered_count = 0;
	start_row(&machine.row, tables);
	machine.initial = machine.row;
	if (!execute(&machine, common.instructions, ~(uintptr_t)0))
		return false;
	machine.location = start;
	machine.initial = machine.row;
	if (!execute(&machine, fde, pc))
		return false;
	*row = machine.row;
	row->is_signal = common.is_signal;
	return true;
}

/* Expressions: a small stack machine. */

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

static void fail(struct evaluation *evaluation, enum dwarf_step state)
{
	if (evaluation->state == DWARF_STEP_OK)
		evaluation->state = state;
}

static void push(struct evaluation *evaluation, uint64_t value)
{
	if (evaluation->count == OPERANDS_MAX)
		fail(evaluation, DWARF_STEP_UNKNOWN);
	else
		evaluation->operands[evaluation->count++] = value;
}

static uint64_t pop(struct evaluation *evaluation)
{
	if (evaluation->count == 0) {
		fail(evaluation, DWARF_STEP_UNKNOWN);
		return 0;
	}
	return evaluation->operands[--evaluation->count];
}

/* Copies the operand that lies depth below the top onto it. */
static void pick(struct evaluation *evaluation, uint64_t depth)
{
	if (depth >= evaluation->count)
		fail(evaluation, DWARF_STEP_UNKNOWN);
	else
		push(evaluation, evaluation->operands[evaluation->count - 1 - depth]);
}

static void push_register(struct evaluation *evaluation, uint64_t number, int64_t offset)
{
	const struct dwarf_frame *frame = evaluation->frame;

	if (number == DWARF_PC) {
		push(evaluation, frame->pc + (uint64_t)offset);
		return;
	}
	if (number >= DWARF_REGISTERS || (frame->known >> number & 1) == 0)
		fail(evaluation, DWARF_STEP_UNKNOWN);
	else
		push(evaluation, frame->reg[number] + (uint64_t)offset);
}

static uint64_t load(struct evaluation *evaluation, uint64_t address)
{
	uintptr_t value = 0;

	if (evaluation->state == DWARF_STEP_OK &&
	    !evaluation->memory->read(evaluation->memory, address, &value))
		fail(evaluation, DWARF_STEP_MEMORY);
	return value;
}

static void rotate(struct evaluation *evaluation)
{
	uint64_t first = pop(evaluation), second = pop(evaluation), third = pop(evaluation);

	push(evaluation, first);
	push(evaluation, third);
	push(evaluation, second);
}

/* left is the operand that was pushed first. */
static uint64_t combine(unsigned int operation, uint64_t left, uint64_t right)
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
	default: /* OP_NE */
		return left != right;
	}
}

/*
 * Operations on what is on the stack. Divisions, jumps and everything about objects are no part of
 * call frames.
 */
static void operate(struct evaluation *evaluation, unsigned int operation)
{
	uint64_t top, next;

	switch (operation) {
	case OP_NOP:
		return;
	case OP_DEREF:
		push(evaluation, load(evaluation, pop(evaluation)));
		return;
	case OP_DUP:
		pick(evaluation, 0);
		return;
	case OP_DROP:
		pop(evaluation);
		return;
	case OP_OVER:
		pick(evaluation, 1);
		return;
	case OP_PICK:
		pick(evaluation, take(&evaluation->code, 1));
		return;
	case OP_SWAP:
		top = pop(evaluation);
		next = pop(evaluation);
		push(evaluation, top);
		push(evaluation, next);
		return;
	case OP_ROT:
		rotate(evaluation);
		return;
	case OP_ABS:
		top = pop(evaluation);
		push(evaluation, (int64_t)top < 0 ? -top : top);
		return;
	case OP_NEG:
		push(evaluation, -pop(evaluation));
		return;
	case OP_NOT:
		push(evaluation, ~pop(evaluation));
		return;
	case OP_PLUS_UCONST:
		push(evaluation, pop(evaluation) + take_uleb(&evaluation->code));
		return;
	case OP_AND:
	case OP_MINUS:
	case OP_MUL:
	case OP_OR:
	case OP_PLUS:
	case OP_SHL:
	case OP_SHR:
	case OP_SHRA:
	case OP_XOR:
	case OP_EQ:
	case OP_GE:
	case OP_GT:
	case OP_LE:
	case OP_LT:
	case OP_NE:
		top = pop(evaluation);
		next = pop(evaluation);
		push(evaluation, combine(operation, next, top));
		return;
	default:
		fail(evaluation, DWARF_STEP_UNKNOWN);
	}
}

/* Operations that push a constant; false for all others. */
static bool push_constant(struct evaluation *evaluation, unsigned int operation)
{
	struct cursor *code = &evaluation->code;

	if (operation >= OP_LIT0 && operation < OP_LIT0 + 32)
		push(evaluation, operation - OP_LIT0);
	else if (operation >= OP_CONST1U && operation <= OP_CONST8S)
		/* In pairs of 1, 2, 4, 8 bytes, the signed one second. */
		push(evaluation,
		     operation & 1 ? (uint64_t)take_signed(code, 1u << (operation - OP_CONST1U) / 2)
				   : take(code, 1u << (operation - OP_CONST1U) / 2));
	else if (operation == OP_ADDR)
		push(evaluation, take(code, 8));
	else if (operation == OP_CONSTU)
		push(evaluation, take_uleb(code));
	else if (operation == OP_CONSTS)
		push(evaluation, (uint64_t)take_sleb(code));
	else
		return false;
	return true;
}

/* cfa: on the stack at the start, for all but the CFA's own expression. */
static enum dwarf_step evaluate(const struct dwarf_row *row, int32_t where,
				const struct dwarf_frame *frame, struct dwarf_memory *memory,
				const uintptr_t *cfa, uintptr_t *value)
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
		push(&evaluation, *cfa);
	while (code->at < code->end && evaluation.state == DWARF_STEP_OK) {
		unsigned int operation = (unsigned int)take(code, 1);

		if (operation >= OP_BREG0 && operation < OP_BREG0 + 32)
			push_register(&evaluation, operation - OP_BREG0, take_sleb(code));
		else if (operation == OP_BREGX) {
			uint64_t number = take_uleb(code);

			push_register(&evaluation, number, take_sleb(code));
		} else if (!push_constant(&evaluation, operation))
			operate(&evaluation, operation);
	}
	*value = pop(&evaluation);
	return code->is_bad ? DWARF_STEP_UNKNOWN : evaluation.state;
}

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
		return evaluate(row, where, frame, memory, &cfa, value);
	case DWARF_AT_CFA:
		*value = cfa + (uintptr_t)where;
		break;
	case DWARF_AT_VALUE:
		state = evaluate(row, where, frame, memory, &cfa, value);
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
		return evaluate(row, row->cfa_where, frame, memory, NULL, cfa);
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
