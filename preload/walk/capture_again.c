/* SPDX-License-Identifier: MIT */
/*
 * The walk that remembers. A walk by rules of sp and fp is a function of where it starts (ip, sp,
 * fp), of the rules, and of the words that it reads: from the same place, with the same modules and
 * the same words, it goes on as it did. Equal words alone prove nothing, because dead frames keep
 * theirs; so the walk must come by that place by itself. Every such word lies above the sp of the
 * frame that it was read for, hence within the known stack of any walk that comes there.
 */
#include "capture_parts.h"

#include "maps.h"

/* Frames beyond what was asked for, so that a few returns later they need not be looked for. */
#define BEYOND 64u

struct recall {
	struct capture_memory *memory;
	struct capture_step *next, *end; /* room for the frames to come */
	struct capture_step *solid;	 /* frames from here on may be used again */
	struct position at;
	uintptr_t key;
	struct window window;
	uint32_t generation;
	unsigned int depth;
	uint32_t candidates;	     /* remembered frames that the walk has not passed yet */
	uint32_t held_from, held_to; /* slots that are known to hold their values */
};

enum { RECALL_MET = WALK_DONE + 1 };

/* Behind all steps there can be. */
static struct capture_step *no_step(struct recall *recall)
{
	return recall->memory->steps + CAPTURE_MEMORY_MAX;
}

static inline uintptr_t changed(const struct capture_slot *slot)
{
	return *(const uintptr_t *)slot->address ^ slot->value;
}

/* The first slot of from … to that holds another value by now; to if there is none. */
static inline uint32_t first_changed(const struct capture_slot *slots, uint32_t from, uint32_t to)
{
	while (from + 4 <= to) {
		const struct capture_slot *slot = &slots[from];

		/* Four loads that do not wait for each other, and one branch. */
		if (__builtin_expect((changed(slot) | changed(slot + 1) | changed(slot + 2) |
				      changed(slot + 3)) != 0,
				     0))
			break;
		from += 4;
	}
	while (from < to && changed(&slots[from]) == 0)
		from++;
	return from;
}

/*
 * Whether what lies outwards of remembered frame number i is as it was, as far as it will be told:
 * of a backtrace that is cut off, up to the first frame that shows that there is more.
 */
static inline __attribute__((always_inline)) bool holds(struct recall *recall, uint32_t i)
{
	const struct capture_memory *memory = recall->memory;
	uint32_t total = (uint32_t)(recall->next - memory->steps) + i + 1;
	uint32_t to = memory->frames[i].slots, from = 0;

	if (__builtin_expect(total > recall->depth, 0)) {
		uint32_t cut = total - recall->depth;

		/* Behind the slots of frame cut - 1 come those of the step that led to it. */
		from = cut > i ? to : memory->frames[cut - 1].slots;
	} else if (__builtin_expect(memory->end == CAPTURE_DEPTH, 0)) {
		return false;
	}
	if (from >= recall->held_from && to <= recall->held_to)
		return true;
	recall->held_from = from;
	recall->held_to = first_changed(memory->slots, from, to);
	if (__builtin_expect(recall->held_to == to, 1))
		return true;
	/* No frame that needs the changed one can be met any more. */
	while (recall->candidates > 0 &&
	       memory->frames[recall->candidates - 1].slots > recall->held_to)
		recall->candidates--;
	return false;
}

/* Whether the walk has come to a remembered frame from which it would go on as remembered. */
static inline __attribute__((always_inline)) bool meets(struct recall *recall,
							const struct position *at)
{
	const struct capture_frame *frames = recall->memory->frames;
	const struct capture_frame *frame;

	while (recall->candidates > 0 && frames[recall->candidates - 1].sp < at->sp)
		recall->candidates--;
	if (recall->candidates == 0)
		return false;
	frame = &frames[recall->candidates - 1];
	return frame->sp == at->sp && frame->ip == at->ip &&
	       (!frame->needs_fp || frame->fp == at->fp) && holds(recall, recall->candidates - 1) &&
	       __atomic_load_n(&maps_generation, __ATOMIC_RELAXED) == recall->generation;
}

/* Like walk_quick(), until it meets a remembered frame. */
static int recall_quick(struct recall *recall, enum capture_end *end)
{
	struct cfi_table *table;
	struct position at = recall->at;
	struct capture_step *next = recall->next;
	struct cfi_rule scratch;
	struct cfi_rule *rule = NULL;
	int state;

	table = cfi_table();
	for (;;) {
		recall->next = next;
		if (window_is_known(&recall->window) && recall->key == at.ip &&
		    meets(recall, &at)) {
			state = RECALL_MET;
			break;
		}
		if (__builtin_expect(next == recall->end, 0)) {
			state = stop(CAPTURE_DEPTH, end);
			break;
		}
		if (rule != NULL)
			rule = find_next(table, at.ip, at.sp, rule, &scratch);
		else if (!is_for(rule = cfi_guess(table, recall->key), recall->key))
			rule = cfi_find(table, recall->key, &scratch);
		next->ip = at.ip;
		next->sp = at.sp;
		next->fp = at.fp;
		next->rule = rule;
		next++;
		if (__builtin_expect(rule == &scratch, 0) && recall->solid < next)
			recall->solid = next;
		state = (int)step(&recall->window, rule, &at, end);
		if (state == WALK_ON && at.ip == 0)
			state = stop(CAPTURE_COMPLETE, end);
		recall->key = at.ip;
		if (state != WALK_ON)
			break;
	}
	recall->next = next;
	recall->at = at;
	return state;
}

/* Whether what it says depends on fp, though it may also say where fp was saved. */
static inline bool uses_fp(const struct cfi_rule *rule)
{
	_Static_assert(CFI_FP_DEREF > CFI_FP && CFI_FP > CFI_SP, "the last two forms use fp");
	return rule->form >= CFI_FP || rule->fp_form == CFI_FP_AT_FP;
}

/*
 * Notes what a walk read in order to step outwards from step's frame to outer. needs_fp: whether
 * outer's fp matters; if not, neither does its slot. Returns whether all of it lies above step's
 * sp.
 */
static inline __attribute__((always_inline)) bool put_slots(struct capture_slot **slots,
							    const struct capture_step *step,
							    const struct position *outer,
							    bool needs_fp)
{
	const struct cfi_rule *rule = step->rule;
	uintptr_t cfa = outer->sp, address = cfa + (uintptr_t)rule->ra;
	struct capture_slot *slot = *slots;
	bool is_above = address >= step->sp;

	slot->address = address;
	slot->value = ARCH_SIGNS_ADDRESSES ? *(const uintptr_t *)address : outer->ip;
	slot++;
	if (needs_fp && rule->fp_form != CFI_FP_SAME) {
		address = (rule->fp_form == CFI_FP_AT_CFA ? cfa : step->fp) + (uintptr_t)rule->fp;
		is_above &= address >= step->sp;
		slot->address = address;
		slot->value = outer->fp;
		slot++;
	}
	if (__builtin_expect(rule->form == CFI_FP_DEREF, 0)) {
		address = step->fp + (uintptr_t)rule->cfa;
		is_above &= address >= step->sp;
		slot->address = address;
		slot->value = cfa;
		slot++;
	}
	*slots = slot;
	return is_above;
}

/*
 * Whether the walk would end just so for whoever comes to its last frame, when that step could not
 * be made: the stack's upper end is always the same, its lower one is the origin's.
 */
static bool ends_so(const struct capture_step *last, enum capture_end end)
{
	const struct cfi_rule *rule = last->rule;
	struct position outer = { .sp = last->sp };

	if (end != CAPTURE_LEFT_STACK && end != CAPTURE_NOT_RISING)
		return true;
	if (rule->form == CFI_FP_DEREF)
		return false;
	outer.sp = (rule->form == CFI_FP ? last->fp : last->sp) + (uintptr_t)rule->cfa;
	return end == CAPTURE_NOT_RISING ||
	       (outer.sp > last->sp && outer.sp + (uintptr_t)rule->ra >= last->sp &&
		(rule->fp_form != CFI_FP_AT_CFA || outer.sp + (uintptr_t)rule->fp >= last->sp) &&
		(rule->fp_form != CFI_FP_AT_FP || last->fp + (uintptr_t)rule->fp >= last->sp));
}

/* Takes the outermost frames away, so that the new ones find room. */
static __attribute__((noinline)) void forget_outer(struct capture_memory *memory, uint32_t frames,
						   uint32_t rest)
{
	uint32_t slots = memory->frames[frames].slots;
	uint32_t used = memory->frames[frames + rest - 1].slots;

	for (uint32_t i = slots; i < used; i++)
		memory->slots[i - slots] = memory->slots[i];
	for (uint32_t i = 0; i < rest; i++) {
		memory->frames[i] = memory->frames[frames + i];
		memory->frames[i].slots -= slots;
	}
}

/* The outermost frame of a walk that met nothing: what decides how it ended. */
static void put_end(struct recall *recall, struct capture_slot **slots, bool *is_solid,
		    bool *needs_fp)
{
	const struct capture_step *step = recall->next - 1;
	enum capture_end end = (enum capture_end)recall->memory->end;

	*needs_fp = false;
	*is_solid = step >= recall->solid;
	if (!*is_solid || end == CAPTURE_DEPTH)
		return;
	*needs_fp = uses_fp(step->rule);
	if (end == CAPTURE_COMPLETE && step->rule->form != CFI_END)
		*is_solid = put_slots(slots, step, &recall->at, false); /* a return address of 0 */
	else
		*is_solid = ends_so(step, end);
}

static inline __attribute__((always_inline)) void put_frame(struct capture_frame *frame,
							    const struct capture_step *step)
{
	frame->ip = step->ip;
	frame->sp = step->sp;
	frame->fp = step->fp;
}

/*
 * Puts the frames of the walk before the outermost kept ones that are remembered. Returns how many
 * addresses are the same as before.
 */
static inline __attribute__((always_inline)) uint32_t put(struct recall *recall, uint32_t kept)
{
	struct capture_memory *memory = recall->memory;
	uint32_t fresh = (uint32_t)(recall->next - memory->steps);
	uint32_t before = memory->count, same = kept, solid = kept;
	struct capture_slot *slots = memory->slots, *const slots_end =
							    slots + CAPTURE_SLOTS_MAX - 3;
	struct capture_frame *frame;
	struct capture_step *step = recall->next;
	struct position outer = recall->at;
	bool needs_fp, is_solid = true;

	if (__builtin_expect(kept + fresh > CAPTURE_MEMORY_MAX, 0)) {
		uint32_t rest = recall->depth + BEYOND - fresh;

		if (rest > 0)
			forget_outer(memory, kept - rest, rest);
		memory->end = CAPTURE_DEPTH;
		kept = solid = rest;
		same = before = 0;
	}
	frame = memory->frames + kept;
	if (__builtin_expect(kept > 0, 1)) {
		slots += frame[-1].slots;
		needs_fp = frame[-1].needs_fp;
	} else {
		put_end(recall, &slots, &is_solid, &needs_fp);
		step--;
		if (before > 0 && frame->ip == step->ip)
			same = 1;
		put_frame(frame, step);
		frame->slots = (uint32_t)(slots - memory->slots);
		frame->needs_fp = needs_fp;
		outer = (struct position){ .ip = step->ip, .sp = step->sp, .fp = step->fp };
		solid += is_solid;
		frame++;
	}
	while (step-- > memory->steps) {
		is_solid &= step >= recall->solid && slots <= slots_end;
		if (__builtin_expect(is_solid, 1)) {
			is_solid = put_slots(&slots, step, &outer, needs_fp);
			needs_fp = uses_fp(step->rule) ||
				   (needs_fp && step->rule->fp_form == CFI_FP_SAME);
			solid += is_solid;
		}
		if (memory->frames + same == frame && same < before && frame->ip == step->ip)
			same++;
		put_frame(frame, step);
		frame->slots = (uint32_t)(slots - memory->slots);
		frame->needs_fp = needs_fp;
		outer = (struct position){ .ip = step->ip, .sp = step->sp, .fp = step->fp };
		frame++;
	}
	memory->count = kept + fresh;
	memory->solid = solid;
	memory->generation = recall->generation;
	memory->walked = fresh;
	return same;
}

uint32_t capture_take(struct capture_memory *memory, const uintptr_t *frames, uint32_t count,
		      enum capture_end end)
{
	uint32_t same = 0, before = memory->count;

	for (uint32_t i = 0; i < count; i++) {
		if (same == i && i < before && memory->frames[i].ip == frames[count - 1 - i])
			same++;
		memory->frames[i].ip = frames[count - 1 - i];
	}
	memory->count = memory->walked = count;
	memory->solid = 0;
	memory->end = (uint32_t)end;
	return same;
}

/* Where a rule needs more than sp and fp: the plain walk, of which nothing may be used again. */
static __attribute__((noinline)) uint32_t
put_plain(struct recall *recall, const struct origin *origin, const struct stack_bounds *stack)
{
	struct capture_memory *memory = recall->memory;
	uintptr_t *ips = (uintptr_t *)(void *)memory->steps;
	enum capture_end end;
	uint32_t count = capture_walk(origin, stack, ips, recall->depth, &end);

	return capture_take(memory, ips, count, end);
}

/* Through signals: the frames up to there are no state that a walk could come to again. */
static int recall_on(struct recall *recall, const struct stack_bounds *stack, enum capture_end *end)
{
	for (;;) {
		int state = recall_quick(recall, end);
		struct walk walk;

		if (__builtin_expect(state != WALK_SIGNAL, 1))
			return state;
		walk.at = recall->at;
		walk.window = recall->window;
		if (!capture_read_signal(&walk, stack)) {
			recall->solid = recall->next;
			return (int)stop(CAPTURE_LEFT_STACK, end);
		}
		recall->at = walk.at;
		recall->key = walk.key;
		recall->window = walk.window;
		recall->solid =
			window_is_known(&recall->window) ? recall->next + 1 : no_step(recall);
		if (walk.at.ip == 0)
			return (int)stop(CAPTURE_COMPLETE, end);
	}
}

static __attribute__((noinline)) uint32_t recall_walk(struct capture_memory *memory,
						      const struct origin *origin,
						      const struct stack_bounds *stack,
						      unsigned int depth, enum capture_end *end)
{
	struct recall recall; /* an initialiser would clear it first: 5 ns */
	uint32_t same, kept = 0;
	int state;

	if (__builtin_expect(maps_is_loader(origin->ip), 0))
		maps_check();
	recall.memory = memory;
	recall.next = memory->steps;
	recall.depth = depth;
	recall.held_from = recall.held_to = 0;
	recall.generation = __atomic_load_n(&maps_generation, __ATOMIC_ACQUIRE);
	recall.candidates =
		memory->count > 0 && memory->generation == recall.generation ? memory->solid : 0;
	recall.at.ip = recall.key = origin->ip;
	recall.at.sp = origin->cfa;
	recall.at.fp = origin->fp;
	window_open(&recall.window, origin->cfa, origin->cfa, stack);
	recall.solid = memory->steps;
	recall.end = memory->steps + depth + BEYOND;
	if (__builtin_expect(!window_is_known(&recall.window), 0)) {
		window_open_first(&recall.window, origin->cfa);
		recall.solid = no_step(&recall);
		recall.end = memory->steps + depth;
	}
	state = recall_on(&recall, stack, end);
	if (__builtin_expect(state == RECALL_MET, 1)) {
		kept = recall.candidates;
	} else if (state != WALK_FULL) {
		memory->end = (uint32_t)*end;
	} else if (recall.next - memory->steps <= depth) {
		same = put_plain(&recall, origin, stack);
		*end = (enum capture_end)memory->end;
		return same;
	} else {
		/* Beyond what was asked for, and all that we wanted to know is that it is there. */
		memory->end = CAPTURE_DEPTH;
	}
	same = put(&recall, kept);
	*end = memory->count > depth ? CAPTURE_DEPTH : (enum capture_end)memory->end;
	return same;
}

/* Whether everything outwards of the innermost remembered frame is as it was, and can be used. */
static inline __attribute__((always_inline)) bool is_ready(const struct capture_memory *memory,
							   const struct origin *origin,
							   const struct stack_bounds *stack)
{
	uint32_t slots = memory->frames[memory->count - 1].slots;

	return memory->end != CAPTURE_DEPTH &&
	       origin->cfa - stack->low < stack->high - stack->low &&
	       memory->generation == __atomic_load_n(&maps_generation, __ATOMIC_RELAXED) &&
	       !maps_is_loader(origin->ip) && first_changed(memory->slots, 0, slots) == slots;
}

/*
 * Whether a step from the origin by its own rule reads the words that the step from the innermost
 * remembered frame read, and leads to the same caller. Then sets whether its fp matters.
 */
static inline __attribute__((always_inline)) bool
is_sibling(const struct capture_memory *memory, const struct origin *origin, uint32_t *needs_fp)
{
	const struct capture_frame *outer = &memory->frames[memory->count - 2];
	const struct capture_slot *slot = &memory->slots[outer->slots];
	const struct cfi_rule *rule = cfi_guess(cfi_table(), origin->ip);
	uintptr_t cfa;

	if (!is_for(rule, origin->ip))
		return false;
	cfa = rule->form == CFI_SP   ? origin->cfa + (uintptr_t)rule->cfa
	      : rule->form == CFI_FP ? origin->fp + (uintptr_t)rule->cfa
				     : 0;
	*needs_fp = rule->form == CFI_FP;
	if (cfa != outer->sp || slot[0].address != cfa + (uintptr_t)rule->ra ||
	    arch_plain_address(slot[0].value) != outer->ip)
		return false;
	if (rule->fp_form == CFI_FP_SAME) {
		*needs_fp |= outer->needs_fp;
		return !outer->needs_fp || origin->fp == outer->fp;
	}
	return !outer->needs_fp ||
	       (rule->fp_form == CFI_FP_AT_CFA && outer->slots + 2 == outer[1].slots &&
		slot[1].address == cfa + (uintptr_t)rule->fp && slot[1].value == outer->fp);
}

/*
 * The two commonest cases first: everything as before, and another call in the same function. Both
 * have the frame of the innermost remembered one.
 */
uint32_t capture_again(struct capture_memory *memory, const struct origin *origin,
		       const struct stack_bounds *stack, unsigned int depth, enum capture_end *end)
{
	uint32_t count = memory->count, needs_fp;
	struct capture_frame *frame = &memory->frames[count - 1];

	if (count - 2 >= depth - 1 || memory->solid != count || frame->sp != origin->cfa ||
	    !is_ready(memory, origin, stack))
		return recall_walk(memory, origin, stack, depth, end);
	if (frame->ip == origin->ip && (!frame->needs_fp || frame->fp == origin->fp)) {
		memory->walked = 0;
		*end = (enum capture_end)memory->end;
		return count;
	}
	if (!is_sibling(memory, origin, &needs_fp))
		return recall_walk(memory, origin, stack, depth, end);
	count -= frame->ip != origin->ip;
	frame->ip = origin->ip;
	frame->fp = origin->fp;
	frame->needs_fp = needs_fp;
	memory->walked = 1;
	*end = (enum capture_end)memory->end;
	return count;
}
