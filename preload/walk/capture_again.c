/* SPDX-License-Identifier: MIT */
/*
 * The walk that remembers. A walk by rules of sp and fp is a function of where it starts (ip, sp,
 * fp), of the rules, and of the words that it reads: from the same place, with the same modules and
 * the same words, it goes on as it did. Equal words alone prove nothing, because dead frames keep
 * theirs; so the walk must come by that place by itself. Every such word lies above the sp of the
 * frame that it was read for, hence within the known stack of any walk that comes there.
 *
 *   remembered: frames[], outermost first      slots[]    this walk's steps[], innermost first
 *
 *     0  _start
 *     1  main+20          frames[1].slots = 1    a        [2] main+20, at the sp of frames[1]: met
 *     2  parse_value+10   frames[2].slots = 3    b c      [1] parse_value+40
 *     3  parse_number+8   frames[3].slots = 4    d        [0] parse_string+4
 *
 * a is the word by which main's caller was found, b and c led from parse_value to main, d from
 * parse_number to parse_value. The walk has met frames[1] when it comes to the same ip and sp (and
 * fp, where a rule further out uses it) and the first frames[1].slots words, here a, hold their
 * values. Then frames 0 and 1 are kept unread, and the steps before them replace 2 and 3, with the
 * words that they read. If a had changed, only a frame that does not need it could still be met.
 *
 * Stacks often change to and fro, a malloc here and a free there. So the frames of a few earlier
 * walks, up to where each met the remembered ones, are kept as paths; here parse_number and
 * parse_value+10 with b, c and d, which lead to main. The same is true of a path: a walk that
 * begins where it began (ip, sp, fp) and finds the words that it found ends at the same frame; if
 * that is remembered now, with all outwards of it as it was, the rest is known, too.
 */
#include "capture.h"
#include "maps.h"
#include "step.h"

/* Frames beyond what was asked for, so that a few returns later they need not be looked for. */
#define BEYOND 64u

/* Where paths are of so little use, fewer are kept. */
#define PATHS_IDLE 6u

struct recall {
	struct capture_memory *memory;
	struct capture_step *next, *end; /* room for the frames to come */
	struct capture_step *solid;	 /* frames from here on may be used again */
	struct position at;
	uintptr_t key;
	uint32_t generation;
	unsigned int depth;
	uint32_t candidates; /* remembered frames that the walk has not passed yet */
};

enum { RECALL_MET = WALK_DONE + 1 };

/* Behind all steps there can be. */
static struct capture_step *no_step(struct recall *recall)
{
	return recall->memory->steps + CAPTURE_MEMORY_MAX;
}

static inline uintptr_t slot_changed(const struct capture_slot *slot)
{
	return *(const uintptr_t *)slot->address ^ slot->value;
}

/* Four loads that do not wait for each other, and one branch. */
static inline bool four_hold(const struct capture_slot *slot)
{
	return (slot_changed(slot) | slot_changed(slot + 1) | slot_changed(slot + 2) |
		slot_changed(slot + 3)) == 0;
}

/* The first of the slots up to end that holds another value by now; end if there is none. */
static inline __attribute__((always_inline)) const struct capture_slot *
first_changed(const struct capture_slot *slot, const struct capture_slot *end)
{
	const struct capture_slot *const last = end - 4;

	if (__builtin_expect(slot <= last, 1)) {
		while (slot < last && four_hold(slot))
			slot += 4;
		/* The last four, some of them perhaps once more. */
		if (slot >= last && four_hold(last))
			return end;
	}
	while (slot < end && slot_changed(slot) == 0)
		slot++;
	return slot;
}

/*
 * How many remembered frames a walk that has come to number i, with so many of its own, can meet by
 * now: i + 1 if what lies outwards of that one is as it was, as far as it will be told: of a
 * backtrace that is cut off, up to the first frame that shows that there is more.
 */
static inline __attribute__((always_inline)) uint32_t count_meetable(const struct recall *recall,
								     uint32_t i, uint32_t own)
{
	const struct capture_memory *memory = recall->memory;
	uint32_t total = own + i + 1, to = memory->frames[i].slots, from = 0;

	if (__builtin_expect(total > recall->depth, 0)) {
		uint32_t cut = total - recall->depth;

		/* Behind the slots of frame cut - 1 come those of the step that led to it. */
		from = cut > i ? to : memory->frames[cut - 1].slots;
	} else if (__builtin_expect(memory->end == CAPTURE_DEPTH, 0)) {
		return i;
	}
	from = (uint32_t)(first_changed(memory->slots + from, memory->slots + to) - memory->slots);
	if (__builtin_expect(from == to, 1))
		return i +
		       (__atomic_load_n(&maps_generation, __ATOMIC_RELAXED) == recall->generation);
	/* No frame that needs the changed one can be met any more. */
	while (i > 0 && memory->frames[i - 1].slots > from)
		i--;
	return i;
}

/* Like walk_quick(), until it meets a remembered frame. */
static inline __attribute__((always_inline)) int
recall_quick(struct recall *recall, struct window *window, enum capture_end *end)
{
	static const struct capture_frame none; /* no walk comes to sp 0 */
	const struct capture_frame *const frames = recall->memory->frames, *candidate = &none;
	struct cfi_table *table = cfi_table();
	struct position at = recall->at;
	struct capture_step *next = recall->next;
	struct cfi_rule scratch;
	struct cfi_rule *rule = cfi_guess(table, recall->key);
	uintptr_t outermost = 0; /* sp, of the candidates */
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
		if (at.sp <= outermost)
			while (candidate->sp < at.sp) /* none is further out than that */
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

/* Whether what it says depends on fp, though it may also say where fp was saved. */
static inline bool uses_fp(const struct cfi_rule *rule)
{
	_Static_assert(CFI_FP_DEREF > CFI_FP && CFI_FP > CFI_SP, "the last two forms use fp");
	return rule->form >= CFI_FP || rule->fp_form == CFI_FP_AT_FP;
}

/* Notes another word that a walk has read. Returns whether it lies above sp. */
static inline bool put_slot(struct capture_slot **slots, uintptr_t sp, uintptr_t address,
			    uintptr_t value)
{
	(*slots)->address = address;
	(*slots)->value = value;
	(*slots)++;
	return address >= sp;
}

/*
 * Notes what a walk read in order to step outwards from step's frame to outer. needs_fp: whether
 * outer's fp matters; if not, neither does its slot. Then whether step's does. Returns whether all
 * of it lies above step's sp.
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
 * Whether the walk would end just so for whoever comes to its last frame, when that step could not
 * be made: the stack's upper end is always the same, its lower one is the origin's.
 */
static bool end_is_same(const struct capture_step *last, enum capture_end end)
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
	if (end == CAPTURE_COMPLETE && step->rule->form != CFI_END)
		/* a return address of 0 */
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

/* How many addresses of the walk's frames, from the outermost on, are those that stand there. */
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
 * Puts the frames of the walk before the outermost kept ones that are remembered. Returns how many
 * addresses are the same as before.
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
	/* Of the frames further in only the addresses count. */
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

/* The place of paths that begin so. */
static inline uint32_t path_place(uintptr_t ip, uintptr_t sp)
{
	return (uint32_t)((uint64_t)((ip ^ sp >> 4) * 0x9e3779b97f4a7c15u) >>
			  (64 - CAPTURE_PLACES_BITS));
}

/*
 * Keeps the frames that a walk has put before the kept ones as a path. All words that they hang on
 * lie above the sp of the innermost and, which is asked for here, below that of the frame that it
 * met: wherever both can be read, so can they.
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

	/* Where no path was of use for some time, one of eight is kept. */
	if ((idle >= PATHS_IDLE && idle & 7) || fresh > CAPTURE_PATH_FRAMES ||
	    slot_count > CAPTURE_PATH_SLOTS || maps_is_loader(innermost->ip))
		return;
	place->way ^= 1;
	path = &memory->paths[number][place->way];
	/* Whoever jumps out of here leaves no half of one. */
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
	struct recall recall; /* an initialiser would clear it first: 5 ns */
	struct window window; /* not in there: only its address is handed on */
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
		/* Beyond what was asked for, and all that we wanted to know is that it is there. */
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
 * Whether a walk from the origin would go by that path to the last of the kept frames, and from
 * there on as remembered.
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

/* Puts a path before the frames that it leads to. Returns how many addresses are the same. */
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

/* Goes by a path that was kept where one leads on, else walks. */
static __attribute__((noinline)) uint32_t recall_path(struct capture_memory *memory,
						      const struct origin *origin,
						      const struct stack_bounds *stack,
						      unsigned int depth, enum capture_end *end)
{
	uint32_t number = path_place(origin->ip, origin->cfa);
	struct capture_place *place = &memory->places[number];
	uint16_t way = place->way;

	/* Where no path was of use for some time they are asked only soon after one was kept. */
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

/* Whether everything outwards of the innermost remembered frame is as it was, and can be used. */
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
