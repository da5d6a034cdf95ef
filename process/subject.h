/* SPDX-License-Identifier: MIT */
#ifndef PROCESS_SUBJECT_H
#define PROCESS_SUBJECT_H

/*
 * Where mappings and memory of another process are read from: here from the kernel, for a running
 * or stopped process. Another source, such as a core file, would fill the maps and supply a read
 * function.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "process/maps.h"

struct subject {
	int32_t pid;
	int32_t thread; /* a thread that has the process's memory: the first one may have ended */
	int memory;	/* /proc/PID/mem; -1: not open */
	struct maps maps;
	size_t (*read)(const struct subject *subject, uint64_t address, void *bytes, size_t size);
};

/* Initializes the subject; opens and reads nothing. */
void subject_begin(struct subject *subject, int32_t pid);

/*
 * Opens the memory, with which pages can be read or written that the process itself may not access.
 * Without it subject_read() reads only what the process may read. mode: O_RDONLY or O_RDWR. Returns
 * 0 or -errno.
 */
int subject_open_memory(struct subject *subject, int mode);
void subject_end(struct subject *subject);

/* Opens a file below /proc/PID. Returns the descriptor or -1. */
int subject_open(const struct subject *subject, const char *name);

/* Reads from the address on. Returns the number of bytes; less than size at a gap. */
size_t subject_read(const struct subject *subject, uint64_t address, void *bytes, size_t size);

/* Reads exactly size bytes. Returns 0 or -EFAULT. */
int subject_get(const struct subject *subject, uint64_t address, void *bytes, size_t size);

/* Copy of a stack, of limited size, to be walked after the process continues. */
struct subject_stack {
	uint8_t *bytes; /* to be freed */
	uint64_t from, size;
};

void subject_copy_stack(const struct subject *subject, uint64_t pointer,
			struct subject_stack *stack);

#endif
