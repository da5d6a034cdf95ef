/* SPDX-License-Identifier: MIT */
#ifndef SCAN_PAGEMAP_H
#define SCAN_PAGEMAP_H

/*
 * Finds the pages of a stopped process that are in memory or swapped out (/proc/PID/pagemap), and
 * the resident bytes of each mapping (/proc/PID/smaps). Reading these files needs the same
 * privileges as reading the process's memory.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "process/subject.h"

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

struct pagemap {
	int fd;		   /* descriptor of /proc/PID/pagemap; -1: it cannot be opened */
	bool cannot_list;  /* the kernel has no PAGEMAP_SCAN (before Linux 6.7) */
	bool lacks_guards; /* PAGEMAP_SCAN does not know guard regions */
};

/*
 * Appends the runs of an address range. Returns false if the runs are unknown. Calls beat(user)
 * regularly.
 */
bool pagemap_read(struct pagemap *pagemap, uint64_t from, uint64_t to, struct page_runs *runs,
		  void (*beat)(void *user), void *user);

/* How much of a mapping is resident and swapped out. */
struct residence {
	uint64_t resident, swapped; /* bytes, from smaps */
	bool has_runs;		    /* the runs of the mapping's pages are known */
};

/* Fills the entry of each mapping of the subject. Returns false if smaps cannot be read. */
bool residence_read(const struct subject *subject, struct residence *residences,
		    void (*beat)(void *user), void *user);

#endif
