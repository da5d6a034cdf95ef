/* SPDX-License-Identifier: MIT */
#include "capture.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "cfi.h"
#include "dwarf.h"
#include "maps.h"
#include "sys.h"

#define UNKNOWN_STACK_MAX ((uintptr_t)1 << 20)
#define PAGE_SMALLEST	  4096u
/*
 * A function that a signal interrupted may have popped a register whose rule still tells the old
 * place, below its sp. The kernel leaves that much as it was (x86-64 ABI 3.2.2).
 */
#define RED_ZONE 128u

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

struct walk {
	uintptr_t *next, *end; /* room for the frames to come */
	struct position at;
	uintptr_t key; /* of the rule for at: at.ip, marked where it is exact (cfi.h) */
	struct window window;
};

static bool window_is_open(const struct window *window, uintptr_t address)
{
	return address - window->low <= window->span;
}

/* Opens the page of address, if it is one of an unknown stack and can be read. */
static __attribute__((noinline)) bool window_move(struct window *window, uintptr_t address)
{
	uintptr_t page = address & ~(uintptr_t)(PAGE_SMALLEST - 1);

	if (address < window->ask_low || address >= window->ask_high || (address & 7) != 0 ||
	    !sys_is_readable((const void *)address))
		return false;
	window->low = page < window->ask_low ? window->ask_low : page;
	window->span = page + PAGE_SMALLEST - 8 - window->low;
	return true;
}

static inline bool window_read(struct window *window, uintptr_t address, uintptr_t *value)
{
	if (__builtin_expect(!window_is_open(window, address), 0) && !window_move(window, address))
		return false;
	*value = *(const uintptr_t *)address;
	return true;
}

static bool read_memory(struct dwarf_memory *memory, uintptr_t address, uintptr_t *value)
{
	return window_read((struct window *)(void *)memory, address, value);
}

/* Sets the window for a walk that starts at sp: below from nothing is ever read. */
static void window_open(struct window *window, uintptr_t sp, uintptr_t from,
			const struct stack_bounds *stack)
{
	/* On an unknown stack nothing is open yet; this word only because something must be. */
	static const uintptr_t open_word;
	bool is_known = from >= stack->low && sp < stack->high && stack->high - sp >= 8;

	window->memory.read = read_memory;
	window->low = is_known ? from : (uintptr_t)&open_word;
	window->span = is_known ? stack->high - 8 - from : 0;
	window->ask_low = is_known ? 0 : from;
	window->ask_high = is_known ? 0 : sp + UNKNOWN_STACK_MAX;
	if (window->ask_high < window->ask_low)
		window->ask_high = ~(uintptr_t)0;
}

enum walk_state { WALK_ON, WALK_SIGNAL, WALK_FULL, WALK_DONE };

static enum walk_state stop(enum capture_end why, enum capture_end *end)
{
	*end = why;
	return WALK_DONE;
}

/* The CFA of a rule that is not the plain one: sp + cfa. */
static enum walk_state find_cfa(struct window *window, const struct cfi_rule *rule, uintptr_t fp,
				uintptr_t *cfa, enum capture_end *end)
{
	switch ((enum cfi_form)rule->form) {
	case CFI_FP_DEREF:
		if (!window_read(window, fp + (uintptr_t)rule->cfa, cfa))
			return stop(CAPTURE_LEFT_STACK, end);
		return WALK_ON;
	case CFI_END:
		return stop(CAPTURE_COMPLETE, end);
	case CFI_FULL:
		return WALK_FULL;
	case CFI_SIGNAL:
		return WALK_SIGNAL;
	case CFI_SP:
	case CFI_FP:
	case CFI_NO_RULE:
		break;
	}
	return stop(CAPTURE_NO_RULE, end);
}

/* One frame outwards by a rule of the table. Inlined: this is the whole cost of a backtrace. */
static inline __attribute__((always_inline)) enum walk_state
step(struct window *window, const struct cfi_rule *rule, struct position *at, enum capture_end *end)
{
	uintptr_t fp = at->fp;
	uintptr_t cfa;

	if (__builtin_expect(rule->form == CFI_SP, 1)) {
		cfa = at->sp + (uintptr_t)rule->cfa;
	} else if (rule->form == CFI_FP) {
		cfa = fp + (uintptr_t)rule->cfa;
	} else {
		enum walk_state state = find_cfa(window, rule, fp, &cfa, end);

		if (state != WALK_ON)
			return state;
	}
	if (__builtin_expect(cfa <= at->sp, 0))
		return stop(CAPTURE_NOT_RISING, end);
	if (rule->fp_form != CFI_FP_SAME) {
		fp = (rule->fp_form == CFI_FP_AT_CFA ? cfa : fp) + (uintptr_t)rule->fp;
		if (!window_read(window, fp, &at->fp))
			return stop(CAPTURE_LEFT_STACK, end);
	}
	if (!window_read(window, cfa + (uintptr_t)rule->ra, &at->ip))
		return stop(CAPTURE_LEFT_STACK, end);
	at->ip = dwarf_plain_address(at->ip);
	at->sp = cfa;
	return WALK_ON;
}

/*
 * Stores the frame that the walk has reached. A return address of 0 is how some threads and
 * coroutines end.
 */
static inline __attribute__((always_inline)) enum walk_state
store(uintptr_t **next, const uintptr_t *room_end, uintptr_t ip, enum capture_end *end)
{
	if (ip == 0)
		return stop(CAPTURE_COMPLETE, end);
	if (*next == room_end)
		return stop(CAPTURE_DEPTH, end);
	*(*next)++ = ip;
	return WALK_ON;
}

/* The rule at a place that a hint tells. */
static struct cfi_rule *hinted(char *rules, const uint32_t *hint)
{
	return (struct cfi_rule *)(void *)(rules + __atomic_load_n(hint, __ATOMIC_RELAXED));
}

static bool is_for(const struct cfi_rule *rule, uintptr_t ip)
{
	return __atomic_load_n(&rule->ip, __ATOMIC_ACQUIRE) == ip;
}

/*
 * The rule that both hints of the last one missed. The first is for ever, the second follows what
 * comes; a recursion has two callers. It is replaced once in 16 times (sp is as good as random), or
 * threads with several callers would pass its cache line to and fro; a search costs less than that,
 * 3 ns.
 */
static __attribute__((noinline)) struct cfi_rule *find_next(struct cfi_table *table, uintptr_t ip,
							    uintptr_t sp, struct cfi_rule *last,
							    struct cfi_rule *scratch)
{
	struct cfi_rule *next = cfi_find(table, ip, scratch);
	uint32_t place = (uint32_t)((char *)next - (char *)table->rules);

	if (next == scratch || last == scratch)
		return next;
	if (__atomic_load_n(&last->hint[0], __ATOMIC_RELAXED) == 0)
		__atomic_store_n(&last->hint[0], place, __ATOMIC_RELAXED);
	else if (__atomic_load_n(&last->hint[1], __ATOMIC_RELAXED) == 0 || (sp & 0xf0) == 0)
		__atomic_store_n(&last->hint[1], place, __ATOMIC_RELAXED);
	return next;
}

/*
 * From the last stored frame on, by rules from the table. Each rule knows whose rules came next
 * before: mostly that saves the search, and the processor need not wait for the return address to
 * go on.
 */
static enum walk_state walk_quick(struct walk *walk, enum capture_end *end)
{
	/*
	 * Copies, because a stored frame may change whatever a pointer leads to, for all that the
	 * compiler knows.
	 */
	struct cfi_table *table = cfi_table();
	char *rules = (char *)table->rules;
	struct position at = walk->at;
	uintptr_t *next_frame = walk->next, *const room_end = walk->end;
	struct cfi_rule scratch;
	struct cfi_rule *rule = cfi_find(table, walk->key, &scratch);
	enum walk_state state;

	for (;;) {
		struct cfi_rule *last = rule;

		state = step(&walk->window, rule, &at, end);
		if (state == WALK_ON)
			state = store(&next_frame, room_end, at.ip, end);
		if (state != WALK_ON)
			break;
		rule = hinted(rules, &last->hint[0]);
		if (__builtin_expect(is_for(rule, at.ip), 1))
			continue;
		rule = hinted(rules, &last->hint[1]);
		if (!is_for(rule, at.ip))
			rule = find_next(table, at.ip, at.sp, last, &scratch);
	}
	walk->next = next_frame;
	walk->at = at;
	return state;
}

/* From a signal frame to what the signal interrupted, which may lie on another stack. */
static enum walk_state step_signal(struct walk *walk, const struct stack_bounds *stack,
				   enum capture_end *end)
{
	struct cfi_rule scratch;
	const struct cfi_rule *rule = cfi_find(cfi_table(), walk->at.ip, &scratch);
	uintptr_t sp = walk->at.sp;

	if (!window_read(&walk->window, sp + (uintptr_t)rule->ra, &walk->at.ip) ||
	    !window_read(&walk->window, sp + (uintptr_t)rule->fp, &walk->at.fp) ||
	    !window_read(&walk->window, sp + (uintptr_t)rule->cfa, &walk->at.sp))
		return stop(CAPTURE_LEFT_STACK, end);
	walk->key = walk->at.ip | CFI_EXACT;
	window_open(&walk->window, walk->at.sp, walk->at.sp - RED_ZONE, stack);
	return store(&walk->next, walk->end, walk->at.ip, end);
}

/* Quickly, and through signals. */
static enum walk_state walk_on(struct walk *walk, const struct stack_bounds *stack,
			       enum capture_end *end)
{
	for (;;) {
		enum walk_state state = walk_quick(walk, end);

		if (state == WALK_SIGNAL)
			state = step_signal(walk, stack, end);
		if (state != WALK_ON)
			return state;
	}
}

/* The thorough walk, with all registers: rare rules, some 200 ns a frame. */

/* The registers of the function that this is inlined into. */
static inline __attribute__((always_inline)) void registers_here(struct dwarf_frame *frame)
{
#if defined(__x86_64__)
	uintptr_t pc;

	__asm__ volatile("leaq 0f(%%rip), %0\n0:\n\t"
			 "movq %%rbx, 24(%1)\n\tmovq %%rbp, 48(%1)\n\tmovq %%rsp, 56(%1)\n\t"
			 "movq %%r12, 96(%1)\n\tmovq %%r13, 104(%1)\n\tmovq %%r14, 112(%1)\n\t"
			 "movq %%r15, 120(%1)"
			 : "=&a"(pc)
			 : "D"(frame->reg)
			 : "memory");
	frame->pc = pc;
	frame->known = 0xf0c8;
#elif defined(__aarch64__)
	uintptr_t pc;

	__asm__ volatile("adr %0, 0f\n0:\n\t"
			 "stp x19, x20, [%1, 152]\n\tstp x21, x22, [%1, 168]\n\t"
			 "stp x23, x24, [%1, 184]\n\tstp x25, x26, [%1, 200]\n\t"
			 "stp x27, x28, [%1, 216]\n\tstp x29, x30, [%1, 232]\n\t"
			 "mov x9, sp\n\tstr x9, [%1, 248]"
			 : "=&r"(pc)
			 : "r"(frame->reg)
			 : "memory", "x9");
	frame->pc = pc;
	frame->known = 0xfff80000;
#else
	frame->known = 0;
#endif
	frame->is_exact = true;
}

static enum dwarf_step step_fully(struct dwarf_frame *frame, struct window *window)
{
	struct dwarf_row row;
	unsigned int module;

	if (!cfi_row(frame->pc, frame->is_exact, &row, &module))
		return DWARF_STEP_UNKNOWN;
	return dwarf_step(&row, frame, &window->memory);
}

/*
 * The registers at the origin. Found by walking out of our own few frames, since a rare rule may
 * need one that the origin does not tell (the loader's resolver needs rbx); else those that it
 * tells.
 */
static __attribute__((noinline)) void registers_at(const struct origin *origin,
						   struct dwarf_frame *frame)
{
	struct window own = { .memory.read = read_memory };

	registers_here(frame);
	own.low = frame->reg[DWARF_SP];
	own.span = origin->cfa - 8 - own.low;
	for (unsigned int i = 0; i < 16 && frame->reg[DWARF_SP] < origin->cfa; i++)
		if (step_fully(frame, &own) != DWARF_STEP_OK)
			break;
	if (frame->pc == origin->ip && frame->reg[DWARF_SP] == origin->cfa)
		return;
	frame->pc = origin->ip;
	frame->reg[DWARF_SP] = origin->cfa;
	frame->reg[DWARF_FP] = origin->fp;
	frame->known = (uint64_t)1 << DWARF_SP | (uint64_t)1 << DWARF_FP;
	frame->is_exact = false;
}

static enum walk_state stop_step(enum dwarf_step step, enum capture_end *end)
{
	switch (step) {
	case DWARF_STEP_END:
		return stop(CAPTURE_COMPLETE, end);
	case DWARF_STEP_MEMORY:
		return stop(CAPTURE_LEFT_STACK, end);
	case DWARF_STEP_OK:
	case DWARF_STEP_UNKNOWN:
		break;
	}
	return stop(CAPTURE_NO_RULE, end);
}

/* Whether the rest can go quickly: behind a return address a kept rule needs only sp and fp. */
static bool is_quick(const struct dwarf_frame *frame)
{
	const uint64_t needed = (uint64_t)1 << DWARF_SP | (uint64_t)1 << DWARF_FP;

	return !frame->is_exact && (frame->known & needed) == needed;
}

/*
 * Like walk_on(), from the origin on.
 * quick_from: once a frame behind this is stored walk_on() may take over, if that is possible.
 */
static enum walk_state walk_fully(struct walk *walk, const struct origin *origin,
				  const struct stack_bounds *stack, const uintptr_t *quick_from,
				  enum capture_end *end)
{
	struct dwarf_frame frame;

	registers_at(origin, &frame);
	for (;;) {
		bool was_exact = frame.is_exact;
		enum dwarf_step result = step_fully(&frame, &walk->window);
		enum walk_state state;

		if (result != DWARF_STEP_OK)
			return stop_step(result, end);
		/* Only a signal moves to another stack: what it interrupted may lie anywhere. */
		if (frame.is_exact)
			window_open(&walk->window, frame.reg[DWARF_SP],
				    frame.reg[DWARF_SP] - RED_ZONE, stack);
		else if (frame.reg[DWARF_SP] <= walk->at.sp && !was_exact)
			return stop(CAPTURE_NOT_RISING, end);
		walk->at.ip = frame.pc;
		walk->at.sp = frame.reg[DWARF_SP];
		walk->at.fp = frame.reg[DWARF_FP];
		state = store(&walk->next, walk->end, frame.pc, end);
		if (state != WALK_ON)
			return state;
		walk->key = frame.pc;
		if (walk->next > quick_from && is_quick(&frame))
			return WALK_ON;
	}
}

static void start(struct walk *walk, uintptr_t *frames, const struct origin *origin,
		  const struct stack_bounds *stack)
{
	walk->at = (struct position){ .ip = origin->ip, .sp = origin->cfa, .fp = origin->fp };
	walk->key = origin->ip;
	walk->next = frames + 1;
	frames[0] = origin->ip;
	window_open(&walk->window, origin->cfa, origin->cfa, stack);
}

unsigned int capture_walk(const struct origin *origin, const struct stack_bounds *stack,
			  uintptr_t *frames, unsigned int depth, enum capture_end *end)
{
	struct walk walk = { .end = frames + depth };
	enum walk_state state;

	if (__builtin_expect(maps_is_loader(origin->ip), 0))
		maps_check();
	start(&walk, frames, origin, stack);
	state = walk_on(&walk, stack, end);
	if (__builtin_expect(state == WALK_FULL, 0)) {
		const uintptr_t *rare = walk.next;

		start(&walk, frames, origin, stack);
		state = walk_fully(&walk, origin, stack, rare, end);
		if (state == WALK_ON)
			state = walk_on(&walk, stack, end);
	}
	if (__builtin_expect(state == WALK_FULL, 0)) {
		start(&walk, frames, origin, stack);
		walk_fully(&walk, origin, stack, walk.end, end);
	}
	return (unsigned int)(walk.next - frames);
}
