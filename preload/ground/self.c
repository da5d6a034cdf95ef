/* SPDX-License-Identifier: MIT */
#include "self.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "sys.h"
#include "plain.h"

enum { UNKNOWN, BEING_ASKED, KNOWN };

const char *self_path(void)
{
	static char short_path[256];
	static SPARSE char long_path[PATH_MAX];
	static char *path = short_path;
	static uint32_t state;
	uint32_t expected = UNKNOWN;
	long length;

	if (__atomic_load_n(&state, __ATOMIC_ACQUIRE) == KNOWN)
		return path;
	if (!__atomic_compare_exchange_n(&state, &expected, BEING_ASKED, false, __ATOMIC_ACQUIRE,
					 __ATOMIC_ACQUIRE))
		return expected == KNOWN ? path : "";
	length = sys_readlinkat(AT_FDCWD, "/proc/self/exe", short_path, sizeof(short_path) - 1);
	if (length == sizeof(short_path) - 1) {
		path = long_path;
		length = sys_readlinkat(AT_FDCWD, "/proc/self/exe", path, sizeof(long_path) - 1);
	}
	path[length > 0 ? length : 0] = 0;
	__atomic_store_n(&state, KNOWN, __ATOMIC_RELEASE);
	return path;
}
