/* SPDX-License-Identifier: MIT */
#include "step.h"

#include "preload/ground/sys.h"

bool window_move(struct window *window, uintptr_t address)
{
	uintptr_t page = address & ~(uintptr_t)(PAGE_SMALLEST - 1);

	if (address < window->ask_low || address >= window->ask_high || (address & 7) != 0 ||
	    !sys_is_readable((const void *)address))
		return false;
	window->low = page < window->ask_low ? window->ask_low : page;
	window->span = page + PAGE_SMALLEST - 8 - window->low;
	return true;
}

bool window_read_memory(struct dwarf_memory *memory, uintptr_t address, uintptr_t *value)
{
	return window_read((struct window *)(void *)memory, address, value);
}

enum walk_state step_find_cfa(struct window *window, const struct cfi_rule *rule, uintptr_t fp,
			      uintptr_t *cfa, enum capture_end *end)
{
	switch ((enum cfi_form)rule->form) {
	case CFI_FP_DEREF:
		if (!window_read(window, fp + (uintptr_t)rule->cfa, cfa))
			return stop_walk(CAPTURE_LEFT_STACK, end);
		return WALK_ON;
	case CFI_END:
		return stop_walk(CAPTURE_COMPLETE, end);
	case CFI_FULL:
		return WALK_FULL;
	case CFI_SIGNAL:
		return WALK_SIGNAL;
	case CFI_SP:
	case CFI_FP:
	case CFI_NO_RULE:
		break;
	}
	return stop_walk(CAPTURE_NO_RULE, end);
}

static void set_hint(const struct cfi_table *table, uint32_t *hint, const struct cfi_rule *rule)
{
	__atomic_store_n(hint, (uint32_t)((const char *)rule - (const char *)table->rules),
			 __ATOMIC_RELAXED);
}

struct cfi_rule *step_search_rule(struct cfi_table *table, uintptr_t ip, struct cfi_rule *last,
				  struct cfi_rule *scratch)
{
	struct cfi_rule *rule = cfi_find(table, ip, scratch);

	if (rule == scratch || last == scratch)
		return rule;
	if (__atomic_load_n(&last->hint[0], __ATOMIC_RELAXED) == 0)
		set_hint(table, &last->hint[0], rule);
	else
		set_hint(table, &last->hint[1], rule);
	return rule;
}

bool step_out_of_signal(struct window *window, struct position *at,
			const struct stack_bounds *stack)
{
	struct cfi_rule scratch;
	const struct cfi_rule *rule = cfi_find(cfi_table(), at->ip, &scratch);
	uintptr_t sp = at->sp;

	if (!window_read(window, sp + (uintptr_t)rule->ra, &at->ip) ||
	    !window_read(window, sp + (uintptr_t)rule->fp, &at->fp) ||
	    !window_read(window, sp + (uintptr_t)rule->cfa, &at->sp))
		return false;
	/*
	 * The interrupted function may just have popped a register whose rule still refers to the
	 * register's stack slot, now below sp. The kernel has not overwritten the red zone.
	 */
	window_open(window, at->sp, at->sp - ARCH_RED_ZONE, stack);
	return true;
}
