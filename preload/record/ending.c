/* SPDX-License-Identifier: MIT */
#include "ending.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/stat.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "life.h"
#include "memory.h"
#include "preload/ground/clock.h"
#include "preload/ground/sys.h"
#include "ring.h"
#include "thread.h"

#define STEP_MS 10
/* a wait for progress of the scan lasts at most this many times --patience */
#define BUSY_TIMES 4

/* Whether a system call is allowed: not in a child of vfork, nor under a seccomp filter. */
static bool may_ask(void)
{
	const struct thread *thread = thread_self;

	return life_is_running() && memory_head() && !(thread && thread->vfork_return) &&
	       !ring_is_quiet() && sys_getpid() == life.pid;
}

void ending_look(void)
{
	siginfo_t child = { 0 };
	struct statx directory;
	struct arena *head;
	long ended;

	if (!may_ask())
		return;
	head = memory_head();
	/* since Linux 6.2 the directory's size is the number of descriptors */
	if (life_armed[HOOK_open] && life_armed[HOOK_close] &&
	    !sys_statx(AT_FDCWD, "/proc/self/fd", AT_STATX_DONT_SYNC, STATX_SIZE, &directory))
		__atomic_store_n(&head->descriptors, (uint32_t)directory.stx_size,
				 __ATOMIC_RELAXED);
	if (!life_armed[HOOK_fork])
		return;
	ended = sys_call5(__NR_waitid, P_ALL, 0, (long)&child, WEXITED | WNOHANG | WNOWAIT | __WALL,
			  0);
	__atomic_store_n(&head->children,
			 ended == -ECHILD ? CHILDREN_NONE
			 : ended	  ? CHILDREN_UNKNOWN
			 : child.si_pid	  ? CHILDREN_ENDED
					  : CHILDREN_RUNNING,
			 __ATOMIC_RELAXED);
}

void ending_await_scan(void)
{
	static const struct timespec step = { .tv_nsec = STEP_MS * 1000000 };
	struct arena *head;
	uint32_t beat;
	int64_t patience;
	uint64_t since;

	if (!may_ask() || life.control->settings.scan != SCAN_EXIT)
		return;
	head = memory_head();
	if (!head)
		return;
	patience = life.control->settings.patience.ms;
	beat = __atomic_load_n(&head->scan_beat, __ATOMIC_RELAXED);
	/* where only parents may trace (Yama); the program's own choice no longer matters */
	sys_prctl(PR_SET_PTRACER, (unsigned long)life.control->collector, 0, 0, 0);
	__atomic_store_n(&head->ending, thread_id(), __ATOMIC_RELEASE);
	ring_wake();
	/*
	 * A signal ends a sleep early, so the total wait may be shorter. On a busy machine both a
	 * sleep and the collector take longer, so the clock also limits the wait.
	 */
	since = clock_monotonic();
	for (int64_t idle_ms = 0; idle_ms <= patience; idle_ms += STEP_MS) {
		uint32_t now;

		if ((clock_monotonic() - since) / 1000000 > BUSY_TIMES * (uint64_t)patience)
			return;
		if (__atomic_load_n(&head->released, __ATOMIC_ACQUIRE))
			return;
		sys_futex_wait(&head->released, 0, &step, 1);
		now = __atomic_load_n(&head->scan_beat, __ATOMIC_RELAXED);
		if (now != beat) {
			idle_ms = 0;
			since = clock_monotonic();
		}
		beat = now;
	}
}
