/* SPDX-License-Identifier: MIT */
#include "inject/symbols.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/memory.h"

#define SEGMENTS_MOST 64u
#define ENTRIES_MOST  512u /* limit of entries of a dynamic section */
#define SYMBOLS_MOST  (1u << 20)
#define NAMES_MOST    (64u << 20)

/*
 * A module that is read from its file or from memory. In both cases, addresses are those in the
 * file.
 */
struct image {
	const struct target *target;
	int file; /* descriptor of the file; -1: the module is read from memory */
	uint64_t bias;
	Elf64_Phdr segments[SEGMENTS_MOST];
	size_t segment_count;
};

static int read_bytes(const struct image *image, uint64_t address, void *bytes, size_t size)
{
	if (image->file < 0)
		return subject_get(&image->target->subject, image->bias + address, bytes, size);
	for (size_t i = 0; i < image->segment_count; i++) {
		const Elf64_Phdr *segment = &image->segments[i];
		uint64_t offset = address - segment->p_vaddr;

		if (segment->p_type == PT_LOAD && address >= segment->p_vaddr &&
		    offset <= segment->p_filesz && size <= segment->p_filesz - offset)
			return pread(image->file, bytes, size,
				     (off_t)(segment->p_offset + offset)) == (ssize_t)size
				       ? 0
				       : -EIO;
	}
	return -EFAULT;
}

static int read_segments(struct image *image, const struct mapping *map)
{
	Elf64_Ehdr header;
	size_t size;
	bool found = false;
	int status = subject_get(&image->target->subject, map->from, &header, sizeof(header));

	if (status)
		return status;
	if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
	    header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_phnum > SEGMENTS_MOST ||
	    header.e_phentsize != sizeof(Elf64_Phdr))
		return -ENOEXEC;
	image->segment_count = header.e_phnum;
	size = header.e_phnum * sizeof(Elf64_Phdr);
	status = subject_get(&image->target->subject, map->from + header.e_phoff, image->segments,
			     size);
	for (size_t i = 0; !status && !found && i < image->segment_count; i++) {
		found = image->segments[i].p_type == PT_LOAD;
		image->bias = map->from - (image->segments[i].p_vaddr & ~0xfffull);
	}
	return status ? status : found ? 0 : -ENOEXEC;
}

/* Values of the dynamic section. The addresses are those in the file, without the bias. */
struct dynamic {
	uint64_t symbols, names, names_size, versions, hash, old_hash;
};

static int read_dynamic(const struct image *image, struct dynamic *dynamic)
{
	const struct {
		int64_t tag;
		uint64_t *value;
	} wanted[] = {
		{ DT_SYMTAB, &dynamic->symbols },   { DT_STRTAB, &dynamic->names },
		{ DT_STRSZ, &dynamic->names_size }, { DT_VERSYM, &dynamic->versions },
		{ DT_GNU_HASH, &dynamic->hash },    { DT_HASH, &dynamic->old_hash },
	};
	const Elf64_Phdr *segment = image->segments, *end = segment + image->segment_count;
	Elf64_Dyn entry;

	while (segment < end && segment->p_type != PT_DYNAMIC)
		segment++;
	for (size_t i = 0;
	     segment < end && i < ENTRIES_MOST && i < segment->p_memsz / sizeof(entry); i++) {
		int status = read_bytes(image, segment->p_vaddr + i * sizeof(entry), &entry,
					sizeof(entry));

		if (status)
			return status;
		if (entry.d_tag == DT_NULL)
			break;
		/* in memory, the loader may have added the bias to an address */
		if (image->file < 0 && entry.d_tag != DT_STRSZ && entry.d_un.d_ptr >= image->bias)
			entry.d_un.d_ptr -= image->bias;
		for (size_t k = 0; k < sizeof(wanted) / sizeof(wanted[0]); k++)
			if (wanted[k].tag == entry.d_tag)
				*wanted[k].value = entry.d_un.d_val;
	}
	return dynamic->symbols && dynamic->names && (dynamic->hash || dynamic->old_hash)
		       ? 0
		       : -ENOEXEC;
}

/*
 * Counts the symbols by the GNU hash table: the index of the last symbol in the last chain, plus 1.
 */
static int count_symbols(const struct image *image, uint64_t hash, size_t *count)
{
	cleanup_free uint32_t *firsts = NULL;
	uint32_t head[4], last = 0, link = 0;
	uint64_t buckets, chains;
	int status = read_bytes(image, hash, head, sizeof(head));

	if (status || head[0] > SYMBOLS_MOST || head[2] > SYMBOLS_MOST)
		return status ? status : -ENOEXEC;
	buckets = hash + sizeof(head) + head[2] * 8ull;
	chains = buckets + head[0] * 4ull;
	firsts = memory_alloc(head[0] * sizeof(*firsts));
	if (read_bytes(image, buckets, firsts, head[0] * sizeof(*firsts)))
		return -ENOEXEC;
	for (uint32_t i = 0; i < head[0]; i++)
		last = firsts[i] > last ? firsts[i] : last;
	*count = head[1];
	if (last < head[1])
		return 0;
	for (; !(link & 1) && last < SYMBOLS_MOST; last++)
		if (read_bytes(image, chains + (last - head[1]) * 4ull, &link, sizeof(link)))
			return -ENOEXEC;
	*count = last;
	return 0;
}

static int read_tables(const struct image *image, const struct dynamic *dynamic,
		       struct symbols *symbols)
{
	size_t size = symbols->count * sizeof(*symbols->entries);

	if (dynamic->names_size > NAMES_MOST)
		return -ENOEXEC;
	symbols->names_size = dynamic->names_size;
	symbols->entries = memory_alloc(size);
	symbols->names = memory_zalloc(1, dynamic->names_size + 1);
	symbols->versions = dynamic->versions ? memory_zalloc(symbols->count + 1, 2) : NULL;
	if (read_bytes(image, dynamic->symbols, symbols->entries, size) ||
	    read_bytes(image, dynamic->names, symbols->names, dynamic->names_size) ||
	    (symbols->versions &&
	     read_bytes(image, dynamic->versions, symbols->versions, symbols->count * 2)))
		return -ENOEXEC;
	return 0;
}

int symbols_read(struct symbols *symbols, const struct target *target, const struct mapping *map)
{
	struct image image = { .target = target };
	struct dynamic dynamic = { 0 };
	cleanup_fd int file = mapping_open(map, target->subject.pid);
	uint32_t head[2];
	int status;

	memset(symbols, 0, sizeof(*symbols));
	image.file = file;
	status = read_segments(&image, map);
	if (!status)
		status = read_dynamic(&image, &dynamic);
	if (!status && dynamic.hash)
		status = count_symbols(&image, dynamic.hash, &symbols->count);
	else if (!status)
		/* the older hash table has the number of symbols */
		status = read_bytes(&image, dynamic.old_hash, head, sizeof(head));
	if (!status && !dynamic.hash)
		symbols->count = head[1];
	if (!status && symbols->count > SYMBOLS_MOST)
		status = -ENOEXEC;
	if (!status)
		status = read_tables(&image, &dynamic, symbols);
	symbols->bias = image.bias;
	for (size_t i = 0; i < image.segment_count; i++) {
		const Elf64_Phdr *segment = &image.segments[i];
		uint64_t low = image.bias + segment->p_vaddr, high = low + segment->p_memsz;

		if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X))
			continue;
		symbols->low = symbols->high && symbols->low < low ? symbols->low : low;
		symbols->high = symbols->high > high ? symbols->high : high;
	}
	if (status)
		symbols_free(symbols);
	return status;
}

void symbols_free(struct symbols *symbols)
{
	free(symbols->entries);
	free(symbols->versions);
	free(symbols->names);
	memset(symbols, 0, sizeof(*symbols));
}

const Elf64_Sym *symbols_find(const struct symbols *symbols, const char *name)
{
	for (size_t i = 1; i < symbols->count; i++) {
		const Elf64_Sym *symbol = &symbols->entries[i];

		if (symbol->st_shndx == SHN_UNDEF || symbol->st_name >= symbols->names_size ||
		    (symbols->versions && symbols->versions[i] & 0x8000))
			continue;
		if (strcmp(symbols->names + symbol->st_name, name) == 0)
			return symbol;
	}
	return NULL;
}

uint64_t symbols_address(const struct symbols *symbols, const char *name)
{
	const Elf64_Sym *symbol = symbols_find(symbols, name);

	return symbol ? symbols->bias + symbol->st_value : 0;
}
