/* SPDX-License-Identifier: MIT */
/*
 * The stack walk that reuses frames: it reads only what may have changed since the thread's last
 * backtrace, whose frames the library remembers.
 *
 * When is a frame reused? A walk by rules of sp and fp depends only on its start (ip, sp, fp), the
 * rules, and the stack words that it reads. Suppose that a walk arrives at the ip, sp and fp of a
 * remembered frame, the same modules are loaded, and every word that the last walk read from there
 * outwards still has its value. Then the walk would continue as the last one did, so it keeps all
 * frames from there outwards without using rules. Equal words alone prove nothing, because a
 * function that has returned leaves its words on the stack: the walk must arrive at the frame. The
 * words read for a frame are above its sp, so a walk that arrives at the frame may read them.
 *
 * Example: the last event was a malloc in parse_number, this one is a malloc in parse_string.
 *
 *   remembered             stack words read by the last walk       this walk
 *   frames[]      .slots   slots[]                                 steps[]
 *
 *   0 _start          0                                            (kept unread)
 *   1 main+20         1    a: return address into _start   ==== [2] main+20, same ip and sp: met
 *   2 parse_value+10  3    b, c: into main, main's fp           [1] parse_value+40
 *   3 parse_number+8  4    d: into parse_value                  [0] parse_string+4, the origin
 *
 * 1. recall_quick() steps outwards from the origin and moves a candidate along frames[] by its sp.
 *    At [2] the candidate frames[1] has the same ip and sp (and fp, where a rule depends on it).
 * 2. count_meetable() compares the first frames[1].slots words, here a, with the stack. They are
 *    the same, so frames[1] is met. (If a had changed, only frame 0, which does not need a, could
 *    be met.)
 * 3. put_walk() keeps frames 0 and 1, and replaces 2 and 3 by the steps [1] and [0] and their
 *    words.
 *
 * Before it walks, capture_again() tries three shorter ways, the fastest first:
 *
 *   same caller       the origin is the innermost remembered frame, and no word has changed
 *   is_sibling()      another call in the same function, so that only the innermost ip changes
 *   path_leads()      one of two paths that earlier walks from this origin have stored
 *
 * Paths are for stacks that change back and forth, a malloc here and a free there. keep_path()
 * stores the new frames of a walk up to the frame that it met: here parse_string+4 and
 * parse_value+40 with their words, which lead to main+20. A later walk with the same origin and the
 * same words would take the same steps. If frames[] then still has main+20, with all words outwards
 * of it unchanged, recall_path() copies the path in front of main+20 instead of walking.
 */
#include "capture.h"
#include "maps.h"
#include "step.h"

/*
 * The number of frames beyond `depth` that are also walked, so that they are remembered when the
 * program has returned from some functions.
 */
#define BEYOND 64u

/* After this many walks that used no path, new paths are stored less often. */
#define PATHS_IDLE 6u

struct recall {
	struct capture_memory *memory;
	struct capture_step *next, *end; /* space for more frames */
	struct capture_step *solid;	 /* frames from this one outwards can be reused */
	struct position at;
	uintptr_t key;
	uint32_t generation;
	unsigned int depth;
	uint32_t candidates; /* number of remembered frames that the walk may still meet */
};

enum { RECALL_MET = WALK_DONE + 1 };

/* The value of recall.solid if no frame can be reused: a position beyond all steps. */
static struct capture_step *no_step(struct recall *recall)
{
	return recall->memory->steps + CAPTURE_MEMORY_MAX;
}

static inline uintptr_t slot_changed(const struct capture_slot *slot)
{
	return *(const uintptr_t *)slot->address ^ slot->value;
}

/* Whether four slots are unchanged, by four independent loads and one branch. */
static inline bool four_hold(const struct capture_slot *slot)
{
	return (slot_changed(slot) | slot_changed(slot + 1) | slot_changed(slot + 2) |
		slot_changed(slot + 3)) == 0;
}

/* Returns the first slot before `end` whose word has changed, or `end`. */
static inline __attribute__((always_inline)) const struct capture_slot *
first_changed(const struct capture_slot *slot, const struct capture_slot *end)
{
	const struct capture_slot *const last = end - 4;

	if (__builtin_expect(slot <= last, 1)) {
		while (slot < last && four_hold(slot))
			slot += 4;
		/* the last four slots, some of which may be read twice */
		if (slot >= last && four_hold(last))
			return end;
	}
	while (slot < end && slot_changed(slot) == 0)
		slot++;
	return slot;
}

/*
 * Called when a walk of `own` frames has arrived at remembered frame number i. Returns i + 1 if no
 * word has changed from that frame outwards (in a truncated backtrace: up to the first frame that
 * is not shown). Otherwise returns how many remembered frames the walk can still meet.
 */
static inline __attribute__((always_inline)) uint32_t count_meetable(const struct recall *recall,
								     uint32_t i, uint32_t own)
{
	const struct capture_memory *memory = recall->memory;
	uint32_t total = own + i + 1, to = memory->frames[i].slots, from = 0;

	if (__builtin_expect(total > recall->depth, 0)) {
		uint32_t cut = total - recall->depth;

		/* the slots from here on belong to the steps that lead to frame cut - 1 */
		from = cut > i ? to : memory->frames[cut - 1].slots;
	} else if (__builtin_expect(memory->end == CAPTURE_DEPTH, 0)) {
		return i;
	}
	from = (uint32_t)(first_changed(memory->slots + from, memory->slots + to) - memory->slots);
	if (__builtin_expect(from == to, 1))
		return i +
		       (__atomic_load_n(&maps_generation, __ATOMIC_RELAXED) == recall->generation);
	/* frames that need the changed word can no longer be met */
	while (i > 0 && memory->frames[i - 1].slots > from)
		i--;
	return i;
}

/* Like walk_quick(), but also ends when it meets a remembered frame. */
static inline __attribute__((always_inline)) int
recall_quick(struct recall *recall, struct window *window, enum capture_end *end)
{
	/* no walk arrives at this frame, whose sp is 0 */
	static const struct capture_frame none;
	const struct capture_frame *const frames = recall->memory->frames, *candidate = &none;
	struct cfi_table *table = cfi_table();
	struct position at = recall->at;
	struct capture_step *next = recall->next;
	struct cfi_rule scratch;
	struct cfi_rule *rule = cfi_guess(table, recall->key);
	uintptr_t outermost = 0; /* sp of the outermost candidate */
	int state;

	if (window_is_known(window) && recall->candidates > 0) {
		candidate = &frames[recall->candidates - 1];
		outermost = frames->sp;
	}
	if (__builtin_expect(!rule_is_for(rule, recall->key), 0))
		rule = cfi_find(table, recall->key, &scratch);
	for (;;) {
		next->ip = at.ip;
		next->sp = at.sp;
		next->fp = at.fp;
		next->rule = rule;
		next++;
		if (__builtin_expect(rule == &scratch, 0) && recall->solid < next)
			recall->solid = next;
		state = (int)step_by_rule(window, rule, &at, end);
		if (__builtin_expect(state != WALK_ON, 0))
			break;
		if (__builtin_expect(at.ip == 0, 0)) {
			state = stop_walk(CAPTURE_COMPLETE, end);
			break;
		}
		/* this loop ends, because the sp of the outermost candidate is not below at.sp */
		if (at.sp <= outermost)
			while (candidate->sp < at.sp)
				candidate--;
		if (candidate->sp == at.sp && candidate->ip == at.ip &&
		    (!candidate->needs_fp || candidate->fp == at.fp)) {
			uint32_t count = (uint32_t)(candidate - frames) + 1;
			uint32_t left = count_meetable(recall, count - 1,
						       (uint32_t)(next - recall->memory->steps));

			if (__builtin_expect(left == count, 1)) {
				state = RECALL_MET;
				break;
			}
			candidate = left > 0 ? &frames[left - 1] : &none;
			outermost = left > 0 ? outermost : 0;
		}
		if (__builtin_expect(next == recall->end, 0)) {
			state = stop_walk(CAPTURE_DEPTH, end);
			break;
		}
		rule = step_find_rule(table, at.ip, at.sp, rule, &scratch);
	}
	recall->next = next;
	recall->at = at;
	recall->key = at.ip;
	recall->candidates = outermost > 0 ? (uint32_t)(candidate - frames) + 1 : 0;
	return state;
}

/* Whether the rule computes the CFA, or the position of the saved fp, from fp. */
static inline bool uses_fp(const struct cfi_rule *rule)
{
	_Static_assert(CFI_CHAIN > CFI_FP && CFI_FP_DEREF > CFI_FP && CFI_FP > CFI_SP,
		       "only forms from CFI_FP on may use the frame pointer");
	return rule->form >= CFI_FP || rule->fp_form == CFI_FP_AT_FP;
}

/* Adds a word that the walk has read. Returns whether the word is above sp. */
static inline bool put_slot(struct capture_slot **slots, uintptr_t sp, uintptr_t address,
			    uintptr_t value)
{
	(*slots)->address = address;
	(*slots)->value = value;
	(*slots)++;
	return address >= sp;
}

/*
 * Adds the words that the walk read when it stepped from the frame of `step` outwards to `outer`.
 * *needs_fp: before the call, whether the fp of `outer` matters (if not, the word in which it was
 * saved does not matter either); after it, whether the fp of `step` matters. Returns whether all of
 * these words are above the sp of `step`.
 */
static inline __attribute__((always_inline)) bool put_slots(struct capture_slot **slots,
							    const struct capture_step *step,
							    const struct position *outer,
							    bool *needs_fp)
{
	const struct cfi_rule *rule = step->rule;
	uintptr_t cfa = outer->sp, sp = step->sp, address = cfa + (uintptr_t)rule->ra;
	bool is_above = put_slot(slots, sp, address,
				 ARCH_SIGNS_ADDRESSES ? *(const uintptr_t *)address : outer->ip);

	if (__builtin_expect(!*needs_fp && !uses_fp(rule), 1))
		return is_above;
	if (*needs_fp && rule->fp_form != CFI_FP_SAME) {
		address = (rule->fp_form == CFI_FP_AT_CFA ? cfa : step->fp) + (uintptr_t)rule->fp;
		is_above &= put_slot(slots, sp, address, outer->fp);
		*needs_fp = false;
	}
	if (rule->form == CFI_FP_DEREF)
		is_above &= put_slot(slots, sp, step->fp + (uintptr_t)rule->cfa, cfa);
	*needs_fp |= uses_fp(rule);
	return is_above;
}

/*
 * Called if the walk ended because no further step was possible. Returns whether every walk that
 * arrives at this outermost frame ends in the same way. The upper end of the stack is constant, but
 * its lower end is the origin's sp.
 */
static bool end_is_same(const struct capture_step *last, enum capture_end end)
{
	const struct cfi_rule *rule = last->rule;
	struct position outer = { .sp = last->sp };

	/* if fp points up the stack, unremembered words decide whether it is a frame pointer */
	if (rule->form == CFI_CHAIN)
		return last->fp < last->sp || (last->fp & 7) != 0;
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

/* Removes the `frames` outermost remembered frames to make space; keeps the next `rest` frames. */
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

/* Adds the words that ended a walk which met no remembered frame; describes the outermost frame. */
static void put_end(struct recall *recall, struct capture_slot **slots, bool *is_solid,
		    bool *needs_fp)
{
	const struct capture_step *step = recall->next - 1;
	enum capture_end end = (enum capture_end)recall->memory->end;

	*needs_fp = false;
	*is_solid = step >= recall->solid;
	if (!*is_solid || end == CAPTURE_DEPTH)
		return;
	if (end == CAPTURE_COMPLETE && step->rule->form != CFI_END)
		/* the walk ended at a return address of 0 */
		*is_solid = put_slots(slots, step, &recall->at, needs_fp);
	else
		*is_solid = end_is_same(step, end);
	*needs_fp = uses_fp(step->rule);
}

static inline __attribute__((always_inline)) void put_frame(struct capture_frame *frame,
							    const struct capture_step *step)
{
	frame->ip = step->ip;
	frame->sp = step->sp;
	frame->fp = step->fp;
}

/* Returns how many outermost frames of the walk have the same addresses as before. */
static inline __attribute__((always_inline)) uint32_t
count_same(const struct recall *recall, const struct capture_frame *frame, uint32_t before)
{
	const struct capture_step *step = recall->next;
	uint32_t most = (uint32_t)(step - recall->memory->steps), same = 0;

	if (most > before)
		most = before;
	while (same < most && (--step)->ip == frame->ip) {
		frame++;
		same++;
	}
	return same;
}

/*
 * Puts the frames of the walk in front of the `kept` outermost remembered frames. Returns how many
 * frames, from the outermost on, have the same addresses as before.
 */
static inline __attribute__((always_inline)) uint32_t put_walk(struct recall *recall, uint32_t kept)
{
	struct capture_memory *memory = recall->memory;
	uint32_t fresh = (uint32_t)(recall->next - memory->steps);
	uint32_t before = memory->count, same = kept;
	struct capture_slot *slots = memory->slots, *const slots_end =
							    slots + CAPTURE_SLOTS_MAX - 3;
	struct capture_frame *frame;
	const struct capture_step *step = recall->next;
	struct position outer = recall->at;
	bool needs_fp, is_solid = true;

	if (__builtin_expect(kept + fresh > CAPTURE_MEMORY_MAX, 0)) {
		uint32_t rest = recall->depth + BEYOND - fresh;

		if (rest > 0)
			forget_outer(memory, kept - rest, rest);
		memory->end = CAPTURE_DEPTH;
		kept = rest;
		same = before = 0;
	}
	frame = memory->frames + kept;
	same += before > kept ? count_same(recall, frame, before - kept) : 0;
	if (__builtin_expect(kept > 0, 1)) {
		slots += frame[-1].slots;
		needs_fp = frame[-1].needs_fp;
	} else {
		put_end(recall, &slots, &is_solid, &needs_fp);
		step--;
		put_frame(frame, step);
		frame->slots = (uint32_t)(slots - memory->slots);
		frame->needs_fp = needs_fp;
		outer = (struct position){ .ip = step->ip, .sp = step->sp, .fp = step->fp };
		frame += is_solid;
	}
	while (is_solid && step > recall->solid && slots <= slots_end) {
		step--;
		is_solid = put_slots(&slots, step, &outer, &needs_fp);
		put_frame(frame, step);
		frame->slots = (uint32_t)(slots - memory->slots);
		frame->needs_fp = needs_fp;
		outer = (struct position){ .ip = step->ip, .sp = step->sp, .fp = step->fp };
		if (__builtin_expect(!is_solid, 0))
			break;
		frame++;
	}
	memory->count = kept + fresh;
	memory->solid = (uint32_t)(frame - memory->frames);
	memory->generation = recall->generation;
	memory->walked = fresh;
	/* the remaining inner frames cannot be reused: store only their addresses */
	if (__builtin_expect(memory->solid < memory->count, 0))
		for (step = memory->steps + (memory->count - memory->solid); step > memory->steps;)
			put_frame(frame++, --step);
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

/* Called if a rule needs more than sp and fp: makes a plain walk, whose frames cannot be reused. */
static __attribute__((noinline)) uint32_t
put_plain(struct recall *recall, const struct origin *origin, const struct stack_bounds *stack)
{
	struct capture_memory *memory = recall->memory;
	uintptr_t *ips = (uintptr_t *)(void *)memory->steps;
	enum capture_end end;
	uint32_t count = capture_walk(origin, stack, ips, recall->depth, &end);

	return capture_take(memory, ips, count, end);
}

/*
 * Continues the walk through signal frames. The frames up to the interrupted function cannot be
 * reused, because a walk by rules of sp and fp cannot arrive there.
 */
static inline __attribute__((always_inline)) int recall_on(struct recall *recall,
							   struct window *window,
							   const struct stack_bounds *stack,
							   enum capture_end *end)
{
	for (;;) {
		int state = recall_quick(recall, window, end);
		struct position at;

		if (__builtin_expect(state != WALK_SIGNAL, 1))
			return state;
		at = recall->at;
		if (!step_out_of_signal(window, &at, stack)) {
			recall->solid = recall->next;
			return (int)stop_walk(CAPTURE_LEFT_STACK, end);
		}
		recall->at = at;
		recall->key = at.ip | CFI_EXACT;
		recall->solid = window_is_known(window) ? recall->next + 1 : no_step(recall);
		if (at.ip == 0)
			return (int)stop_walk(CAPTURE_COMPLETE, end);
		if (recall->next == recall->end)
			return (int)stop_walk(CAPTURE_DEPTH, end);
	}
}

/* The hash of a path's start. */
static inline uint32_t path_place(uintptr_t ip, uintptr_t sp)
{
	return (uint32_t)((uint64_t)((ip ^ sp >> 4) * 0x9e3779b97f4a7c15u) >>
			  (64 - CAPTURE_PLACES_BITS));
}

/*
 * Stores, as a path, the frames that a walk has put in front of the `kept` remembered frames. All
 * words of these frames are above the innermost frame's sp and (checked here) below the sp of the
 * remembered frame that the walk met. So they are readable if both frames are on the stack.
 */
static __attribute__((noinline)) void keep_path(struct capture_memory *memory, uint32_t kept,
						uint32_t fresh)
{
	const struct capture_frame *frame = &memory->frames[kept], *outer = frame - 1;
	const struct capture_frame *innermost = outer + fresh;
	const struct capture_slot *slot = &memory->slots[outer->slots];
	uint32_t slot_count = innermost->slots - outer->slots;
	uint32_t number = path_place(innermost->ip, innermost->sp);
	struct capture_place *place = &memory->places[number];
	struct capture_path *path;
	uint32_t idle = place->idle++;
	bool is_below = true;

	/* if no path was used for some time, store only every eighth path */
	if ((idle >= PATHS_IDLE && idle & 7) || fresh > CAPTURE_PATH_FRAMES ||
	    slot_count > CAPTURE_PATH_SLOTS || maps_is_loader(innermost->ip))
		return;
	place->way ^= 1;
	path = &memory->paths[number][place->way];
	/* until the path is complete, it must look unused: a signal handler may jump away */
	path->sp = 0;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	path->ip = innermost->ip;
	path->kept = kept;
	path->generation = memory->generation;
	path->frame_count = (uint16_t)fresh;
	path->slot_count = (uint16_t)slot_count;
	path->outer = *outer;
	for (uint32_t i = 0; i < fresh; i++)
		path->frames[i] = frame[i];
	for (uint32_t i = 0; i < slot_count; i++) {
		path->slots[i] = slot[i];
		is_below &= slot[i].address < outer->sp;
	}
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (is_below)
		path->sp = innermost->sp;
}

static __attribute__((noinline)) uint32_t recall_walk(struct capture_memory *memory,
						      const struct origin *origin,
						      const struct stack_bounds *stack,
						      unsigned int depth, enum capture_end *end)
{
	struct recall recall; /* not initialised here: clearing the struct first would cost 5 ns */
	/* not a member of `recall`, so that the address of `recall` does not escape */
	struct window window;
	uint32_t same, kept = 0;
	int state;

	if (__builtin_expect(maps_is_loader(origin->ip), 0))
		maps_check();
	recall.memory = memory;
	recall.next = memory->steps;
	recall.depth = depth;
	recall.generation = __atomic_load_n(&maps_generation, __ATOMIC_ACQUIRE);
	recall.candidates =
		memory->count > 0 && memory->generation == recall.generation ? memory->solid : 0;
	recall.at.ip = recall.key = origin->ip;
	recall.at.sp = origin->cfa;
	recall.at.fp = origin->fp;
	window_open(&window, origin->cfa, origin->cfa, stack);
	recall.solid = memory->steps;
	recall.end = memory->steps + depth + BEYOND;
	if (__builtin_expect(!window_is_known(&window), 0)) {
		window_open_first(&window, origin->cfa);
		recall.solid = no_step(&recall);
		recall.end = memory->steps + depth;
	}
	state = recall_on(&recall, &window, stack, end);
	if (__builtin_expect(state == RECALL_MET, 1)) {
		kept = recall.candidates;
	} else if (state != WALK_FULL) {
		memory->end = (uint32_t)*end;
	} else if (recall.next - memory->steps <= depth) {
		same = put_plain(&recall, origin, stack);
		*end = (enum capture_end)memory->end;
		return same;
	} else {
		/* more than `depth` frames: the caller only needs to know that there are more */
		memory->end = CAPTURE_DEPTH;
	}
	same = put_walk(&recall, kept);
	if (__builtin_expect(kept > 0, 1) && memory->solid == memory->count &&
	    memory->count == kept + (uint32_t)(recall.next - memory->steps))
		keep_path(memory, kept, memory->count - kept);
	*end = memory->count > depth ? CAPTURE_DEPTH : (enum capture_end)memory->end;
	return same;
}

/*
 * Whether a walk from the origin would take this path to the innermost of the kept frames, and then
 * continue through the remembered frames.
 */
static inline __attribute__((always_inline)) bool path_leads(const struct capture_memory *memory,
							     const struct capture_path *path,
							     const struct origin *origin,
							     unsigned int depth)
{
	const struct capture_frame *outer, *innermost;
	const struct capture_slot *slots_end, *path_end;

	if (path->sp != origin->cfa || path->ip != origin->ip || path->kept > memory->count ||
	    path->kept > memory->solid)
		return false;
	outer = &memory->frames[path->kept - 1];
	if (outer->sp != path->outer.sp || outer->ip != path->outer.ip ||
	    outer->slots != path->outer.slots || outer->needs_fp != path->outer.needs_fp ||
	    (outer->needs_fp && outer->fp != path->outer.fp))
		return false;
	innermost = &path->frames[path->frame_count - 1];
	if ((innermost->needs_fp && innermost->fp != origin->fp) ||
	    path->kept + path->frame_count > depth || path->generation != memory->generation)
		return false;
	path_end = &path->slots[path->slot_count];
	slots_end = &memory->slots[outer->slots];
	return first_changed(path->slots, path_end) == path_end &&
	       first_changed(memory->slots, slots_end) == slots_end;
}

/*
 * Puts a path's frames in front of the frame to which the path leads. Returns how many frames, from
 * the outermost one on, have the same addresses as before.
 */
static inline __attribute__((always_inline)) uint32_t put_path(struct capture_memory *memory,
							       const struct capture_path *path)
{
	uint32_t before = memory->count, same = path->kept, count = same + path->frame_count;
	const struct capture_frame *from = path->frames, *from_end = from + path->frame_count;
	const struct capture_slot *path_slot = path->slots;
	struct capture_frame *frame = &memory->frames[same];
	struct capture_slot *slot = &memory->slots[path->outer.slots];
	struct capture_slot *slot_end = slot + path->slot_count;

	while (same < before && same < count &&
	       memory->frames[same].ip == path->frames[same - path->kept].ip)
		same++;
	do
		*frame++ = *from++;
	while (from < from_end);
	while (slot < slot_end)
		*slot++ = *path_slot++;
	memory->count = memory->solid = count;
	memory->walked = 0;
	return same;
}

/* Uses a path that leads from the origin to a remembered frame, if there is one; else walks. */
static __attribute__((noinline)) uint32_t recall_path(struct capture_memory *memory,
						      const struct origin *origin,
						      const struct stack_bounds *stack,
						      unsigned int depth, enum capture_end *end)
{
	uint32_t number = path_place(origin->ip, origin->cfa);
	struct capture_place *place = &memory->places[number];
	uint16_t way = place->way;

	/* if no path was used for some time, try paths only soon after one was stored */
	if ((place->idle >= PATHS_IDLE && place->idle & 4) || memory->end == CAPTURE_DEPTH ||
	    origin->cfa - stack->low >= stack->high - stack->low ||
	    memory->generation != __atomic_load_n(&maps_generation, __ATOMIC_RELAXED))
		return recall_walk(memory, origin, stack, depth, end);
	if (!path_leads(memory, &memory->paths[number][way], origin, depth)) {
		way ^= 1;
		if (!path_leads(memory, &memory->paths[number][way], origin, depth))
			return recall_walk(memory, origin, stack, depth, end);
	}
	place->way = way;
	place->idle /= 2;
	*end = (enum capture_end)memory->end;
	return put_path(memory, &memory->paths[number][way]);
}

/* Whether all frames outwards of the innermost remembered frame are unchanged and can be reused. */
static inline __attribute__((always_inline)) bool is_ready(const struct capture_memory *memory,
							   const struct origin *origin,
							   const struct stack_bounds *stack)
{
	const struct capture_slot *slots_end =
		memory->slots + memory->frames[memory->count - 1].slots;

	return memory->end != CAPTURE_DEPTH &&
	       origin->cfa - stack->low < stack->high - stack->low &&
	       memory->generation == __atomic_load_n(&maps_generation, __ATOMIC_RELAXED) &&
	       !maps_is_loader(origin->ip) && first_changed(memory->slots, slots_end) == slots_end;
}

/*
 * Whether a step from the origin by its own rule reads the same words as the step from the
 * innermost remembered frame, and leads to the same caller. If so, sets *needs_fp to whether the
 * origin's fp matters.
 */
static inline __attribute__((always_inline)) bool
is_sibling(const struct capture_memory *memory, const struct origin *origin, uint32_t *needs_fp)
{
	const struct capture_frame *outer = &memory->frames[memory->count - 2];
	const struct capture_slot *slot = &memory->slots[outer->slots];
	const struct cfi_rule *rule = cfi_guess(cfi_table(), origin->ip);
	uintptr_t cfa;

	if (!rule_is_for(rule, origin->ip))
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
 * Handles the two most frequent cases itself: nothing has changed, or there was another call in the
 * same function. In both cases the origin's sp is that of the innermost remembered frame.
 */
uint32_t capture_again(struct capture_memory *memory, const struct origin *origin,
		       const struct stack_bounds *stack, unsigned int depth, enum capture_end *end)
{
	uint32_t count = memory->count, needs_fp;
	struct capture_frame *frame = &memory->frames[count - 1];

	if (count - 2 >= depth - 1 || memory->solid != count || frame->sp != origin->cfa ||
	    !is_ready(memory, origin, stack))
		return recall_path(memory, origin, stack, depth, end);
	if (frame->ip == origin->ip && (!frame->needs_fp || frame->fp == origin->fp)) {
		memory->walked = 0;
		*end = (enum capture_end)memory->end;
		return count;
	}
	if (!is_sibling(memory, origin, &needs_fp))
		return recall_path(memory, origin, stack, depth, end);
	count -= frame->ip != origin->ip;
	frame->ip = origin->ip;
	frame->fp = origin->fp;
	frame->needs_fp = needs_fp;
	memory->walked = 1;
	*end = (enum capture_end)memory->end;
	return count;
}
