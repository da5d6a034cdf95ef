/* SPDX-License-Identifier: MIT */
#ifndef PATCHES_H
#define PATCHES_H

/*
 * The plan for recording allocators that stubs cannot intercept, because their functions have other
 * names than the hooks (include/allocators.def) or are called from within their own module. The
 * launcher decodes these functions and writes the plan to the control page. When a program starts,
 * the library executes the plan: it replaces the first instructions of each function by a jump to
 * the library, and moves these instructions elsewhere. For a module that the program loads later,
 * the library asks a child of the launcher, the planner. If the launcher, the planner or the
 * library refuses to change a function, the function stays as it is, and the trace contains the
 * reason.
 */

#include <stddef.h>
#include <stdint.h>

#define PATCHES_MAX	  192u
#define PATCH_MODULES_MAX 16u
#define PATCH_NAME_MAX	  56u
#define PATCH_JUMP	  5u /* size of the jump in bytes */
#define PATCH_MOVED_MAX	  20u
#define PATCH_CODE_MAX	  64u
#define PATCH_FIXES_MAX	  5u
/* maximum number of parameters; the jump uses the register of a sixth parameter */
#define PATCH_VALUES 5u
#define PATCH_HEAD   1024u

/* Why a function is not recorded. The text completes "FUNCTION is not recorded: ...". */
#define PATCH_REASONS(REASON)                                                                      \
	REASON(NONE, "")                                                                           \
	REASON(SHORT, "it is shorter than the jump that would replace its beginning")              \
	REASON(FIXED, "it begins with an instruction that cannot be moved")                        \
	REASON(BRANCHED, "a branch may lead into the bytes that a jump would replace")             \
	REASON(UNDECODED, "not all of its instructions could be decoded")                          \
	REASON(UNKNOWN, "holdtrace does not know its parameters (--hook names them)")              \
	REASON(MANY, "the process has more such functions than holdtrace can change")              \
	REASON(BUILD, "this build of holdtrace cannot decode it (it needs Zydis and x86-64)")      \
	REASON(CHANGED, "its code in memory differs from that in the file")                        \
	REASON(FAR, "no free memory is near enough for a jump")                                    \
	REASON(SEALED, "the program may not change its code (PR_SET_MDWE), or has a shadow stack") \
	REASON(DENIED, "the kernel did not allow a change of its code")                            \
	REASON(LATER, "its module was loaded after the start of the program")                      \
	REASON(THREADS, "threads of the program ran before the change could be made")

enum patch_reason {
#define REASON(name, text) PATCH_##name,
	PATCH_REASONS(REASON)
#undef REASON
};

/*
 * A field of the moved code that must be set when the code is copied to its new address. `at`:
 * offset of the field in the code. If `end` is not 0, the field is a 4-byte displacement: the
 * distance from the end of its instruction (at offset `end`) to `target`. Otherwise the field is
 * the 8-byte address `target`.
 */
struct patch_fix {
	uint8_t at, end;
	uint64_t target; /* an address in the module */
};

/*
 * Indexes (from 0) of four parameters: size, number of elements, old block, and the address where
 * the function stores the pointer to the new block. PATCH_VALUES: the function has no such
 * parameter.
 */
struct patch_shape {
	uint8_t size, count, old, where;
	/* the function copies a string, and the new block has the size of the string */
	uint8_t is_text;
};

struct patch {
	char name[PATCH_NAME_MAX];
	uint64_t entry; /* address in the module */
	uint8_t reason; /* enum patch_reason */
	uint8_t module; /* index of the function's module */
	uint8_t skip;	/* bytes at the entry that are not replaced (the instruction endbr64) */
	/* bytes of instructions moved to `code`; the jump replaces the first PATCH_JUMP bytes */
	uint8_t moved;
	uint8_t length;	  /* number of bytes in `code` */
	uint8_t fixes;	  /* number of elements of `fix` */
	uint8_t is_asked; /* the user named the function (--hook) */
	struct patch_shape shape;
	uint8_t original[PATCH_MOVED_MAX]; /* the original bytes from entry + skip on */
	uint8_t code[PATCH_CODE_MAX];	   /* the moved instructions and a jump back */
	struct patch_fix fix[PATCH_FIXES_MAX];
};

struct patches {
	uint32_t count, modules;
	/* for each module: patches_hash() of its file's first PATCH_HEAD bytes (with build-id) */
	uint64_t module[PATCH_MODULES_MAX];
	struct patch patch[PATCHES_MAX];
};

/*
 * A process sends its run's secret (two words) to the planner, with a descriptor of the module's
 * file. The answer is a struct patches, up to its last patch. The name of the planner's abstract
 * socket is the name of the collector's socket plus PLANNER_SUFFIX.
 */
#define PLANNER_SUFFIX	    ".plan"
#define PATCHES_SIZE(count) (offsetof(struct patches, patch) + (count) * sizeof(struct patch))

/* The hash function FNV-1a with 64 bits. */
static inline uint64_t patches_hash(const void *data, size_t size)
{
	const unsigned char *bytes = data;
	uint64_t hash = 0xcbf29ce484222325ull;

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ bytes[i]) * 0x100000001b3ull;
	return hash;
}

#endif
