/* SPDX-License-Identifier: MIT */
/* makes COUNT SIZE [MS]: so many blocks, after so many milliseconds. */
#include <time.h>

#include "made.h"

int main(int argc, char **argv)
{
	long ms = argc > 3 ? atol(argv[3]) : 0;

	nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000 }, NULL);
	if (argc > 2)
		make((unsigned long)atol(argv[1]), (size_t)atol(argv[2]));
	return 0;
}
