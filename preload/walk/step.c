/* SPDX-License-Identifier: MIT */
#include "step.h"

#include "maps.h"
#include "preload/ground/sys.h"

#include "preload/ground/plain.h"

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

#if ARCH_CHAINS

/*
 * Cached results of is_return_address(), by hash: a return address, or the complement of a word
 * that is not one. Threads overwrite each other's entries.
 */
#define RETURNS_BITS 9
static SPARSE uintptr_t returns[1 << RETURNS_BITS];

/* Regions of 2 MiB, outside of modules, in which a call instruction was found, by hash. */
#define REGION_BITS  21
#define REGIONS_BITS 6
static uintptr_t regions[1 << REGIONS_BITS];

static uintptr_t *place_in(uintptr_t *table, unsigned int bits, uintptr_t key)
{
	return &table[key * 0x9e3779b97f4a7c15u >> (64 - bits)];
}

/*
 * Whether a call instruction ends at the address. HotSpot's interpreter pushes return addresses
 * itself and jumps, so in a region with calls outside of modules, every address is accepted.
 */
static bool is_after_call(uintptr_t ip)
{
	uintptr_t *region = place_in(regions, REGIONS_BITS, ip >> REGION_BITS);
	uint8_t code[8];

	if (ip < PAGE_SMALLEST || !sys_is_readable((const void *)(ip - sizeof(code))))
		return false;
	__builtin_memcpy(code, (const void *)(ip - sizeof(code)), sizeof(code));
	if (!arch_follows_call(code))
		return __atomic_load_n(region, __ATOMIC_RELAXED) == ip >> REGION_BITS;
	if (maps_find(ip) == MAPS_MODULE_NONE)
		__atomic_store_n(region, ip >> REGION_BITS, __ATOMIC_RELAXED);
	return true;
}

/*
 * Whether the word can be a return address. Other words seldom pass, because most of them are not
 * addresses of memory at all.
 */
static bool is_return_address(uintptr_t ip)
{
	uintptr_t *known = place_in(returns, RETURNS_BITS, ip);
	uintptr_t entry = __atomic_load_n(known, __ATOMIC_RELAXED);
	bool is_accepted;

	if (entry == ip || entry == ~ip)
		return entry == ip && ip != 0;
	is_accepted = is_after_call(ip);
	__atomic_store_n(known, is_accepted ? ip : ~ip, __ATOMIC_RELAXED);
	return is_accepted;
}

/*
 * Whether fp can be the frame pointer of the frame `at`: it points up the stack, to a word that a
 * return address follows. Code without a frame pointer may use the register for anything.
 */
static bool is_chained(struct window *window, const struct position *at)
{
	uintptr_t ip;

	return at->fp >= at->sp && (at->fp & 7) == 0 && window_read(window, at->fp + 8, &ip) &&
	       is_return_address(ip);
}

#else

static bool is_chained(struct window *window, const struct position *at)
{
	(void)window;
	(void)at;
	return false;
}

#endif

enum walk_state step_find_cfa(struct window *window, const struct cfi_rule *rule,
			      const struct position *at, uintptr_t *cfa, enum capture_end *end)
{
	uintptr_t fp = at->fp;

	switch ((enum cfi_form)rule->form) {
	case CFI_FP_DEREF:
		if (!window_read(window, fp + (uintptr_t)rule->cfa, cfa))
			return stop_walk(CAPTURE_LEFT_STACK, end);
		return WALK_ON;
	case CFI_CHAIN:
		if (!is_chained(window, at))
			break;
		*cfa = fp + (uintptr_t)rule->cfa;
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

	if (rule == scratch || last == scratch || rule == &cfi_outside || last == &cfi_outside)
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
