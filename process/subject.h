/* SPDX-License-Identifier: MIT */
#ifndef PROCESS_SUBJECT_H
#define PROCESS_SUBJECT_H

/*
 * Where mappings and memory of another process come from: from the kernel, for a process that runs
 * or stands still. Another kind of it (a core file) fills the maps itself and brings a read.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "process/maps.h"

struct subject {
	int32_t pid;
	int32_t thread; /* that has its memory: the first one may have left the others */
	int memory;	/* /proc/PID/mem; -1: not open */
	struct maps maps;
	size_t (*read)(const struct subject *subject, uint64_t address, void *bytes, size_t size);
};

/* Nothing is opened or read yet. */
void subject_begin(struct subject *subject, int32_t pid);

/*
 * Opens its memory: what the process itself may not read or write can be, too. Without that,
 * subject_read() reads what the process may read. mode: O_RDONLY or O_RDWR. Returns 0 or -errno.
 */
int subject_open_memory(struct subject *subject, int mode);
void subject_end(struct subject *subject);

/* Opens a file of /proc for it, or -1. */
int subject_open(const struct subject *subject, const char *name);

/* Reads what is there from the address on. Returns how many bytes; less than size at a gap. */
size_t subject_read(const struct subject *subject, uint64_t address, void *bytes, size_t size);

/* Exactly size bytes. Returns 0 or -EFAULT. */
int subject_get(const struct subject *subject, uint64_t address, void *bytes, size_t size);

/* What a stack has from its pointer on, at most so much: to be walked when the process goes on. */
struct subject_stack {
	uint8_t *bytes; /* to be freed */
	uint64_t from, size;
};

void subject_copy_stack(const struct subject *subject, uint64_t pointer,
			struct subject_stack *stack);

#endif
