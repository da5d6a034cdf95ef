/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_SAMPLE_H
#define COLLECT_SAMPLE_H

/*
 * The state of machine and process as /proc shows it, as the values of a ~sample note. Counters
 * are as the kernel counts them; differences and percentages are for whoever reads the trace.
 *
 *   at       when it was taken: CLOCK_MONOTONIC in ns
 *   hertz    clock ticks a second, the unit of times below
 *   cpu0...  KHZ BUSY TOTAL: frequency (0: not known), busy and all time since boot
 *   memory   bytes in use on the machine
 *   drive    MiB in use on the file system of /
 *   disk     READS SECTORS WRITES SECTORS: of all disks since boot
 *   net      SENT RECEIVED: bytes of all interfaces but lo since boot
 *   process  TICKS VIRTUAL RESIDENT SHARED PSS DESCRIPTORS: processor time, bytes (PSS 0: not
 *            asked, since asking costs the process time), open descriptors
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

/* Begins a sample with what it says of the machine. now_ns: CLOCK_MONOTONIC. */
void sample_machine(struct sample *sample, uint64_t now_ns);

/*
 * Adds what it says of a process, and gives what was there before to the next one's: the values of
 * the machine stay. with_pss: ask for that, too.
 */
void sample_process(struct sample *sample, int32_t pid, bool with_pss);

#endif
