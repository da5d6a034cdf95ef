/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_SAMPLE_H
#define COLLECT_SAMPLE_H

/*
 * Reads the state of the machine and of processes from /proc, as values of a ~sample note. Counters
 * have the kernel's values; readers of the trace compute differences and percentages.
 *
 *   at       time of the sample: CLOCK_MONOTONIC in ns
 *   hertz    clock ticks a second; one tick is the unit of the times below
 *   cpu0...  KHZ BUSY TOTAL: frequency (0: unknown), busy time and all time since boot
 *   memory   bytes in use on the machine
 *   drive    MiB in use on the file system of /
 *   disk     READS SECTORS WRITES SECTORS: sums for all disks since boot
 *   net      SENT RECEIVED: bytes of all interfaces except lo since boot
 *   process  TICKS VIRTUAL RESIDENT SHARED PSS DESCRIPTORS: processor time, sizes in bytes, number
 *            of open descriptors. PSS is 0 if it was not read, since reading it slows the process
 *   thread   ID TICKS STATE CPU: one for each thread
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire.h"

#define SAMPLE_VALUES 2048
#define SAMPLE_ROOM   (96u << 10)

struct sample {
	struct wire_value values[SAMPLE_VALUES];
	uint32_t count;
	size_t used;
	char text[SAMPLE_ROOM];
};

/* Begins a sample with the values of the machine. now_ns: CLOCK_MONOTONIC. */
void sample_machine(struct sample *sample, uint64_t now_ns);

/*
 * Adds the values of a process, which replace those of the previous process. The values of the
 * machine stay. with_pss: whether to read PSS, too.
 */
void sample_process(struct sample *sample, int32_t pid, bool with_pss);

#endif
