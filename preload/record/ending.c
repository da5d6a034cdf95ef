/* SPDX-License-Identifier: MIT */
#include "ending.h"

#include <sys/prctl.h>

#include "life.h"
#include "memory.h"
#include "preload/ground/sys.h"
#include "ring.h"
#include "thread.h"

#define STEP_MS 10

/* What waits for nobody: a child on its parent's stack, and where the kernel may not be asked. */
static bool may_wait(void)
{
	const struct thread *thread = thread_self;

	return life_is_running() && life.board->settings.scan == SCAN_EXIT && memory_head() &&
	       !(thread && thread->vfork_return) && !ring_is_quiet() && sys_getpid() == life.pid;
}

void ending_await_scan(void)
{
	static const struct timespec step = { .tv_nsec = STEP_MS * 1000000 };
	struct arena *head;
	uint32_t beat;
	int64_t patience;

	if (!may_wait())
		return;
	head = memory_head();
	if (!head)
		return;
	patience = life.board->settings.patience;
	beat = __atomic_load_n(&head->scan_beat, __ATOMIC_RELAXED);
	/* where only parents may trace (Yama); whatever the program chose is of no use any more */
	sys_prctl(PR_SET_PTRACER, (unsigned long)life.board->collector, 0, 0, 0);
	__atomic_store_n(&head->ending, thread_id(), __ATOMIC_RELEASE);
	ring_wake();
	/* signals end a step early: then we wait for less */
	for (int64_t idle_ms = 0; idle_ms <= patience; idle_ms += STEP_MS) {
		uint32_t now;

		if (__atomic_load_n(&head->released, __ATOMIC_ACQUIRE))
			return;
		sys_futex_wait(&head->released, 0, &step, 1);
		now = __atomic_load_n(&head->scan_beat, __ATOMIC_RELAXED);
		if (now != beat)
			idle_ms = 0;
		beat = now;
	}
}
