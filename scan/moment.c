/* SPDX-License-Identifier: MIT */
#define _FILE_OFFSET_BITS 64
#include "scan/moment.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/memory.h"
#include "arena.h"
#include "process/pagemap.h"
#include "process/proc.h"

#define CHUNK	   (1u << 20)
#define KERNEL_MAX 1000000u

#define ENTRIES	     512u  /* maximum number of page map entries that one read returns */
#define REGIONS	     1024u /* maximum number of regions that one request returns */
#define LINES_A_BEAT 1000u

#define OWN_FILE "/memfd:holdtrace"
/*
 * Maximum size in bytes of mappings that are read without PAGEMAP_SCAN, the only request that skips
 * absent page tables.
 */
#define SPARSE_MOST (64ull << 30)

/* ---- mappings ---- */

static bool is_own_file(const struct process *process, const struct mapping *mapping)
{
	if (strncmp(mapping->path, OWN_FILE, strlen(OWN_FILE)) != 0)
		return false;
	for (size_t i = 0; i < process->own_files.count; i++)
		if (process->own_files.items[i] == mapping->inode)
			return true;
	return !process->own_files.count;
}

static bool is_shared_memory(const struct mapping *mapping)
{
	const char *path = mapping->path;

	return !*path || !strncmp(path, "/dev/zero", 9) || !strncmp(path, "/dev/shm/", 9) ||
	       !strncmp(path, "/SYSV", 5) || !strncmp(path, "/memfd:", 7) || *path == '[';
}

const struct process_thread *process_thread_of(const struct process *process, uint64_t descriptor)
{
	for (size_t i = 0; i < process->threads.count; i++) {
		const struct process_thread *thread = &process->threads.items[i];

		if (thread->tracee.tid && thread->tracee.tls == descriptor)
			return thread;
	}
	return NULL;
}

const char *process_kind(const struct process *process, const struct mapping *mapping)
{
	const char *path = mapping->path;

	if (is_own_file(process, mapping) || mapping_is_of(mapping, "libholdtrace.so"))
		return "holdtrace";
	/*
	 * A mapping counts as the library's if half of it is private memory of the library, for
	 * example the mapping of the library's variables.
	 */
	for (size_t i = 0; i < process->own.count; i++) {
		const struct range *own = &process->own.items[i];
		uint64_t from = own->from > mapping->from ? own->from : mapping->from;
		uint64_t to = own->to < mapping->to ? own->to : mapping->to;

		if (from < to && to - from >= (mapping->to - mapping->from) / 2)
			return "holdtrace";
	}
	for (size_t i = 0; i < process->threads.count; i++) {
		const struct tracee *tracee = &process->threads.items[i].tracee;

		if (tracee->tid && tracee->sp >= mapping->from && tracee->sp < mapping->to &&
		    !mapping->inode && strcmp(path, "[heap]") != 0)
			return "stack";
	}
	if (!strcmp(path, "[stack]"))
		return "stack";
	if (!strcmp(path, "[heap]"))
		return "heap";
	if (mapping->flags & MAPPING_SHARED && is_shared_memory(mapping))
		return "shared";
	if (mapping->inode)
		return "file";
	return !strncmp(path, "[v", 2) ? "kernel" : "anonymous";
}

/*
 * Whether a mapping is read. Three kinds are not read: devices, because reading may have side
 * effects; mappings of the kernel, which have no data of the program; and holdtrace's own memory,
 * which has addresses of freed blocks.
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
 * Whether the program may have written to the memory, even if it cannot write to it now. This is
 * unknown for shared files that are not writable; these count as unwritten, because they are large
 * and numerous.
 */
static bool may_be_written(const struct mapping *mapping)
{
	return mapping->flags & MAPPING_WRITE ||
	       (mapping->flags & MAPPING_SHARED && is_shared_memory(mapping));
}

static void show_progress(const struct process *process)
{
	if (process->beat)
		process->beat(process->user);
}

/* ---- pages in memory or swapped out ---- */

struct pagemap {
	int fd;		   /* descriptor of /proc/PID/pagemap; -1: it cannot be opened */
	bool cannot_list;  /* the kernel has no PAGEMAP_SCAN (before Linux 6.7) */
	bool lacks_guards; /* PAGEMAP_SCAN does not know guard regions */
};

#define ENTRY_PRESENT (1ull << 63)
#define ENTRY_SWAPPED (1ull << 62)
#define ENTRY_OF_FILE (1ull << 61)
#define ENTRY_GUARD   (1ull << 58) /* see PAGEMAP_GUARD; such a page is also ENTRY_SWAPPED */

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

/* Adds the runs of a range with PAGEMAP_SCAN. Returns false if the kernel lacks this request. */
static bool list_runs(struct process *process, const struct pagemap *pagemap, uint64_t from,
		      uint64_t to)
{
	struct page_runs *runs = &process->pages;
	size_t first = runs->count;
	uint64_t guard = pagemap->lacks_guards ? 0 : PAGEMAP_GUARD;
	cleanup_free struct pagemap_region *regions = memory_alloc(REGIONS * sizeof(*regions));
	struct pagemap_scan scan = {
		.size = sizeof(scan),
		.start = from,
		.end = to,
		.regions = (uintptr_t)regions,
		.region_count = REGIONS,
		.any_of = PAGEMAP_PRESENT | PAGEMAP_SWAPPED | guard,
		.wanted = PAGEMAP_PRESENT | PAGEMAP_SWAPPED | PAGEMAP_FILE | PAGEMAP_ZERO | guard,
	};

	while (scan.start < to) {
		int count = ioctl(pagemap->fd, PAGEMAP_REQUEST, &scan);

		if (count < 0)
			return scan.start != from;
		for (int i = 0; i < count; i++) {
			uint64_t found = regions[i].categories;

			if (found & guard)
				continue;
			add_run(runs, first, regions[i].start, regions[i].end,
				(found & PAGEMAP_PRESENT ? PAGE_PRESENT : 0u) |
					(found & PAGEMAP_SWAPPED ? PAGE_SWAPPED : 0u) |
					(found & PAGEMAP_FILE ? PAGE_OF_FILE : 0u) |
					(found & PAGEMAP_ZERO ? PAGE_ZERO : 0u));
		}
		show_progress(process);
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
static bool read_entries(struct process *process, const struct pagemap *pagemap, uint64_t from,
			 uint64_t to)
{
	struct page_runs *runs = &process->pages;
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
			if (!(entries[i] & ENTRY_GUARD) &&
			    entries[i] & (ENTRY_PRESENT | ENTRY_SWAPPED))
				add_run(runs, first, from, from + WORDS_PAGE,
					(entries[i] & ENTRY_PRESENT ? PAGE_PRESENT : 0u) |
						(entries[i] & ENTRY_SWAPPED ? PAGE_SWAPPED : 0u) |
						(entries[i] & ENTRY_OF_FILE ? PAGE_OF_FILE : 0u));
		show_progress(process);
	}
	return true;
}

/* Appends the runs of a mapping's pages. Returns false if they are unknown. */
static bool read_pagemap(struct process *process, struct pagemap *pagemap, uint64_t from,
			 uint64_t to)
{
	if (pagemap->fd < 0)
		return false;
	for (; !pagemap->cannot_list; pagemap->lacks_guards = true) {
		if (list_runs(process, pagemap, from, to))
			return true;
		pagemap->cannot_list = pagemap->lacks_guards;
	}
	return to - from <= SPARSE_MOST && read_entries(process, pagemap, from, to);
}

/* ---- smaps ---- */

/* Reads the resident bytes of each mapping. Returns false if smaps cannot be read. */
static bool read_smaps(struct process *process)
{
	const struct maps *maps = &process->subject.maps;
	cleanup_file FILE *file = subject_open(&process->subject, "smaps");
	struct residence *at = NULL;
	/* large enough for any path, so that the end of a long path is not read as another line */
	char line[PATH_MAX + 128];
	unsigned lines = 0;

	if (!file)
		return false;
	while (fgets(line, sizeof(line), file)) {
		uint64_t from, to, kib;

		if (++lines % LINES_A_BEAT == 0)
			show_progress(process);
		if (sscanf(line, "%" SCNx64 "-%" SCNx64, &from, &to) == 2) {
			const struct mapping *mapping = maps_at(maps, from);

			at = mapping ? &process->residences[mapping - maps->items] : NULL;
		} else if (at && sscanf(line, "Rss: %" SCNu64, &kib) == 1) {
			at->resident = kib << 10;
		} else if (at && sscanf(line, "Swap: %" SCNu64, &kib) == 1) {
			at->swapped = kib << 10;
		}
	}
	return true;
}

/*
 * Reads which pages of the mappings are resident. If maps_split() has split a mapping, smaps has
 * only the sum of its parts.
 */
static void read_residences(struct process *process, struct pagemap *pagemap)
{
	const struct maps *maps = &process->subject.maps;
	const struct page_runs *pages = &process->pages;

	/* do this before the memory is read, because reading swaps pages in */
	process->residences = memory_zalloc(maps->count + 1, sizeof(*process->residences));
	process->has_smaps = read_smaps(process);
	for (size_t i = 0; i < maps->count; i++) {
		const struct mapping *mapping = &maps->items[i];
		struct residence *residence = &process->residences[i];
		size_t first = pages->count;

		residence->has_runs = read_pagemap(process, pagemap, mapping->from, mapping->to);
		if (!(mapping->flags & MAPPING_SPLIT))
			continue;
		residence->resident = residence->swapped = 0;
		for (size_t k = first; k < pages->count; k++) {
			const struct page_run *run = &pages->items[k];

			if (run->state & PAGE_SWAPPED)
				residence->swapped += run->to - run->from;
			else if (!(run->state & PAGE_ZERO))
				residence->resident += run->to - run->from;
		}
	}
}

/* ---- memory ---- */

/*
 * Reads a range of one mapping through /proc/PID/mem, which also works for memory that the program
 * itself may not read.
 */
static void read_range(struct process *process, char *bytes, uint64_t from, uint64_t to)
{
	while (from < to) {
		size_t size = to - from < CHUNK ? to - from : CHUNK;
		size_t got = subject_read(&process->subject, from, bytes, size) &
			     ~(size_t)(WORDS_PAGE - 1);

		process->read_bytes += got;
		words_add(&process->words, &process->targets, from, bytes, got);
		from += got;
		/* skip a page that exists but cannot be read (a truncated file) */
		if (got < size) {
			process->unread_bytes += WORDS_PAGE;
			from += WORDS_PAGE;
		}
		show_progress(process);
	}
}

/* Reads the pages of a mapping that are in memory, or swapped out. */
static void read_mapping(struct process *process, char *bytes, const struct mapping *mapping)
{
	bool is_written = may_be_written(mapping);
	const struct page_runs *pages = &process->pages;
	size_t i = ARRAY_SEARCH(pages->count, at, pages->items[at].to <= mapping->from);

	if (!is_of_interest(process, mapping) || (!is_written && (mapping->flags & MAPPING_SHARED)))
		return;
	/* without the page map, all writable pages count as present */
	if (!process->residences[mapping - process->subject.maps.items].has_runs) {
		if (mapping->to - mapping->from > SPARSE_MOST)
			process->unread_bytes += mapping->to - mapping->from;
		else if (is_written)
			read_range(process, bytes, mapping->from, mapping->to);
		return;
	}
	for (; i < pages->count && pages->items[i].from < mapping->to; i++) {
		const struct page_run *run = &pages->items[i];

		/* if the memory is not writable, read just the pages that were written earlier */
		if (!(run->state & PAGE_ZERO) && (is_written || !(run->state & PAGE_OF_FILE)))
			read_range(process, bytes, run->from, run->to);
	}
}

/* ---- words that the kernel stores ---- */

static void add_kernel_word(struct process *process, uint64_t value, const char *about)
{
	if (value && process->kernel.count < KERNEL_MAX)
		*ARRAY_ADD(&process->kernel) =
			(struct process_kernel_word){ value, pool_text(&process->pool, about,
								       strlen(about)) };
}

static void read_kernel_words(struct process *process)
{
	char path[64], target[32], name[300], line[256], about[64];
	const struct dirent *entry;
	DIR *directory;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/fd", process->pid, process->subject.thread);
	directory = opendir(path);
	while (directory && (entry = readdir(directory)) != NULL) {
		const char *number = entry->d_name;
		snprintf(name, sizeof(name), "fd/%s", number);
		proc_link(process->pid, process->subject.thread, name, target, sizeof(target));
		if (strcmp(target, "anon_inode:[eventpoll]") != 0)
			continue;
		snprintf(name, sizeof(name), "fdinfo/%.20s", number);
		cleanup_file FILE *file = subject_open(&process->subject, name);

		while (file && fgets(line, sizeof(line), file)) {
			uint64_t data;
			int fd;

			if (sscanf(line, "tfd: %d events: %*x data: %" SCNx64, &fd, &data) != 2)
				continue;
			snprintf(about, sizeof(about), "epoll %.20s, descriptor %d", number, fd);
			add_kernel_word(process, data, about);
		}
	}
	if (directory)
		closedir(directory);

	cleanup_file FILE *timers = subject_open(&process->subject, "timers");

	while (timers && fgets(line, sizeof(line), timers)) {
		uint64_t value;

		if (sscanf(line, "signal: %*d/%" SCNx64, &value) == 1)
			add_kernel_word(process, value, "timer");
	}
}

static int read_words(struct process *process, struct error *err)
{
	const struct maps *maps = &process->subject.maps;
	cleanup_free char *bytes = memory_alloc(CHUNK);

	for (size_t i = 0; i < maps->count; i++) {
		const struct mapping *mapping = &maps->items[i];

		if (mapping->flags & MAPPING_WRITE && is_of_interest(process, mapping))
			ranges_add(&process->targets, mapping->from, mapping->to);
	}
	ranges_settle(&process->targets);
	for (size_t i = 0; i < maps->count; i++)
		read_mapping(process, bytes, &maps->items[i]);
	if (!process->words.pages.count)
		return error_set(err, EPERM, "the memory of the process cannot be read");
	for (size_t i = 0; i < process->threads.count; i++) {
		struct process_thread *thread = &process->threads.items[i];

		if (!thread->tracee.tid)
			continue;
		/* copy the used part of the stack; frames_find() finds the frames in the copy */
		thread->live_sp = (thread->tracee.sp - PROCESS_RED_ZONE) & ~7ull;
		if (i < PROCESS_WALKS_MAX)
			subject_copy_stack(&process->subject, thread->tracee.sp, &thread->stack);
	}
	return 0;
}

int process_read(struct process *process, struct error *err)
{
	enum { STACK_START = 28 }; /* number of the field startstack in proc_pid_stat(5) */
	struct maps *maps = &process->subject.maps, ours = { 0 };
	struct pagemap pagemap = { 0 };
	cleanup_file FILE *file = NULL;
	char text[PROC_STAT_SIZE];
	const char *field;
	int rc;

	subject_begin(&process->subject, process->pid);
	subject_open_memory(&process->subject, O_RDONLY);
	rc = maps_read(maps, process->pid);
	if (rc)
		return error_system(err, -rc, "cannot read the mappings of the process");
	/* drop mappings above ADDRESS_MAX: [vsyscall], and mappings at 57-bit addresses */
	for (; maps->count && maps->items[maps->count - 1].to - 1 > ADDRESS_MAX; maps->count--) {
		const struct mapping *mapping = &maps->items[maps->count - 1];

		process->unread_bytes +=
			mapping->flags & MAPPING_WRITE ? mapping->to - mapping->from : 0;
	}
	field = proc_field(proc_stat(process->pid, process->subject.thread, text), STACK_START);
	process->stack_start = field ? strtoull(field, NULL, 10) : 0;
	/*
	 * Find the files of the memory that the library shares with the collector, by inode in the
	 * collector's mappings. Names decide only if these mappings cannot be read, because the
	 * program may have files with the same name.
	 */
	maps_read(&ours, getppid());
	for (size_t i = 0; i < ours.count; i++)
		if (strstr(ours.items[i].path, OWN_FILE))
			*ARRAY_ADD(&process->own_files) = ours.items[i].inode;
	maps_free(&ours);
	file = subject_open(&process->subject, "pagemap");
	pagemap.fd = file ? fileno(file) : -1;
	rc = maps_split(maps, pagemap.fd);
	if (rc)
		return error_system(err, -rc, "cannot read the mappings of the process");
	read_residences(process, &pagemap);
	if (process->is_light)
		return 0;
	rc = read_words(process, err);
	if (rc)
		return rc;
	read_kernel_words(process);
	return 0;
}

/* ---- core files ---- */

/*
 * Finds the ranges of the library's private memory. For a running process the collector sends them;
 * for core files, the library also stores them in its data.
 */
static void find_own_marks(struct process *process)
{
	static const uint64_t magic[] = OWN_MARKS_MAGIC;
	const struct maps *maps = &process->subject.maps;
	cleanup_free char *bytes = memory_alloc(CHUNK);
	struct own_marks marks;

	for (size_t i = 0; i < maps->count; i++) {
		const struct mapping *mapping = &maps->items[i];
		uint64_t size = mapping->to - mapping->from;
		const char *found;

		if (!mapping_is_of(mapping, "libholdtrace.so") || !(mapping->flags & MAPPING_WRITE))
			continue;
		size = subject_read(&process->subject, mapping->from, bytes,
				    size < CHUNK ? size : CHUNK);
		found = memmem(bytes, size, magic, sizeof(magic));
		if (!found || size - (size_t)(found - bytes) < sizeof(marks))
			continue;
		memcpy(&marks, found, sizeof(marks));
		for (unsigned k = 0; k < ARENA_CHUNKS; k++)
			ranges_add(&process->own, marks.ranges[k].from, marks.ranges[k].to);
	}
}

int process_read_core(struct process *process, int fd, struct error *err)
{
	struct maps *maps = &process->subject.maps;
	int rc = core_open(&process->core, fd, &process->subject, err);

	if (rc)
		return rc;
	for (size_t i = 0; i < maps->count; i++)
		if ((maps->items[i].from | maps->items[i].to) % WORDS_PAGE)
			return error_set(err, EBADMSG,
					 "damaged core file: a segment ends inside a page");
	while (maps->count && maps->items[maps->count - 1].to - 1 > ADDRESS_MAX)
		maps->count--;
	process->pid = process->core.pid;
	process->stack_start = process->core.stack_start;
	for (size_t i = 0; i < process->core.threads.count; i++) {
		const struct core_thread *from = &process->core.threads.items[i];
		struct process_thread *thread = ARRAY_ADD(&process->threads);
		size_t size = from->is_in_call ? 0 : from->vectors_size;

		*thread = (struct process_thread){ .tracee = { .tid = from->tid,
							       .registers = from->registers,
							       .pc = from->pc,
							       .sp = from->sp,
							       .tls = from->tls } };
		memcpy(thread->registers, &from->registers, sizeof(from->registers));
		thread->register_count = sizeof(from->registers) / sizeof(*thread->registers);
		if (size > sizeof(thread->vectors))
			size = sizeof(thread->vectors);
		if (size)
			memcpy(thread->vectors, from->vectors, size);
		thread->vector_count = (unsigned)size / 8;
	}
	find_own_marks(process);
	/*
	 * record which pages the core file contains, and count the missing bytes of mappings that
	 * may contain pointers of the program
	 */
	process->residences = memory_zalloc(maps->count + 1, sizeof(*process->residences));
	for (size_t i = 0; i < maps->count; i++) {
		const struct mapping *mapping = &maps->items[i];
		const struct core_segment *segment = core_segment_at(&process->core, mapping->from);
		uint64_t kept = segment ? segment->kept & ~(uint64_t)(WORDS_PAGE - 1) : 0;

		process->residences[i].has_runs = true;
		if (kept)
			*ARRAY_ADD(&process->pages) =
				(struct page_run){ segment->from, segment->from + kept,
						   PAGE_PRESENT };
		if (is_of_interest(process, mapping) && may_be_written(mapping))
			process->unread_bytes += mapping->to - mapping->from - kept;
	}
	return read_words(process, err);
}
