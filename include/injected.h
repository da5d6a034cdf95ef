/* SPDX-License-Identifier: MIT */
#ifndef INJECTED_H
#define INJECTED_H

/*
 * What holdtrace-inject and the library that it brings into a running program say to each other.
 * The door is found by its mark in the library's file; the order lies in memory that the injector
 * has made, and is obeyed under the loader's lock.
 */

#include <stdint.h>

#define LATE_MARK     "holdtrace's door"  /* 16 bytes, without the NUL */
#define LATE_LIBRARY  "holdtrace-library" /* name of the memfd that has it */
#define LATE_TRIGGER  "holdtrace-trigger"
#define LATE_STUCK    "holdtrace-gave-up" /* where a call was given up within the loader */
#define LATE_TEXT_MAX 256u
#define LATE_PATH_MAX 1024u

#define LATE_MARK_BYTES                                                                         \
	{                                                                                       \
		'h', 'o', 'l', 'd', 't', 'r', 'a', 'c', 'e', '\'', 's', ' ', 'd', 'o', 'o', 'r' \
	}

enum late_command {
	LATE_NOTHING,
	LATE_ATTACH,
	LATE_DETACH,
};

enum late_result {
	LATE_UNSAID, /* the order was never obeyed */
	LATE_DONE,
	LATE_IS_ON,	/* attach: it is recording already */
	LATE_IS_OFF,	/* detach: it was not attached */
	LATE_NO_RUN,	/* no way to the collector, or no memory: nothing was changed */
	LATE_NO_MALLOC, /* no allocator was found among the program's functions */
};

struct late_order {
	uint32_t command;   /* enum late_command */
	uint32_t result;    /* library: enum late_result, stored last */
	int32_t file;	    /* that the obeying library was loaded from; library: -1, closed */
	uint32_t modules;   /* library: that were looked through */
	uint32_t slots;	    /* library: that were changed */
	uint32_t symbols;   /* library: whose tables were changed */
	uint32_t unchanged; /* library: that belong to somebody else */
	uint64_t threads;   /* what the process had before: ~attached says so */
	uint64_t resident;  /* bytes */
	uint64_t age_ms;
	char run[LATE_TEXT_MAX];     /* as in BOARD_ENVIRONMENT */
	char name[64];		     /* of the program */
	char library[LATE_PATH_MAX]; /* for LD_PRELOAD of what it executes; "": not followed */
};

struct late_door {
	char mark[16];
	uint64_t contract;
	uint64_t order; /* set in the copy that is injected: the address of its first order */
	void (*obey)(struct late_order *);
};

#endif
