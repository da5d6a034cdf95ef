/* SPDX-License-Identifier: MIT */
#ifndef CAPTURE_H
#define CAPTURE_H

/*
 * Takes the backtrace of a hooked call: walks the caller's stack by our own unwind rules (cfi.h).
 * This needs no allocation, no lock and no libc; once the rules are known, it needs no system call.
 * A signal handler may interrupt a walk and make a walk of its own.
 */

#include <stdint.h>

#define CAPTURE_DEPTH_MAX 500

/* Where a walk starts: the state of the hook's caller just after the hook returns. */
struct origin {
	uintptr_t ip;  /* return address into the caller */
	uintptr_t cfa; /* the caller's stack pointer after the return */
	uintptr_t fp;  /* the caller's frame pointer (rbp, x29) */
};

/* The readable stack of this thread; unknown if both are 0 or the origin is not between them. */
struct stack_bounds {
	uintptr_t low, high;
};

enum capture_end {
	CAPTURE_COMPLETE, /* the walk reached a frame that is marked as outermost */
	CAPTURE_DEPTH,	  /* there are more frames than the caller's limit */
	CAPTURE_NO_RULE, /* the last frame's code has no unwind table, or one that we cannot read */
	CAPTURE_LEFT_STACK, /* the next word to read is outside of the stack or not readable */
	CAPTURE_NOT_RISING  /* the next frame is not above the previous one */
};

/*
 * The origin of a call to the current function. Use this macro only in a function that is not
 * inlined (the public stub); the macro forces the function to have a frame pointer.
 */
#define CAPTURE_ORIGIN()                                                                     \
	{                                                                                    \
		.ip = (uintptr_t)__builtin_extract_return_addr(__builtin_return_address(0)), \
		.cfa = (uintptr_t)__builtin_dwarf_cfa(),                                     \
		.fp = *(const uintptr_t *)__builtin_frame_address(0)                         \
	}

/*
 * Walks from the origin outwards. Stores return addresses from the stack in `frames`, innermost
 * first; frames[0] is origin->ip. For a function that a signal interrupted, it stores the exact pc.
 * The frames are the same as those of libunwind's unw_step. depth: number of entries of `frames`,
 * at least 1. Returns the number of stored frames, at least 1; *end: the reason why the walk ended.
 * On an unknown stack, the walk reads at most 1 MiB above the origin, and asks the kernel whether
 * each page can be read, except the page of the origin's cfa.
 */
unsigned int capture_walk(const struct origin *origin, const struct stack_bounds *stack,
			  uintptr_t *frames, unsigned int depth, enum capture_end *end);

/*
 * Limit of remembered frames. It is larger than CAPTURE_DEPTH_MAX, so that a truncated backtrace is
 * not walked again after each call and return.
 */
#define CAPTURE_MEMORY_MAX 640
#define CAPTURE_SLOTS_MAX  (2 * CAPTURE_MEMORY_MAX)

struct cfi_rule;

/* A frame of the last backtrace, and the number of stack words that determine its outer frames. */
struct capture_frame {
	uintptr_t ip, sp, fp; /* registers of the caller, just after the return into it */
	/* the first `slots` entries of capture_memory.slots determine this frame's outer frames */
	uint32_t slots;
	uint32_t needs_fp; /* 1: the fp of this frame, too, determines its outer frames */
};

/* A word of the stack that a walk has read, and the value that it had. */
struct capture_slot {
	uintptr_t address, value;
};

/* A frame of the current walk, and the rule by which the walk left it. */
struct capture_step {
	uintptr_t ip, sp, fp;
	const struct cfi_rule *rule;
};

#define CAPTURE_PLACES_BITS 5
#define CAPTURE_PATH_FRAMES 8
#define CAPTURE_PATH_SLOTS  10

/*
 * The frames that a walk found before it met a remembered frame, and that remembered frame. A later
 * walk from the same start can reuse them.
 */
struct capture_path {
	uintptr_t ip, sp; /* start of the walk; sp 0: the path is unused */
	/* number of remembered frames that the walk kept; `outer` is the innermost of them */
	uint32_t kept;
	uint32_t generation;
	uint16_t frame_count, slot_count;
	struct capture_frame outer;
	struct capture_frame frames[CAPTURE_PATH_FRAMES];
	struct capture_slot slots[CAPTURE_PATH_SLOTS];
};

/* The state of a pair of paths. The hash of a path's start selects the pair. */
struct capture_place {
	uint16_t way;  /* index of the path that was used last */
	uint16_t idle; /* number of walks since a path was used */
};

/*
 * A thread's last backtrace, and all values that determined the backtrace. If `count` is 0, nothing
 * is remembered and the other members do not matter, except `places` and `paths`, which must
 * initially be zero.
 */
struct capture_memory {
	uint32_t count;
	uint32_t solid;	     /* number of outermost frames that can be reused */
	uint32_t generation; /* generation of the modules (maps.h) */
	uint32_t end;	     /* enum capture_end of the outermost frame */
	uint32_t walked;     /* number of frames that the last capture had to walk */
	struct capture_frame frames[CAPTURE_MEMORY_MAX]; /* outermost frame first */
	struct capture_slot slots[CAPTURE_SLOTS_MAX];	 /* in the order of `frames` */
	struct capture_step steps[CAPTURE_MEMORY_MAX];	 /* the current walk, innermost first */
	struct capture_place places[1 << CAPTURE_PLACES_BITS];
	struct capture_path paths[1 << CAPTURE_PLACES_BITS][2];
};

/*
 * Like capture_walk(), with the same result, but stored in *memory: the innermost `depth` frames,
 * or all if there are fewer. The walk ends early at a remembered frame if nothing has changed from
 * there outwards. Returns how many of the outermost frames in *memory have the same addresses as
 * before. A signal handler that interrupted a walk with the same *memory must not call this
 * function. After a jump out of a function that was writing *memory, set memory->count to 0.
 */
uint32_t capture_again(struct capture_memory *memory, const struct origin *origin,
		       const struct stack_bounds *stack, unsigned int depth, enum capture_end *end);

/*
 * Stores the backtrace of another kind of walk, innermost frame first, as the last backtrace; later
 * walks do not reuse its frames. `frames` may be in memory->steps. Returns how many of the
 * outermost frames have the same addresses as before.
 */
uint32_t capture_take(struct capture_memory *memory, const uintptr_t *frames, uint32_t count,
		      enum capture_end end);

#endif
