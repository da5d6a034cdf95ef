/* SPDX-License-Identifier: MIT */
/*
 * Public names that are not hooks: stubs of dlopen and dlmopen, names for musl's loader, and older
 * versions of functions.
 */
#include "hand.h"

#include "preload/ground/loader.h"
#include "preload/ground/sys.h"
#include "preload/start/patch.h"

/*
 * dlopen(3) has a stub, but is not a hook: calls to it are not recorded. The stub prepares for the
 * modules that the call will load. It is assembly that leaves the stack unchanged, because dlopen
 * finds its caller by the return address. Without such a stub (on some processors), calls by
 * libraries that are opened with RTLD_DEEPBIND are not recorded, and the trace reports this.
 */
#ifdef ARCH_DLOPEN
typedef __typeof__(dlopen) *open_function;

open_function hand_dlopen_enter(const char *path, int mode);

/* Returns the function to which the stub jumps. */
__attribute__((used)) open_function hand_dlopen_enter(const char *path, int mode)
{
	(void)path;
	real_ready();
	if (!life.control || life.is_off || sys_is_quiet)
		return real.dlopen;
	if (unlikely(mode & RTLD_DEEPBIND))
		patch_before_deep();
	allocators_expect_loads();
	return real.dlopen;
}

__asm__(ARCH_DLOPEN);

/*
 * dlmopen(3) has a stub in assembly, too. Calls of a library in another link namespace are not
 * recorded. The stub notes each new namespace immediately, because limits that are checked while
 * the process runs depend on this note.
 */
typedef __typeof__(dlmopen) *open_in_function;

open_in_function hand_dlmopen_enter(Lmid_t space);

__attribute__((used)) open_in_function hand_dlmopen_enter(Lmid_t space)
{
	real_ready();
	if (space != LM_ID_BASE)
		life_note_past(1u << PAST_NAMESPACE);
	return real.dlmopen;
}

__asm__(ARCH_DLMOPEN);
#endif

/*
 * A traced program may start a program that uses the musl C library, with this library in
 * LD_PRELOAD. musl's loader ends a program if it cannot relocate a preloaded library; but it
 * ignores a library that defines these two names, because it takes the library for a libc. glibc's
 * loader would bind the program's own `stdin` to ours, so preload/link makes the names hidden:
 * glibc ignores hidden symbols, musl does not.
 */
extern EXPORT const char hand_musl_start[1] __asm__("__libc_start_main");
extern EXPORT const char hand_musl_stdin[1] __asm__("stdin");

const char hand_musl_start[1] = { 0 }, hand_musl_stdin[1] = { 0 };

/*
 * Older versions of functions whose newest version is hooked. They behave differently: an old
 * posix_spawn() ran scripts without a #! line, and an old condition variable was another struct. A
 * program that is bound to an older version calls libc's function, and the call is not recorded.
 */
#define VERSIONS(name, older, newer, type, parameters, names)                                \
	extern EXPORT type older_##name parameters;                                          \
	__asm__(".symver older_" #name "," #name "@" older ", remove");                      \
	EXPORT type older_##name parameters                                                  \
	{                                                                                    \
		static __typeof__(name) *kept;                                               \
		__typeof__(name) *found = __atomic_load_n(&kept, __ATOMIC_RELAXED);          \
                                                                                             \
		if (!found) {                                                                \
			found = (__typeof__(name) *)loader_version(RTLD_NEXT, #name, older); \
			__atomic_store_n(&kept, found, __ATOMIC_RELAXED);                    \
		}                                                                            \
		return found names;                                                          \
	}
#include "versions.def"
