/* SPDX-License-Identifier: MIT */
/*
 * holdtrace-inject: started by `holdtrace attach` and `holdtrace ctl PID detach` to load the
 * library into a program, or to stop its recording there. It is a separate program, so that no
 * other program needs the right to trace processes.
 */
#include "base/error.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/out.h"
#include "process/proc.h"
#include "inject/inject.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STATUS_OWN_FAILURE 125

static const char usage[] =
	"Usage: holdtrace-inject attach PID LIBRARY RUN NAME\n"
	"       holdtrace-inject detach PID LIBRARY\n"
	"       holdtrace-inject check PID\n"
	"`holdtrace attach`, `holdtrace ctl` and `holdtrace doctor` start it.\n";

static const char *const refusals[] = {
	[LATE_IS_ON] = "the process is being recorded already: use `holdtrace ctl` to control that "
		       "run",
	[LATE_IS_OFF] = "the process is not attached",
	[LATE_NO_RUN] = "the process cannot reach the collector, or is out of memory; the process "
			"was not changed",
	[LATE_BUSY] = "the process is still being recorded: its threads needed memory for "
		      "recording in each of many attempts to detach; try again",
	[LATE_NO_MALLOC] = "no allocator was found in the process; the process was not changed",
};

static int complain(const char *text)
{
	print_message(stderr, "holdtrace: %s", text);
	return STATUS_OWN_FAILURE;
}

/*
 * Stores the number of threads, the memory and the age of the process in the order. The trace
 * records them as the state before the attach.
 */
static void describe_process(int pid, struct late_order *order)
{
	char text[PROC_STAT_SIZE];
	const char *fields = proc_stat(pid, 0, text);
	unsigned long long start = 0;
	double up = 0;
	FILE *file;

	if (fields)
		sscanf(fields,
		       "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d "
		       "%" SCNu64 " %*d %llu %*u %" SCNu64,
		       &order->threads, &start, &order->resident);
	file = fopen("/proc/uptime", "re");
	if (file && fscanf(file, "%lf", &up) == 1)
		order->age_ms = (uint64_t)(up * 1000) -
				start * 1000 / (unsigned long long)sysconf(_SC_CLK_TCK);
	if (file)
		fclose(file);
	order->resident *= (uint64_t)sysconf(_SC_PAGESIZE);
}

static int run_order(struct late_order *order, int pid, const char *library)
{
	struct inject_result result;
	struct error err = { 0 };

	if (inject_order(pid, library, order, &result, &err))
		return complain(err.text);
	if (order->result != LATE_DONE)
		return complain(
			order->result < sizeof(refusals) / sizeof(*refusals) &&
					refusals[order->result]
				? refusals[order->result]
				: "the library was loaded, but recording did not change: try "
				  "again");
	printf("pause_us=%" PRIu64 " stops=%u retries=%u modules=%" PRIu32 " slots=%" PRIu32
	       " symbols=%" PRIu32 " unchanged=%" PRIu32 "\n",
	       result.pause_ns / 1000, result.stops, result.retries, order->modules, order->slots,
	       order->symbols, order->unchanged);
	return fflush(stdout) ? STATUS_OWN_FAILURE : 0;
}

/*
 * Called when memory runs out: ends the injector. A borrowed thread then restores its registers
 * (inject/borrowed.h).
 */
static void end_without_memory(void)
{
	_exit(complain("out of memory"));
}

int main(int argc, char **argv)
{
	static struct late_order order;
	struct error err = { 0 };
	int pid = argc > 2 ? atoi(argv[2]) : 0, about = options_about(argc, argv, usage);

	if (about >= 0)
		return about;
	memory_set_end(end_without_memory);
	if (argc == 6 && strcmp(argv[1], "attach") == 0) {
		order.command = LATE_ATTACH;
		snprintf(order.run, sizeof(order.run), "%s", argv[4]);
		snprintf(order.name, sizeof(order.name), "%s", argv[5]);
		snprintf(order.library, sizeof(order.library), "%s", argv[3]);
		describe_process(pid, &order);
		return run_order(&order, pid, argv[3]);
	}
	if (argc == 4 && strcmp(argv[1], "detach") == 0) {
		order.command = LATE_DETACH;
		return run_order(&order, pid, argv[3]);
	}
	if (argc == 3 && strcmp(argv[1], "check") == 0)
		return inject_check(pid, &err) ? complain(err.text) : 0;
	fputs(usage, stderr);
	return 2;
}
