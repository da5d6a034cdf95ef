/* SPDX-License-Identifier: MIT */
#ifndef TESTS_COLLECT_FORGER_H
#define TESTS_COLLECT_FORGER_H

/*
 * Sends arbitrary messages, requests and descriptors to the collector's socket, as a malicious
 * program of the run could: such a program knows the run's secret.
 */

#include "collect-producer.h"

#include <inttypes.h>

#ifndef MFD_HUGETLB
#define MFD_HUGETLB 4U
#endif

static char forger_id[33];
static uint64_t forger_secret[2];

/* Reads the run's id and secret from the environment. Returns false if they are missing. */
static bool forger_begin(void)
{
	const char *where = getenv(CONTROL_ENVIRONMENT);

	return where && sscanf(where, "%32[0-9a-f]%16" SCNx64 "%16" SCNx64, forger_id,
			       &forger_secret[1], &forger_secret[0]) == 3;
}

static int forger_connect(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int length = snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "%s%s",
			      CONTROL_SOCKET_PREFIX, forger_id);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	if (connect(fd, (struct sockaddr *)&address,
		    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length)) < 0) {
		puts("nobody listens");
		exit(3);
	}
	return fd;
}

static void forger_send(int socket, const void *data, size_t size, int fd)
{
	char control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec part = { (void *)(uintptr_t)data, size };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = control,
				  .msg_controllen = sizeof(control) };
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);

	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(header), &fd, sizeof(int));
	sendmsg(socket, &message, MSG_NOSIGNAL);
}

/* Sends a request. Returns the answer's length. *fd: the descriptor that comes with it, if any. */
static ssize_t forger_ask(enum control_command command, const char *text, char *answer, size_t room,
			  int *fd)
{
	struct control_request request = { .contract = CONTRACT_HASH,
					   .secret = { forger_secret[0], forger_secret[1] },
					   .command = command };
	char control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec part = { answer, room - 1 };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = control,
				  .msg_controllen = sizeof(control) };
	int socket = forger_connect();
	ssize_t got;

	snprintf(request.text, sizeof(request.text), "%s", text);
	send(socket, &request, sizeof(request), MSG_NOSIGNAL);
	got = recvmsg(socket, &message, 0);
	answer[got > 0 ? got : 0] = '\0';
	if (fd && got > 0 && CMSG_FIRSTHDR(&message))
		memcpy(fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(*fd));
	close(socket);
	return got;
}

__attribute__((unused)) static const struct control_page *forger_control(void)
{
	char answer[8];
	const struct control_page *control;
	int fd = -1;

	forger_ask(CONTROL_CONTROL, "", answer, sizeof(answer), &fd);
	control = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof(*control), PROT_READ, MAP_SHARED, fd, 0);
	if (control == MAP_FAILED) {
		puts("no board");
		exit(3);
	}
	return control;
}

/*
 * Returns a memfd of huge pages, or -1. Its size is that of a chunk of *slots slots, and a multiple
 * of a huge page. The machine may have no huge pages for the memfd.
 */
static int forger_huge_memory(uint32_t *slots)
{
	int fd = memfd_create("huge", MFD_ALLOW_SEALING | MFD_HUGETLB);
	struct chunk_layout layout = chunk_lay_out(256, ARENA_RING_MOST, 0);

	for (*slots = 256; layout.size % (2 << 20) && *slots < ARENA_SLOTS_MOST;)
		layout = chunk_lay_out(++*slots, ARENA_RING_MOST, 0);
	if (fd >= 0 && ftruncate(fd, (off_t)layout.size) < 0)
		puts("no huge pages here");
	return fd;
}

#endif
