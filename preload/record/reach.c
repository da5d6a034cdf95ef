/* SPDX-License-Identifier: MIT */
#include "reach.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/stat.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "contract.h"
#include "life.h"
#include "preload/ground/clock.h"
#include "preload/ground/plain.h"
#include "preload/ground/self.h"
#include "preload/ground/sys.h"

#define RETRY_NS 1000000
/* even a collector that is busy with many ended processes changes its heartbeat within this time */
#define STILL_MS 50

#define NOBODY		     65534u	 /* the kernel's id for unmapped users: kernel/sys.c */
#define FIRST_USER_NAMESPACE 0xeffffffdu /* linux/nsfs.h, USER_NS_INIT_INO */

/* The data by which this process reaches the collector. A child of fork inherits the data. */
static struct {
	char id[33];
	bool owner_is_known;
	/* the user that owns the control page, as this process's user namespace maps it */
	uint32_t owner;
} collector;

void reach_name(const char *id)
{
	plain_copy(collector.id, id, sizeof(collector.id));
}

void reach_owner(uint32_t user)
{
	collector.owner = user;
	collector.owner_is_known = true;
}

bool reach_is_trusted(void)
{
	return collector.owner_is_known && collector.owner != NOBODY &&
	       (!collector.owner || collector.owner == self_auxiliary(AT_EUID));
}

char *reach_path(char *path, uint64_t pid, uint64_t fd)
{
	char *at = path;

	at += plain_copy(at, "/proc/", 8) - 1;
	at = plain_number(at, pid, 10);
	at += plain_copy(at, "/fd/", 8) - 1;
	return plain_number(at, fd, 10);
}

/*
 * Connects to the collector. Tries again while the queue of the collector's socket is full: many
 * programs of a run may start at the same time, and the collector may be slow to accept.
 */
static int connect_in_time(int socket, const struct sockaddr_un *address, unsigned int size,
			   int64_t patience_ms)
{
	int status = sys_connect(socket, (const struct sockaddr *)address, size);
	uint64_t begin = status == -EAGAIN ? clock_monotonic() : 0;

	/* do not count retries: on a busy machine each sleep takes far longer than RETRY_NS */
	while (status == -EAGAIN && (clock_monotonic() - begin) / 1000000 < (uint64_t)patience_ms) {
		sys_sleep(RETRY_NS);
		status = sys_connect(socket, (const struct sockaddr *)address, size);
	}
	return status;
}

/* Connects by abstract name, which also works after chroot, setuid, and in a pid namespace. */
static int connect_by_name(int socket, const char *suffix, int64_t patience_ms)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	char *name = address.sun_path + 1;

	name += plain_copy(name, CONTROL_SOCKET_PREFIX, 32) - 1;
	name += plain_copy(name, collector.id, sizeof(collector.id)) - 1;
	name += plain_copy(name, suffix, 32) - 1;
	return connect_in_time(socket, &address, (unsigned int)(name - (char *)&address),
			       patience_ms);
}

/*
 * Connects by the path, in /proc, of a socket of the collector. listener: the socket's descriptor
 * in the collector. This also works in another network namespace, but needs /proc.
 */
static int connect_by_path(int socket, int32_t listener, int64_t patience_ms)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	if (listener < 0)
		return -ECONNREFUSED;
	reach_path(address.sun_path, (uint64_t)life.control->collector, (uint64_t)listener);
	return connect_in_time(socket, &address, sizeof(address), patience_ms);
}

/* Whether this process belongs to the owner of the run, or to root. */
static bool is_owner(void)
{
	uint32_t user = (uint32_t)sys_call0(__NR_geteuid);

	return !user || (collector.owner_is_known && user == collector.owner);
}

/*
 * Whether the peer is the collector. After the collector has ended, any process may bind the name
 * of its socket. The kernel reports pid 0 for a process outside of our pid namespace, and NOBODY
 * for a user that our user namespace does not map.
 */
static bool is_collector(int socket, uint32_t pid)
{
	struct ucred peer = { 0 };
	struct statx space;
	unsigned int size = sizeof(peer);

	if (sys_getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) ||
	    (peer.pid && (uint32_t)peer.pid != pid))
		return false;
	if (!collector.owner_is_known || peer.uid == collector.owner)
		return true;
	/*
	 * in another user namespace, the kernel may not be able to map the collector's user id, and
	 * reports NOBODY (user_namespaces(7))
	 */
	return peer.uid == NOBODY &&
	       !sys_statx(AT_FDCWD, "/proc/self/ns/user", 0, STATX_INO, &space) &&
	       space.stx_ino != FIRST_USER_NAMESPACE;
}

int reach_collector(uint32_t pid, int64_t patience_ms)
{
	int socket = sys_socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int status;

	if (socket < 0)
		return socket;
	status = connect_by_name(socket, "", 0);
	/* other users can fill the queue of the named socket, but not of the owner's listener */
	if (status == -EAGAIN && life.control && is_owner())
		status = connect_by_path(socket, life.control->owners_listener, patience_ms);
	if (status && status != -ECONNREFUSED)
		status = connect_by_name(socket, "", patience_ms);
	if (status == -ECONNREFUSED && life.control)
		status = connect_by_path(socket, life.control->listener, patience_ms);
	if (!status && !is_collector(socket, pid))
		status = -EPERM;
	if (!status)
		return socket;
	sys_close(socket);
	return status;
}

int reach_planner(int64_t patience_ms)
{
	struct ucred peer;
	unsigned int size = sizeof(peer);
	int socket = reach_is_trusted() && is_owner()
			     ? sys_socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)
			     : -EPERM;
	int status;

	if (socket < 0)
		return socket;
	status = connect_by_name(socket, PLANNER_SUFFIX, patience_ms);
	if (!status)
		status = sys_getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size);
	/* after the launcher has ended, any process may bind the name */
	if (!status && peer.uid == collector.owner)
		return socket;
	sys_close(socket);
	return status ? status : -EPERM;
}

long reach_say(int socket, const void *data, size_t size, const int *fd)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control = { .room = { 0 } };
	struct iovec part = { (void *)(uintptr_t)data, size };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };

	if (fd) {
		message.msg_control = &control;
		message.msg_controllen = sizeof(control);
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(sizeof(int));
		*(int *)(void *)CMSG_DATA(&control.header) = *fd;
	}
	return sys_sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/*
 * While short-lived processes end faster than the collector can handle, a new process waits here
 * before it starts to record. The owner's processes wait only for other processes of the owner, so
 * that no other user can delay them. If the collector makes no progress, no process waits: the
 * collector may have been killed or stopped.
 */
static void wait_for_crowd(void)
{
	const uint32_t *crowded = &life.control->crowded;
	uint64_t beat = __atomic_load_n(&life.control->heartbeat, __ATOMIC_RELAXED);
	uint64_t begun, now, beaten;
	uint32_t bit;

	if (!__atomic_load_n(crowded, __ATOMIC_RELAXED))
		return;
	bit = is_owner() ? CROWD_OF_OWNER : CROWD_OF_OTHERS;
	begun = now = beaten = clock_monotonic();
	while ((now - begun) / 1000000 < (uint64_t)life.control->settings.patience.ms &&
	       (now - beaten) / 1000000 < STILL_MS &&
	       __atomic_load_n(crowded, __ATOMIC_RELAXED) & bit) {
		sys_sleep(RETRY_NS);
		now = clock_monotonic();
		if (__atomic_load_n(&life.control->heartbeat, __ATOMIC_RELAXED) == beat)
			continue;
		beat = __atomic_load_n(&life.control->heartbeat, __ATOMIC_RELAXED);
		beaten = now;
	}
}

int reach_hand_over(int memory, const struct arena_hello *hello)
{
	int socket;
	long sent;

	if (!hello->chunk && !(hello->flags & PROCESS_ATTACHED))
		wait_for_crowd();
	socket = reach_collector((uint32_t)life.control->collector,
				 life.control->settings.patience.ms);
	if (socket < 0)
		return socket;
	sent = reach_say(socket, hello, sizeof(*hello), &memory);
	sys_close(socket);
	return sent < 0 ? (int)sent : 0;
}

void reach_leave_out(const char *name)
{
	struct control_request request = {
		.contract = CONTRACT_HASH,
		.secret = { life.control->secret[0], life.control->secret[1] },
		.command = CONTROL_LEFT_OUT,
	};
	int socket = reach_collector((uint32_t)life.control->collector,
				     life.control->settings.patience.ms);

	if (socket < 0)
		return;
	plain_copy(request.text, name, sizeof(request.text));
	reach_say(socket, &request, sizeof(request), NULL);
	sys_close(socket);
}
