/* SPDX-License-Identifier: MIT */
/* Addresses of sockets are said as people write them; who is at the other end, if it was asked. */
#include "expect.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
	struct sockaddr_un local;
};

static void bound(int fd, const char *family, const char *text)
{
	expect("bind<event>(0x%x)\n\t$family = %s\n\t$address = %s", fd, family, text);
}

static void connected(int fd, const char *family, const char *text)
{
	expect("connect<event>(0x%x)\n\t$family = %s\n\t$address = %s", fd, family, text);
}

static void v6(const char *text, const char *said)
{
	union address to = { .v6 = { .sin6_family = AF_INET6, .sin6_port = htons(9) } };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	if (inet_pton(AF_INET6, text, &to.v6.sin6_addr) != 1)
		exit(1);
	/* refused, yet the address is known */
	if (!connect(fd, &to.any, sizeof(to.v6)))
		exit(1);
	connected(fd, "AF_INET6", said);
	close(fd);
}

static void over_ip(void)
{
	int server = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0);
	union address here = { .v4 = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) } };
	union address peer;
	socklen_t length = sizeof(here);
	char text[64];
	int fd;

	if (bind(server, &here.any, sizeof(here.v4)) || listen(server, 5) ||
	    getsockname(server, &here.any, &length) || connect(client, &here.any, length))
		exit(1);
	bound(server, "AF_INET", "127.0.0.1:0");
	snprintf(text, sizeof(text), "127.0.0.1:%u", ntohs(here.v4.sin_port));
	connected(client, "AF_INET", text);
	length = sizeof(peer);
	fd = accept(server, &peer.any, &length);
	expect("accept<fd>(1) = 0x%x\n\t$sockfd = %d\n\t$address = 127.0.0.1:%u", fd, server,
	       ntohs(peer.v4.sin_port));
	close(fd);
	close(client);
	client = socket(AF_INET, SOCK_STREAM, 0);
	length = sizeof(here);
	if (connect(client, &here.any, sizeof(here.v4)))
		exit(1);
	fd = accept4(server, NULL, NULL, SOCK_CLOEXEC);
	expect("accept4<fd>(1) = 0x%x\n\t$sockfd = %d\n\t$address = *\n\t$flags = 0x80000", fd,
	       server);
	close(fd);
	close(client);
	close(server);
	client = socket(AF_INET, SOCK_STREAM, 0);
	if (!connect(client, &here.any, sizeof(here.v4)) || errno != ECONNREFUSED)
		exit(1);
	connected(client, "AF_INET", text);
	close(client);
}

static void over_files(void)
{
	union address name = { .local = { .sun_family = AF_UNIX, .sun_path = "" } };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0), ends[2];

	memcpy(name.local.sun_path, "\0holdtrace\0test", 15);
	if (bind(fd, &name.any, offsetof(struct sockaddr_un, sun_path) + 15))
		exit(1);
	bound(fd, "AF_UNIX", "@holdtrace@test");
	close(fd);
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	strcpy(name.local.sun_path, "/no such place/socket");
	if (!connect(fd, &name.any, sizeof(name.local)) || errno != ENOENT)
		exit(1);
	connected(fd, "AF_UNIX", "/no such place/socket");
	if (!connect(fd, (struct sockaddr *)8, 16) || errno != EFAULT)
		exit(1);
	expect("connect<event>(0x%x)", fd);
	if (!connect(-1, (struct sockaddr *)8, 16) || errno != EBADF)
		exit(1);
	expect("connect<event>(0xffffffffffffffff)");
	close(fd);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		exit(1);
	expect("socketpair<fd>(1) = 0x%x\n\t$peer = %d\n\t$domain = 0x1\n\t$type = "
	       "0x1\n\t$protocol = 0x0",
	       ends[1], ends[0]);
	expect("socketpair<fd>(1) = 0x%x\n\t$peer = %d", ends[0], ends[1]);
}

int main(void)
{
	over_ip();
	v6("::1", "[::1]:9");
	v6("::", "[::]:9");
	v6("2001:db8::ff00:42:8329", "[2001:db8::ff00:42:8329]:9");
	v6("1:0:0:2:0:0:0:3", "[1:0:0:2::3]:9");
	v6("1:2:3:4:5:6:7:0", "[1:2:3:4:5:6:7:0]:9");
	v6("fe80::", "[fe80::]:9");
	over_files();
	expect_print();
	return 0;
}
