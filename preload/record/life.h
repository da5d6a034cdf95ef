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
	/* a count, then the sizes of blocks that get a backtrace; count 0: all blocks */
	const int64_t *monitored;
	bool records_children;	      /* whether children of fork are recorded */
	bool is_off;		      /* the library was detached; `control` is a private copy */
	volatile uint32_t *fork_mark; /* a word that the kernel sets to 0 in each new child */
};

extern struct life life;

enum life_arm {
	LIFE_RECORDS = 1,
	LIFE_FOLLOWS = 2,   /* the hook also asks the kernel for the file's name (--detail=paths) */
	LIFE_CONTENDED = 8, /* locks acquired without a wait are only counted (effects.h) */
	LIFE_SAMPLES = 4,   /* only some blocks, and their frees, are recorded (sampling.h) */
	/* the real function calls hooked functions that sample, too (hand_allocators.c) */
	LIFE_NESTS = 16,
	/* a thread is in dlopen: malloc's hook examines calls by the loader (hand_allocators.c) */
	LIFE_LOADS = 32,
};

struct origin;

/* Called with the origin of each call to malloc while malloc's hook has LIFE_LOADS. */
extern void (*life_look_at_loads)(const struct origin *origin);

/*
 * For each hook, whether it records: bits of enum life_arm. All are 0 before the start. A stub
 * whose entry is 0 calls start_wake(), so the first hooked call of a process starts the library.
 */
extern uint8_t life_armed[HOOK_COUNT];

/* Whether --events, a comma-separated list of classes and functions, contains this name. */
bool life_is_listed(const char *name);

/* Whether no thread has begun to start the library. */
bool life_is_unborn(void);

/* Begins to start the library. Returns false if another thread has begun: do not wait for it. */
bool life_begin(void);

/* Like life_begin(), also after recording has stopped. Returns false if the library records. */
bool life_begin_again(void);

/*
 * Detaches: from then on nothing is recorded, and unfinished calls write to private memory. Returns
 * LATE_DONE; LATE_IS_OFF if the process does not record; or LATE_BUSY if another thread, or the
 * interrupted code of this thread, is mapping memory for the library.
 */
enum late_result life_detach(void);

/* After a detach, prepares to record again: threads get slots, and all facts are reported again. */
void life_renew(void);

/* Called when the start is complete: calls are recorded from now on. */
void life_run(void);

/* Whether this process records. False in a child of fork until its first hooked call. */
bool life_is_running(void);

/* Stops recording until the process ends: the collector has ended, or an error has occurred. */
void life_silence(void);

/*
 * If `on`, seals the process: the library no longer even reads the clock, and calls of armed hooks
 * are counted as dropped. Otherwise removes the seal, because the prctl() call that needed the seal
 * has failed.
 */
void life_seal(bool on);

/* Called when a hook does not record: counts a dropped call if life_seal() sealed the process. */
void life_count_sealed(enum hook_number hook);

struct call;

/*
 * Called after fork, in the child before anything else: makes the child stop using the parent's
 * memory. pid: the result of fork; if it is not 0, does nothing. call: the call of fork, or NULL if
 * it is not recorded. Returns pid.
 */
int life_child_of(int pid, const struct call *call);

/* Called in a child of fork or clone: creates its shared memory, and sets *life.fork_mark again. */
void life_forked(void);

/*
 * Reports that a child of this process has ended with this status of wait(2). This process has
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

/* Notes PAST_NAMESPACE if the loader has created another link namespace (dlmopen). */
void life_note_namespaces(void);

/* Counts a dropped event for the whole process, not for a thread's slot. */
void life_drop(enum loss reason);

/*
 * At the very end of the process, asks the kernel how many descriptors are open and in which state
 * the children are. The answers include the effects of calls that bypassed the hooks.
 */
void ending_look(void);

/*
 * With --scan=exit: waits at the very end of the process until its memory has been scanned. Gives
 * up if the scan makes no progress for the time of --patience, or on a busy machine for up to four
 * times that time.
 */
void ending_await_scan(void);

#endif
