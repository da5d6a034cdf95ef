/* SPDX-License-Identifier: MIT */
/* repeats-syscall TIMES: calls syscall(2) with a number of no interest to the library. */
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	for (long times = argc > 1 ? atol(argv[1]) : 0; times; times--)
		syscall(SYS_getppid);
	return 0;
}
