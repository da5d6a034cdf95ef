/* SPDX-License-Identifier: MIT */
#ifndef LIFE_H
#define LIFE_H

/*
 * The state of a traced process, from its start to its end: whether it records, and what; forks;
 * what it lost. start/ brings it to life.
 */

#include <stdbool.h>
#include <stdint.h>

#include "arena.h"
#include "hooks.h"

/* What the path of an event needs; written at start and in a fork's child, read everywhere. */
struct life {
	const struct board *board; /* NULL: nothing is recorded */
	int32_t pid;
	uint32_t depth;	 /* most frames of a backtrace */
	bool is_remote;	 /* libunwind walks (accessors.h) */
	uint64_t sample; /* bytes from one sample of memory to the next; 0: all is recorded */
	bool one_time;	 /* calls that do not wait have one time, and no duration */
	enum setting_backtrace backtrace;
	const int64_t *monitored;     /* how many, then the sizes that alone get a backtrace */
	bool records_children;	      /* of fork, too */
	bool is_off;		      /* detached: the board is a copy of our own */
	volatile uint32_t *fork_mark; /* a word that is 0 in a process that was forked since */
};

extern struct life life;

enum life_arm {
	LIFE_RECORDS = 1,
	LIFE_FOLLOWS = 2,   /* and asks the kernel what file it was: --detail=paths */
	LIFE_CONTENDED = 8, /* locks that are had at once are counted: contended.h */
	LIFE_SAMPLES = 4,   /* only some of its blocks, and their frees: sampling.h */
};

/*
 * Which hooks record (enum life_arm): 0 also before the start. A stub that finds 0 asks
 * start_wake(), so that the very first call of the process starts the library.
 */
extern uint8_t life_armed[HOOK_COUNT];

/* Whether the user's list of classes and functions, separated by commas, has this name. */
bool life_is_listed(const char *name);

/* Nobody has begun to start the library. */
bool life_is_unborn(void);

/* Begins to start it. False: somebody else has, and is not to be waited for. */
bool life_begin(void);

/* The same where it has fallen silent, or has never begun. False: it records. */
bool life_begin_again(void);

/*
 * Detached: nothing is recorded any more, and calls that are under way write where nobody reads.
 * False: it did not record, or is making memory at this moment.
 */
bool life_detach(void);

/* A new life after that: threads are new to it, and all is told again. */
void life_renew(void);

/* It is started: calls are recorded from here on. */
void life_run(void);

/* Whether this process records at all; a fork's child does from its first hooked call on. */
bool life_is_running(void);

/* Nothing is recorded from here on: the collector is gone or something failed. */
void life_silence(void);

/*
 * Nothing may be asked for any more, not even the time: the calls of armed hooks are counted as
 * lost. false: the program may, after all.
 */
void life_seal(bool on);

/* A hook was called that does not record: counts it, if that is because of the seal. */
void life_count_sealed(enum hook_number hook);

struct call;

/*
 * In the child of a fork, before anything else runs there: its parent's memory is gone. call: the
 * fork, NULL if it is not recorded. Returns pid, which is not 0 in the parent.
 */
int life_child_of(int pid, const struct call *call);

/* We are a new process: whatever call made it. Gives it memory of its own, and a new mark. */
void life_forked(void);

/*
 * A child of this process has ended, as wait(2) says with this status. Whoever collects may have
 * come too late to see it itself, since the parent has taken the child away.
 */
void life_tell_end(int32_t pid, int status);

/*
 * This process is about to end or to become another program: notes when. is_over: false takes it
 * back, where an exec failed. The child of vfork has no process of its own to speak of.
 */
void life_note_end(bool is_over);

/* This process did that past all hooks. past: bits of enum arena_past. */
void life_note_past(uint32_t past);

/* Counts an event that belongs to no slot. */
void life_lose(enum loss reason);

#endif
