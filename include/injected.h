/* SPDX-License-Identifier: MIT */
#ifndef INJECTED_H
#define INJECTED_H

/*
 * The interface between holdtrace-inject and the library that it loads into a running program. The
 * injector searches the file of the library for LATE_MARK to find the entry point. The injector
 * writes an order to memory that it has allocated in the program. Then a thread of the program
 * calls the library, under the loader's lock, to execute the order.
 */

#include <stdint.h>

#define LATE_LIBRARY "holdtrace-library" /* name of the library's memfd */
#define LATE_TRIGGER "holdtrace-trigger"
/* name of a memfd; the injector maps it as a mark if it gives up a call inside the loader */
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
	/* the collector cannot be reached, or memory ran out; nothing was changed */
	LATE_NO_RUN,
	/* detach: another thread is enlarging the library's memory; nothing was changed */
	LATE_BUSY,
	LATE_NO_MALLOC, /* no allocator was found in the program; nothing was changed */
};

struct late_order {
	uint32_t command; /* enum late_command */
	uint32_t result;  /* written by the library: enum late_result, stored last */
	/* descriptor from which the library was loaded; the library closes it and stores -1 */
	int32_t file;
	uint32_t modules; /* written by the library: number of modules that it searched */
	/* written by the library: number of slots (addresses of functions) that it changed */
	uint32_t slots;
	uint32_t symbols; /* written by the library: number of symbols that it changed */
	/* written by the library: number of slots of hooked functions that it could not change */
	uint32_t unchanged;
	/* three values for the note ~attached; threads: number of threads before the attach */
	uint64_t threads;
	uint64_t resident; /* resident memory before the attach began, in bytes */
	uint64_t age_ms;
	/* identifies the run; same format as the variable CONTROL_ENVIRONMENT */
	char run[LATE_TEXT_MAX];
	char name[64]; /* name of the program */
	/*
	 * path of the library, which is added to LD_PRELOAD of programs that the process executes;
	 * "": these programs are not followed
	 */
	char library[LATE_PATH_MAX];
};

struct late_entry {
	char mark[16];
	uint64_t contract;
	/* address of the first order; the injector stores it in its copy of the library's file */
	uint64_t order;
	void (*obey)(struct late_order *);
};

#endif
