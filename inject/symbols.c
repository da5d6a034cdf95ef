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

/* The bytes of a module by the addresses in its file: read from the file or from memory. */
struct image {
	const struct target *target;
	int file; /* -1: read memory */
	uint64_t bias;
	Elf64_Phdr segments[SEGMENTS_MOST];
	size_t segment_count;
};

static int read_file(const struct image *image, uint64_t address, void *bytes, size_t size)
{
	for (size_t i = 0; i < image->segment_count; i++) {
		const Elf64_Phdr *segment = &image->segments[i];

		if (segment->p_type != PT_LOAD || address < segment->p_vaddr ||
		    address - segment->p_vaddr > segment->p_filesz ||
		    size > segment->p_filesz - (address - segment->p_vaddr))
			continue;
		return pread(image->file, bytes, size,
			     (off_t)(segment->p_offset + (address - segment->p_vaddr))) ==
				       (ssize_t)size
			       ? 0
			       : -EIO;
	}
	return -EFAULT;
}

static int read_bytes(const struct image *image, uint64_t address, void *bytes, size_t size)
{
	if (image->file >= 0)
		return read_file(image, address, bytes, size);
	return subject_get(&image->target->subject, image->bias + address, bytes, size);
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

/* Values of the dynamic section, as addresses of the file. */
struct dynamic {
	uint64_t symbols, names, names_size, versions, hash, old_hash;
};

static void take_entry(struct dynamic *dynamic, const Elf64_Dyn *entry)
{
	switch (entry->d_tag) {
	case DT_SYMTAB:
		dynamic->symbols = entry->d_un.d_ptr;
		break;
	case DT_STRTAB:
		dynamic->names = entry->d_un.d_ptr;
		break;
	case DT_STRSZ:
		dynamic->names_size = entry->d_un.d_val;
		break;
	case DT_VERSYM:
		dynamic->versions = entry->d_un.d_ptr;
		break;
	case DT_GNU_HASH:
		dynamic->hash = entry->d_un.d_ptr;
		break;
	case DT_HASH:
		dynamic->old_hash = entry->d_un.d_ptr;
		break;
	default:
		break;
	}
}

/* Converts values that the loader has changed to addresses in memory. */
static void settle_dynamic(const struct image *image, struct dynamic *dynamic)
{
	uint64_t *all[] = { &dynamic->symbols, &dynamic->names, &dynamic->versions, &dynamic->hash,
			    &dynamic->old_hash };

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (image->file < 0 && *all[i] >= image->bias)
			*all[i] -= image->bias;
}

static int read_dynamic(const struct image *image, struct dynamic *dynamic)
{
	for (size_t i = 0; i < image->segment_count; i++) {
		const Elf64_Phdr *segment = &image->segments[i];
		Elf64_Dyn entry;

		if (segment->p_type != PT_DYNAMIC)
			continue;
		for (size_t k = 0; k < ENTRIES_MOST && k < segment->p_memsz / sizeof(entry); k++) {
			int status = read_bytes(image, segment->p_vaddr + k * sizeof(entry), &entry,
						sizeof(entry));

			if (status)
				return status;
			if (entry.d_tag == DT_NULL)
				break;
			take_entry(dynamic, &entry);
		}
		settle_dynamic(image, dynamic);
		return dynamic->symbols && dynamic->names && (dynamic->hash || dynamic->old_hash)
			       ? 0
			       : -ENOEXEC;
	}
	return -ENOEXEC;
}

/* The highest symbol that starts a chain. */
static int find_last(const struct image *image, uint64_t buckets, uint32_t count, uint32_t *last)
{
	cleanup_free uint32_t *firsts = memory_alloc(count * sizeof(*firsts));

	*last = 0;
	if (read_bytes(image, buckets, firsts, count * sizeof(*firsts)))
		return -ENOEXEC;
	for (uint32_t i = 0; i < count; i++)
		*last = firsts[i] > *last ? firsts[i] : *last;
	return 0;
}

/* Counts symbols by the GNU hash table: the last one of the last chain, plus one. */
static int count_symbols(const struct image *image, uint64_t hash, size_t *count)
{
	uint32_t head[4], last, link = 0;
	uint64_t buckets, chains;
	int status = read_bytes(image, hash, head, sizeof(head));

	if (status || head[0] > SYMBOLS_MOST || head[2] > SYMBOLS_MOST)
		return status ? status : -ENOEXEC;
	buckets = hash + sizeof(head) + head[2] * 8ull;
	chains = buckets + head[0] * 4ull;
	status = find_last(image, buckets, head[0], &last);
	*count = head[1];
	if (status || last < head[1])
		return status;
	for (; !(link & 1) && last < SYMBOLS_MOST; last++)
		if (read_bytes(image, chains + (last - head[1]) * 4ull, &link, sizeof(link)))
			return -ENOEXEC;
	*count = last;
	return 0;
}

/* Counts symbols by the older hash table, which has their number. */
static int count_old(const struct image *image, uint64_t hash, size_t *count)
{
	uint32_t head[2];
	int status = read_bytes(image, hash, head, sizeof(head));

	*count = status ? 0 : head[1];
	return status ? status : head[1] > SYMBOLS_MOST ? -ENOEXEC : 0;
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

static void find_code(const struct image *image, struct symbols *symbols)
{
	for (size_t i = 0; i < image->segment_count; i++) {
		const Elf64_Phdr *segment = &image->segments[i];
		uint64_t low = image->bias + segment->p_vaddr, high = low + segment->p_memsz;

		if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X))
			continue;
		symbols->low = symbols->high && symbols->low < low ? symbols->low : low;
		symbols->high = symbols->high > high ? symbols->high : high;
	}
}

int symbols_read(struct symbols *symbols, const struct target *target, const struct mapping *map)
{
	struct image image = { .target = target };
	struct dynamic dynamic = { 0 };
	cleanup_fd int file = mapping_open(map, target->subject.pid);
	int status;

	memset(symbols, 0, sizeof(*symbols));
	image.file = file;
	status = read_segments(&image, map);
	if (!status)
		status = read_dynamic(&image, &dynamic);
	if (!status)
		status = dynamic.hash ? count_symbols(&image, dynamic.hash, &symbols->count)
				      : count_old(&image, dynamic.old_hash, &symbols->count);
	if (!status)
		status = read_tables(&image, &dynamic, symbols);
	symbols->bias = image.bias;
	find_code(&image, symbols);
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
