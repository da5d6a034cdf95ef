/* SPDX-License-Identifier: MIT */
/*
 * What may come to the collector's socket, or into the memory that it reads:
 *
 *   knocks NAME SECONDS    a stranger, who knows the socket's abstract name but no secret, asks for
 *                          the run's control page, asks to stop, hands over memory, sends nonsense
 * with descriptors, and keeps as many connections open as he can for a while knocks forge PID a
 * traced program enters processes that are none where forked children find a place, each with this
 * number
 *
 * Prints what came back; ends with 3 where nobody listens, or nothing can be forged.
 */
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "arena.h"
#include "contract.h"

#define KEPT 600

static const char *name;

static int knock(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0);

	snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "%s", name);
	if (connect(fd, (struct sockaddr *)&address,
		    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name))) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

static void say(int fd, const void *data, size_t size, const int *descriptors, size_t count)
{
	char control[CMSG_SPACE(8 * sizeof(int))] = { 0 };
	struct iovec part = { (void *)(uintptr_t)data, size };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };

	if (count) {
		struct cmsghdr *header = (struct cmsghdr *)(void *)control;

		message.msg_control = control;
		message.msg_controllen = CMSG_SPACE(count * sizeof(int));
		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = SCM_RIGHTS;
		header->cmsg_len = CMSG_LEN(count * sizeof(int));
		memcpy(CMSG_DATA(header), descriptors, count * sizeof(int));
	}
	sendmsg(fd, &message, MSG_NOSIGNAL);
}

/* Bytes that come back in half a second. */
static long answer(int fd)
{
	struct pollfd poller = { .fd = fd, .events = POLLIN };
	char data[4096];
	long got = poll(&poller, 1, 500) == 1 ? recv(fd, data, sizeof(data), 0) : 0;

	close(fd);
	return got > 0 ? got : 0;
}

static long ask(enum control_command command)
{
	struct control_request request = { .contract = CONTRACT_HASH, .command = command };
	int fd = knock();

	say(fd, &request, sizeof(request), NULL, 0);
	return answer(fd);
}

/* Memory as a program hands it over, but without the secret. */
static long hand_over(void)
{
	const struct chunk_layout layout = chunk_lay_out(2, ARENA_RING_LEAST, 0);
	struct arena_hello hello = { .contract = CONTRACT_HASH,
				     .slots = 2,
				     .ring_size = ARENA_RING_LEAST,
				     .pid = getpid(),
				     .name = "intruder" };
	int fd = knock(), memory = memfd_create("stranger", MFD_ALLOW_SEALING);

	if (memory < 0 || ftruncate(memory, (off_t)layout.size))
		exit(4);
	say(fd, &hello, sizeof(hello), &memory, 1);
	close(memory);
	return answer(fd);
}

static long talk_nonsense(void)
{
	static const int descriptors[8] = { 0, 1, 2, 0, 1, 2, 0, 1 };
	static const char bytes[3000] = { 1, 2, 3 };
	int fd = knock();

	say(fd, bytes, sizeof(bytes), descriptors, 8);
	return answer(fd);
}

static int be_a_stranger(const char *seconds)
{
	long got = 0;
	int kept = 0, fd = knock();

	if (fd < 0) {
		printf("nobody listens: %s\n", strerror(errno));
		return 3;
	}
	close(fd);
	got += ask(CONTROL_CONTROL) + ask(CONTROL_STOP) + ask(CONTROL_MARK);
	got += hand_over() + talk_nonsense();
	while (kept < KEPT && knock() >= 0)
		kept++;
	printf("%ld bytes, %s kept\n", got, kept > 200 ? "many" : "few");
	fflush(stdout);
	sleep((unsigned)atoi(seconds));
	return 0;
}

/* The first chunk of this process: its spares. */
static char *find_memory(struct chunk_layout *layout, uint32_t *spares)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[512];

	while (maps && fgets(line, sizeof(line), maps)) {
		unsigned long from, to;

		if (!strstr(line, "memfd:" ARENA_NAME) ||
		    sscanf(line, "%lx-%lx rw-s 0", &from, &to) != 2)
			continue;
		for (*spares = ARENA_SPARES_MOST; *spares; --*spares) {
			*layout = chunk_lay_out(ARENA_SLOTS_FIRST, ARENA_RING_MOST, *spares);
			if (layout->size + ARENA_LINK == to - from) {
				fclose(maps);
				return (char *)from;
			}
		}
	}
	return NULL;
}

static int forge(int32_t pid)
{
	struct chunk_layout layout;
	uint32_t spares;
	char *chunk = find_memory(&layout, &spares);
	struct arena_spare *places;

	if (!chunk)
		return 3;
	places = (struct arena_spare *)(void *)(chunk + layout.spares);
	for (uint32_t i = 1; i <= spares; i++) {
		char *place = chunk + layout.spares + i * ARENA_SPARE_SIZE;
		struct arena_spare *spare = (struct arena_spare *)(void *)place;

		spare->hello = (struct arena_hello){ .contract = CONTRACT_HASH,
						     .key = { i, i },
						     .slots = 1,
						     .ring_size = ARENA_RING_LEAST,
						     .pid = pid,
						     .start = 1,
						     .name = "forged" };
		__atomic_store_n(&spare->state, SPARE_READY, __ATOMIC_RELEASE);
	}
	__atomic_store_n(&places[0].used, spares, __ATOMIC_RELEASE);
	usleep(300000);
	printf("forged %u\n", spares);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	name = argv[1];
	return strcmp(name, "forge") ? be_a_stranger(argv[2]) : forge(atoi(argv[2]));
}
