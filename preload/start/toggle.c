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
 * Asks the collector to pause or resume, and waits a moment until it has told all processes: it
 * also notes the time in all streams. So what the program does next is recorded, or not, as the
 * user wanted. errno is not changed.
 */
static void toggle(int number)
{
	static const struct timespec most = { .tv_nsec = 100000000 };
	const struct control_page *control = life.control;
	struct arena *head = memory_head();
	uint32_t before;

	(void)number;
	if (!control || !head || !life_is_running())
		return;
	before = __atomic_load_n(&control->paused, __ATOMIC_ACQUIRE);
	__atomic_fetch_add(&head->toggles, 1, __ATOMIC_RELEASE);
	ring_wake();
	if (!ring_is_quiet())
		sys_futex_wait(&control->paused, before, &most, 1);
}

/*
 * Uses libc's function, because the system call needs a return stub, which libc has and unwinders
 * know. It is looked up by name, so that the library does not depend on it where no signal was
 * asked for.
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
