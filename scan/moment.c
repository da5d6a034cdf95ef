/* SPDX-License-Identifier: MIT */
#define _FILE_OFFSET_BITS 64
#include "scan/moment.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/memory.h"
#include "process/proc.h"

#define CHUNK	   (1u << 20)
#define ENTRIES	   (CHUNK / WORDS_PAGE) /* entries of the page map that one read returns */
#define KERNEL_MAX 1000000u

#define PAGE_PRESENT (1ull << 63)
#define PAGE_SWAPPED (1ull << 62)
#define PAGE_OF_FILE (1ull << 61)

#define REGIONS 1024

#define OWN_FILE "/memfd:holdtrace"
/* Limit of a mapping that is read without PAGEMAP_SCAN; larger ones are skipped. */
#define SPARSE_MOST (64ull << 30)

/* ---- mappings ---- */

/* Reads the mappings. Drops [vsyscall], and mappings above ADDRESS_MAX (57-bit addresses). */
static int read_mappings(struct process *process, struct error *err)
{
	struct maps *maps = &process->subject.maps;
	int rc = maps_read(maps, process->pid);

	if (rc)
		return error_system(err, -rc, "cannot read the mappings of the process");
	for (; maps->count && maps->items[maps->count - 1].to - 1 > ADDRESS_MAX; maps->count--) {
		const struct mapping *mapping = &maps->items[maps->count - 1];

		process->unread_bytes +=
			mapping->flags & MAPPING_WRITE ? mapping->to - mapping->from : 0;
	}
	return 0;
}

/*
 * Finds the memory that our library shares with the collector, by the inodes that the collector has
 * mapped, too. The name alone decides only if the collector's mappings cannot be read, because the
 * program may use the same name.
 */
static void find_own_files(struct process *process)
{
	struct maps ours = { 0 };

	maps_read(&ours, getppid());
	for (size_t i = 0; i < ours.count; i++)
		if (strstr(ours.items[i].path, OWN_FILE))
			*ARRAY_ADD(&process->own_files) = ours.items[i].inode;
	maps_free(&ours);
}

static bool is_own_file(const struct process *process, const struct mapping *mapping)
{
	if (strncmp(mapping->path, OWN_FILE, strlen(OWN_FILE)) != 0)
		return false;
	for (size_t i = 0; i < process->own_files.count; i++)
		if (process->own_files.items[i] == mapping->inode)
			return true;
	return !process->own_files.count;
}

/*
 * Whether a mapping is read. Devices are not read, because reading may have effects; nor are
 * mappings of the kernel, which have no data of the program, and our own memory, which contains
 * addresses of freed blocks.
 */
static bool is_of_interest(const struct process *process, const struct mapping *mapping)
{
	const char *path = mapping->path;

	if (!strncmp(path, "/dev/", 5))
		return !strncmp(path, "/dev/shm/", 9) || !strncmp(path, "/dev/zero", 9);
	if (is_own_file(process, mapping))
		return false;
	return strcmp(path, "[vvar]") != 0 && strcmp(path, "[vdso]") != 0 &&
	       strcmp(path, "[vvar_vclock]") != 0 && strcmp(path, "[vsyscall]") != 0;
}

/*
 * Whether the program may have written the memory, even if it cannot write it now. This is unknown
 * for a shared file that is not writable; such mappings are left out, because they are large and
 * numerous.
 */
static bool may_be_written(const struct mapping *mapping)
{
	const char *path = mapping->path;

	return mapping->flags & MAPPING_WRITE ||
	       (mapping->flags & MAPPING_SHARED &&
		(!*path || !strncmp(path, "/dev/zero", 9) || !strncmp(path, "/dev/shm/", 9) ||
		 !strncmp(path, "/SYSV", 5) || !strncmp(path, "/memfd:", 7) || *path == '['));
}

/* ---- memory ---- */

/* The arguments of PAGEMAP_SCAN (Linux 6.7), which skips absent pages; older headers lack them. */
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

struct reading {
	struct process *process;
	int pagemap;	  /* -1: cannot be opened */
	char *bytes;	  /* buffer for one chunk */
	bool cannot_scan; /* the kernel has no PAGEMAP_SCAN */
	uint64_t entries[ENTRIES];
	struct scan_region regions[REGIONS];
};

/*
 * Reads whole pages through /proc/PID/mem, which also works for memory that the program itself may
 * not read.
 */
static size_t read_bytes(const struct reading *reading, uint64_t from, size_t size)
{
	return subject_read(&reading->process->subject, from, reading->bytes, size) &
	       ~(size_t)(WORDS_PAGE - 1);
}

static void read_pages(struct reading *reading, uint64_t from, size_t size)
{
	struct process *process = reading->process;

	while (size) {
		size_t got = read_bytes(reading, from, size);

		process->read_bytes += got;
		words_add(&process->words, &process->targets, from, reading->bytes, got);
		from += got;
		size -= got;
		if (!size)
			return;
		/* skip a page that exists but cannot be read (a truncated file) */
		process->unread_bytes += WORDS_PAGE;
		from += WORDS_PAGE;
		size -= WORDS_PAGE;
	}
}

static void read_chunk(struct reading *reading, const struct mapping *mapping, uint64_t from,
		       size_t count)
{
	off_t at = (off_t)(from / WORDS_PAGE * sizeof(*reading->entries));
	bool is_written = may_be_written(mapping);
	ssize_t got = -1;
	size_t known;

	if (reading->pagemap >= 0)
		got = pread(reading->pagemap, reading->entries, count * sizeof(*reading->entries),
			    at);
	known = got < 0 ? 0 : (size_t)got / sizeof(*reading->entries);
	for (size_t i = 0, first = 0; i <= count; i++) {
		/* without the page map, all writable pages count as present */
		uint64_t entry = i < known ? reading->entries[i] : is_written ? PAGE_PRESENT : 0;
		bool is_present = entry & (PAGE_PRESENT | PAGE_SWAPPED);

		/*
		 * of memory that is not writable, only the pages that were written earlier are read
		 */
		if (i < count && is_present &&
		    (is_written || (!(mapping->flags & MAPPING_SHARED) && !(entry & PAGE_OF_FILE))))
			continue;
		if (i > first)
			read_pages(reading, from + first * WORDS_PAGE, (i - first) * WORDS_PAGE);
		first = i + 1;
	}
	if (reading->process->beat)
		reading->process->beat(reading->process->user);
}

/* Reads the present pages. Returns false if the kernel cannot list them. */
static bool read_present(struct reading *reading, const struct mapping *mapping)
{
	bool is_written = may_be_written(mapping);
	struct scan_arguments scan = {
		.size = sizeof(scan),
		.start = mapping->from,
		.end = mapping->to,
		.regions = (uintptr_t)reading->regions,
		.region_count = REGIONS,
		.inverted = is_written ? 0 : SCAN_FILE,
		.all_of = is_written ? 0 : SCAN_FILE,
		.any_of = SCAN_PRESENT | SCAN_SWAPPED,
		.wanted = SCAN_PRESENT,
	};

	while (scan.start < mapping->to) {
		int count = ioctl(reading->pagemap, SCAN_REQUEST, &scan);

		if (count < 0)
			return scan.start != mapping->from;
		for (int i = 0; i < count; i++) {
			const struct scan_region *region = &reading->regions[i];

			/* one chunk after another, to report progress in between */
			for (uint64_t at = region->start; at < region->end; at += CHUNK) {
				uint64_t left = region->end - at;

				read_pages(reading, at, left < CHUNK ? (size_t)left : CHUNK);
				if (reading->process->beat)
					reading->process->beat(reading->process->user);
			}
		}
		if (scan.walk_end <= scan.start)
			return true;
		scan.start = scan.walk_end;
	}
	return true;
}

static void read_mapping(struct reading *reading, const struct mapping *mapping)
{
	if (!is_of_interest(reading->process, mapping) ||
	    (!may_be_written(mapping) && (mapping->flags & MAPPING_SHARED)))
		return;
	if (!reading->cannot_scan && read_present(reading, mapping))
		return;
	reading->cannot_scan = true;
	if (mapping->to - mapping->from > SPARSE_MOST) {
		reading->process->unread_bytes += mapping->to - mapping->from;
		return;
	}
	for (uint64_t at = mapping->from; at < mapping->to; at += CHUNK) {
		uint64_t left = (mapping->to - at) / WORDS_PAGE;

		read_chunk(reading, mapping, at, left < ENTRIES ? (size_t)left : ENTRIES);
	}
}

static int read_memory(struct process *process, struct error *err)
{
	cleanup_fd int pagemap = subject_open(&process->subject, "pagemap");
	cleanup_free char *bytes = memory_alloc(CHUNK);
	cleanup_free struct reading *reading = memory_zalloc(1, sizeof(*reading));

	*reading = (struct reading){ .process = process, .pagemap = pagemap, .bytes = bytes };
	for (size_t i = 0; i < process->subject.maps.count; i++)
		read_mapping(reading, &process->subject.maps.items[i]);
	return process->words.pages.count
		       ? 0
		       : error_set(err, EPERM, "the memory of the process cannot be read");
}

/* ---- words that the kernel stores ---- */

static void add_kernel_word(struct process *process, uint64_t value, const char *about)
{
	if (value && process->kernel.count < KERNEL_MAX)
		*ARRAY_ADD(&process->kernel) =
			(struct process_kernel_word){ value, pool_text(&process->pool, about,
								       strlen(about)) };
}

static void read_epoll(struct process *process, const char *number)
{
	char name[64], line[256], about[64];
	int fd;

	snprintf(name, sizeof(name), "fdinfo/%.20s", number);
	fd = subject_open(&process->subject, name);
	cleanup_file FILE *file = fd < 0 ? NULL : fdopen(fd, "r");

	while (file && fgets(line, sizeof(line), file)) {
		uint64_t data;
		int target;

		if (sscanf(line, "tfd: %d events: %*x data: %" SCNx64, &target, &data) != 2)
			continue;
		snprintf(about, sizeof(about), "epoll %.20s, descriptor %d", number, target);
		add_kernel_word(process, data, about);
	}
}

static void read_epolls(struct process *process)
{
	char path[64], target[32];
	const struct dirent *entry;
	DIR *directory;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/fd", process->pid, process->subject.thread);
	directory = opendir(path);
	while (directory && (entry = readdir(directory)) != NULL) {
		ssize_t length =
			readlinkat(dirfd(directory), entry->d_name, target, sizeof(target) - 1);

		target[length > 0 ? length : 0] = '\0';
		if (!strcmp(target, "anon_inode:[eventpoll]"))
			read_epoll(process, entry->d_name);
	}
	if (directory)
		closedir(directory);
}

static void read_timers(struct process *process)
{
	int fd = subject_open(&process->subject, "timers");
	cleanup_file FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	char line[256];

	while (file && fgets(line, sizeof(line), file)) {
		uint64_t value;

		if (sscanf(line, "signal: %*d/%" SCNx64, &value) == 1)
			add_kernel_word(process, value, "timer");
	}
}

int process_read(struct process *process, struct error *err)
{
	enum { STACK_START = 28 }; /* number of a field of proc_pid_stat(5) */
	char text[PROC_STAT_SIZE];
	const char *field;
	int rc;

	subject_begin(&process->subject, process->pid);
	subject_open_memory(&process->subject, O_RDONLY);
	rc = read_mappings(process, err);
	if (rc)
		return rc;
	field = proc_field(proc_stat(process->pid, process->subject.thread, text), STACK_START);
	process->stack_start = field ? strtoull(field, NULL, 10) : 0;
	find_own_files(process);
	for (size_t i = 0; i < process->subject.maps.count; i++) {
		const struct mapping *mapping = &process->subject.maps.items[i];

		if (mapping->flags & MAPPING_WRITE && is_of_interest(process, mapping))
			ranges_add(&process->targets, mapping->from, mapping->to);
	}
	ranges_settle(&process->targets);
	rc = read_memory(process, err);
	if (rc)
		return rc;
	for (size_t i = 0; i < process->threads.count; i++) {
		struct process_thread *thread = &process->threads.items[i];

		if (!thread->tracee.tid)
			continue;
		/*
		 * copy the part of the stack that has frames; without the copy the frames have no
		 * names
		 */
		thread->live_sp = (thread->tracee.sp - PROCESS_RED_ZONE) & ~7ull;
		subject_copy_stack(&process->subject, thread->tracee.sp, &thread->stack);
	}
	read_epolls(process);
	read_timers(process);
	return 0;
}
