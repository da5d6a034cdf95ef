/* SPDX-License-Identifier: MIT */
#include "collect/shared.h"

#include "contract.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Where the head ends whose layout no table changes: magic, contract, state, failure. */
#define HEAD_SIZE offsetof(struct arena, next_stream)

static int check_geometry(const struct arena *arena, uint64_t size, struct error *err)
{
	uint64_t slots = (uint64_t)arena->slots * arena->slot_size;
	uint64_t rings = (uint64_t)arena->slots * arena->ring_size;

	if (arena->size != size)
		return error_set(err, EBADMSG,
				 "the arena says that it has %" PRIu64 " bytes and has %" PRIu64,
				 arena->size, size);
	if (!arena->slots || arena->slots > ARENA_SLOTS || arena->slot_size < sizeof(struct slot) ||
	    arena->slot_size % 64 || arena->ring_size < 4 * ARENA_RECORD_MAX ||
	    arena->ring_size & (arena->ring_size - 1))
		return error_set(err, EBADMSG,
				 "the arena has %u slots of %u bytes with rings of %u",
				 arena->slots, arena->slot_size, arena->ring_size);
	if (arena->slots_offset % 64 || arena->slots_offset < sizeof(*arena) ||
	    arena->slots_offset > size || slots > size - arena->slots_offset ||
	    arena->rings_offset % 64 || arena->rings_offset < arena->slots_offset ||
	    arena->rings_offset > size || rings > size - arena->rings_offset)
		return error_set(err, EBADMSG, "the arena's slots lie outside of it");
	if (arena->clock > ARENA_CLOCK_COUNTER)
		return error_set(err, EBADMSG, "the arena has no clock %u", arena->clock);
	return 0;
}

static int check_arena(struct shared *shared, uint64_t size, struct error *err)
{
	const struct arena *arena = shared->arena;

	if (arena->magic != ARENA_MAGIC) {
		shared->arena = NULL;
		return error_set(err, EBADMSG, "descriptor %d is not an arena of holdtrace",
				 shared->fd);
	}
	if (arena->contract != CONTRACT_HASH)
		return error_set(err, EPROTO,
				 "the library and the collector are not of the same build");
	if (size < sizeof(*arena))
		return error_set(err, EBADMSG, "the arena is cut off at %" PRIu64 " bytes", size);
	return check_geometry(arena, size, err);
}

int shared_open(struct shared *shared, int fd, struct error *err)
{
	struct stat st;
	char path[32];
	void *map;
	int ret;

	memset(shared, 0, sizeof(*shared));
	shared->fd = fd;
	shared->lock = -1;
	if (fstat(fd, &st) < 0)
		return error_system(err, errno, "descriptor %d is no arena", fd);
	if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size < HEAD_SIZE)
		return error_set(err, EBADMSG, "descriptor %d is not an arena of holdtrace", fd);
	map = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd,
		   0);
	if (map == MAP_FAILED)
		return error_system(err, errno, "cannot map the arena");
	shared->arena = map;
	ret = check_arena(shared, (uint64_t)st.st_size, err);
	if (ret < 0)
		return ret;
	shared->device = st.st_dev;
	shared->inode = st.st_ino;
	/* upper half first, as a number is written */
	snprintf(shared->session, sizeof(shared->session), "%016" PRIx64 "%016" PRIx64,
		 shared->arena->session[1], shared->arena->session[0]);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	shared->lock = open(path, O_RDWR | O_CLOEXEC);
	if (shared->lock < 0)
		return error_system(err, errno, "cannot open the arena through /proc");
	return 0;
}

void shared_state(struct shared *shared, enum arena_state state)
{
	__atomic_store_n(&shared->arena->state, (uint32_t)state, __ATOMIC_RELEASE);
	shared_futex_wake(&shared->arena->state);
}

void shared_fail(struct shared *shared, const char *sentence)
{
	snprintf(shared->arena->failure, sizeof(shared->arena->failure), "%s", sentence);
}

bool shared_deserted(struct shared *shared, bool keep)
{
	if (flock(shared->lock, LOCK_EX | LOCK_NB) < 0)
		return false;
	if (!keep)
		flock(shared->lock, LOCK_UN);
	return true;
}

void shared_futex_wake(uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

void shared_futex_wait(uint32_t *word, uint32_t expected, uint64_t timeout_ns)
{
	struct timespec timeout = { .tv_sec = (time_t)(timeout_ns / 1000000000),
				    .tv_nsec = (long)(timeout_ns % 1000000000) };

	syscall(SYS_futex, word, FUTEX_WAIT, expected, &timeout, NULL, 0);
}
