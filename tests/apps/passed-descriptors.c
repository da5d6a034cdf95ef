/* SPDX-License-Identifier: MIT */
/* Descriptors that come with a message are gained by whoever takes it; other messages pass. */
#include "expect.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

union control {
	struct cmsghdr header;
	char bytes[CMSG_SPACE(2 * sizeof(int))];
};

static void send_two(int through, int fd)
{
	union control control;
	struct iovec data = { (char *)"x", 1 };
	struct msghdr message = { .msg_iov = &data,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control) };

	memset(&control, 0, sizeof(control));
	control.header.cmsg_level = SOL_SOCKET;
	control.header.cmsg_type = SCM_RIGHTS;
	control.header.cmsg_len = CMSG_LEN(2 * sizeof(int));
	memcpy(CMSG_DATA(&control.header), (int[]){ fd, fd }, 2 * sizeof(int));
	if (sendmsg(through, &message, 0) != 1)
		exit(1);
}

int main(void)
{
	union control control;
	char byte;
	struct iovec data = { &byte, 1 };
	struct mmsghdr message = { .msg_hdr = { .msg_iov = &data,
						.msg_iovlen = 1,
						.msg_control = &control,
						.msg_controllen = sizeof(control) } };
	int ends[2], got[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) || write(ends[0], "a", 1) != 1 ||
	    recvmsg(ends[1], &message.msg_hdr, 0) != 1)
		return 1;
	send_two(ends[0], 2);
	message.msg_hdr.msg_controllen = sizeof(control);
	if (recvmsg(ends[1], &message.msg_hdr, MSG_CMSG_CLOEXEC) != 1)
		return 1;
	memcpy(got, CMSG_DATA(&control.header), sizeof(got));
	expect("recvmsg<fd>(1) = 0x%x\n\t$sockfd = %d\n\t$flags = 0x40000000", got[0], ends[1]);
	expect("recvmsg<fd>(1) = 0x%x\n\t$sockfd = %d\n\t$flags = 0x40000000", got[1], ends[1]);
	send_two(ends[0], 2);
	message.msg_hdr.msg_controllen = sizeof(control);
	if (recvmmsg(ends[1], &message, 1, 0, NULL) != 1)
		return 1;
	memcpy(got, CMSG_DATA(&control.header), sizeof(got));
	expect("recvmmsg<fd>(1) = 0x%x\n\t$sockfd = %d", got[0], ends[1]);
	expect("recvmmsg<fd>(1) = 0x%x", got[1]);
	if (recvmsg(ends[1], (struct msghdr *)8, MSG_DONTWAIT) != -1 || errno != EFAULT)
		return 1;
	expect_print();
	printf("= 2 recvmsg<fd>*\n= 2 recvmmsg<fd>*\n");
	return 0;
}
