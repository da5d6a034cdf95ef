/* SPDX-License-Identifier: MIT */
/* Makes blocks, says so, and sleeps until a signal comes; a handler ends it with 12 for SIGTERM. */
#include <signal.h>

#include "made.h"

static void on_term(int number)
{
	(void)number;
	_exit(12);
}

int main(int argc, char **argv)
{
	(void)argv;
	if (argc > 1)
		signal(SIGTERM, on_term);
	make(1000, 1093);
	if (write(1, "ready\n", 6) != 6)
		return 1;
	for (;;)
		pause();
}
