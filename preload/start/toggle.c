/* SPDX-License-Identifier: MIT */
#include "toggle.h"

#include <dlfcn.h>
#include <signal.h>
#include <time.h>

#include "preload/ground/sys.h"
#include "preload/record/life.h"
#include "preload/record/memory.h"
#include "preload/record/ring.h"

/*
 * Asks the collector, who tells all processes and notes the time in all streams, and waits a moment
 * until it has: what the program does next is recorded or not, as was wished. errno is not touched.
 */
static void toggle(int number)
{
	static const struct timespec most = { .tv_nsec = 100000000 };
	const struct board *board = life.board;
	struct arena *head = memory_head();
	uint32_t before;

	(void)number;
	if (!board || !head || !life_is_running())
		return;
	before = __atomic_load_n(&board->paused, __ATOMIC_ACQUIRE);
	__atomic_fetch_add(&head->toggles, 1, __ATOMIC_RELEASE);
	ring_wake();
	if (!ring_is_quiet())
		sys_futex_wait(&board->paused, before, &most, 1);
}

/*
 * By libc's function and not by the system call, since that needs a way back that belongs to libc
 * and that unwinders know. It is looked up, so that nobody needs it who asked for no signal.
 */
void toggle_install(int number)
{
	__typeof__(sigaction) *install;
	struct sigaction action = { .sa_handler = toggle, .sa_flags = SA_RESTART };

	if (!number)
		return;
	install = (__typeof__(install))dlsym(RTLD_NEXT, "sigaction");
	dlerror();
	if (install)
		install(number, &action, NULL);
}
