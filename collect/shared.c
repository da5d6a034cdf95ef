/* SPDX-License-Identifier: MIT */
#include "collect/shared.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "collect/libc_places.h"
#include "contract.h"
#include "counter.h"
#include "machine.h"

/* size of the members whose layout is the same in all builds: magic, contract, state, failure */
#define HEAD_SIZE offsetof(struct control_page, paused)

static int check_control(struct shared *shared, uint64_t size, struct error *err)
{
	const struct control_page *control = shared->control;

	if (control->magic != CONTROL_MAGIC) {
		shared->control = NULL;
		return error_set(err, EBADMSG, "descriptor %d is not a control page of holdtrace",
				 shared->fd);
	}
	if (control->contract != CONTRACT_HASH)
		return error_set(err, EPROTO,
				 "the library and the collector are from different builds of "
				 "holdtrace: install holdtrace again");
	if (size < sizeof(*control) || control->size != size)
		return error_set(err, EBADMSG,
				 "the control page should have %" PRIu64 " bytes, but has %" PRIu64,
				 control->size, size);
	if (control->clock > CONTROL_CLOCK_COUNTER)
		return error_set(err, EBADMSG, "the control page names an unknown clock: %u",
				 control->clock);
	return 0;
}

int shared_open(struct shared *shared, int fd, struct error *err)
{
	struct stat st;
	void *map;
	int ret;

	memset(shared, 0, sizeof(*shared));
	shared->fd = fd;
	shared->lock = -1;
	if (fstat(fd, &st) < 0)
		return error_system(err, errno, "cannot read the control page from descriptor %d",
				    fd);
	if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size < HEAD_SIZE)
		return error_set(err, EBADMSG, "descriptor %d is not a control page of holdtrace",
				 fd);
	map = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return error_system(err, errno, "cannot map the control page");
	shared->control = map;
	ret = check_control(shared, (uint64_t)st.st_size, err);
	if (ret < 0)
		return ret;
	/* F_SEAL_FUTURE_WRITE forbids new writable mappings; existing mappings remain writable */
	if (fcntl(fd, F_ADD_SEALS,
		  F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL) < 0)
		return error_system(err, errno, "cannot seal the shared memory");
	shared->device = st.st_dev;
	shared->inode = st.st_ino;
	/* the upper 64 bits first, as in a 128-bit number */
	snprintf(shared->session, sizeof(shared->session), "%016" PRIx64 "%016" PRIx64,
		 shared->control->session[1], shared->control->session[0]);
	return 0;
}

void shared_state(struct shared *shared, enum control_state state)
{
	__atomic_store_n(&shared->control->state, (uint32_t)state, __ATOMIC_RELEASE);
	shared_futex_wake(&shared->control->state);
}

void shared_fail(struct shared *shared, const char *sentence)
{
	snprintf(shared->control->failure, sizeof(shared->control->failure), "%s", sentence);
}

int shared_description(const struct shared *shared)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", shared->fd);
	return open(path, O_RDONLY | O_CLOEXEC);
}

bool shared_deserted(struct shared *shared, bool keep)
{
	bool is_deserted;

	shared->lock = shared_description(shared);
	if (shared->lock < 0 && errno == ENOENT)
		return true;
	is_deserted = shared->lock >= 0 && flock(shared->lock, LOCK_EX | LOCK_NB) == 0;
	if (shared->lock >= 0 && (!is_deserted || !keep))
		close(shared->lock);
	return is_deserted;
}

void shared_release(struct shared *shared)
{
	if (shared->lock >= 0)
		close(shared->lock);
	shared->lock = -1;
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

void shared_wake(uint32_t *sleeping)
{
	uint32_t sleep = __atomic_load_n(sleeping, __ATOMIC_SEQ_CST);

	/* if the collector is about to sleep, the changed word keeps it awake */
	if (sleep & 1)
		__atomic_compare_exchange_n(sleeping, &sleep, sleep + 1, false, __ATOMIC_SEQ_CST,
					    __ATOMIC_RELAXED);
	shared_futex_wake(sleeping);
}

/* ---- creation ---- */

/*
 * Finds the name of a standard descriptor if it is a device in /dev. Each traced program calls
 * stat() on this name when it starts. A name in another directory is not used: that directory may
 * be on a network file system, a FUSE server or an automounter that does not answer. Pipes and
 * sockets need no name: they are compared by their inode numbers.
 */
static void find_standard(int fd, char name[CONTROL_STANDARD_MAX])
{
	char link[32];
	struct stat file;
	ssize_t length;

	if (fstat(fd, &file) || !S_ISCHR(file.st_mode))
		return;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, name, CONTROL_STANDARD_MAX - 1);
	/* a truncated name would be the name of another file */
	name[length > 0 && length < CONTROL_STANDARD_MAX - 1 ? length : 0] = 0;
	if (strncmp(name, "/dev/", 5))
		name[0] = 0;
}

/*
 * Sets the size of the memfd. RLIMIT_FSIZE applies to a memfd, too: at a size beyond the soft
 * limit, the kernel would send SIGXFSZ. So the soft limit is raised during the call.
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

int make_control(struct control_page **control, int *fd, struct error *err)
{
	struct control_page *page;
	void *memory = MAP_FAILED;
	int status;

	*fd = memfd_create(CONTROL_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (*fd < 0)
		return error_system(err, errno, "cannot create the shared memory");
	status = set_size(*fd, sizeof(**control));
	if (!status) {
		memory = mmap(NULL, sizeof(**control), PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
		status = memory == MAP_FAILED ? -errno : 0;
	}
	if (status) {
		close(*fd);
		*fd = -1;
		return error_system(
			err, -status,
			"cannot create shared memory (check the limits: ulimit -v, ulimit -f)");
	}
	*control = page = memory;
	if (getrandom(page->session, sizeof(page->session), 0) != sizeof(page->session) ||
	    getrandom(page->secret, sizeof(page->secret), 0) != sizeof(page->secret))
		return error_system(err, errno, "cannot create a random session id");
	page->size = sizeof(*page);
	page->contract = CONTRACT_HASH;
	page->clock = counter_is_invariant() ? CONTROL_CLOCK_COUNTER : CONTROL_CLOCK_MONOTONIC;
	page->machine = MACHINE_OWN;
	page->state = CONTROL_STARTING;
	settings_default(&page->settings);
	libc_places_find(&page->libc);
	for (int standard = 0; standard < CONTROL_STANDARDS; standard++)
		find_standard(standard, page->standard[standard]);
	page->maker = getpid();
	__atomic_store_n(&page->magic, CONTROL_MAGIC, __ATOMIC_RELEASE);
	return 0;
}
