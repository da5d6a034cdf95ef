/* SPDX-License-Identifier: MIT */
#include "toggle.h"

#include <dlfcn.h>
#include <signal.h>

#include "life.h"
#include "ring.h"

/* One system call at most, and only while the collector sleeps; errno is not touched. */
static void toggle(int number)
{
	struct arena *arena = life.arena;

	(void)number;
	if (!arena)
		return;
	__atomic_fetch_add(&arena->paused, 1, __ATOMIC_SEQ_CST);
	/* It notes the time in all streams. */
	ring_wake();
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
