/* SPDX-License-Identifier: MIT */
/*
 * stops-collector SIGNAL COUNT [MS]: sends its collector SIGNAL and makes COUNT blocks; a stopped
 * one may go on afterwards. Exit status 3 if that took more than MS milliseconds.
 */
#include <signal.h>
#include <string.h>
#include <time.h>

#include "made.h"

static long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int main(int argc, char **argv)
{
	const char *run = getenv("HOLDTRACE_ARENA");
	pid_t collector = run && strchr(run, ':') ? atoi(strchr(run, ':') + 1) : 0;
	unsigned long count = argc > 2 ? strtoul(argv[2], NULL, 10) : 100000;
	long most = argc > 3 ? atol(argv[3]) : 2000, since;
	int number = argc > 1 ? atoi(argv[1]) : SIGSTOP;

	make(100, 1083);
	usleep(50000);
	if (collector)
		kill(collector, number);
	since = now_ms();
	make(count, 1085);
	since = now_ms() - since;
	if (collector && number == SIGSTOP) {
		kill(collector, SIGCONT);
		usleep(100000);
	}
	make(50, 1087);
	fprintf(stderr, "%ld ms\n", since);
	return since > most ? 3 : 0;
}
