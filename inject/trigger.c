/* SPDX-License-Identifier: MIT */
#include "inject/trigger.h"

#include "inject/arch.h"

#if ARCH_INJECTS

#include <elf.h>
#include <string.h>

#define PAGE 4096u

/* The first page is executable, the second one writable: older loaders write to it. */
struct code_page {
	Elf64_Ehdr header;
	Elf64_Phdr segments[4];
	Elf64_Sym symbols[1];
	uint32_t hash[4];
	char names[16];
	uint8_t code[64] __attribute__((aligned(16)));
};

_Static_assert(sizeof(struct code_page) <= PAGE, "it is one page");
_Static_assert(ARCH_TRIGGER_SIZE <= 64, "its code has room");

static void put_segments(Elf64_Phdr *segment, size_t entries)
{
	segment[0] = (Elf64_Phdr){ .p_type = PT_LOAD,
				   .p_flags = PF_R | PF_X,
				   .p_filesz = PAGE,
				   .p_memsz = PAGE,
				   .p_align = PAGE };
	segment[1] = (Elf64_Phdr){ .p_type = PT_LOAD,
				   .p_flags = PF_R | PF_W,
				   .p_offset = PAGE,
				   .p_vaddr = PAGE,
				   .p_filesz = PAGE,
				   .p_memsz = PAGE,
				   .p_align = PAGE };
	segment[2] = (Elf64_Phdr){ .p_type = PT_DYNAMIC,
				   .p_flags = PF_R | PF_W,
				   .p_offset = PAGE,
				   .p_vaddr = PAGE,
				   .p_filesz = entries * sizeof(Elf64_Dyn),
				   .p_memsz = entries * sizeof(Elf64_Dyn),
				   .p_align = 8 };
	/* without it the loader would make all stacks executable */
	segment[3] = (Elf64_Phdr){ .p_type = PT_GNU_STACK, .p_flags = PF_R | PF_W };
}

void trigger_make(uint8_t image[TRIGGER_SIZE], uint64_t function, uint64_t argument)
{
	const Elf64_Dyn dynamic[] = {
		{ DT_INIT, { offsetof(struct code_page, code) } },
		{ DT_HASH, { offsetof(struct code_page, hash) } },
		{ DT_STRTAB, { offsetof(struct code_page, names) } },
		{ DT_SYMTAB, { offsetof(struct code_page, symbols) } },
		{ DT_STRSZ, { sizeof(((struct code_page *)0)->names) } },
		{ DT_SYMENT, { sizeof(Elf64_Sym) } },
		{ DT_NULL, { 0 } },
	};
	struct code_page page = {
		.header = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
					 ELFDATA2LSB, EV_CURRENT },
			    .e_type = ET_DYN,
			    .e_machine = ARCH_MACHINE,
			    .e_version = EV_CURRENT,
			    .e_phoff = offsetof(struct code_page, segments),
			    .e_ehsize = sizeof(Elf64_Ehdr),
			    .e_phentsize = sizeof(Elf64_Phdr),
			    .e_phnum = 4 },
		.hash = { 1, 1, 0, 0 }, /* one bucket, one symbol: the empty one */
	};

	put_segments(page.segments, sizeof(dynamic) / sizeof(dynamic[0]));
	arch_write_trigger(page.code, function, argument);
	memset(image, 0, TRIGGER_SIZE);
	memcpy(image, &page, sizeof(page));
	memcpy(image + PAGE, dynamic, sizeof(dynamic));
}

#endif
