/* SPDX-License-Identifier: MIT */
#ifndef HOLDTRACE_H
#define HOLDTRACE_H

/*
 * What a program may tell holdtrace about itself: contexts, marks, and resources of its own.
 * holdtrace(3) has the details. Nothing is to be linked: where libholdtrace.so is not loaded, every
 * function here does nothing and returns 0.
 */

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The library's side. A weak symbol that nobody defines is NULL. */
#ifdef HOLDTRACE_LIBRARY
#define HOLDTRACE_WEAK
#else
#define HOLDTRACE_WEAK __attribute__((__weak__))
#endif
unsigned holdtrace_lib_context_create(const char *name) HOLDTRACE_WEAK;
void holdtrace_lib_context_enter(unsigned bits) HOLDTRACE_WEAK;
void holdtrace_lib_context_exit(unsigned bits) HOLDTRACE_WEAK;
void holdtrace_lib_context_enter_all(unsigned bits) HOLDTRACE_WEAK;
void holdtrace_lib_context_exit_all(unsigned bits) HOLDTRACE_WEAK;
void holdtrace_lib_mark(const char *text) HOLDTRACE_WEAK;
unsigned holdtrace_lib_class_create(const char *name, const char *description,
				    int counted) HOLDTRACE_WEAK;
void holdtrace_lib_gained(unsigned kind, const void *object, size_t size) HOLDTRACE_WEAK;
void holdtrace_lib_lost(unsigned kind, const void *object) HOLDTRACE_WEAK;
#undef HOLDTRACE_WEAK

#ifndef HOLDTRACE_LIBRARY

/* Always inline: a backtrace then begins in the function that calls, however it was compiled. */
#define HOLDTRACE_INLINE \
	static __inline__ __attribute__((__always_inline__, __artificial__, __unused__))

/*
 * Where code has fixed addresses (-no-pie), the linker makes a NULL of a weak symbol that it does
 * not know; only through the global offset table it is left to the loader.
 */
#if defined(__x86_64__) && !defined(__ILP32__) && !defined(__PIC__)
#define HOLDTRACE_FIND(name)                                                    \
	__extension__({                                                         \
		__typeof__(name) *holdtrace_found;                              \
		__asm__(".weak " #name "\n\tmovq " #name "@GOTPCREL(%%rip), %0" \
			: "=r"(holdtrace_found));                               \
		holdtrace_found;                                                \
	})
#else
#define HOLDTRACE_FIND(name) (name)
#endif

#define HOLDTRACE_CALL(name, values)                 \
	do {                                         \
		if (HOLDTRACE_FIND(name))            \
			HOLDTRACE_FIND(name) values; \
	} while (0)

/*
 * A bit for a context of this name, the same for the same name; 0 when all 32 are given away.
 * Calls that are recorded while it is entered carry it.
 */
HOLDTRACE_INLINE unsigned holdtrace_context_create(const char *name)
{
	return HOLDTRACE_FIND(holdtrace_lib_context_create)
		       ? HOLDTRACE_FIND(holdtrace_lib_context_create)(name)
		       : 0;
}

/* The calling thread enters or leaves contexts. Bits may be joined; they do not nest. */
HOLDTRACE_INLINE void holdtrace_context_enter(unsigned bits)
{
	HOLDTRACE_CALL(holdtrace_lib_context_enter, (bits));
}

HOLDTRACE_INLINE void holdtrace_context_exit(unsigned bits)
{
	HOLDTRACE_CALL(holdtrace_lib_context_exit, (bits));
}

/* The whole process enters or leaves contexts: all threads, also those that come later. */
HOLDTRACE_INLINE void holdtrace_context_enter_all(unsigned bits)
{
	HOLDTRACE_CALL(holdtrace_lib_context_enter_all, (bits));
}

HOLDTRACE_INLINE void holdtrace_context_exit_all(unsigned bits)
{
	HOLDTRACE_CALL(holdtrace_lib_context_exit_all, (bits));
}

/* Puts a line of text into the trace, at this time and by this thread. */
HOLDTRACE_INLINE void holdtrace_mark(const char *text)
{
	HOLDTRACE_CALL(holdtrace_lib_mark, (text));
}

/*
 * A class of resources of the program's own, to be given to the two functions below; the same for
 * the same name. counted: an object may be gained several times and is held until it was lost as
 * often. 0 when there are 32 classes, holdtrace's own among them.
 */
HOLDTRACE_INLINE unsigned holdtrace_class_create(const char *name, const char *description,
						 int counted)
{
	return HOLDTRACE_FIND(holdtrace_lib_class_create)
		       ? HOLDTRACE_FIND(holdtrace_lib_class_create)(name, description, counted)
		       : 0;
}

/* The program has got an object: said after it has it. size: in whatever the class is counted. */
HOLDTRACE_INLINE void holdtrace_gained(unsigned kind, const void *object, size_t size)
{
	HOLDTRACE_CALL(holdtrace_lib_gained, (kind, object, size));
}

/* The program gives an object back: said before somebody else can have it. */
HOLDTRACE_INLINE void holdtrace_lost(unsigned kind, const void *object)
{
	HOLDTRACE_CALL(holdtrace_lib_lost, (kind, object));
}

#undef HOLDTRACE_INLINE

#endif

#ifdef __cplusplus
}
#endif

#endif
