/* SPDX-License-Identifier: MIT */
#ifndef PROCESS_PAGEMAP_H
#define PROCESS_PAGEMAP_H

/* The request PAGEMAP_SCAN of /proc/PID/pagemap (Linux 6.7, linux/fs.h); older headers lack it. */

#include <stdint.h>
#include <sys/ioctl.h>

struct pagemap_region {
	uint64_t start, end, categories;
};

struct pagemap_scan {
	uint64_t size, flags, start, end, walk_end, regions, region_count, most_pages;
	uint64_t inverted, all_of, any_of, wanted;
};

#define PAGEMAP_REQUEST _IOWR('f', 16, struct pagemap_scan)
#define PAGEMAP_FILE	(1u << 2)
#define PAGEMAP_PRESENT (1u << 3)
#define PAGEMAP_SWAPPED (1u << 4)
#define PAGEMAP_ZERO	(1u << 5)
/* a page that MADV_GUARD_INSTALL made unreadable; some kernels refuse a request with this flag */
#define PAGEMAP_GUARD (1u << 8)

#endif
