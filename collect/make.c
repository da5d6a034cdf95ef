/* SPDX-License-Identifier: MIT */
#include "collect/make.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect/libc_places.h"
#include "contract.h"
#include "counter.h"
#include "machine.h"

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

static int fill(struct control_page *control, struct error *err)
{
	if (getrandom(control->session, sizeof(control->session), 0) != sizeof(control->session) ||
	    getrandom(control->secret, sizeof(control->secret), 0) != sizeof(control->secret))
		return error_system(err, errno, "cannot create a random session id");
	control->size = sizeof(*control);
	control->contract = CONTRACT_HASH;
	control->clock = counter_is_invariant() ? CONTROL_CLOCK_COUNTER : CONTROL_CLOCK_MONOTONIC;
	control->machine = MACHINE_OWN;
	control->state = CONTROL_STARTING;
	settings_default(&control->settings);
	libc_places_find(&control->libc);
	for (int fd = 0; fd < CONTROL_STANDARDS; fd++)
		find_standard(fd, control->standard[fd]);
	control->maker = getpid();
	__atomic_store_n(&control->magic, CONTROL_MAGIC, __ATOMIC_RELEASE);
	return 0;
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
	if (!status) {
		*control = memory;
		return fill(*control, err);
	}
	close(*fd);
	*fd = -1;
	return error_system(err, -status,
			    "cannot create shared memory (check the limits: ulimit -v, ulimit -f)");
}
