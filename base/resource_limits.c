/* SPDX-License-Identifier: MIT */
#include "base/resource_limits.h"

#include "base/cleanup.h"
#include "base/sanitized.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#define CPU_SECONDS  600
#define MEMORY_LEAST (512ull << 20)

void resource_limits_begin(void)
{
	uint64_t memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE) / 2;
	cleanup_fd int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	struct rlimit limit;

	if (fd >= 0 && write(fd, "1000", 4) < 0)
		/*
		 * the change is not permitted: the OOM killer will treat this process like any
		 * other
		 */
		errno = 0;
	memory = memory < MEMORY_LEAST ? MEMORY_LEAST : memory;
	limit = (struct rlimit){ memory, memory };
	if (!IS_SANITIZED)
		setrlimit(RLIMIT_AS, &limit);
	limit = (struct rlimit){ 0, 0 };
	setrlimit(RLIMIT_CORE, &limit);
	limit = (struct rlimit){ CPU_SECONDS, CPU_SECONDS };
	setrlimit(RLIMIT_CPU, &limit);
	signal(SIGPIPE, SIG_IGN);
	/* if the collector ended, no process would read the result or kill this process */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
}
