/* SPDX-License-Identifier: MIT */
#include "limit.h"

#include <sys/resource.h>

#include "clock.h"
#include "sys.h"

uint64_t limit_lift(int which, struct rlimit *before)
{
	struct rlimit most;

	if (sys_call4(__NR_prlimit64, 0, which, 0, (long)before)) {
		*before = (struct rlimit){ RLIM_INFINITY, RLIM_INFINITY };
		return RLIM_INFINITY;
	}
	most = (struct rlimit){ before->rlim_max, before->rlim_max };
	if (before->rlim_cur == most.rlim_cur)
		return before->rlim_max;
	/*
	 * do not raise the limit: another thread could use the raised limit, or set a limit that
	 * limit_restore() would undo
	 */
	if (!clock_is_alone()) {
		uint64_t limit = before->rlim_cur;

		before->rlim_cur = before->rlim_max; /* limit_restore() then restores nothing */
		return limit;
	}
	sys_call4(__NR_prlimit64, 0, which, (long)&most, 0);
	return before->rlim_max;
}

void limit_restore(int which, const struct rlimit *before)
{
	if (before->rlim_cur != before->rlim_max)
		sys_call4(__NR_prlimit64, 0, which, (long)before, 0);
}

int limit_truncate(int fd, uint64_t size)
{
	struct rlimit before;
	int status = -EFBIG;

	if (limit_lift(RLIMIT_FSIZE, &before) >= size)
		status = sys_ftruncate(fd, (int64_t)size);
	limit_restore(RLIMIT_FSIZE, &before);
	return status;
}
