/* SPDX-License-Identifier: MIT */
#ifndef PROCESS_SUBJECT_H
#define PROCESS_SUBJECT_H

/*
 * The subject: the process whose mappings and memory are read. It is a running or stopped process
 * (subject_begin()) or the core file of one (core_open()).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "process/maps.h"

struct core;

struct subject {
	int32_t pid;
	/*
	 * a thread through which the memory of the process is read; it is not always the first
	 * thread, which may have ended
	 */
	int32_t thread;
	int memory; /* descriptor of /proc/PID/mem; -1: not open */
	struct maps maps;
	const struct core
		*core; /* the core file that is read; NULL: a process is read from the kernel */
	size_t (*read)(const struct subject *subject, uint64_t address, void *bytes, size_t size);
};

/* Initializes the subject. Opens and reads nothing. */
void subject_begin(struct subject *subject, int32_t pid);

/*
 * Opens /proc/PID/mem, so that subject_read() also reads pages that the process itself may not
 * read. mode: O_RDONLY or O_RDWR. Returns 0 or a negative errno.
 */
int subject_open_memory(struct subject *subject, int mode);
void subject_end(struct subject *subject);

/* Opens a file of /proc/PID. Returns NULL if that fails. */
FILE *subject_open(const struct subject *subject, const char *name);

/*
 * Reads `size` bytes at an address. Returns the number of bytes, which is less than `size` if a
 * part is not readable.
 */
size_t subject_read(const struct subject *subject, uint64_t address, void *bytes, size_t size);

/* Reads exactly `size` bytes. Returns 0 or -EFAULT. */
int subject_get(const struct subject *subject, uint64_t address, void *bytes, size_t size);

/* A copy of a stack, at most 256 KiB. It can be walked after the process has continued. */
struct subject_stack {
	uint8_t *bytes; /* the caller frees it */
	uint64_t from, size;
};

void subject_copy_stack(const struct subject *subject, uint64_t pointer,
			struct subject_stack *stack);

#endif
