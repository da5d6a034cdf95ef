/* SPDX-License-Identifier: MIT */
#define _FILE_OFFSET_BITS 64
#include "scan/pagemap.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "scan/words.h"

#define ENTRIES 512u  /* limit of page map entries that one read returns */
#define REGIONS 1024u /* limit of regions that one request returns */
/* Limit in bytes of a range read without PAGEMAP_SCAN, which alone skips absent page tables. */
#define SPARSE_MOST  (64ull << 30)
#define LINES_A_BEAT 1000u

#define ENTRY_PRESENT (1ull << 63)
#define ENTRY_SWAPPED (1ull << 62)
#define ENTRY_OF_FILE (1ull << 61)
/*
 * A page that cannot be read (MADV_GUARD_INSTALL), as below stacks with glibc 2.43; also SWAPPED.
 */
#define ENTRY_GUARD (1ull << 58)

/*
 * Adds pages as a new run, or extends the last run. first: number of runs of earlier ranges, which
 * are not extended.
 */
static void add_run(struct page_runs *runs, size_t first, uint64_t from, uint64_t to,
		    unsigned state)
{
	struct page_run *last = runs->count > first ? &runs->items[runs->count - 1] : NULL;

	if (last && last->to == from && last->state == state)
		last->to = to;
	else
		*ARRAY_ADD(runs) = (struct page_run){ from, to, state };
}

/* ---- PAGEMAP_SCAN, which older headers lack ---- */

struct scan_region {
	uint64_t start, end, categories;
};

struct scan_arguments {
	uint64_t size, flags, start, end, walk_end, regions, region_count, most_pages;
	uint64_t inverted, all_of, any_of, wanted;
};

#define SCAN_REQUEST _IOWR('f', 16, struct scan_arguments)
#define SCAN_FILE    (1u << 2)
#define SCAN_PRESENT (1u << 3)
#define SCAN_SWAPPED (1u << 4)
#define SCAN_ZERO    (1u << 5)
#define SCAN_GUARD   (1u << 8)

/* Returns false if the kernel does not know the request. */
static bool list_runs(const struct pagemap *pagemap, uint64_t from, uint64_t to,
		      struct page_runs *runs, void (*beat)(void *user), void *user)
{
	cleanup_free struct scan_region *regions = memory_alloc(REGIONS * sizeof(*regions));
	struct scan_arguments scan = {
		.size = sizeof(scan),
		.start = from,
		.end = to,
		.regions = (uintptr_t)regions,
		.region_count = REGIONS,
		.inverted = pagemap->lacks_guards ? 0 : SCAN_GUARD,
		.all_of = pagemap->lacks_guards ? 0 : SCAN_GUARD,
		.any_of = SCAN_PRESENT | SCAN_SWAPPED,
		.wanted = SCAN_PRESENT | SCAN_SWAPPED | SCAN_FILE | SCAN_ZERO,
	};

	size_t first = runs->count;

	while (scan.start < to) {
		int count = ioctl(pagemap->fd, SCAN_REQUEST, &scan);

		if (count < 0)
			return scan.start != from;
		for (int i = 0; i < count; i++) {
			uint64_t found = regions[i].categories;

			add_run(runs, first, regions[i].start, regions[i].end,
				(found & SCAN_PRESENT ? PAGE_PRESENT : 0u) |
					(found & SCAN_SWAPPED ? PAGE_SWAPPED : 0u) |
					(found & SCAN_FILE ? PAGE_OF_FILE : 0u) |
					(found & SCAN_ZERO ? PAGE_ZERO : 0u));
		}
		beat(user);
		/*
		 * continue after the last region: walk_end is wrong if the kernel's own buffer was
		 * full before the buffer of this request
		 */
		if (count < (int)REGIONS)
			return true;
		scan.start = regions[count - 1].end;
	}
	return true;
}

/* ---- entries of the page map ---- */

/*
 * Reads the entries of the page map, one for each page. An entry does not show whether the page is
 * the kernel's zero page.
 */
static bool read_entries(const struct pagemap *pagemap, uint64_t from, uint64_t to,
			 struct page_runs *runs, void (*beat)(void *user), void *user)
{
	uint64_t entries[ENTRIES];
	size_t first = runs->count;

	while (from < to) {
		uint64_t left = (to - from) / WORDS_PAGE;
		ssize_t got = pread(pagemap->fd, entries,
				    (left < ENTRIES ? left : ENTRIES) * sizeof(*entries),
				    (off_t)(from / WORDS_PAGE * sizeof(*entries)));

		if (got < (ssize_t)sizeof(*entries))
			return false;
		for (size_t i = 0; i < (size_t)got / sizeof(*entries); i++, from += WORDS_PAGE)
			if (entries[i] & (ENTRY_PRESENT | ENTRY_SWAPPED) &&
			    !(entries[i] & ENTRY_GUARD))
				add_run(runs, first, from, from + WORDS_PAGE,
					(entries[i] & ENTRY_PRESENT ? PAGE_PRESENT : 0u) |
						(entries[i] & ENTRY_SWAPPED ? PAGE_SWAPPED : 0u) |
						(entries[i] & ENTRY_OF_FILE ? PAGE_OF_FILE : 0u));
		beat(user);
	}
	return true;
}

bool pagemap_read(struct pagemap *pagemap, uint64_t from, uint64_t to, struct page_runs *runs,
		  void (*beat)(void *user), void *user)
{
	if (pagemap->fd < 0)
		return false;
	for (; !pagemap->cannot_list; pagemap->lacks_guards = true) {
		if (list_runs(pagemap, from, to, runs, beat, user))
			return true;
		pagemap->cannot_list = pagemap->lacks_guards;
	}
	return to - from <= SPARSE_MOST && read_entries(pagemap, from, to, runs, beat, user);
}

/* ---- smaps ---- */

bool residence_read(const struct subject *subject, struct residence *residences,
		    void (*beat)(void *user), void *user)
{
	const struct maps *maps = &subject->maps;
	int fd = subject_open(subject, "smaps");
	cleanup_file FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	struct residence *at = NULL;
	/* large enough for any path, so that the end of a long path is not read as another line */
	char line[PATH_MAX + 128];
	unsigned lines = 0;

	if (!file)
		return false;
	while (fgets(line, sizeof(line), file)) {
		uint64_t from, to, kib;

		if (++lines % LINES_A_BEAT == 0)
			beat(user);
		if (sscanf(line, "%" SCNx64 "-%" SCNx64, &from, &to) == 2) {
			const struct mapping *mapping = maps_at(maps, from);

			at = mapping ? &residences[mapping - maps->items] : NULL;
		} else if (at && sscanf(line, "Rss: %" SCNu64, &kib) == 1) {
			at->resident = kib << 10;
		} else if (at && sscanf(line, "Swap: %" SCNu64, &kib) == 1) {
			at->swapped = kib << 10;
		}
	}
	return true;
}
