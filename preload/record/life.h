/* SPDX-License-Identifier: MIT */
#ifndef LIFE_H
#define LIFE_H

/*
 * The state of a traced process: whether it records, which calls it records, its forks, and its
 * dropped events. The code in start/ initialises it.
 */

#include <stdbool.h>
#include <stdint.h>

#include "arena.h"
#include "hooks.h"
#include "injected.h"

/* State that every event needs. It is written at the start and in a child of fork. */
struct life {
	const struct control_page *control; /* NULL: nothing is recorded */
	int32_t pid;
	uint32_t depth; /* maximum number of frames of a backtrace */
	bool is_remote; /* libunwind walks the stack (accessors.h) */
	/* mean bytes between two samples of allocated memory; 0: all memory is recorded */
	uint64_t sample;
	/* calls that do not wait have one time instead of a start and a duration */
	bool one_time;
	enum setting_backtrace backtrace;
	const int64_t *monitored; /* a count, then the sizes of blocks that get a backtrace; count
				     0: all sizes */
	bool records_children;	  /* whether children of fork are recorded */
	bool is_off;		  /* the library was detached; `control` is a private copy */
	volatile uint32_t *fork_mark; /* a word that the kernel sets to 0 in each new child */
};

extern struct life life;

enum life_arm {
	LIFE_RECORDS = 1,
	LIFE_FOLLOWS = 2,   /* the hook also asks the kernel for the file's name (--detail=paths) */
	LIFE_CONTENDED = 8, /* locks without a wait are only counted (effects.h) */
	LIFE_SAMPLES = 4,   /* only some blocks, and their frees, are recorded (sampling.h) */
	/* the real function calls malloc or realloc, which sample, too (hand_allocators.c) */
	LIFE_NESTS = 16,
	/* a thread calls dlopen: calls of malloc by the loader are looked at (hand_allocators.c) */
	LIFE_LOADS = 32,
};

struct origin;

/* Called with the origin of each call to malloc while the hook has LIFE_LOADS. */
extern void (*life_look_at_loads)(const struct origin *origin);

/*
 * Which hooks record (enum life_arm); all are 0 before the start. A stub that finds 0 calls
 * start_wake(), so the first hooked call of a process starts the library.
 */
extern uint8_t life_armed[HOOK_COUNT];

/* Whether --events, a comma-separated list of classes and functions, contains this name. */
bool life_is_listed(const char *name);

/* Whether no thread has begun to start the library. */
bool life_is_unborn(void);

/* Returns false if another thread has begun the start; the caller must not wait for it. */
bool life_begin(void);

/* Like life_begin(), also after recording has stopped. Returns false if it records. */
bool life_begin_again(void);

/*
 * Detaches: from then on nothing is recorded, and open calls write to private memory. Returns
 * LATE_DONE; LATE_IS_OFF if the process does not record; or LATE_BUSY if the library is mapping
 * memory, either in another thread or in the code that was interrupted in this thread.
 */
enum late_result life_detach(void);

/* Begins a new life after a detach: threads attach again, and all facts are reported again. */
void life_renew(void);

/* Called when the start is complete: calls are recorded from now on. */
void life_run(void);

/* Whether this process records at all. A child of fork records from its first hooked call on. */
bool life_is_running(void);

/* Stops recording until the process ends: the collector has ended, or an error has occurred. */
void life_silence(void);

/*
 * If `on`, seals the process: the library no longer even reads the clock, and calls of armed hooks
 * are counted as dropped. Otherwise removes the seal, because the prctl() call that needed the seal
 * has failed.
 */
void life_seal(bool on);

/* Called when a hook does not record: counts the call as dropped if the process is sealed. */
void life_count_sealed(enum hook_number hook);

struct call;

/*
 * Called in a child of fork before anything else: leaves the parent's memory. call: the recorded
 * fork; NULL if it is not recorded. Returns pid; does nothing in the parent, where pid is not 0.
 */
int life_child_of(int pid, const struct call *call);

/* Called in a new process, however it was made: creates an arena and sets life.fork_mark again. */
void life_forked(void);

/*
 * Reports that a child of this process has ended with this status of wait(2). The parent has
 * already waited for the child, so the collector may be too late to see the status.
 */
void life_tell_end(int32_t pid, int status);

/*
 * Notes the time at which this process ends or executes another program. is_over: false revokes the
 * note after an exec that failed. Does nothing in a child of vfork.
 */
void life_note_end(bool is_over);

/* Notes operations of this process that no hook saw. past: bits of enum arena_past. */
void life_note_past(uint32_t past);

/* Notes PAST_NAMESPACE if the loader has created another link namespace. */
void life_note_namespaces(void);

/* Counts a dropped event that belongs to no slot. */
void life_drop(enum loss reason);

/*
 * At the very end of the process, asks the kernel how many descriptors are open and in which state
 * the children are. The answers include the effects of calls that bypassed the hooks.
 */
void ending_look(void);

/*
 * With --scan=exit: waits at the very end of the process until its memory has been scanned. Waits
 * as long as the scan makes progress. Without progress, the wait ends after --patience, on a busy
 * machine after at most four times that time.
 */
void ending_await_scan(void);

#endif
