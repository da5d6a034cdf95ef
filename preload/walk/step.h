/* SPDX-License-Identifier: MIT */
#ifndef STEP_H
#define STEP_H

/*
 * One step of a walk outwards: what of the stack may be read, the caller of a frame by its rule,
 * the rule of that. The plain walk (capture_walk.c) and the one that remembers (capture_again.c)
 * step so. What they do for each frame is inlined, what is rare is in step.c.
 */

#include <stdbool.h>
#include <stddef.h>

#include "capture.h"
#include "cfi.h"
#include "dwarf.h"

#define UNKNOWN_STACK_MAX ((uintptr_t)1 << 20)
#define PAGE_SMALLEST	  4096u

/*
 * What may be read. Words at low up to low + span: on a known stack all of it, on an unknown one
 * the page that was asked for last.
 */
struct window {
	struct dwarf_memory memory; /* first: dwarf_step() hands it back to us */
	uintptr_t low, span;
	uintptr_t ask_low, ask_high; /* where one may ask for another page; 0, 0 on a known stack */
};

/* The frame that a walk has reached. */
struct position {
	uintptr_t ip, sp, fp;
};

/* Opens the page of address, if it is one of an unknown stack and can be read. */
bool window_move(struct window *window, uintptr_t address);

/* The window as the memory of dwarf_step(). */
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

/* Sets the window for a walk that starts at sp: below from nothing is ever read. */
static inline void window_open(struct window *window, uintptr_t sp, uintptr_t from,
			       const struct stack_bounds *stack)
{
	/* On an unknown stack nothing is open yet; this word only because something must be. */
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
 * On an unknown stack: the page that a hook's caller stands on need not be asked for, since the
 * hook has just been called there. On its border it may be another's.
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

/* The CFA of a rule that is not the plain one: sp + cfa. */
enum walk_state step_find_cfa(struct window *window, const struct cfi_rule *rule, uintptr_t fp,
			      uintptr_t *cfa, enum capture_end *end);

/* The rule where it is not at its own place, or the last one's hints have to be set. */
struct cfi_rule *step_search_rule(struct cfi_table *table, uintptr_t ip, struct cfi_rule *last,
				  struct cfi_rule *scratch);

/*
 * From a signal frame to what the signal interrupted, which may lie on another stack; its pc is
 * exact. False: it cannot be read.
 */
bool step_out_of_signal(struct window *window, struct position *at,
			const struct stack_bounds *stack);

/* One frame outwards by a rule of the table. Inlined: this is the whole cost of a backtrace. */
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
		enum walk_state state = step_find_cfa(window, rule, fp, &cfa, end);

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

/* The rule at a place that a hint tells. */
static inline struct cfi_rule *rule_at_hint(const struct cfi_table *table, const uint32_t *hint)
{
	return (struct cfi_rule *)(void *)((char *)table->rules +
					   __atomic_load_n(hint, __ATOMIC_RELAXED));
}

/*
 * The rule of ip, which came after last's frame. last knows whose rules came next before: with
 * them the processor need not wait for the return address to go on. Where it is another, its place
 * in the table is computed. The first hint is for ever, the second follows what comes; a recursion
 * has two callers. It is replaced once in 16 times (sp is as good as random), or threads with
 * several callers would pass its cache line to and fro.
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
