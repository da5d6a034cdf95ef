/* SPDX-License-Identifier: MIT */
/*
 * takes-name NAME MS: listens under an abstract name that was somebody else's, and tells how many
 * bytes and descriptors it was sent in so many milliseconds.
 */
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

int main(int argc, char **argv)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int socket_fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	long bytes = 0, descriptors = 0, guests = 0;
	struct pollfd poller = { .fd = socket_fd, .events = POLLIN };

	if (argc != 3)
		return 2;
	snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "%s", argv[1]);
	if (bind(socket_fd, (struct sockaddr *)&address,
		 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(argv[1]))) ||
	    listen(socket_fd, 10))
		return 3;
	puts("listens");
	fflush(stdout);
	while (poll(&poller, 1, atoi(argv[2])) == 1) {
		char data[4096], control[256];
		struct iovec part = { data, sizeof(data) };
		struct msghdr message = { .msg_iov = &part,
					  .msg_iovlen = 1,
					  .msg_control = control,
					  .msg_controllen = sizeof(control) };
		int guest = accept(socket_fd, NULL, NULL);
		ssize_t got = recvmsg(guest, &message, 0);

		guests++;
		bytes += got > 0 ? got : 0;
		descriptors += got > 0 && message.msg_controllen > 0;
	}
	printf("%ld guests, %ld bytes, %ld descriptors\n", guests, bytes, descriptors);
	return 0;
}
