/* SPDX-License-Identifier: MIT */
#ifndef SCAN_MOMENT_H
#define SCAN_MOMENT_H

/*
 * A process at one moment: its threads, its mappings, and the words of its memory that may lead to
 * blocks. The process is stopped while they are read, and continues afterwards.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/error.h"
#include "base/pool.h"
#include "process/core.h"
#include "process/subject.h"
#include "process/tracee.h"
#include "scan/words.h"

#define PROCESS_REGISTERS_MAX 48u
#define PROCESS_VECTORS_MAX   512u  /* maximum number of words in a thread's vector registers */
#define PROCESS_WALKS_MAX     2000u /* maximum number of threads whose stacks are walked */
#define PROCESS_RED_ZONE      128u  /* bytes below the stack pointer that leaf functions may use */

struct process_thread {
	struct tracee tracee;
	char name[16];
	bool is_exiting; /* the thread ends the process; our library makes it wait for the scan */
	uint64_t registers[PROCESS_REGISTERS_MAX]; /* may have pointers */
	unsigned register_count;
	uint64_t vectors[PROCESS_VECTORS_MAX];
	unsigned vector_count;
	struct subject_stack stack;
	/* start of the used part of the stack; frames_find() may change it */
	uint64_t live_sp;
	/*
	 * the frames reach the start of the stack without a gap, so the rest of the stack is not in
	 * use
	 */
	bool is_whole;
	struct process_frame *frames; /* innermost first */
	unsigned frame_count;
};

/* A frame of a stack, which reaches from sp to the next frame's sp. */
struct process_frame {
	uint64_t sp, pc;
	const char *function; /* valid as long as the result of names_open() */
};

/*
 * A word that the kernel stores for the program and returns to it: the data of epoll, the value of
 * a timer.
 */
struct process_kernel_word {
	uint64_t value;
	const char *about;
};

enum page_state {
	PAGE_PRESENT = 1,
	PAGE_SWAPPED = 2,
	PAGE_OF_FILE = 4, /* a page of a file or of shared memory */
	/* the kernel's zero page: the program has read the page, but never written to it */
	PAGE_ZERO = 8,
};

/* Adjacent pages in the same state. Pages that are neither present nor swapped are in no run. */
struct page_run {
	uint64_t from, to;
	unsigned state; /* a set of enum page_state */
};

struct page_runs {
	struct page_run *items; /* sorted by address */
	size_t count, capacity;
};

/* How much of a mapping is resident and swapped out. */
struct residence {
	uint64_t resident, swapped; /* bytes, from smaps */
	bool has_runs;		    /* the runs of the mapping's pages are known */
};

struct process {
	int pid;
	bool is_light; /* only the amount of resident memory is read, not its contents */
	struct pool pool;
	ARRAY_OF(struct process_thread) threads;
	/* the process, with only those mappings that are below ADDRESS_MAX */
	struct subject subject;
	ARRAY_OF(struct process_kernel_word) kernel;
	uint64_t malloc_at;	      /* address of malloc; 0: unknown */
	struct ranges own;	      /* memory of holdtrace's library */
	ARRAY_OF(uint64_t) own_files; /* inodes of the memory shared with the collector */
	uint64_t stack_start;	      /* address of the program's arguments; 0: unknown */
	struct ranges targets;	      /* ranges where blocks may be */
	struct words words;
	uint64_t read_bytes, unread_bytes;
	struct page_runs pages;	      /* runs of present or swapped pages */
	struct residence *residences; /* an entry for each mapping */
	bool has_smaps;		      /* smaps was read into `residences` */
	struct core core;	      /* open if subject.core is set */
	/* called regularly while memory is read, to show that the scan makes progress */
	void (*beat)(void *user);
	void *user;
};

/*
 * Reads the stopped process: mappings, words of its memory, and words that the kernel stores.
 * Returns 0 or a negative errno.
 */
int process_read(struct process *process, struct error *err);

/*
 * Reads a process from its core file, which is open as `fd`. Memory that the file leaves out counts
 * as unread. Returns 0 or a negative errno.
 */
int process_read_core(struct process *process, int fd, struct error *err);

/* Returns the thread whose descriptor (struct pthread) is at this address; NULL: there is none. */
const struct process_thread *process_thread_of(const struct process *process, uint64_t descriptor);

/* Returns the kind of a mapping for the note ~resident. Call it when process->own is known. */
const char *process_kind(const struct process *process, const struct mapping *mapping);

/* ---- the stream of a core file ---- */

/* Finds the stream of the process whose core file is scanned, and the core file's time in it. */

struct core_stream {
	const char *path; /* path of the stream, in the form for trace_open() */
	uint64_t session[2];
	uint32_t stream;
	uint64_t until_ns;  /* time of the core file, in ns of the stream's clock */
	uint64_t malloc_at; /* address of malloc; 0: unknown */
	unsigned scans;	    /* highest number of a scan in the stream */
	const char *doubt;  /* why the stream may not show all live blocks; NULL: no reason */
};

/*
 * Searches the traces at `paths`, which may be files of several streams, for the process whose pid,
 * module addresses and build-ids are those of the core file. Returns 0 or a negative errno. The
 * result has memory that is never freed.
 */
int core_stream_find(struct core_stream *found, const struct process *process,
		     const char *const *paths, size_t count, struct error *err);

/* ---- names ---- */

/*
 * The names of a process's variables, and the frames on its threads' stacks. The scanner finds both
 * in copies, after the process has continued. The files of the process may be hostile. So all
 * functions except names_open(), which opens the files, must be called in the sandbox.
 */

struct names;

/*
 * Opens the files of the process. The result is never closed: it stays valid until the scanner
 * ends.
 */
struct names *names_open(const struct process *process);

/*
 * Walks all stacks. For a thread that ends its process (is_exiting), the frames of libc, the loader
 * and our library count as unused, and the thread's registers are replaced by those of the caller
 * of exit().
 */
void frames_find(struct names *names, struct process *process);

/* A variable. Its name and module stay valid as long as the result of names_open(). */
struct name {
	const char *name; /* name in the source; NULL: unknown */
	const char *module;
	uint64_t from, to; /* addresses; without a name, both are the looked-up address */
	uint64_t offset;   /* address of `from` in the module's file */
};

/*
 * Finds the variable at an address in a module's data. Returns false if no module is known there.
 */
bool names_find(struct names *names, uint64_t address, struct name *name);

#endif
