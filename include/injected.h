/* SPDX-License-Identifier: MIT */
#ifndef INJECTED_H
#define INJECTED_H

/*
 * The interface between holdtrace-inject and the library that it loads into a running program. The
 * injector finds the entry point by its mark in the library's file. The order is in memory that the
 * injector has made; the library executes it under the loader's lock.
 */

#include <stdint.h>

#define LATE_LIBRARY  "holdtrace-library" /* name of the library's memfd */
#define LATE_TRIGGER  "holdtrace-trigger"
#define LATE_STUCK    "holdtrace-gave-up" /* name after a call within the loader was given up */
#define LATE_TEXT_MAX 256u
#define LATE_PATH_MAX 1024u

#define LATE_MARK                                                                              \
	{                                                                                      \
		'h', 'o', 'l', 'd', 't', 'r', 'a', 'c', 'e', '-', 'a', 't', 't', 'a', 'c', 'h' \
	}

enum late_command {
	LATE_NOTHING,
	LATE_ATTACH,
	LATE_DETACH,
};

enum late_result {
	LATE_UNSAID, /* the order was not executed */
	LATE_DONE,
	LATE_IS_ON,  /* attach: already recording */
	LATE_IS_OFF, /* detach: not attached */
	LATE_NO_RUN, /* the collector cannot be reached, or memory is missing; nothing was changed
		      */
	LATE_NO_MALLOC, /* no allocator found among the program's functions */
};

struct late_order {
	uint32_t command;   /* enum late_command */
	uint32_t result;    /* library: enum late_result, stored last */
	int32_t file;	    /* descriptor from which the library was loaded; library: closes it and
			     * stores -1 */
	uint32_t modules;   /* library: modules searched */
	uint32_t slots;	    /* library: slots changed */
	uint32_t symbols;   /* library: symbols changed */
	uint32_t unchanged; /* library: slots that lead elsewhere, or cannot be written */
	uint64_t threads;   /* what the process had before the attach: for ~attached */
	uint64_t resident;  /* bytes */
	uint64_t age_ms;
	char run[LATE_TEXT_MAX];     /* as in CONTROL_ENVIRONMENT */
	char name[64];		     /* of the program */
	char library[LATE_PATH_MAX]; /* for the LD_PRELOAD of programs that it executes; "": they
				      * are not followed */
};

struct late_entry {
	char mark[16];
	uint64_t contract;
	uint64_t order; /* set in the injected copy: address of the first order */
	void (*obey)(struct late_order *);
};

#endif
