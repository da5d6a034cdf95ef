/* SPDX-License-Identifier: MIT */
#ifndef PROCESS_CORE_H
#define PROCESS_CORE_H

/*
 * Reads the core file of a process as a subject (subject.h): its mappings, memory and threads, as
 * the kernel or gcore(1) wrote them (core(5)). The file is not trusted: each offset and length is
 * checked against the file's size. Memory that is missing in the file cannot be read. The functions
 * end the program if there is no memory (base/memory.h).
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/error.h"
#include "process/registers.h"
#include "process/subject.h"

/* A range of the process's memory. Its first `kept` bytes are in the file, at `offset`. */
struct core_segment {
	uint64_t from, to, offset, kept;
};

struct core_thread {
	int tid;
	registers_native registers;
	uint64_t pc, sp, tls;
	bool is_in_call; /* the thread is in a system call: its vector registers have no meaning */
	const uint8_t *vectors; /* points into the notes; NULL: not in the file */
	uint32_t vectors_size;
};

struct core {
	int fd;
	uint64_t size; /* size of the file in bytes */
	uint64_t kept; /* sum of `kept` of all segments */
	uint8_t *notes;
	uint64_t notes_size;
	ARRAY_OF(struct core_segment) segments; /* sorted by address */
	ARRAY_OF(struct core_thread) threads;
	int pid;
	int signal;	      /* the signal that ended the process; 0: none */
	uint64_t stack_start; /* address of argc on the stack; 0: unknown */
	uint64_t entry;	      /* address of the program's first instruction; 0: unknown */
};

/*
 * Reads the core file that is open as `fd`, and makes it the subject. The caller still owns `fd`.
 * Mappings get the names that proc_pid_maps(5) would show, if the file has these names. A core file
 * has no inode numbers, so mappings get numbers that are equal for equal paths. Returns 0, -EBADMSG
 * (not a core file of this processor, or damaged), or -ENODATA (no threads or no memory). Call
 * core_close() also after an error.
 */
int core_open(struct core *core, int fd, struct subject *subject, struct error *err);
void core_close(struct core *core, struct subject *subject);

/* Returns the segment that contains the address, or NULL. */
const struct core_segment *core_segment_at(const struct core *core, uint64_t address);

#define CORE_BUILD_ID_MAX 64u

/*
 * Copies the GNU build-id of the ELF file that is open as `fd` or, if `fd` is -1, mapped at
 * `address` in the subject. Returns the build-id's size in bytes; 0: no build-id can be read.
 */
uint32_t core_build_id(const struct subject *subject, int fd, uint64_t address,
		       uint8_t id[CORE_BUILD_ID_MAX]);

#endif
