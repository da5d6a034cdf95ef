/* SPDX-License-Identifier: MIT */
/*
 * The older versions of functions, whose newer ones are hooked. They differ: posix_spawn() ran
 * scripts without a #! line, a condition was another struct. What asks for an older version gets
 * libc's, unrecorded.
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
