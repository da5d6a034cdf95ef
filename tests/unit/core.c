/* SPDX-License-Identifier: MIT */
/* Reads a small core file, which is whole, truncated, or has one wrong byte. */
#include "process/core.h"
#include "tests/lib/tap.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/procfs.h>
#include <unistd.h>

#include "machine.h"

#define PAGE   4096u
#define PAGES  5u
#define MODULE 0x400000ull
#define DATA   0x401000ull
#define CODE   0x410000ull /* code, then constants: not in the core file */
#define STACK  0x7ffd0000f000ull

static uint8_t bytes[PAGES * PAGE];
static int file;

#if REGISTERS_COUNT > 0

/* ---- making ---- */

static uint8_t *put_note(uint8_t *at, uint32_t type, const void *data, uint32_t size)
{
	Elf64_Nhdr header = { .n_namesz = 5, .n_descsz = size, .n_type = type };

	memcpy(at, &header, sizeof(header));
	memcpy(at + sizeof(header), "CORE", 5);
	memcpy(at + sizeof(header) + 8, data, size);
	return at + sizeof(header) + 8 + ((size + 3) & ~3u);
}

static void put_segment(Elf64_Phdr *header, uint64_t address, uint64_t page, uint64_t size,
			uint32_t flags)
{
	*header = (Elf64_Phdr){ .p_type = PT_LOAD,
				.p_flags = flags,
				.p_offset = page * PAGE,
				.p_vaddr = address,
				.p_filesz = PAGE,
				.p_memsz = size };
}

static uint8_t *put_thread(uint8_t *at, int tid, int signal)
{
	struct elf_prstatus status = { .pr_pid = tid, .pr_cursig = (short)signal };
	registers_native registers = { 0 };

#if defined(__x86_64__)
	registers.rsp = STACK + 64;
#else
	registers.sp = STACK + 64;
#endif
	memcpy(&status.pr_reg, &registers, sizeof(registers));
	return put_note(at, NT_PRSTATUS, &status, sizeof(status));
}

static void make_module(uint8_t *at)
{
	Elf64_Ehdr header = { .e_ident = ELFMAG,
			      .e_phentsize = sizeof(Elf64_Phdr),
			      .e_phnum = 3,
			      .e_phoff = sizeof(header) };
	Elf64_Phdr segments[3] = { { .p_type = PT_NOTE, .p_offset = 512, .p_filesz = 32 } };
	Elf64_Nhdr note = { .n_namesz = 4, .n_descsz = 4, .n_type = NT_GNU_BUILD_ID };

	memcpy(at, &header, sizeof(header));
	put_segment(&segments[1], CODE, 1, PAGE, PF_R | PF_X);
	put_segment(&segments[2], CODE + PAGE, 2, PAGE, PF_R);
	memcpy(at + sizeof(header), segments, sizeof(segments));
	memcpy(at + 512, &note, sizeof(note));
	memcpy(at + 512 + sizeof(note), "GNU\0\x12\x34\x56\x78", 8);
}

static void make_core(void)
{
	Elf64_Ehdr header = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64 },
			      .e_type = ET_CORE,
			      .e_machine = MACHINE_OWN,
			      .e_phoff = sizeof(header),
			      .e_phentsize = sizeof(Elf64_Phdr),
			      .e_phnum = 4 };
	const uint64_t auxv[] = { AT_RANDOM, STACK + 256, AT_ENTRY, MODULE + 16, AT_NULL, 0 };
	/* argc, one argument, and two environment strings */
	const uint64_t start[] = { 1, STACK + 300, 0, STACK + 310, STACK + 320, 0 };
	struct {
		uint64_t head[2], entries[3][3];
		char paths[3][13];
	} files = { { 3, PAGE },
		    { { MODULE, MODULE + PAGE, 0 },
		      { CODE, CODE + PAGE, 1 },
		      { CODE + PAGE, CODE + 2ull * PAGE, 2 } },
		    { "/none/module", "/none/module", "/none/module" } };
	struct elf_prpsinfo about = { .pr_pid = 77 };
	Elf64_Phdr segments[4] = { { .p_type = PT_NOTE, .p_offset = PAGE } };
	uint8_t *at = bytes + PAGE;

	at = put_thread(at, 77, 11);
	at = put_note(at, NT_PRPSINFO, &about, sizeof(about));
	at = put_note(at, NT_AUXV, auxv, sizeof(auxv));
	at = put_note(at, NT_FILE, &files, sizeof(files));
	at = put_thread(at, 78, 0);
	segments[0].p_filesz = (uint64_t)(at - bytes) - PAGE;
	put_segment(&segments[1], MODULE, 2, PAGE, PF_R | PF_X);
	put_segment(&segments[2], DATA, 3, 2ull * PAGE, PF_R | PF_W);
	put_segment(&segments[3], STACK, 4, PAGE, PF_R | PF_W);
	memcpy(bytes, &header, sizeof(header));
	memcpy(bytes + sizeof(header), segments, sizeof(segments));
	make_module(bytes + 2ul * PAGE);
	memset(bytes + 3ul * PAGE, 7, PAGE);
	memcpy(bytes + 4ul * PAGE + 128, start, sizeof(start));
	memcpy(bytes + 4ul * PAGE + 128 + sizeof(start), auxv, sizeof(auxv));
}

static void write_core(size_t size)
{
	if (ftruncate(file, 0) || pwrite(file, bytes, size, 0) != (ssize_t)size)
		exit(99);
}

/* ---- reading ---- */

/* Reads all memory. *got: number of bytes. Returns the result of core_open(). */
static int read_all(size_t *got)
{
	struct error err = { 0 };
	struct subject subject;
	struct core core;
	int rc = core_open(&core, file, &subject, &err);

	*got = 0;
	for (size_t i = 0; rc == 0 && i < subject.maps.count; i++) {
		const struct mapping *mapping = &subject.maps.items[i];
		uint64_t size = mapping->to - mapping->from;
		uint8_t page[3 * PAGE], id[CORE_BUILD_ID_MAX];

		*got += subject_read(&subject, mapping->from, page,
				     size < sizeof(page) ? size : sizeof(page));
		core_build_id(&subject, -1, mapping->from, id);
	}
	core_close(&core, &subject);
	return rc;
}

static void read_whole(void)
{
	uint8_t id[CORE_BUILD_ID_MAX] = { 0 }, page[2 * PAGE];
	struct error err = { 0 };
	struct subject subject;
	struct core core;

	write_core(sizeof(bytes));
	ok(core_open(&core, file, &subject, &err) == 0, "a core file is read");
	ok(core.pid == 77 && core.signal == 11 && core.threads.count == 2 &&
		   core.threads.items[1].tid == 78 && core.threads.items[1].sp == STACK + 64,
	   "it has the process, its signal and its threads");
	ok(subject.maps.count == 5 && !strcmp(subject.maps.items[0].path, "/none/module") &&
		   !strcmp(subject.maps.items[4].path, "[stack]"),
	   "its mappings have the names of their files, and the stack its own");
	ok(maps_at(&subject.maps, CODE)->flags == (MAPPING_READ | MAPPING_EXECUTE) &&
		   maps_at(&subject.maps, CODE + PAGE)->flags == MAPPING_READ,
	   "of the parts of a module that the file leaves out, the code alone can be executed");
	ok(core.stack_start == STACK + 128, "the arguments are found on the stack");
	ok(core_build_id(&subject, -1, MODULE, id) == 4 && id[3] == 0x78,
	   "the build-id of a module is read from its memory");
	ok(subject_read(&subject, DATA, page, sizeof(page)) == PAGE && page[9] == 7,
	   "memory is read up to a page that the file leaves out");
	ok(subject_get(&subject, DATA + PAGE, page, 8) && subject_get(&subject, 16, page, 8),
	   "pages that are left out, and addresses without memory, are not read");
	core_close(&core, &subject);
}

static void cut(void)
{
	size_t got, most = 0, before = 0;
	bool falls = true;

	for (size_t size = 0; size <= sizeof(bytes); size += 37) {
		write_core(size);
		read_all(&got);
		falls &= got >= before && got <= size;
		before = got;
		most = got > most ? got : most;
	}
	ok(falls && most, "a core file that is cut has less memory the earlier it is cut");
}

static void flip(void)
{
	static const uint8_t masks[] = { 0x01, 0x80, 0xff };
	size_t got, refused = 0, most = 0;

	for (size_t i = 0; i < 3ul * PAGE; i++)
		for (size_t k = 0; bytes[i] && k < sizeof(masks); k++) {
			bytes[i] ^= masks[k];
			write_core(sizeof(bytes));
			refused += read_all(&got) != 0;
			most = got > most ? got : most;
			bytes[i] ^= masks[k];
		}
	ok(refused && most <= sizeof(bytes),
	   "no flipped byte makes it have more memory than bytes");
}

int main(void)
{
	file = memfd_create("core", 0);
	make_core();
	read_whole();
	cut();
	flip();
	return tap_end();
}

#else

int main(void)
{
	(void)bytes, (void)file;
	puts("1..0 # SKIP no registers of this processor are known");
	return 0;
}

#endif
