/* SPDX-License-Identifier: MIT */
#include "collect/make.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

#include "collect/libc_places.h"
#include "collect/standard.h"
#include "contract.h"
#include "counter.h"
#include "machine.h"

static int fill(struct board *board, struct error *err)
{
	if (getrandom(board->session, sizeof(board->session), 0) != sizeof(board->session) ||
	    getrandom(board->secret, sizeof(board->secret), 0) != sizeof(board->secret))
		return error_system(err, errno, "no random session id");
	board->size = sizeof(*board);
	board->contract = CONTRACT_HASH;
	board->clock = counter_is_invariant() ? BOARD_CLOCK_COUNTER : BOARD_CLOCK_MONOTONIC;
	board->machine = MACHINE_OWN;
	board->state = BOARD_STARTING;
	settings_default(&board->settings);
	libc_places_find(&board->libc);
	standard_find(board);
	__atomic_store_n(&board->magic, BOARD_MAGIC, __ATOMIC_RELEASE);
	return 0;
}

/*
 * Gives the memfd its size. RLIMIT_FSIZE applies to it, too, and exceeding it would send SIGXFSZ.
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

int make_board(struct board **board, int *fd, struct error *err)
{
	void *memory = MAP_FAILED;
	int status;

	*fd = memfd_create(BOARD_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (*fd < 0)
		return error_system(err, errno, "cannot make the shared memory");
	status = set_size(*fd, sizeof(**board));
	if (!status) {
		memory = mmap(NULL, sizeof(**board), PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
		status = memory == MAP_FAILED ? -errno : 0;
	}
	if (!status) {
		*board = memory;
		return fill(*board, err);
	}
	close(*fd);
	*fd = -1;
	return error_system(err, -status, "cannot get shared memory (ulimit -v, ulimit -f)");
}
