/* SPDX-License-Identifier: MIT */
#ifndef SCAN_MOMENT_H
#define SCAN_MOMENT_H

/*
 * A process as it was at one moment: its threads, its mappings, and the words of its memory that
 * may lead to blocks. It is stopped while this is taken (stop.h) and goes on when it was.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/error.h"
#include "base/pool.h"
#include "process/subject.h"
#include "process/tracee.h"
#include "scan/words.h"

#define PROCESS_REGISTERS_MAX 48u
#define PROCESS_VECTORS_MAX   512u /* words of them */
#define PROCESS_RED_ZONE      128u /* below the stack pointer that leaves may use */

struct process_thread {
	struct tracee tracee;
	char name[16];
	bool is_exiting; /* it waits for us in the library, at the end of its process */
	uint64_t registers[PROCESS_REGISTERS_MAX]; /* words that may be pointers */
	unsigned register_count;
	uint64_t vectors[PROCESS_VECTORS_MAX];
	unsigned vector_count;
	struct subject_stack stack;
	/* what scan/named.h finds out: what of its stack is in use begins here */
	uint64_t live_sp;
	/* its frames follow each other as far as the start of its stack, so nothing else is in use
	 */
	bool is_whole;
	struct process_frame *frames; /* innermost first */
	unsigned frame_count;
};

/* A frame begins at sp and ends where the next one begins. */
struct process_frame {
	uint64_t sp, pc;
	const char *function; /* lives as long as the names */
};

/* A word that the kernel keeps for the program and gives back: epoll's data, a timer's value. */
struct process_kernel_word {
	uint64_t value;
	const char *about;
};

struct process {
	int pid;
	struct pool pool;
	ARRAY_OF(struct process_thread) threads;
	struct subject subject; /* with the maps below ADDRESS_MAX */
	ARRAY_OF(struct process_kernel_word) kernel;
	uint64_t malloc_at;	      /* where malloc begins; 0: not known */
	struct ranges own;	      /* memory of holdtrace's library */
	ARRAY_OF(uint64_t) own_files; /* inodes of what the library and the collector share */
	uint64_t stack_start;	      /* where the kernel put the arguments; 0: not known */
	struct ranges targets;	      /* where blocks may lie */
	struct words words;
	uint64_t read_bytes, unread_bytes;
	/* called now and then while memory is read: we live */
	void (*beat)(void *user);
	void *user;
};

/* What of it is stopped: mappings, words, what the kernel keeps. Returns 0 or a negative errno. */
int process_read(struct process *process, struct error *err);

#endif
