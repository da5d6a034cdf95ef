/* SPDX-License-Identifier: MIT */
/* A stream is two things: the FILE and its descriptor, both gained and lost with it. */
#include "expect.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

int main(void)
{
	FILE *stream = (errno = EFAULT, fopen("/etc/passwd", "r")); /* an older error is nobody's */
	int fd = fileno(stream);
	unsigned long was = (unsigned long)stream;

	expect("fopen<fd>(1) = 0x%x\n\t$path = /etc/passwd\n\t$mode = r", fd);
	expect("fopen<fp>(1) = 0x%lx\n\t$path = /etc/passwd\n\t$mode = r", was);
	fclose(stream);
	expect("fclose<fd>(0x%x)\nfclose<fp>(0x%lx)", fd, was);
	fd = open("/etc/passwd", O_RDONLY);
	stream = fdopen(fd, "r");
	was = (unsigned long)stream;
	expect("fdopen<fp>(1) = 0x%lx\n\t$fd = %d\n\t$mode = r", was, fd);
	fclose(stream);
	expect("fclose<fd>(0x%x)\nfclose<fp>(0x%lx)", fd, was);
	expect_print();
	return 0;
}
