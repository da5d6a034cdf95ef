/* SPDX-License-Identifier: MIT */
/*
 * Older versions of functions whose newest version is hooked. They behave differently: an old
 * posix_spawn() ran scripts without a #! line, an old condition variable was another struct. A
 * program that is bound to an older version gets libc's function, and the call is not recorded.
 */
#include "hand.h"

#define VERSIONS(name, older, newer, type, parameters, names)                        \
	extern EXPORT type older_##name parameters;                                  \
	__asm__(".symver older_" #name "," #name "@" older ", remove");              \
	EXPORT type older_##name parameters                                          \
	{                                                                            \
		static __typeof__(name) *kept;                                       \
		__typeof__(name) *found = __atomic_load_n(&kept, __ATOMIC_RELAXED);  \
                                                                                     \
		if (!found) {                                                        \
			found = (__typeof__(name) *)dlvsym(RTLD_NEXT, #name, older); \
			__atomic_store_n(&kept, found, __ATOMIC_RELAXED);            \
		}                                                                    \
		return found names;                                                  \
	}
#include "versions.def"
