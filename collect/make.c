/* SPDX-License-Identifier: MIT */
#include "collect/make.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
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

/*
 * Gives the memfd its size. A limit on files holds for it, too, and the kernel would not only
 * refuse but send SIGXFSZ.
 */
static int set_size(int fd, uint64_t size)
{
	struct rlimit before, most;
	int status = 0;

	getrlimit(RLIMIT_FSIZE, &before);
	if (before.rlim_max < size)
		return -EFBIG;
	most = (struct rlimit){ before.rlim_max, before.rlim_max };
	setrlimit(RLIMIT_FSIZE, &most);
	if (ftruncate(fd, (off_t)size) < 0)
		status = -errno;
	setrlimit(RLIMIT_FSIZE, &before);
	return status;
}

/* Maps so many slots. Returns 0 or a negative errno. */
static int map_slots(struct arena **arena, int fd, uint32_t slots)
{
	struct rlimit limit = { .rlim_cur = RLIM_INFINITY };
	struct arena shape;
	void *memory;
	int status;

	arena_lay_out(&shape, slots);
	getrlimit(RLIMIT_AS, &limit);
	if (slots > ARENA_SLOTS_LEAST && !arena_leaves_room(shape.size, limit.rlim_cur))
		return -ENOMEM;
	status = set_size(fd, shape.size);
	if (status)
		return status;
	memory = mmap(NULL, shape.size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
	if (memory == MAP_FAILED)
		return -errno;
	*arena = memory;
	return 0;
}

int make_arena(struct arena **arena, int *fd, struct error *err)
{
	static const uint32_t counts[] = { ARENA_SLOT_COUNTS };
	int status = -ENOMEM;

	*fd = memfd_create("holdtrace", MFD_CLOEXEC);
	if (*fd < 0)
		return error_system(err, errno, "cannot make the shared memory");
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		status = map_slots(arena, *fd, counts[i]);
		if (!status)
			return fill(*arena, counts[i], err);
	}
	close(*fd);
	*fd = -1;
	return error_system(err, -status, "cannot get shared memory (ulimit -v, ulimit -f)");
}
