/* SPDX-License-Identifier: MIT */
/*
 * fails DIRECTORY: makes calls that fail, each at a line of its own, and prints "ERROR PATH" for
 * each of them. Looks for config.toml in three directories, and finds it in DIRECTORY.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

static void failed(const char *path)
{
	printf("%s %s\n", strerrorname_np(errno), path);
}

static int look_in(const char *directory)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/config.toml", directory);
	fd = open(path, O_RDONLY);
	if (fd < 0)
		failed(path);
	return fd;
}

int main(int argc, char **argv)
{
	const char *directories[] = { "/nope", "/nope/here", "/nope/there", argv[argc - 1] };
	struct sockaddr_in peer = { .sin_family = AF_INET,
				    .sin_port = htons(1),
				    .sin_addr = { htonl(INADDR_LOOPBACK) } };
	int fd = -1, sock = socket(AF_INET, SOCK_STREAM, 0);

	for (size_t i = 0; fd < 0 && i < sizeof(directories) / sizeof(*directories); i++)
		fd = look_in(directories[i]);
	close(fd);
	if (!fopen("/nope/a file with blanks\n", "r"))
		failed("/nope/a file with blanks\\n");
	for (int i = 0; i < 3; i++)
		if (open("/", O_WRONLY) < 0)
			failed("/");
	if (execl("/nope/program", "program", (char *)NULL))
		failed("/nope/program");
	if (sock >= 0 && connect(sock, (struct sockaddr *)&peer, sizeof(peer)))
		failed("127.0.0.1:1");
	if (mmap(NULL, 4096, PROT_READ, MAP_SHARED, 999, 0) == MAP_FAILED)
		failed("");
	return 0;
}
