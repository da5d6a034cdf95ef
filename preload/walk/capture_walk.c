/* SPDX-License-Identifier: MIT */
/* The plain stack walk, which reuses no frames of earlier walks. */
#include "capture.h"
#include "maps.h"
#include "step.h"

struct walk {
	uintptr_t *next, *end; /* space for more frames */
	struct position at;
	/* key of the rule for `at`: at.ip, with CFI_EXACT if the pc is exact (cfi.h) */
	uintptr_t key;
	struct window window;
};

/* Stores a frame. The stacks of some threads and coroutines end with a return address of 0. */
static inline __attribute__((always_inline)) enum walk_state
store_frame(uintptr_t **next, const uintptr_t *room_end, uintptr_t ip, enum capture_end *end)
{
	if (ip == 0)
		return stop_walk(CAPTURE_COMPLETE, end);
	if (*next == room_end)
		return stop_walk(CAPTURE_DEPTH, end);
	*(*next)++ = ip;
	return WALK_ON;
}

/*
 * Continues the walk from the last stored frame by rules of the table. Each rule has hints of the
 * rules that followed it before. With a correct hint, there is no search, and the processor does
 * not wait for the load of the return address.
 */
static enum walk_state walk_quick(struct walk *walk, enum capture_end *end)
{
	/* local copies: the compiler assumes that storing a frame changes all other memory */
	struct cfi_table *table = cfi_table();
	struct position at = walk->at;
	uintptr_t *next_frame = walk->next, *const room_end = walk->end;
	struct cfi_rule scratch;
	struct cfi_rule *rule = cfi_find(table, walk->key, &scratch);
	enum walk_state state;

	for (;;) {
		state = step_by_rule(&walk->window, rule, &at, end);
		if (state == WALK_ON)
			state = store_frame(&next_frame, room_end, at.ip, end);
		if (state != WALK_ON)
			break;
		rule = step_find_rule(table, at.ip, at.sp, rule, &scratch);
	}
	walk->next = next_frame;
	walk->at = at;
	return state;
}

/* Continues the walk by rules, and through signal frames. */
static enum walk_state walk_on(struct walk *walk, const struct stack_bounds *stack,
			       enum capture_end *end)
{
	for (;;) {
		enum walk_state state = walk_quick(walk, end);

		if (state != WALK_SIGNAL)
			return state;
		if (!step_out_of_signal(&walk->window, &walk->at, stack))
			return stop_walk(CAPTURE_LEFT_STACK, end);
		walk->key = walk->at.ip | CFI_EXACT;
		state = store_frame(&walk->next, walk->end, walk->at.ip, end);
		if (state != WALK_ON)
			return state;
	}
}

/* Steps with all registers, which rare rules need. Each step takes some 200 ns. */

static enum dwarf_step step_fully(struct dwarf_frame *frame, struct window *window)
{
	struct dwarf_row row;
	unsigned int module;

	if (!cfi_row(frame->pc, frame->is_exact, &row, &module))
		return DWARF_STEP_UNKNOWN;
	return dwarf_step(&row, frame, &window->memory);
}

/*
 * Finds the registers at the origin by a walk from this function to the origin, because a rare rule
 * may need a register that struct origin does not contain (the loader's resolver needs rbx). If
 * that walk fails, only the members of struct origin are known.
 */
static __attribute__((noinline)) void registers_at(const struct origin *origin,
						   struct dwarf_frame *frame)
{
	struct window own = { .memory.read = window_read_memory };

	frame->known = arch_registers(frame->reg, &frame->pc);
	frame->is_exact = true;
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

/*
 * Like walk_on(), but from the origin and with all registers. Once a frame at or beyond the entry
 * `quick_from` is stored, returns WALK_ON if walk_on() can continue from that frame.
 */
static enum walk_state walk_fully(struct walk *walk, const struct origin *origin,
				  const struct stack_bounds *stack, const uintptr_t *quick_from,
				  enum capture_end *end)
{
	/* a rule of the table needs only these two registers */
	const uint64_t quick = (uint64_t)1 << DWARF_SP | (uint64_t)1 << DWARF_FP;
	struct dwarf_frame frame;

	registers_at(origin, &frame);
	for (;;) {
		bool was_exact = frame.is_exact;
		enum dwarf_step result = step_fully(&frame, &walk->window);
		enum walk_state state;

		if (result != DWARF_STEP_OK)
			return stop_walk(result == DWARF_STEP_END      ? CAPTURE_COMPLETE
					 : result == DWARF_STEP_MEMORY ? CAPTURE_LEFT_STACK
								       : CAPTURE_NO_RULE,
					 end);
		/* the function that a signal interrupted may be on any stack */
		if (frame.is_exact)
			window_open(&walk->window, frame.reg[DWARF_SP],
				    frame.reg[DWARF_SP] - ARCH_RED_ZONE, stack);
		else if (frame.reg[DWARF_SP] <= walk->at.sp && !was_exact)
			return stop_walk(CAPTURE_NOT_RISING, end);
		walk->at.ip = frame.pc;
		walk->at.sp = frame.reg[DWARF_SP];
		walk->at.fp = frame.reg[DWARF_FP];
		state = store_frame(&walk->next, walk->end, frame.pc, end);
		if (state != WALK_ON)
			return state;
		walk->key = frame.pc;
		if (walk->next > quick_from && !frame.is_exact && (frame.known & quick) == quick)
			return WALK_ON;
	}
}

static void start_walk(struct walk *walk, uintptr_t *frames, const struct origin *origin,
		       const struct stack_bounds *stack)
{
	walk->at = (struct position){ .ip = origin->ip, .sp = origin->cfa, .fp = origin->fp };
	walk->key = origin->ip;
	walk->next = frames + 1;
	frames[0] = origin->ip;
	window_open(&walk->window, origin->cfa, origin->cfa, stack);
	if (!window_is_known(&walk->window))
		window_open_first(&walk->window, origin->cfa);
}

unsigned int capture_walk(const struct origin *origin, const struct stack_bounds *stack,
			  uintptr_t *frames, unsigned int depth, enum capture_end *end)
{
	struct walk walk = { .end = frames + depth };
	enum walk_state state;

	if (__builtin_expect(maps_is_loader(origin->ip), 0))
		maps_check();
	start_walk(&walk, frames, origin, stack);
	state = walk_on(&walk, stack, end);
	if (__builtin_expect(state == WALK_FULL, 0)) {
		const uintptr_t *rare = walk.next;

		start_walk(&walk, frames, origin, stack);
		state = walk_fully(&walk, origin, stack, rare, end);
		if (state == WALK_ON)
			state = walk_on(&walk, stack, end);
	}
	if (__builtin_expect(state == WALK_FULL, 0)) {
		start_walk(&walk, frames, origin, stack);
		walk_fully(&walk, origin, stack, walk.end, end);
	}
	return (unsigned int)(walk.next - frames);
}
