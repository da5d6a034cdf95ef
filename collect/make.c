/* SPDX-License-Identifier: MIT */
#include "collect/make.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "contract.h"
#include "counter.h"
#include "machine.h"

static int fill(struct arena *arena, uint32_t slots, struct error *err)
{
	if (getrandom(arena->session, sizeof(arena->session), 0) != sizeof(arena->session))
		return error_system(err, errno, "no random session id");
	arena_lay_out(arena, slots);
	arena->contract = CONTRACT_HASH;
	arena->clock = counter_is_invariant() ? ARENA_CLOCK_COUNTER : ARENA_CLOCK_MONOTONIC;
	arena->machine = MACHINE_OWN;
	arena->state = ARENA_STARTING;
	settings_default(&arena->settings);
	__atomic_store_n(&arena->magic, ARENA_MAGIC, __ATOMIC_RELEASE);
	return 0;
}

int make_arena(struct arena **arena, int *fd, struct error *err)
{
	struct arena shape;
	void *memory;

	arena_lay_out(&shape, ARENA_SLOTS);
	*fd = memfd_create("holdtrace", MFD_CLOEXEC);
	if (*fd < 0)
		return error_system(err, errno, "cannot make the shared memory");
	memory = MAP_FAILED;
	if (ftruncate(*fd, (off_t)shape.size) == 0)
		memory = mmap(NULL, shape.size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
			      *fd, 0);
	if (memory == MAP_FAILED) {
		int number = errno;

		close(*fd);
		return error_system(err, number, "cannot get %llu MiB of shared address space",
				    (unsigned long long)shape.size >> 20);
	}
	*arena = memory;
	return fill(*arena, ARENA_SLOTS, err);
}
