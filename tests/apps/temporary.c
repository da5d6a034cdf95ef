/* SPDX-License-Identifier: MIT */
/* Temporary files: the path is the one that was made. */
#include "expect.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static void made(const char *how, int fd, const char *path)
{
	if (fd < 0)
		exit(1);
	expect("%s<fd>(1) = 0x%x\n\t$path = %s", how, fd, path);
	unlink(path);
}

#define PLAIN  "/tmp/holdtrace-test.XXXXXX"
#define SUFFIX "/tmp/holdtrace-test.XXXXXX.c"

int main(void)
{
	char path[8][32] = { PLAIN, PLAIN, PLAIN, PLAIN, SUFFIX, SUFFIX, SUFFIX, SUFFIX };
	FILE *stream;
	int fd;

	made("mkstemp", mkstemp(path[0]), path[0]);
	made("mkstemp64", mkstemp64(path[1]), path[1]);
	made("mkostemp", mkostemp(path[2], O_CLOEXEC), path[2]);
	expect("\t$flags = 0x80000");
	made("mkostemp64", mkostemp64(path[3], O_APPEND), path[3]);
	made("mkstemps", mkstemps(path[4], 2), path[4]);
	made("mkstemps64", mkstemps64(path[5], 2), path[5]);
	made("mkostemps", mkostemps(path[6], 2, 0), path[6]);
	made("mkostemps64", mkostemps64(path[7], 2, 0), path[7]);
	if (mkstemp(path[0]) != -1 || errno != EINVAL)
		return 1;
	expect("mkstemp<event>(0xffffffffffffffff)");
	stream = tmpfile();
	fd = fileno(stream);
	expect("tmpfile<fd>(1) = 0x%x\ntmpfile<fp>(1) = 0x%lx", fd, (unsigned long)stream);
	fclose(stream);
	expect("fclose<fd>(0x%x)", fd);
	stream = tmpfile64();
	expect("tmpfile64<fp>(1) = 0x%lx", (unsigned long)stream);
	expect_print();
	return 0;
}
