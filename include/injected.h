/* SPDX-License-Identifier: MIT */
#ifndef INJECTED_H
#define INJECTED_H

/*
 * The interface between holdtrace-inject and the library that it loads into a running program. The
 * injector finds the library's entry point by its mark in the library's file. It writes an order to
 * memory that it has allocated in the program, and the library executes the order while it holds
 * the loader's lock.
 */

#include <stdint.h>

#define LATE_LIBRARY "holdtrace-library" /* name of the library's memfd */
#define LATE_TRIGGER "holdtrace-trigger"
/* name of the memfd after the injector gave up a call inside the loader */
#define LATE_STUCK    "holdtrace-gave-up"
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
	LATE_IS_ON,  /* attach: the library is already recording */
	LATE_IS_OFF, /* detach: the library is not attached */
	/* the collector cannot be reached, or there is no memory; nothing was changed */
	LATE_NO_RUN,
	LATE_NO_MALLOC, /* no allocator was found in the program; nothing was changed */
};

struct late_order {
	uint32_t command; /* enum late_command */
	uint32_t result;  /* written by the library: enum late_result, stored last */
	/* descriptor from which the library was loaded; the library closes it and stores -1 */
	int32_t file;
	uint32_t modules; /* written by the library: number of modules that it searched */
	/*
	 * written by the library: number of slots (addresses of functions in memory) that it
	 * changed
	 */
	uint32_t slots;
	uint32_t symbols; /* written by the library: number of symbols that it changed */
	/* written by the library: number of slots of hooked functions that it could not change */
	uint32_t unchanged;
	/*
	 * number of threads before the attach; this and the next two members are for the note
	 * ~attached
	 */
	uint64_t threads;
	uint64_t resident; /* resident memory before the attach, in bytes */
	uint64_t age_ms;
	char run[LATE_TEXT_MAX]; /* the run, in the form of CONTROL_ENVIRONMENT */
	char name[64];		 /* name of the program */
	/*
	 * path for the LD_PRELOAD of programs that the process executes; "": these programs are not
	 * followed
	 */
	char library[LATE_PATH_MAX];
};

struct late_entry {
	char mark[16];
	uint64_t contract;
	uint64_t order; /* address of the first order; set in the injected copy */
	void (*obey)(struct late_order *);
};

#endif
