/* SPDX-License-Identifier: MIT */
#ifndef BY_NUMBER_H
#define BY_NUMBER_H

/* Calls of syscall(2) that are recorded as calls of hooks (numbers.def). */

#include "stub.h"

#include <sys/syscall.h>

/* Newer numbers are the same on all processors. */
#ifndef __NR_memfd_secret
#define __NR_memfd_secret 447
#endif
#ifndef __NR_futex_waitv
#define __NR_futex_waitv 449
#endif
#ifndef __NR_futex_wake
#define __NR_futex_wake	   454
#define __NR_futex_wait	   455
#define __NR_futex_requeue 456
#endif

/* Makes and records the call. Returns false if numbers.def has no row for the number. */
bool stubs_by_number(const struct origin *caller, long number, const long *a, long *result);

#endif
