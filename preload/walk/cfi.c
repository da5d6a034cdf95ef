/* SPDX-License-Identifier: MIT */
#include "cfi.h"

#include <sys/mman.h>

#include "dwarf.h"
#include "maps.h"
#include "preload/ground/self.h"
#include "preload/ground/sys.h"

#include "preload/ground/plain.h"

#define SIZE_FIRST     1024u	  /* rules; 32 KiB, of which untouched pages use no memory */
#define SIZE_MAX_RULES (1u << 20) /* 32 MiB; the largest known program needs half as much */
#define PROBES_MAX     32u

#define IP_FREE	 0u
#define IP_TAKEN 1u

static SPARSE struct cfi_rule first_rules[SIZE_FIRST] __attribute__((aligned(64)));
static struct cfi_table first_table = { first_rules, SIZE_FIRST, 64 - 10, 0 };
struct cfi_table *cfi_table_now = &first_table;

/* ---- compilation of rules ---- */

#if defined(__x86_64__)
/*
 * Whether the row's CFA is the expression of a PLT: CFA = sp + 8 + (((ip & 15) >= n) << 3), where n
 * is the offset in a PLT entry at which one word has already been pushed.
 */
static bool is_plt(const struct dwarf_row *row, uintptr_t pc, int32_t *cfa)
{
	static const uint8_t form[] = { 11,   0x77, 0x08, 0x80, 0x00, 0x3f,
					0x1a, 0x30, 0x2a, 0x33, 0x24, 0x22 };
	const uint8_t *code = row->expressions + row->cfa_where;
	unsigned int limit;

	for (unsigned int i = 0; i < sizeof(form); i++)
		if (code + i >= row->end || (i != 7 && code[i] != form[i]))
			return false;
	limit = code[7] - 0x30u;
	*cfa = 8 + ((pc & 15) >= limit ? 8 : 0);
	return limit < 32;
}
#endif

/*
 * Decodes an expression that is a register plus a small offset (DW_OP_breg), then DW_OP_deref if
 * is_deref. Returns false for any other expression.
 */
static bool is_register_plus(const struct dwarf_row *row, int32_t where, unsigned int number,
			     bool is_deref, int32_t *offset)
{
	const uint8_t *code = row->expressions + where;
	unsigned int size;

	if (row->end - code < 5)
		return false;
	/* the offset has one byte or two */
	size = code[2] & 0x80 ? 3 : 2;
	if (code[0] != size + is_deref || code[1] != 0x70 + number || (code[size] & 0x80) != 0 ||
	    (is_deref && code[size + 1] != 0x06))
		return false;
	*offset = (code[size] & 0x40) ? (int32_t)code[size] - 0x80 : (int32_t)code[size];
	if (size == 3)
		*offset = *offset * 0x80 + (code[2] & 0x7f);
	return true;
}

static bool compile_cfa(const struct dwarf_row *row, uintptr_t pc, struct cfi_rule *rule)
{
	rule->cfa = row->cfa_where;
	rule->form = row->cfa_register == DWARF_FP ? CFI_FP : CFI_SP;
	if (!row->cfa_is_expression)
		return row->cfa_register == DWARF_SP || row->cfa_register == DWARF_FP;
#if defined(__x86_64__)
	rule->form = CFI_SP;
	if (is_plt(row, pc, &rule->cfa))
		return true;
#else
	(void)pc;
#endif
	rule->form = CFI_FP_DEREF;
	return is_register_plus(row, row->cfa_where, DWARF_FP, true, &rule->cfa);
}

static bool compile_fp(const struct dwarf_row *row, struct cfi_rule *rule)
{
	rule->fp = row->where[DWARF_FP];
	switch ((enum dwarf_how)row->how[DWARF_FP]) {
	case DWARF_SAME:
		rule->fp_form = CFI_FP_SAME;
		rule->fp = 0;
		return true;
	case DWARF_AT_CFA:
		rule->fp_form = CFI_FP_AT_CFA;
		return true;
	case DWARF_AT_VALUE:
		rule->fp_form = CFI_FP_AT_FP;
		return is_register_plus(row, rule->fp, DWARF_FP, false, &rule->fp);
	case DWARF_UNDEFINED:
	case DWARF_CFA_PLUS:
	case DWARF_REGISTER:
	case DWARF_VALUE:
		break;
	}
	return false;
}

/* Whether a signal frame saves the register at sp + *offset (in glibc's table: an expression). */
static bool is_at_sp(const struct dwarf_row *row, unsigned int number, int32_t *offset)
{
	if (row->how[number] == DWARF_AT_VALUE)
		return is_register_plus(row, row->where[number], DWARF_SP, false, offset);
	*offset = row->cfa_where + row->where[number];
	return row->how[number] == DWARF_AT_CFA && !row->cfa_is_expression &&
	       row->cfa_register == DWARF_SP;
}

static void compile_row(const struct dwarf_row *row, uintptr_t pc, struct cfi_rule *rule)
{
	bool is_simple;

	if (row->how[DWARF_RA] == DWARF_UNDEFINED) {
		rule->form = CFI_END;
		return;
	}
	if (row->is_signal) {
		rule->form = CFI_SIGNAL;
		is_simple = is_at_sp(row, DWARF_PC, &rule->ra) &&
			    is_at_sp(row, DWARF_SP, &rule->cfa) &&
			    is_at_sp(row, DWARF_FP, &rule->fp);
	} else {
		rule->ra = row->where[DWARF_RA];
		is_simple = row->how[DWARF_RA] == DWARF_AT_CFA &&
			    row->how[DWARF_SP] == DWARF_SAME && compile_cfa(row, pc, rule) &&
			    compile_fp(row, rule);
	}
	if (!is_simple)
		rule->form = CFI_FULL;
}

#ifdef ARCH_SIGNAL_FRAME

/* Whether pc is in the kernel's code that returns from a signal handler. Sets *module. */
static bool is_signal_return(uintptr_t pc, unsigned int *module)
{
	uint64_t code;

	if ((pc & 3) != 0)
		return false;
	*module = maps_find(pc);
	/* the kernel's page may belong to no module, and such an address may not be mapped */
	if (*module == MAPS_MODULE_NONE && !sys_are_readable((const void *)pc, sizeof(code)))
		return false;
	__builtin_memcpy(&code, (const void *)pc, sizeof(code));
	return code == ARCH_SIGNAL_CODE;
}

#endif

bool cfi_row(uintptr_t pc, bool is_exact, struct dwarf_row *row, unsigned int *module)
{
	/* if the caller ends with a call, only the byte before pc is surely in the caller */
	uintptr_t inside = is_exact ? pc : pc - 1;
	const struct dwarf_tables *tables;

#ifdef ARCH_SIGNAL_FRAME
	if (!is_exact && is_signal_return(pc, module)) {
		*row = (struct dwarf_row){ .cfa_register = DWARF_SP,
					   .cfa_where = ARCH_SIGNAL_REGISTERS,
					   .is_signal = true };
		for (unsigned int number = 0; number < DWARF_REGISTERS; number++) {
			row->how[number] = DWARF_AT_CFA;
			row->where[number] = (int32_t)number * 8;
		}
		return true;
	}
#endif
	*module = maps_find(inside);
	if (*module == MAPS_MODULE_NONE)
		return false;
	tables = &maps_get(*module)->tables;
	if (dwarf_find(tables, inside, row))
		return true;
	/*
	 * A return address at the start of a function, with no function before it, was not pushed
	 * by a call. Either the kernel stored it for a signal, or it is at the bottom of a
	 * coroutine's stack, which has no caller (glibc's __start_context, whose unwind table does
	 * not mark it as the outermost frame).
	 */
	if (is_exact || !dwarf_find(tables, pc, row))
		return false;
	if (!row->is_signal)
		row->how[DWARF_RA] = DWARF_UNDEFINED;
	return true;
}

#if ARCH_CHAINS
#define RULE_WITHOUT_TABLE \
	.form = CFI_CHAIN, .fp_form = CFI_FP_AT_CFA, .cfa = 16, .ra = -8, .fp = -16
#else
#define RULE_WITHOUT_TABLE .form = CFI_NO_RULE
#endif

struct cfi_rule cfi_outside = { .ip = 1, .module = MAPS_MODULE_NONE, RULE_WITHOUT_TABLE };

void cfi_compile(uintptr_t ip, struct cfi_rule *rule)
{
	bool is_exact = (ip & CFI_EXACT) != 0;
	uintptr_t pc = ip & ~CFI_EXACT;
	struct dwarf_row row;
	unsigned int module;
	bool has_row = cfi_row(pc, is_exact, &row, &module);

	*rule = (struct cfi_rule){ .ip = ip, .module = (uint16_t)module, RULE_WITHOUT_TABLE };
	if (has_row)
		compile_row(&row, is_exact ? pc : pc - 1, rule);
}

/* ---- the table of rules ---- */

/* Returns ip's rule; or NULL, and in *place the entry to add it in (table->size: no space). */
static struct cfi_rule *look_up(const struct cfi_table *table, uintptr_t ip, uint32_t *place)
{
	uint32_t at = (uint32_t)(cfi_guess(table, ip) - table->rules);

	*place = table->size;
	for (unsigned int probe = 0; probe < PROBES_MAX; probe++) {
		struct cfi_rule *rule = &table->rules[at];
		uintptr_t there = __atomic_load_n(&rule->ip, __ATOMIC_ACQUIRE);

		if (there == ip)
			return rule;
		if (there == IP_FREE) {
			*place = at;
			return NULL;
		}
		at = (at + 1) & (table->size - 1);
	}
	return NULL;
}

/*
 * Starts a larger, empty table. Rules are compiled again when they are needed (100 ns each), so
 * that no thread copies a rule that another thread is writing. The old table stays for the threads
 * that read it.
 */
static void grow_table(struct cfi_table *table)
{
	uint32_t size = table->size * 4;
	size_t bytes = sizeof(*table) + 64 + size * sizeof(struct cfi_rule);
	struct cfi_table *larger, *expected = table;

	if (size > SIZE_MAX_RULES)
		return;
	larger = sys_mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (sys_error(larger) != 0)
		return;
	larger->rules = (struct cfi_rule *)(void *)((char *)larger + 64);
	larger->size = size;
	larger->shift = table->shift - 2;
	if (!__atomic_compare_exchange_n(&cfi_table_now, &expected, larger, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_ACQUIRE))
		sys_munmap(larger, bytes);
	else
		own_add(larger, bytes);
}

static struct cfi_rule *keep_rule(struct cfi_table *table, uint32_t place, struct cfi_rule *rule)
{
	struct cfi_rule *kept = &table->rules[place];
	uintptr_t expected = IP_FREE;

	/* up to half load, nearly every rule is in its home slot or the next slot */
	if (__atomic_load_n(&table->used, __ATOMIC_RELAXED) >= table->size / 2) {
		grow_table(table);
		return rule;
	}
	if (!__atomic_compare_exchange_n(&kept->ip, &expected, IP_TAKEN, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_RELAXED))
		/* another thread has taken the entry; the next search finds or adds the rule */
		return rule;
	__atomic_fetch_add(&table->used, 1, __ATOMIC_RELAXED);
	kept->cfa = rule->cfa;
	kept->ra = rule->ra;
	kept->fp = rule->fp;
	kept->module = rule->module;
	kept->form = rule->form;
	kept->fp_form = rule->fp_form;
	__atomic_store_n(&kept->ip, rule->ip, __ATOMIC_SEQ_CST);
	/* cfi_forget() may have visited this entry before the rule was in it */
	if (__atomic_load_n(&maps_get(rule->module)->is_gone, __ATOMIC_SEQ_CST))
		__atomic_store_n(&kept->ip, IP_TAKEN, __ATOMIC_RELEASE);
	return kept;
}

struct cfi_rule *cfi_find(struct cfi_table *table, uintptr_t ip, struct cfi_rule *scratch)
{
	uint32_t place;
	struct cfi_rule *rule = look_up(table, ip, &place);

	if (__builtin_expect(rule != NULL, 1))
		return rule;
	cfi_compile(ip, scratch);
	if (scratch->module == MAPS_MODULE_NONE && scratch->form == cfi_outside.form)
		return &cfi_outside;
	if (scratch->module == MAPS_MODULE_NONE || ip <= IP_TAKEN)
		return scratch;
	if (place == table->size) {
		grow_table(table);
		return scratch;
	}
	return keep_rule(table, place, scratch);
}

void cfi_forget(unsigned int module)
{
	struct cfi_table *table = cfi_table();

	for (uint32_t at = 0; at < table->size; at++) {
		struct cfi_rule *rule = &table->rules[at];
		uintptr_t ip = __atomic_load_n(&rule->ip, __ATOMIC_SEQ_CST);

		if (ip > IP_TAKEN && rule->module == module)
			__atomic_store_n(&rule->ip, IP_TAKEN, __ATOMIC_RELEASE);
	}
}
