/* SPDX-License-Identifier: MIT */
#include "process/program.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

#define DYNAMIC_MAX 256
#define NAMES_MAX   (16u << 20)

unsigned program_headers(int fd, const Elf64_Ehdr *header, Elf64_Phdr *headers)
{
	unsigned count =
		header->e_phnum < PROGRAM_HEADERS_MAX ? header->e_phnum : PROGRAM_HEADERS_MAX;
	ssize_t bytes = (ssize_t)(count * sizeof(Elf64_Phdr));

	if (header->e_phentsize != sizeof(Elf64_Phdr) ||
	    pread(fd, headers, (size_t)bytes, (off_t)header->e_phoff) != bytes)
		return 0;
	return count;
}

/*
 * Reads the dynamic string table, whose strings all end with NUL. The caller frees it. Returns NULL
 * if the file has none.
 */
static char *read_names(int fd, const Elf64_Ehdr *header, size_t *size)
{
	Elf64_Phdr headers[PROGRAM_HEADERS_MAX];
	unsigned count = program_headers(fd, header, headers);
	Elf64_Dyn entries[DYNAMIC_MAX];
	uint64_t address = 0;
	ssize_t got = 0;
	off_t at = -1;
	char *names;

	for (unsigned i = 0; i < count; i++)
		if (headers[i].p_type == PT_DYNAMIC)
			got = pread(fd, entries, sizeof(entries), (off_t)headers[i].p_offset);
	*size = 0;
	for (ssize_t i = 0; i < got / (ssize_t)sizeof(*entries) && entries[i].d_tag; i++) {
		if (entries[i].d_tag == DT_STRTAB)
			address = entries[i].d_un.d_ptr;
		if (entries[i].d_tag == DT_STRSZ)
			*size = entries[i].d_un.d_val;
	}
	for (unsigned i = 0; i < count; i++)
		if (headers[i].p_type == PT_LOAD && address >= headers[i].p_vaddr &&
		    address - headers[i].p_vaddr < headers[i].p_filesz)
			at = (off_t)(headers[i].p_offset + (address - headers[i].p_vaddr));
	names = at < 0 || *size > NAMES_MAX ? NULL : malloc(*size + 1);
	if (names && pread(fd, names, *size, at) != (ssize_t)*size) {
		free(names);
		return NULL;
	}
	if (names)
		names[*size] = 0;
	return names;
}

static bool has_name(const char *names, size_t size, const char *name)
{
	return memmem(names, size + 1, name, strlen(name) + 1);
}

/*
 * If gcc compiles a sanitizer into the program (-static-libasan), the program's names lack the
 * entry point. They do have functions that users may define, and functions that the sanitizer
 * replaces.
 */
const char *program_sanitizer(int fd, const Elf64_Ehdr *header)
{
	static const struct {
		const char *entry, *name;
	} sanitizers[] = { { "__asan_init", "AddressSanitizer" },
			   { "__hwasan_init", "HWAddressSanitizer" },
			   { "__lsan_init", "LeakSanitizer" },
			   { "__msan_init", "MemorySanitizer" },
			   { "__tsan_init", "ThreadSanitizer" } };
	size_t size;
	cleanup_free char *names = read_names(fd, header, &size);

	for (size_t i = 0; names && i < sizeof(sanitizers) / sizeof(sanitizers[0]); i++)
		if (has_name(names, size, sanitizers[i].entry))
			return sanitizers[i].name;
	return names && has_name(names, size, "__sanitizer_symbolize_code") &&
			       has_name(names, size, "pvalloc")
		       ? "a sanitizer"
		       : NULL;
}

bool program_names_sanitizer(const char *text)
{
	static const char *const libraries[] = { "libasan.",	       "libhwasan.",
						 "liblsan.",	       "libtsan.",
						 "libclang_rt.asan",   "libclang_rt.msan",
						 "libclang_rt.hwasan", "libclang_rt.tsan" };

	for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++)
		if (strstr(text, libraries[i]))
			return true;
	return false;
}
