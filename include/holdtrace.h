/* SPDX-License-Identifier: MIT */
#ifndef HOLDTRACE_H
#define HOLDTRACE_H

/*
 * Functions by which a program can report contexts, marks and its own resources; see holdtrace(3).
 * The program does not have to be linked with a library: if libholdtrace.so is not loaded, every
 * function here does nothing and returns 0.
 */

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The functions of the library. If the library is not loaded, these weak symbols are NULL. */
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
void holdtrace_lib_acquired(unsigned kind, const void *object, size_t size) HOLDTRACE_WEAK;
void holdtrace_lib_released(unsigned kind, const void *object) HOLDTRACE_WEAK;
#undef HOLDTRACE_WEAK

#ifndef HOLDTRACE_LIBRARY

/*
 * The functions are always inlined, so that a backtrace begins in the calling function even without
 * optimization.
 */
#define HOLDTRACE_INLINE \
	static __inline__ __attribute__((__always_inline__, __artificial__, __unused__))

/*
 * In code at a fixed address (-no-pie), the linker resolves an undefined weak symbol to NULL. It
 * leaves the symbol to the loader only if the reference goes through the global offset table.
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
 * Returns the bit of the context with this name. Creates the context if it does not exist. Returns
 * 0 if there are already 32 contexts. Events that a thread records while it is in the context have
 * this bit.
 */
HOLDTRACE_INLINE unsigned holdtrace_context_create(const char *name)
{
	return HOLDTRACE_FIND(holdtrace_lib_context_create)
		       ? HOLDTRACE_FIND(holdtrace_lib_context_create)(name)
		       : 0;
}

/*
 * Makes the calling thread enter or leave contexts. `bits` may combine several contexts. Entering a
 * context twice has the same effect as entering it once.
 */
HOLDTRACE_INLINE void holdtrace_context_enter(unsigned bits)
{
	HOLDTRACE_CALL(holdtrace_lib_context_enter, (bits));
}

HOLDTRACE_INLINE void holdtrace_context_exit(unsigned bits)
{
	HOLDTRACE_CALL(holdtrace_lib_context_exit, (bits));
}

/* Makes all threads of the process, including threads that start later, enter or leave contexts. */
HOLDTRACE_INLINE void holdtrace_context_enter_all(unsigned bits)
{
	HOLDTRACE_CALL(holdtrace_lib_context_enter_all, (bits));
}

HOLDTRACE_INLINE void holdtrace_context_exit_all(unsigned bits)
{
	HOLDTRACE_CALL(holdtrace_lib_context_exit_all, (bits));
}

/* Writes a line of text to the trace, with the current time and thread. */
HOLDTRACE_INLINE void holdtrace_mark(const char *text)
{
	HOLDTRACE_CALL(holdtrace_lib_mark, (text));
}

/*
 * Returns the number of the class of resources with this name, for the two functions below. Creates
 * the class if it does not exist. If `counted` is not 0, an object of the class can be acquired
 * several times, and is live until it has been released as many times. Returns 0 if there are
 * already 32 classes, including those of holdtrace.
 */
HOLDTRACE_INLINE unsigned holdtrace_class_create(const char *name, const char *description,
						 int counted)
{
	return HOLDTRACE_FIND(holdtrace_lib_class_create)
		       ? HOLDTRACE_FIND(holdtrace_lib_class_create)(name, description, counted)
		       : 0;
}

/*
 * Reports that the program has acquired an object. Call this function after the acquisition. size:
 * the object's size, in a unit that the program chooses for the class.
 */
HOLDTRACE_INLINE void holdtrace_acquired(unsigned kind, const void *object, size_t size)
{
	HOLDTRACE_CALL(holdtrace_lib_acquired, (kind, object, size));
}

/*
 * Reports that the program releases an object. Call this function before any other thread can
 * acquire the object.
 */
HOLDTRACE_INLINE void holdtrace_released(unsigned kind, const void *object)
{
	HOLDTRACE_CALL(holdtrace_lib_released, (kind, object));
}

#undef HOLDTRACE_INLINE

#endif

#ifdef __cplusplus
}
#endif

#endif
