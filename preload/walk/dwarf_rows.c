/* SPDX-License-Identifier: MIT */
/*
 * Finds the row of an address: the search table of .eh_frame_hdr leads to the FDE in .eh_frame. The
 * FDE's instructions, run up to the address, compute the rules for the caller's registers.
 */
#include "dwarf.h"
#include "dwarf_cursor.h"

#if !ARCH_WALKS

bool dwarf_find(const struct dwarf_tables *tables, uintptr_t pc, struct dwarf_row *row)
{
	(void)tables, (void)pc, (void)row;
	return false;
}

#else

/* ---- entries ---- */

/* The definitions of a CIE that apply to its FDEs. */
struct dwarf_common {
	struct cursor instructions;
	uint64_t code_factor;
	int64_t data_factor;
	unsigned int pointer_encoding;
	bool has_augmentation;
	bool is_signal;
};

/* An FDE, which describes the code from `start` on. */
struct dwarf_entry {
	struct dwarf_common common;
	struct cursor instructions;
	uintptr_t start;
};

/* The encoding of a pointer: its format in the low four bits, its base in the next three. */
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

/* Reads an entry's size, and ends the cursor at the entry's end. More than 4 GiB: not supported. */
static bool enter_entry(struct cursor *cursor)
{
	uint64_t size = take(cursor, 4);

	if (cursor->is_bad || size == 0 || size == 0xffffffff ||
	    size > (uint64_t)(cursor->end - cursor->at))
		return false;
	cursor->end = cursor->at + size;
	return true;
}

static void take_augmentation(struct cursor *cursor, const char *letters,
			      struct dwarf_common *common)
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
			/* skip the personality routine's address */
			take_format(cursor, (unsigned int)take(cursor, 1));
		else if (*letters == 'S')
			common->is_signal = true;
		else if (*letters != 'B' && *letters != 'G')
			/* an unknown letter may change the meaning of the instructions */
			break;
	}
	cursor->at = end;
}

static bool read_common(const struct dwarf_tables *tables, const uint8_t *at,
			struct dwarf_common *common)
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

/* Returns `at` if it is in the segment, else NULL. */
static const uint8_t *place_in_tables(const struct dwarf_tables *tables, const uint8_t *at)
{
	return at >= tables->low && at < tables->high ? at : NULL;
}

/* Returns the FDE that may contain pc, by binary search in the header's table, or NULL. */
static const uint8_t *search_table(const struct dwarf_tables *tables, uintptr_t pc)
{
	struct cursor cursor = { .at = place_in_tables(tables, tables->header),
				 .end = tables->high };
	intptr_t wanted = (intptr_t)(pc - (uintptr_t)tables->header);
	const int32_t *table; /* pairs of start and FDE, relative to the header */
	unsigned int frame_encoding, count_encoding;
	size_t low = 0, high;

	if (cursor.at == NULL || take(&cursor, 1) != 1)
		return NULL;
	frame_encoding = (unsigned int)take(&cursor, 1);
	count_encoding = (unsigned int)take(&cursor, 1);
	/* all linkers write this format; without a table, the whole segment must be searched */
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

static bool find_entry(const struct dwarf_tables *tables, uintptr_t pc, struct dwarf_entry *entry)
{
	struct cursor fde = { .at = place_in_tables(tables, search_table(tables, pc)),
			      .end = tables->high };
	const uint8_t *common_at;
	uintptr_t size;

	if (fde.at == NULL || !enter_entry(&fde))
		return false;
	common_at = fde.at;
	common_at = place_in_tables(tables, common_at - take(&fde, 4));
	if (common_at == NULL || !read_common(tables, common_at, &entry->common))
		return false;
	entry->start = take_pointer(&fde, entry->common.pointer_encoding);
	size = take_format(&fde, entry->common.pointer_encoding);
	if (entry->common.has_augmentation)
		skip(&fde, take_uleb(&fde));
	entry->instructions = fde;
	return !fde.is_bad && pc - entry->start < size;
}

/* ---- rows ---- */

/* Instructions of the call frame machine. The first three have an operand in their low six bits. */
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

/* Limit of rows that an FDE remembers at a time. Compilers remember only one. */
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

static int32_t narrow_to_32(struct machine *machine, int64_t value)
{
	if (value != (int32_t)value)
		machine->code.is_bad = true;
	return (int32_t)value;
}

static int32_t take_factor(struct machine *machine, int64_t value)
{
	int64_t product;

	if (__builtin_mul_overflow(value, machine->common->data_factor, &product))
		machine->code.is_bad = true;
	return narrow_to_32(machine, product);
}

/* Sets the rule of a register. Ignores registers that no walk needs (vectors). */
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

/* Returns the offset of an expression, and skips the expression. */
static int32_t take_expression(struct machine *machine)
{
	int32_t where = narrow_to_32(machine, machine->code.at - machine->tables->low);

	skip(&machine->code, take_uleb(&machine->code));
	return where;
}

static void run_extended(struct machine *machine, unsigned int operation)
{
	struct cursor *code = &machine->code;
	uint64_t number;

	switch (operation) {
	case CFA_NOP:
		return;
	case CFA_REMEMBER:
		if (machine->remembered_count == REMEMBERED_MAX)
			code->is_bad = true;
		else
			machine->remembered[machine->remembered_count++] = machine->row;
		return;
	case CFA_RESTORE_STATE:
		if (machine->remembered_count == 0)
			code->is_bad = true;
		else
			machine->row = machine->remembered[--machine->remembered_count];
		return;
	case CFA_DEF_OFFSET:
		machine->row.cfa_where = narrow_to_32(machine, (int64_t)take_uleb(code));
		return;
	case CFA_DEF_OFFSET_SF:
		machine->row.cfa_where = take_factor(machine, take_sleb(code));
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

	/* the remaining instructions begin with a register number */
	number = take_uleb(code);
	switch (operation) {
	case CFA_OFFSET_EXTENDED:
		set_rule(machine, number, DWARF_AT_CFA,
			 take_factor(machine, (int64_t)take_uleb(code)));
		return;
	case CFA_OFFSET_EXTENDED_SF:
		set_rule(machine, number, DWARF_AT_CFA, take_factor(machine, take_sleb(code)));
		return;
	case CFA_GNU_NEGATIVE_OFFSET:
		set_rule(machine, number, DWARF_AT_CFA,
			 take_factor(machine, -(int64_t)take_uleb(code)));
		return;
	case CFA_VAL_OFFSET:
		set_rule(machine, number, DWARF_CFA_PLUS,
			 take_factor(machine, (int64_t)take_uleb(code)));
		return;
	case CFA_VAL_OFFSET_SF:
		set_rule(machine, number, DWARF_CFA_PLUS, take_factor(machine, take_sleb(code)));
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
			 narrow_to_32(machine, (int64_t)take_uleb(code)));
		return;
	case CFA_EXPRESSION:
		set_rule(machine, number, DWARF_AT_VALUE, take_expression(machine));
		return;
	case CFA_VAL_EXPRESSION:
		set_rule(machine, number, DWARF_VALUE, take_expression(machine));
		return;
	case CFA_DEF:
		set_cfa_register(machine, number);
		machine->row.cfa_where = narrow_to_32(machine, (int64_t)take_uleb(code));
		return;
	case CFA_DEF_SF:
		set_cfa_register(machine, number);
		machine->row.cfa_where = take_factor(machine, take_sleb(code));
		return;
	case CFA_DEF_REGISTER:
		set_cfa_register(machine, number);
		return;
	default:
		code->is_bad = true;
	}
}

/* Whether the operation advances the location. If so, sets *location. */
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

/* Runs the instructions up to the row of pc, or to their end. */
static bool run_instructions(struct machine *machine, struct cursor code, uintptr_t pc)
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
				 take_factor(machine, (int64_t)take_uleb(&machine->code)));
		} else if ((operation & 0xc0) == CFA_RESTORE) {
			restore_rule(machine, operation & 0x3f);
		} else {
			run_extended(machine, operation);
		}
	}
	return !machine->code.is_bad;
}

/* Runs the CIE's initial instructions, then the FDE's instructions. */
bool dwarf_find(const struct dwarf_tables *tables, uintptr_t pc, struct dwarf_row *row)
{
	struct dwarf_entry entry;
	struct machine machine;

	if (!find_entry(tables, pc, &entry))
		return false;
	machine.common = &entry.common;
	machine.tables = tables;
	machine.location = entry.start;
	machine.remembered_count = 0;
	/* initially all registers are unchanged */
	_Static_assert(DWARF_SAME == 0, "an initializer with zeros must mean DWARF_SAME");
	machine.row = (struct dwarf_row){ .expressions = tables->low,
					  .end = tables->high,
					  .cfa_register = DWARF_SP };
	machine.initial = machine.row;
	if (!run_instructions(&machine, entry.common.instructions, ~(uintptr_t)0))
		return false;
	machine.location = entry.start;
	machine.initial = machine.row;
	if (!run_instructions(&machine, entry.instructions, pc))
		return false;
	*row = machine.row;
	row->is_signal = entry.common.is_signal;
	return true;
}

#endif
