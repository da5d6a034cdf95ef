/* SPDX-License-Identifier: MIT */
#define _FILE_OFFSET_BITS 64
#include "process/core.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/procfs.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "base/order.h"

#define SEGMENTS_MAX  (1u << 22)
#define NOTES_MAX     (256u << 20)
#define THREADS_MAX   100000u
#define ARGUMENTS_MAX (1u << 20) /* maximum number of words of arguments and environment */
#define HEADERS_MAX   64u	 /* maximum number of program headers of a module */
#define STACK_TOP     (8u << 20) /* bytes at the top of a stack that may contain the arguments */

/* Processors whose core files this build can read. */
#if defined(__x86_64__)
#define CORE_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define CORE_MACHINE EM_AARCH64
#else
#define CORE_MACHINE EM_NONE
#endif

/* ---- the file ---- */

static bool read_file(const struct core *core, uint64_t offset, void *bytes, size_t size)
{
	if (offset > core->size || size > core->size - offset)
		return false;
	for (size_t done = 0; done < size;) {
		ssize_t got =
			pread(core->fd, (char *)bytes + done, size - done, (off_t)(offset + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		done += (size_t)got;
	}
	return true;
}

const struct core_segment *core_segment_at(const struct core *core, uint64_t address)
{
	size_t found =
		ARRAY_SEARCH(core->segments.count, at, core->segments.items[at].to <= address);
	const struct core_segment *segment = &core->segments.items[found];

	return found < core->segments.count && segment->from <= address ? segment : NULL;
}

static size_t read_core(const struct subject *subject, uint64_t address, void *bytes, size_t size)
{
	const struct core *core = subject->core;
	size_t done = 0;

	while (done < size) {
		const struct core_segment *segment = core_segment_at(core, address + done);
		uint64_t at = segment ? address + done - segment->from : 0, left;

		if (!segment || at >= segment->kept)
			break;
		left = segment->kept - at;
		left = left < size - done ? left : size - done;
		if (!read_file(core, segment->offset + at, (char *)bytes + done, left))
			break;
		done += left;
	}
	return done;
}

/* ---- segments ---- */

static int add_segment(struct core *core, struct maps *maps, const Elf64_Phdr *header,
		       struct error *err)
{
	uint64_t kept = header->p_filesz < header->p_memsz ? header->p_filesz : header->p_memsz;
	uint64_t before =
		core->segments.count ? core->segments.items[core->segments.count - 1].to : 0;

	if (!header->p_memsz)
		return 0;
	if (header->p_vaddr < before || header->p_memsz > UINT64_MAX - header->p_vaddr)
		return error_set(err, EBADMSG, "damaged core file: its segments overlap");
	if (header->p_offset >= core->size)
		kept = 0;
	else if (kept > core->size - header->p_offset)
		kept = core->size - header->p_offset;
	core->kept += kept;
	if (core->kept > core->size)
		return error_set(err, EBADMSG,
				 "damaged core file: two segments use the same bytes of the file");
	*ARRAY_ADD(&core->segments) =
		(struct core_segment){ header->p_vaddr, header->p_vaddr + header->p_memsz,
				       header->p_offset, kept };
	*ARRAY_ADD(maps) =
		(struct mapping){ .from = header->p_vaddr,
				  .to = header->p_vaddr + header->p_memsz,
				  .flags = (header->p_flags & PF_R ? MAPPING_READ : 0u) |
					   (header->p_flags & PF_W ? MAPPING_WRITE : 0u) |
					   (header->p_flags & PF_X ? MAPPING_EXECUTE : 0u),
				  .path = "" };
	return 0;
}

static int read_headers(struct core *core, struct maps *maps, struct error *err)
{
	Elf64_Ehdr header;
	uint64_t count;
	int rc = 0;

	if (!read_file(core, 0, &header, sizeof(header)) ||
	    memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_type != ET_CORE)
		return error_set(err, EBADMSG, "not a core file");
	if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != CORE_MACHINE ||
	    CORE_MACHINE == EM_NONE)
		return error_set(err, EBADMSG, "a core file from another type of processor");
	count = header.e_phnum;
	if (count == PN_XNUM) {
		Elf64_Shdr section;

		count = read_file(core, header.e_shoff, &section, sizeof(section)) ? section.sh_info
										   : 0;
	}
	if (header.e_phentsize != sizeof(Elf64_Phdr) || count > SEGMENTS_MAX)
		return error_set(err, EBADMSG, "damaged core file: its header is invalid");
	for (uint64_t i = 0; i < count && rc == 0; i++) {
		Elf64_Phdr segment;

		if (!read_file(core, header.e_phoff + i * sizeof(segment), &segment,
			       sizeof(segment)))
			return error_set(err, EBADMSG,
					 "damaged core file: the file ends inside its header");
		if (segment.p_type == PT_LOAD)
			rc = add_segment(core, maps, &segment, err);
		if (segment.p_type != PT_NOTE || core->notes)
			continue;
		if (segment.p_filesz > NOTES_MAX || segment.p_filesz > core->size)
			return error_set(err, EBADMSG,
					 "damaged core file: the file ends inside its notes");
		core->notes = memory_alloc(segment.p_filesz + 1);
		core->notes_size = segment.p_filesz;
		if (!read_file(core, segment.p_offset, core->notes, segment.p_filesz))
			return error_set(err, EBADMSG,
					 "damaged core file: the file ends inside its notes");
	}
	return rc;
}

/* ---- notes ---- */

struct note {
	uint32_t type, size;
	const uint8_t *bytes;
	bool is_gnu; /* the owner of the note is GNU */
};

/* Reads the note at *at, and advances *at. Returns false at the end, or if the note is damaged. */
static bool next_note(const uint8_t *notes, uint64_t size, uint64_t *at, struct note *note)
{
	Elf64_Nhdr header;
	uint64_t name, bytes;

	if (size - *at < sizeof(header))
		return false;
	memcpy(&header, notes + *at, sizeof(header));
	name = *at + sizeof(header);
	bytes = name + ((header.n_namesz + 3ull) & ~3ull);
	if (bytes > size || header.n_descsz > size - bytes)
		return false;
	*note = (struct note){ header.n_type, header.n_descsz, notes + bytes,
			       header.n_namesz == sizeof("GNU") &&
				       !memcmp(notes + name, "GNU", sizeof("GNU")) };
	*at = bytes + ((header.n_descsz + 3ull) & ~3ull);
	if (*at > size)
		*at = size;
	return true;
}

#if REGISTERS_COUNT > 0

static void add_thread(struct core *core, const struct note *note)
{
	struct elf_prstatus status;
	struct core_thread *thread;
	uint64_t arguments[3];

	if (note->size < sizeof(status) || core->threads.count == THREADS_MAX)
		return;
	memcpy(&status, note->bytes, sizeof(status));
	_Static_assert(sizeof(status.pr_reg) == sizeof(registers_native),
		       "the two register sets differ in size");
	thread = ARRAY_ADD(&core->threads);
	*thread = (struct core_thread){ .tid = status.pr_pid };
	memcpy(&thread->registers, &status.pr_reg, sizeof(thread->registers));
	thread->pc = registers_pc(&thread->registers);
	thread->sp = registers_sp(&thread->registers);
	thread->tls = registers_tls(&thread->registers);
	thread->is_in_call = registers_call(&thread->registers, arguments) >= 0;
	/* the first thread in the file is the one that got the signal */
	if (core->threads.count == 1)
		core->signal = status.pr_cursig;
}

/* Reads a note that belongs to the thread of the preceding NT_PRSTATUS note. */
static void take_thread_note(struct core *core, const struct note *note)
{
	struct core_thread *thread =
		core->threads.count ? &core->threads.items[core->threads.count - 1] : NULL;

	if (!thread)
		return;
	if (note->type == REGISTERS_VECTORS) {
		thread->vectors = note->bytes;
		thread->vectors_size = note->size;
	}
#ifdef REGISTERS_TLS
	if (note->type == REGISTERS_TLS && note->size >= sizeof(thread->tls))
		memcpy(&thread->tls, note->bytes, sizeof(thread->tls));
#endif
}

#else

static void add_thread(struct core *core, const struct note *note)
{
	(void)core, (void)note;
}

static void take_thread_note(struct core *core, const struct note *note)
{
	(void)core, (void)note;
}

#endif

/* Gives a mapping without a file the name that the kernel would give it, such as [stack]. */
static void name_mapping(struct maps *maps, uint64_t address, const char *name)
{
	struct mapping *mapping = (struct mapping *)(uintptr_t)maps_at(maps, address);

	if (mapping && !*mapping->path)
		mapping->path = name;
}

/* A module whose first page is in the core file. */
struct module_start {
	const char *path; /* NULL: no module yet */
	uint64_t address;
};

/*
 * Whether the part of the module's file at `offset` (bytes) is code, according to the program
 * headers. Returns true also if the headers do not cover the offset or cannot be read. page_size:
 * in bytes.
 */
static bool can_be_code(const struct subject *subject, const struct module_start *module,
			uint64_t offset, uint64_t page_size)
{
	Elf64_Ehdr header;
	Elf64_Phdr segment;
	bool is_code = true;

	if (subject_get(subject, module->address, &header, sizeof(header)) ||
	    header.e_phentsize != sizeof(segment))
		return true;
	for (uint32_t i = 0; i < header.e_phnum && i < HEADERS_MAX; i++) {
		if (subject_get(subject, module->address + header.e_phoff + i * sizeof(segment),
				&segment, sizeof(segment)))
			return true;
		/* if two segments share a page, the mapping of the later one begins there */
		if (segment.p_type == PT_LOAD && offset + page_size > segment.p_offset &&
		    offset < segment.p_offset + segment.p_filesz)
			is_code = segment.p_flags & PF_X;
	}
	return is_code;
}

ORDER_FUNCTION(by_start, struct mapping, ORDER(a->from, b->from))

/*
 * Reads the note NT_FILE: the number of files and the size of a page; for each file its start, its
 * end and its offset in pages; then the paths.
 */
static void take_files(const struct subject *subject, struct maps *maps, const struct note *note)
{
	uint64_t head[2], entry[3], inode = 0;
	const char *path, *end = (const char *)note->bytes + note->size, *last = "";
	struct module_start module = { 0 };
	/* number of mappings that are sorted by address; the mappings added below follow them */
	size_t count = maps->count;

	if (note->size < sizeof(head))
		return;
	memcpy(head, note->bytes, sizeof(head));
	if (head[0] > (note->size - sizeof(head)) / sizeof(entry))
		return;
	path = (const char *)note->bytes + sizeof(head) + head[0] * sizeof(entry);
	for (uint64_t i = 0; i < head[0]; i++) {
		size_t length = strnlen(path, (size_t)(end - path)), first;
		struct mapping like = { .path = path };
		char magic[SELFMAG];

		if (length == (size_t)(end - path))
			break;
		memcpy(entry, note->bytes + sizeof(head) + i * sizeof(entry), sizeof(entry));
		inode += strcmp(last, path) != 0;
		like.from = entry[0];
		like.to = entry[1];
		like.inode = inode;
		like.offset = entry[2] * head[1];
		like.flags = (!strncmp(path, "/memfd:", 7) || !strncmp(path, "/SYSV", 5) ||
			      !strncmp(path, "/dev/zero", 9) || !strncmp(path, "/dev/shm/", 9))
				     ? MAPPING_SHARED
				     : 0;
		if (!like.offset && subject_get(subject, like.from, magic, SELFMAG) == 0 &&
		    !memcmp(magic, ELFMAG, SELFMAG))
			module = (struct module_start){ path, like.from };
		first = ARRAY_SEARCH(count, at, maps->items[at].to <= like.from);
		/*
		 * If no segment has this mapping, gcore omitted it because the program had not
		 * changed it. Its access rights are unknown. If it can be code, take it for code;
		 * else for constants if it belongs to a module; else for memory that the program
		 * may write.
		 */
		if (like.from < like.to && (first == count || maps->items[first].from >= like.to)) {
			bool is_module = module.path && !strcmp(module.path, path);
			struct mapping *mapping = ARRAY_ADD(maps);

			*mapping = like;
			mapping->flags |= MAPPING_READ;
			if (is_module ? can_be_code(subject, &module, like.offset, head[1])
				      : (!strncmp(path, "/usr/", 5) || !strncmp(path, "/lib", 4)))
				mapping->flags |= MAPPING_EXECUTE;
			else if (!is_module)
				mapping->flags |= MAPPING_WRITE;
		}
		/* the mapping may be divided into several segments */
		for (; first < count && maps->items[first].from < like.to; first++) {
			struct mapping *mapping = &maps->items[first];

			if (mapping->from < like.from)
				continue;
			mapping->path = path;
			mapping->inode = inode;
			mapping->offset = like.offset + (mapping->from - like.from);
			mapping->flags |= like.flags;
		}
		last = path;
		path += length + 1;
	}
	/* sort the added mappings; drop those that overlap, which only a damaged file has */
	ARRAY_SORT(maps, by_start);
	count = 0;
	for (size_t i = 0; i < maps->count; i++)
		if (!count || maps->items[i].from >= maps->items[count - 1].to)
			maps->items[count++] = maps->items[i];
	maps->count = count;
}

/* ---- the stack and the heap ---- */

/*
 * Finds the address of argc. The kernel puts argc below the arguments, the environment and the
 * auxiliary vector, each of which ends with a zero.
 */
static uint64_t find_start(const struct subject *subject, uint64_t from, uint64_t to,
			   const struct note *auxv)
{
	uint64_t size = to - from, at, count = 0, word = 0;
	const uint8_t *found;
	cleanup_free uint8_t *bytes = NULL;

	if (size > STACK_TOP || !auxv->size)
		return 0;
	bytes = memory_alloc(size);
	if (subject_read(subject, from, bytes, size) != size)
		return 0;
	found = memmem(bytes, size, auxv->bytes, auxv->size);
	at = found ? (uint64_t)(found - bytes) & ~7ull : 0;
	/* the environment, then the arguments: step back over a list's final zero and its words */
	for (int list = 0; list < 2; list++) {
		if (at < 16)
			return 0;
		at -= 8;
		for (count = 0; at >= 8 && count < ARGUMENTS_MAX; count++) {
			memcpy(&word, bytes + at - 8, sizeof(word));
			/*
			 * a zero precedes the list of the environment, but argc precedes the list
			 * of arguments
			 */
			if (!word || (list == 1 && word == count))
				break;
			at -= 8;
		}
		if (list == 0 && word)
			return 0;
	}
	return at >= 8 && word == count ? from + at - 8 : 0;
}

static void take_auxv(struct core *core, const struct subject *subject, struct maps *maps,
		      const struct note *note)
{
	const struct mapping *stack;
	uint64_t pair[2], random = 0;

	for (uint32_t at = 0; at + sizeof(pair) <= note->size; at += sizeof(pair)) {
		memcpy(pair, note->bytes + at, sizeof(pair));
		if (pair[0] == AT_RANDOM)
			random = pair[1];
		if (pair[0] == AT_ENTRY)
			core->entry = pair[1];
		if (pair[0] == AT_SYSINFO_EHDR)
			name_mapping(maps, pair[1], "[vdso]");
	}
	stack = maps_at(maps, random);
	if (!stack || *stack->path)
		return;
	name_mapping(maps, random, "[stack]");
	if (stack->to - stack->from > STACK_TOP)
		core->stack_start = find_start(subject, stack->to - STACK_TOP, stack->to, note);
	else
		core->stack_start = find_start(subject, stack->from, stack->to, note);
}

static void take_notes(struct core *core, struct subject *subject)
{
	struct note note, auxv = { 0 };
	struct maps *maps = &subject->maps;
	struct elf_prpsinfo about;

	for (uint64_t at = 0; next_note(core->notes, core->notes_size, &at, &note);) {
		if (note.type == NT_PRSTATUS)
			add_thread(core, &note);
		else if (note.type == NT_FILE)
			take_files(subject, maps, &note);
		else if (note.type == NT_AUXV)
			auxv = note;
		else
			take_thread_note(core, &note);
		if (note.type == NT_PRPSINFO && note.size >= sizeof(about)) {
			memcpy(&about, note.bytes, sizeof(about));
			core->pid = about.pr_pid;
		}
	}
	take_auxv(core, subject, maps, &auxv);

	/*
	 * Name the brk heap: the first anonymous mapping that is above the mappings of
	 * the program. A mapping that directly follows those of the program is its
	 * zeroed data (.bss), not the heap.
	 */
	const struct mapping *program = maps_at(maps, core->entry);
	size_t next;

	if (program && program->inode) {
		next = (size_t)(program - maps->items) + 1;
		while (next < maps->count && maps->items[next].inode == program->inode)
			next++;
		while (next < maps->count && !maps->items[next].inode &&
		       maps->items[next].from == maps->items[next - 1].to)
			next++;
		if (next < maps->count && !*maps->items[next].path &&
		    maps->items[next].flags & MAPPING_WRITE)
			maps->items[next].path = "[heap]";
	}
	/*
	 * gcore marks memory without access rights, such as the guard pages of stacks, as readable
	 */
	for (size_t i = 0; i < maps->count; i++)
		if (!*maps->items[i].path && maps->items[i].flags == MAPPING_READ)
			maps->items[i].flags = 0;
}

int core_open(struct core *core, int fd, struct subject *subject, struct error *err)
{
	struct stat status;
	int rc;

	*core = (struct core){ .fd = fd };
	*subject = (struct subject){ .memory = -1, .read = read_core, .core = core };
	if (fstat(fd, &status) || !S_ISREG(status.st_mode))
		return error_set(err, EBADMSG, "not a core file");
	core->size = (uint64_t)status.st_size;
	rc = read_headers(core, &subject->maps, err);
	if (rc)
		return rc;
	take_notes(core, subject);
	subject->pid = subject->thread = core->pid;
	if (!core->threads.count || !core->segments.count || !core->pid)
		return error_set(err, ENODATA, "a core file without threads or memory");
	return 0;
}

void core_close(struct core *core, struct subject *subject)
{
	subject_end(subject);
	free(core->segments.items);
	free(core->threads.items);
	free(core->notes);
	*core = (struct core){ .fd = -1 };
}

/* ---- build-ids ---- */

static bool get_bytes(const struct subject *subject, int fd, uint64_t base, uint64_t offset,
		      void *bytes, size_t size)
{
	if (fd >= 0)
		return pread(fd, bytes, size, (off_t)offset) == (ssize_t)size;
	return subject_get(subject, base + offset, bytes, size) == 0;
}

uint32_t core_build_id(const struct subject *subject, int fd, uint64_t address,
		       uint8_t id[CORE_BUILD_ID_MAX])
{
	uint8_t notes[4096];
	Elf64_Ehdr header;
	Elf64_Phdr segment;

	if (!get_bytes(subject, fd, address, 0, &header, sizeof(header)) ||
	    memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
	    header.e_phentsize != sizeof(Elf64_Phdr))
		return 0;
	for (uint32_t i = 0; i < header.e_phnum && i < HEADERS_MAX; i++) {
		struct note note;

		if (!get_bytes(subject, fd, address, header.e_phoff + i * sizeof(segment), &segment,
			       sizeof(segment)))
			return 0;
		/* notes are in the first segment, at the same offset in file and memory */
		if (segment.p_type != PT_NOTE || segment.p_filesz > sizeof(notes) ||
		    !get_bytes(subject, fd, address, segment.p_offset, notes, segment.p_filesz))
			continue;
		for (uint64_t at = 0; next_note(notes, segment.p_filesz, &at, &note);)
			if (note.type == NT_GNU_BUILD_ID && note.is_gnu &&
			    note.size <= CORE_BUILD_ID_MAX) {
				memcpy(id, note.bytes, note.size);
				return note.size;
			}
	}
	return 0;
}
