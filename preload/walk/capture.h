/* SPDX-License-Identifier: MIT */
#ifndef CAPTURE_H
#define CAPTURE_H

/*
 * The backtrace of a hooked call, walked by our own rules (cfi.h) over the caller's stack. No
 * allocation, no lock, no libc, no system call in the steady state; a signal handler may interrupt
 * a walk and walk itself.
 */

#include <stdint.h>

#define CAPTURE_DEPTH_MAX 500

/* Where a hook's stub stands: the state of its caller just after the return. */
struct origin {
	uintptr_t ip;  /* return address into the caller */
	uintptr_t cfa; /* the caller's stack pointer then */
	uintptr_t fp;  /* the caller's frame pointer (rbp, x29) */
};

/* The readable stack of this thread. Unknown: 0, 0, and any that does not hold the origin. */
struct stack_bounds {
	uintptr_t low, high;
};

enum capture_end {
	CAPTURE_COMPLETE,   /* the outermost frame says that it is the outermost */
	CAPTURE_DEPTH,	    /* there is more than was asked for */
	CAPTURE_NO_RULE,    /* the last frame's code has no unwind table, or one we cannot read */
	CAPTURE_LEFT_STACK, /* the next value to read lies outside the stack, or is not readable */
	CAPTURE_NOT_RISING  /* the next frame does not lie above the last one */
};

/*
 * The origin of the function that says this; it gets a frame pointer by it. Only in a function that
 * is not inlined: the public stub itself.
 */
#define CAPTURE_ORIGIN()                                                                     \
	{                                                                                    \
		.ip = (uintptr_t)__builtin_extract_return_addr(__builtin_return_address(0)), \
		.cfa = (uintptr_t)__builtin_dwarf_cfa(),                                     \
		.fp = *(const uintptr_t *)__builtin_frame_address(0)                         \
	}

/*
 * Walks from origin outwards into frames: return addresses as they stand on the stack, innermost
 * first, frames[0] is origin->ip; the pc of a function that a signal interrupted is exact. The same
 * frames as libunwind's unw_step gives. depth: room in frames, at least 1. Returns how many were
 * stored, at least 1; *end says why there are no more. On a stack that is unknown each page but the
 * one that the origin's cfa lies in is first asked for by a system call, at most 1 MiB above it.
 */
unsigned int capture_walk(const struct origin *origin, const struct stack_bounds *stack,
			  uintptr_t *frames, unsigned int depth, enum capture_end *end);

/*
 * Most frames that are remembered: more than CAPTURE_DEPTH_MAX, so that a backtrace that is cut off
 * need not be walked anew with every call and return.
 */
#define CAPTURE_MEMORY_MAX 640
#define CAPTURE_SLOTS_MAX  (2 * CAPTURE_MEMORY_MAX)

struct cfi_rule;

/* A remembered frame, and what led outwards from it. */
struct capture_frame {
	uintptr_t ip, sp, fp; /* of the caller, just after the return into it */
	uint32_t slots;	      /* so many of the first ones decide what is outwards of it */
	uint32_t needs_fp;    /* 1: so does its fp */
};

/* A word of the stack that a walk has read, and what it held. */
struct capture_slot {
	uintptr_t address, value;
};

/* A frame of the walk that is under way, and the rule by which it was left. */
struct capture_step {
	uintptr_t ip, sp, fp;
	const struct cfi_rule *rule;
};

#define CAPTURE_PLACES_BITS 5
#define CAPTURE_PATH_FRAMES 8
#define CAPTURE_PATH_SLOTS  10

/*
 * The frames that a walk found until it met a remembered one, and that one: for whoever comes the
 * same way again after another one.
 */
struct capture_path {
	uintptr_t ip, sp; /* where the walk began. sp 0: there is no path here */
	uint32_t kept;	  /* so many remembered frames it did not come by; the last of them: */
	uint32_t generation;
	uint16_t frame_count, slot_count;
	struct capture_frame outer;
	struct capture_frame frames[CAPTURE_PATH_FRAMES];
	struct capture_slot slots[CAPTURE_PATH_SLOTS];
};

/* Two paths, by a hash of where they begin. */
struct capture_place {
	uint16_t way;  /* which path was used last */
	uint16_t idle; /* walks since one was of use */
};

/*
 * A thread's last backtrace with all that decided it. One that has count 0 remembers nothing; its
 * other bytes do not matter then, but places and paths, which are zero at first.
 */
struct capture_memory {
	uint32_t count;
	uint32_t solid;	     /* so many of the outermost frames may be used again */
	uint32_t generation; /* of the modules (maps.h) */
	uint32_t end;	     /* enum capture_end, of the outermost frame */
	uint32_t walked;     /* frames that the last capture had to walk */
	struct capture_frame frames[CAPTURE_MEMORY_MAX]; /* outermost first */
	struct capture_slot slots[CAPTURE_SLOTS_MAX];	 /* in the order of the frames */
	struct capture_step steps[CAPTURE_MEMORY_MAX];	 /* a walk under way, innermost first */
	struct capture_place places[1 << CAPTURE_PLACES_BITS];
	struct capture_path paths[1 << CAPTURE_PLACES_BITS][2];
};

/*
 * Like capture_walk(), with exactly its result: the innermost depth frames of memory then, or all
 * if there are fewer. Walks only until it comes to where the last walk was, if what that read
 * outwards of there is unchanged. Returns how many of memory's outermost frames are still the same
 * addresses. Not for a signal handler that interrupted another one with the same memory; a memory
 * whose writer was jumped out of must be emptied.
 */
uint32_t capture_again(struct capture_memory *memory, const struct origin *origin,
		       const struct stack_bounds *stack, unsigned int depth, enum capture_end *end);

/*
 * Makes a backtrace that somebody else has walked, innermost frame first, the remembered one;
 * nothing of it will be used again. frames may lie in memory->steps. Returns how many of the
 * outermost frames are still the same addresses.
 */
uint32_t capture_take(struct capture_memory *memory, const uintptr_t *frames, uint32_t count,
		      enum capture_end end);

#endif
