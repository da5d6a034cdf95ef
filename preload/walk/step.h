/* SPDX-License-Identifier: MIT */
#ifndef STEP_H
#define STEP_H

/*
 * One step of a stack walk outwards: checks which memory of the stack may be read, computes the
 * caller of a frame by the frame's rule, and finds the caller's rule. The plain walk
 * (capture_walk.c) and the walk that reuses frames (capture_again.c) share this code. The code that
 * runs for each frame is inlined; the rest is in step.c.
 */

#include <stdbool.h>

#include "capture.h"
#include "cfi.h"
#include "dwarf.h"

#define UNKNOWN_STACK_MAX ((uintptr_t)1 << 20)
#define PAGE_SMALLEST	  4096u

/*
 * The memory that a walk may read: the words from `low` to `low` + `span`. If the stack's bounds
 * are known, this is the whole stack above the start of the walk; on an unknown stack, it is the
 * last page that was checked.
 */
struct window {
	struct dwarf_memory memory; /* the first member: window_read_memory() casts its address */
	uintptr_t low, span;
	uintptr_t ask_low, ask_high; /* range of pages that may be checked; 0, 0 on a known stack */
};

/* The frame that a walk has reached. */
struct position {
	uintptr_t ip, sp, fp;
};

/* On an unknown stack, moves the window to the page of `address`, if that page is readable. */
bool window_move(struct window *window, uintptr_t address);

/* Reads a word through the window: the callback of dwarf_step(). */
bool window_read_memory(struct dwarf_memory *memory, uintptr_t address, uintptr_t *value);

static inline bool window_is_open(const struct window *window, uintptr_t address)
{
	return address - window->low <= window->span;
}

static inline bool window_read(struct window *window, uintptr_t address, uintptr_t *value)
{
	if (__builtin_expect(!window_is_open(window, address), 0) && !window_move(window, address))
		return false;
	*value = *(const uintptr_t *)address;
	return true;
}

/* Opens the window for a walk that starts at sp. Words below `from` are never read. */
static inline void window_open(struct window *window, uintptr_t sp, uintptr_t from,
			       const struct stack_bounds *stack)
{
	/* on an unknown stack, no word may be read yet, but the window needs a valid address */
	static const uintptr_t open_word;
	bool is_known = from >= stack->low && sp < stack->high && stack->high - sp >= 8;

	window->memory.read = window_read_memory;
	window->low = is_known ? from : (uintptr_t)&open_word;
	window->span = is_known ? stack->high - 8 - from : 0;
	window->ask_low = is_known ? 0 : from;
	window->ask_high = is_known ? 0 : sp + UNKNOWN_STACK_MAX;
	if (window->ask_high < window->ask_low)
		window->ask_high = ~(uintptr_t)0;
}

static inline bool window_is_known(const struct window *window)
{
	return window->ask_high == 0;
}

/*
 * On an unknown stack: opens the page of the hook's caller without a check, because the caller was
 * just using it. Opens nothing if sp is at a page boundary, where other memory may begin.
 */
static inline void window_open_first(struct window *window, uintptr_t sp)
{
	uintptr_t inside = sp & (PAGE_SMALLEST - 1);

	if (!inside || sp & 7)
		return;
	window->low = sp;
	window->span = PAGE_SMALLEST - 8 - inside;
}

enum walk_state { WALK_ON, WALK_SIGNAL, WALK_FULL, WALK_DONE };

static inline enum walk_state stop_walk(enum capture_end why, enum capture_end *end)
{
	*end = why;
	return WALK_DONE;
}

/* Computes the CFA of `at` by a rule other than CFI_SP and CFI_FP. If the walk ends, sets *end. */
enum walk_state step_find_cfa(struct window *window, const struct cfi_rule *rule,
			      const struct position *at, uintptr_t *cfa, enum capture_end *end);

/* Searches for the rule of ip; makes it the first hint of `last` or, if that is set, the second. */
struct cfi_rule *step_search_rule(struct cfi_table *table, uintptr_t ip, struct cfi_rule *last,
				  struct cfi_rule *scratch);

/*
 * Steps from a signal frame to the interrupted function, which may be on another stack. The
 * function's pc is exact. Returns false if the signal frame cannot be read.
 */
bool step_out_of_signal(struct window *window, struct position *at,
			const struct stack_bounds *stack);

/* Steps one frame outwards by a rule. Inlined: most of a backtrace's cost is here. */
static inline __attribute__((always_inline)) enum walk_state
step_by_rule(struct window *window, const struct cfi_rule *rule, struct position *at,
	     enum capture_end *end)
{
	uintptr_t fp = at->fp;
	uintptr_t cfa;

	if (__builtin_expect(rule->form == CFI_SP, 1)) {
		cfa = at->sp + (uintptr_t)rule->cfa;
	} else if (rule->form == CFI_FP) {
		cfa = fp + (uintptr_t)rule->cfa;
	} else {
		enum walk_state state = step_find_cfa(window, rule, at, &cfa, end);

		if (state != WALK_ON)
			return state;
	}
	if (__builtin_expect(cfa <= at->sp, 0))
		return stop_walk(CAPTURE_NOT_RISING, end);
	if (rule->fp_form != CFI_FP_SAME) {
		fp = (rule->fp_form == CFI_FP_AT_CFA ? cfa : fp) + (uintptr_t)rule->fp;
		if (!window_read(window, fp, &at->fp))
			return stop_walk(CAPTURE_LEFT_STACK, end);
	}
	if (!window_read(window, cfa + (uintptr_t)rule->ra, &at->ip))
		return stop_walk(CAPTURE_LEFT_STACK, end);
	at->ip = arch_plain_address(at->ip);
	at->sp = cfa;
	return WALK_ON;
}

static inline bool rule_is_for(const struct cfi_rule *rule, uintptr_t ip)
{
	return __atomic_load_n(&rule->ip, __ATOMIC_ACQUIRE) == ip;
}

/* Returns the rule to which a hint (a byte offset in the table) leads. */
static inline struct cfi_rule *rule_at_hint(const struct cfi_table *table, const uint32_t *hint)
{
	return (struct cfi_rule *)(void *)((char *)table->rules +
					   __atomic_load_n(hint, __ATOMIC_RELAXED));
}

/*
 * Finds the rule of ip, the return address that a step by the rule `last` has found. The hints of
 * `last` lead to the rules that followed it in earlier walks, so the processor does not wait for
 * the load of ip. If both hints are wrong, the home slot of ip is computed. There are two hints
 * because a recursive function has at least two callers. The first hint is permanent. The second
 * hint is replaced, but only in about one of 16 misses (sp serves as a random number). Otherwise
 * threads that reach a function from several callers would send the rule's cache line back and
 * forth.
 */
static inline __attribute__((always_inline)) struct cfi_rule *
step_find_rule(struct cfi_table *table, uintptr_t ip, uintptr_t sp, struct cfi_rule *last,
	       struct cfi_rule *scratch)
{
	struct cfi_rule *rule = rule_at_hint(table, &last->hint[0]);

	if (__builtin_expect(rule_is_for(rule, ip), 1))
		return rule;
	rule = rule_at_hint(table, &last->hint[1]);
	if (rule_is_for(rule, ip))
		return rule;
	rule = cfi_guess(table, ip);
	if (__builtin_expect(!rule_is_for(rule, ip) || (sp & 0xf0) == 0, 0))
		return step_search_rule(table, ip, last, scratch);
	return rule;
}

#endif
