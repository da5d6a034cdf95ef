/* SPDX-License-Identifier: MIT */
/*
 * Tests of backtraces (preload/walk/cfi.c, dwarf_*.c, maps.c, capture_*.c): unwind tables made by
 * hand and those of this program, walks that must stop, and invalid tables.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "preload/walk/cfi.h"

#include <alloca.h>
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "preload/walk/capture.h"
#include "preload/walk/dwarf.h"
#include "preload/walk/maps.h"
#include "preload/ground/sys.h"

#define NOINLINE __attribute__((noinline))

static int number;
static int failed;

static void check(bool is_good, const char *sentence)
{
	printf("%sok %d - %s\n", is_good ? "" : "not ", ++number, sentence);
	failed += !is_good;
}

/* An unwind table: a header, a CIE, and an FDE for the code from CODE to CODE + SIZE. */

#define CODE 0x1000u /* distance of the code from the header */
#define SIZE 0x100u

struct hash_table {
	uint8_t bytes[512] __attribute__((aligned(16)));
	size_t size;
};

static void put(struct hash_table *table, const void *data, size_t size)
{
	memcpy(table->bytes + table->size, data, size);
	table->size += size;
}

static void put4(struct hash_table *table, uint32_t value)
{
	put(table, &value, 4);
}

/* Writes an entry with these instructions, padded with nops to a multiple of four bytes. */
static void put_entry(struct hash_table *table, const void *start, size_t start_size,
		      const void *code, size_t code_size)
{
	size_t size = (start_size + code_size + 3) & ~(size_t)3;

	put4(table, (uint32_t)size);
	put(table, start, start_size);
	put(table, code, code_size);
	memset(table->bytes + table->size, 0, size - start_size - code_size);
	table->size += size - start_size - code_size;
}

static void build(struct hash_table *table, const void *code, size_t code_size)
{
	/*
	 * version, augmentation zR, code factor 1, data factor -8, return column, pc-relative
	 * sdata4; CFA = sp + 8, the return address at CFA - 8
	 */
	static const uint8_t cie[] = { 0,
				       0,
				       0,
				       0,
				       1,
				       'z',
				       'R',
				       0,
				       1,
				       0x78,
				       DWARF_RA,
				       1,
				       0x1b,
				       0x0c,
				       DWARF_SP,
				       8,
				       0x80 | DWARF_RA,
				       1 };
	static const uint8_t header[] = { 1, 0x1b, 0x03, 0x3b };
	uint8_t fde[13] = { 0 };
	size_t entry;
	uint32_t value;

	table->size = 0;
	put(table, header, sizeof(header));
	put4(table, 16); /* offset of .eh_frame from here */
	put4(table, 1);
	put4(table, CODE);
	put4(table, 0); /* offset of the FDE, set below */
	put_entry(table, cie, sizeof(cie), "", 0);
	entry = table->size;
	memcpy(table->bytes + 16, &(uint32_t){ (uint32_t)entry }, 4);
	value = (uint32_t)entry + 4 - 20;
	memcpy(fde, &value, 4);
	value = CODE - (uint32_t)entry - 8;
	memcpy(fde + 4, &value, 4);
	value = SIZE;
	memcpy(fde + 8, &value, 4);
	put_entry(table, fde, sizeof(fde), code, code_size);
}

static bool find(const struct hash_table *table, uintptr_t offset, struct dwarf_row *row)
{
	struct dwarf_tables tables = { .low = table->bytes,
				       .high = table->bytes + table->size,
				       .header = table->bytes };

	return dwarf_find(&tables, (uintptr_t)table->bytes + CODE + offset, row);
}

/* Rules for this code of x86-64: push %rbp; mov %rsp,%rbp; ...; pop %rbp; ret; ... */
static const uint8_t plain_code[] = {
	0x41, 0x0e,	16,	  0x80 | DWARF_FP, 2, /* from 1: CFA = sp + 16, fp at CFA - 16 */
	0x43, 0x0d,	DWARF_FP,		      /* from 4: CFA = fp + 16 */
	0x02, 0x40,	0x0a,			      /* from 0x44: remember the state */
	0x0c, DWARF_SP, 8,	  0xc0 | DWARF_FP,    /* CFA = sp + 8, fp as in the CIE */
	0x41, 0x0b				      /* from 0x45: restore the state */
};

static void test_rows(void)
{
	struct hash_table table;
	struct dwarf_row row = { 0 };

	build(&table, plain_code, sizeof(plain_code));
	check(!find(&table, (uintptr_t)-1, &row) && !find(&table, SIZE, &row),
	      "an address before or after the function has no row");
	check(find(&table, 0, &row) && row.cfa_register == DWARF_SP && row.cfa_where == 8 &&
		      row.how[DWARF_RA] == DWARF_AT_CFA && row.where[DWARF_RA] == -8 &&
		      row.how[DWARF_FP] == DWARF_SAME,
	      "the first row is the CIE's");
	check(find(&table, 1, &row) && row.cfa_register == DWARF_SP && row.cfa_where == 16 &&
		      row.how[DWARF_FP] == DWARF_AT_CFA && row.where[DWARF_FP] == -16,
	      "after the push the frame pointer is saved");
	check(find(&table, 4, &row) && row.cfa_register == DWARF_FP && row.cfa_where == 16 &&
		      find(&table, 0x43, &row) && row.cfa_register == DWARF_FP,
	      "the next row holds until the next advance");
	check(find(&table, 0x44, &row) && row.cfa_register == DWARF_SP && row.cfa_where == 8 &&
		      row.how[DWARF_FP] == DWARF_SAME,
	      "restore sets the CIE's rule");
	check(find(&table, 0x45, &row) && row.cfa_register == DWARF_FP &&
		      row.how[DWARF_FP] == DWARF_AT_CFA,
	      "a remembered state is restored, with its CFA");
}

static void test_refusals(void)
{
	static const uint8_t unknown[] = { 0x3f };
	static const uint8_t forgotten[] = { 0x0b };
	static const uint8_t far[] = { 0x05, DWARF_FP, 0xff, 0xff, 0xff,
				       0xff, 0xff,     0xff, 0xff, 0x7f };
	static const uint8_t vector[] = { 0x05, 40, 2, 0x0e, 24 };
	static const uint8_t cut[] = { 0x0f, 0x7f, 0x77, 0x08 };
	static const uint8_t many[] = { 0x0a, 0x0a, 0x0a, 0x0a, 0x0a };
	struct hash_table table;
	struct dwarf_row row;

	build(&table, unknown, sizeof(unknown));
	check(!find(&table, 0, &row), "an unknown instruction gives no row");
	build(&table, forgotten, sizeof(forgotten));
	check(!find(&table, 0, &row), "a restore without a remembered state gives no row");
	build(&table, far, sizeof(far));
	check(!find(&table, 0, &row), "an offset that does not fit gives no row");
	build(&table, vector, sizeof(vector));
	check(find(&table, 0, &row) && row.cfa_where == 24,
	      "a rule for a register that no frame needs is skipped");
	build(&table, cut, sizeof(cut));
	check(!find(&table, 0, &row), "an expression longer than its entry gives no row");
	build(&table, many, sizeof(many));
	check(!find(&table, 0, &row), "too many remembered states give no row");
}

/* Reads damaged tables, each of which ends just before a page that cannot be read. */
static void test_lies(void)
{
	char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct dwarf_memory memory = { 0 };
	struct hash_table table;
	struct dwarf_row row;
	unsigned int seed = 1, found = 0;

	(void)memory;
	mprotect(pages + 4096, 4096, PROT_NONE);
	build(&table, plain_code, sizeof(plain_code));
	for (unsigned int round = 0; round < 200000; round++) {
		size_t size = round < table.size ? round : table.size;
		uint8_t *copy = (uint8_t *)pages + 4096 - (size + 3) / 4 * 4;
		struct dwarf_tables tables = { .low = copy, .high = copy + size, .header = copy };

		memcpy(copy, table.bytes, size);
		for (int i = 0; round >= table.size && i < 3; i++) {
			seed = seed * 1103515245 + 12345;
			copy[(seed >> 8) % size] = (uint8_t)(seed >> 24);
		}
		found += dwarf_find(&tables, (uintptr_t)copy + CODE + 0x45, &row);
	}
	munmap(pages, 8192);
	check(found > 1000 && found < 199000,
	      "truncated and invalid tables are read without a crash");
}

/* Walks by the unwind tables of this program. */

static struct origin here;
static uintptr_t frames[CAPTURE_DEPTH_MAX];
static unsigned int count;
static enum capture_end end;
static struct stack_bounds bounds;

static NOINLINE void capture(unsigned int depth)
{
	const struct origin origin = CAPTURE_ORIGIN();

	here = origin;
	count = capture_walk(&origin, &bounds, frames, depth, &end);
}

static NOINLINE void recurse(int times, unsigned int depth)
{
	if (times > 0)
		recurse(times - 1, depth);
	else
		capture(depth);
	__asm__ volatile("");
}

static NOINLINE void realign(unsigned int depth)
{
	volatile char room[64] __attribute__((aligned(128)));
	char *more = alloca(depth);

	room[0] = 1;
	more[0] = room[0];
	capture(depth);
	__asm__ volatile("" : : "r"(more), "r"(room) : "memory");
}

static bool ends_at_start(void)
{
	struct cfi_rule rule;

	cfi_compile(frames[count - 1], &rule);
	return count > 3 && end == CAPTURE_COMPLETE && rule.form == CFI_END;
}

static void test_walks(void)
{
	const struct stack_bounds whole = bounds;
	const struct stack_bounds unknown = { 0, 0 };
	uintptr_t known[CAPTURE_DEPTH_MAX];
	unsigned int known_count;

	recurse(10, CAPTURE_DEPTH_MAX);
	check(ends_at_start() && frames[0] == here.ip && frames[2] == frames[9],
	      "a walk through recursive calls ends at the program's start");
	known_count = count;
	memcpy(known, frames, sizeof(known));
	recurse(10, 5);
	check(count == 5 && end == CAPTURE_DEPTH && memcmp(frames, known, 5 * sizeof(*frames)) == 0,
	      "a walk limited to five frames reports that there are more");
	recurse(10, 1);
	check(count == 1 && end == CAPTURE_DEPTH && frames[0] == here.ip,
	      "a walk limited to one frame gives the caller");
	bounds = unknown;
	recurse(10, CAPTURE_DEPTH_MAX);
	check(count == known_count && end == CAPTURE_COMPLETE,
	      "on an unknown stack a walk gives the same number of frames");
	bounds = whole;
	bounds.high = here.cfa + 64;
	recurse(10, CAPTURE_DEPTH_MAX);
	check(count < known_count && end == CAPTURE_LEFT_STACK,
	      "a walk does not read above the stack's end");
	bounds = whole;
	realign(CAPTURE_DEPTH_MAX);
	check(ends_at_start(), "a walk continues through a realigned frame");
}

/* Walks a stack that is full of return addresses into recurse(), each leading to the next. */
static void test_wrong_stacks(void)
{
	char *pages =
		mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uintptr_t *words = (uintptr_t *)(void *)(pages + 4096);
	const struct stack_bounds none = { 0, 0 };
	struct origin origin;

	recurse(3, CAPTURE_DEPTH_MAX);
	mprotect(pages + 2 * 4096, 4096, PROT_NONE);
	for (int i = 0; i < 512; i++)
		words[i] = frames[1];
	origin = (struct origin){ frames[1], (uintptr_t)words, (uintptr_t)words };
	count = capture_walk(&origin, &none, frames, CAPTURE_DEPTH_MAX, &end);
	check(end == CAPTURE_LEFT_STACK || end == CAPTURE_NOT_RISING || end == CAPTURE_DEPTH,
	      "an unknown stack is read up to the first unreadable page");
	origin.cfa = 4096; /* the start of a page that is not mapped */
	count = capture_walk(&origin, &none, frames, CAPTURE_DEPTH_MAX, &end);
	check(count == 1 && end == CAPTURE_LEFT_STACK, "an unmapped stack pointer is not followed");
	origin = (struct origin){ (uintptr_t)pages + 100, (uintptr_t)words, 0 };
	count = capture_walk(&origin, &none, frames, CAPTURE_DEPTH_MAX, &end);
	check(count == 1 && end == CAPTURE_NO_RULE, "code outside of all modules ends a walk");
	origin = (struct origin){ 0, (uintptr_t)words, 0 };
	count = capture_walk(&origin, &none, frames, CAPTURE_DEPTH_MAX, &end);
	check(count == 1 && end == CAPTURE_NO_RULE, "so does address 0");
	munmap(pages, 3 * 4096);
}

/* Walks stacks with random contents, by the unwind tables of this program. */
static void test_random_stacks(void)
{
	static uintptr_t room[4096];
	const struct stack_bounds fake = { (uintptr_t)room, (uintptr_t)(room + 4096) };
	uintptr_t *const from = room + 4032;
	unsigned int ends[CAPTURE_NOT_RISING + 1] = { 0 };
	unsigned int seed = 1;
	uintptr_t ips[4];

	recurse(3, CAPTURE_DEPTH_MAX);
	for (int i = 0; i < 4; i++)
		ips[i] = frames[i];
	for (int round = 0; round < 20000; round++) {
		struct origin origin = { ips[round & 1], (uintptr_t)from, (uintptr_t)(from + 2) };

		for (int i = 0; i < 64; i++) {
			seed = seed * 1103515245 + 12345;
			from[i] = (seed >> 16 & 63) < 52   ? ips[seed >> 28 & 3]
				  : (seed >> 16 & 63) < 63 ? (uintptr_t)(from + i + (seed >> 26))
							   : seed;
		}
		count = capture_walk(&origin, &fake, frames, CAPTURE_DEPTH_MAX, &end);
		ends[end]++;
	}
	printf("# ends: %u %u %u %u %u\n", ends[0], ends[1], ends[2], ends[3], ends[4]);
	check(ends[CAPTURE_LEFT_STACK] > 0 && ends[CAPTURE_NO_RULE] > 0,
	      "20000 stacks full of wrong addresses are walked without a crash");
}

#if ARCH_CHAINS

/*
 * Code without unwind tables: chained(), which has a frame pointer and calls its argument; then
 * unchained(), which does the same, but has its second argument in the frame pointer register.
 */
static const uint8_t code[] = { 0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3,
				0x55, 0x48, 0x89, 0xf5, 0xff, 0xd7, 0x5d, 0xc3 };
static void (*chained)(void (*callee)(void));
static void (*unchained)(void (*callee)(void), uintptr_t fp);
static uintptr_t after_chained, after_unchained; /* return addresses of their calls */

static NOINLINE void capture_all(void)
{
	capture(CAPTURE_DEPTH_MAX);
}

static NOINLINE void capture_in_chain(void)
{
	chained(capture_all);
	__asm__ volatile("");
}

static NOINLINE void capture_on_stack(uintptr_t *words, uintptr_t fp)
{
	unchained(capture_all, fp);
	__asm__ volatile("" : : "r"(words) : "memory");
}

static struct capture_memory memory;
static int differences, captures, ends_of_walks[CAPTURE_NOT_RISING + 1];

/* Takes the backtrace by both implementations of the walk, and compares the results. */
static NOINLINE void capture_twice(void)
{
	const struct origin origin = CAPTURE_ORIGIN();
	enum capture_end again;

	count = capture_walk(&origin, &bounds, frames, 40, &end);
	capture_again(&memory, &origin, &bounds, 40, &again);
	differences += again != end || memory.count < count;
	for (unsigned int i = 0; i < count && i < memory.count; i++)
		differences += memory.frames[memory.count - 1 - i].ip != frames[i];
	captures++;
	ends_of_walks[end]++;
}

static unsigned int random_seed = 7;

static unsigned int random_below(unsigned int limit)
{
	random_seed = random_seed * 1103515245 + 12345;
	return (random_seed >> 16) % limit;
}

/* Calls itself through chained(), and through unchained() with any value as frame pointer. */
static NOINLINE void wander(void)
{
	static int depth;
	uintptr_t words[16];

	for (int i = 0; i < 16; i++)
		words[i] = random_below(3) == 0	  ? after_chained
			   : random_below(3) == 0 ? (uintptr_t)(words + random_below(24))
						  : random_below(1000) * 0x1000003u;
	depth++;
	for (unsigned int i = 1 + random_below(3); depth < 12 && i > 0; i--) {
		unsigned int way = random_below(8);

		if (way < 4)
			chained(wander);
		else if (way < 5)
			unchained(wander, (uintptr_t)(words + random_below(20)) + way % 3);
		else if (way < 6)
			unchained(wander, random_seed * 0x10001u);
		capture_twice();
		chained(capture_twice);
		unchained(capture_twice, (uintptr_t)(words + random_below(4)));
	}
	depth--;
	__asm__ volatile("" : : "r"(words) : "memory");
}

/* Whether the walk rejects the frame pointer `fp` and ends in unchained(). */
static bool ends_there(uintptr_t *words, uintptr_t fp)
{
	capture_on_stack(words, fp);
	return end == CAPTURE_NO_RULE && frames[count - 1] == after_unchained;
}

static void test_chains(void)
{
	uint8_t *page =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uintptr_t words[64];
	bool is_good = true, is_passed = false;

	memcpy(page + 64, code, sizeof(code));
	mprotect(page, 4096, PROT_READ | PROT_EXEC);
	chained = (void (*)(void (*)(void)))(uintptr_t)(page + 64);
	unchained = (void (*)(void (*)(void), uintptr_t))(uintptr_t)(page + 72);
	after_chained = (uintptr_t)page + 70;
	after_unchained = (uintptr_t)page + 78;

	capture_in_chain();
	for (unsigned int i = 0; i < count; i++)
		is_passed |= frames[i] == after_chained;
	check(is_passed && ends_at_start(),
	      "a walk through code without unwind tables follows its frame pointers");
	for (int i = 0; i < 64; i++)
		words[i] = (uintptr_t)(words + i);
	for (uintptr_t fp = 0; fp < 64; fp++)
		is_good &= ends_there(words, fp) && ends_there(words, ~fp) &&
			   ends_there(words, fp << 40 | 8) &&
			   ends_there(words, (uintptr_t)page + fp) &&
			   ends_there(words, (uintptr_t)words + fp);
	check(is_good, "a register that is no frame pointer ends the walk");
	words[0] = (uintptr_t)(words + 32);
	/* not a return address, but an address inside of the next instruction */
	words[1] = after_chained + 1;
	is_good = ends_there(words, (uintptr_t)words);
	for (int i = 0; i < 64; i++) {
		words[1] = (uintptr_t)i << 42 | 0x1234567;
		is_good &= ends_there(words, (uintptr_t)words);
	}
	check(is_good, "a frame pointer without a return address ends the walk");
	words[1] = after_chained;
	words[33] = after_chained;
	words[32] = 0;
	capture_on_stack(words, (uintptr_t)words);
	check(end == CAPTURE_NO_RULE && count >= 3 && frames[count - 1] == after_chained &&
		      frames[count - 2] == after_chained && frames[count - 3] == after_unchained,
	      "a chain is followed as long as it rises");
	words[32] = (uintptr_t)words;
	capture_on_stack(words, (uintptr_t)words);
	check(end == CAPTURE_NO_RULE, "a chain that falls ends the walk");
	while (captures < 20000)
		wander();
	printf("# ends: %d %d %d %d %d\n", ends_of_walks[0], ends_of_walks[1], ends_of_walks[2],
	       ends_of_walks[3], ends_of_walks[4]);
	check(differences == 0 && ends_of_walks[CAPTURE_COMPLETE] && ends_of_walks[CAPTURE_NO_RULE],
	      "walks that reuse frames agree with others in code without unwind tables");
	munmap(page, 4096);
}

#endif

static void test_table(void)
{
	struct cfi_rule scratch, *rule, *again;

	recurse(3, CAPTURE_DEPTH_MAX);
	rule = cfi_find(cfi_table(), frames[1], &scratch);
	again = cfi_find(cfi_table(), frames[1], &scratch);
	check(rule == again && rule != &scratch && rule->ip == frames[1],
	      "a compiled rule is found again in the table");
	check(sizeof(struct cfi_rule) == 32, "a rule takes 32 bytes");
	rule = cfi_find(cfi_table(), (uintptr_t)&number, &scratch);
	check(rule->form == cfi_outside.form && rule->module == cfi_outside.module,
	      "data has no unwind table");
}

/* Looks up as many rules as libc's code has addresses. The table must grow, with correct rules. */
static void test_growth(void)
{
	uintptr_t from = (uintptr_t)dlsym(RTLD_DEFAULT, "gnu_get_libc_version");
	const struct cfi_table *first = cfi_table();
	unsigned int wrong = 0, good = 0;

	for (int round = 0; round < 2; round++)
		for (uintptr_t ip = from; ip < from + 20000; ip++) {
			struct cfi_rule scratch, fresh;
			const struct cfi_rule *rule = cfi_find(cfi_table(), ip, &scratch);

			cfi_compile(ip, &fresh);
			good += fresh.form >= CFI_SP;
			wrong += rule->form != fresh.form || rule->cfa != fresh.cfa ||
				 rule->fp != fresh.fp || rule->fp_form != fresh.fp_form ||
				 rule->ra != fresh.ra || rule->ip != ip;
		}
	check(cfi_table() != first && good > 30000, "the table grows");
	check(wrong == 0, "all rules of libc equal those of its unwind tables");
}

static const struct module *module_of(uintptr_t address)
{
	unsigned int index = maps_find(address);

	return index == MAPS_MODULE_NONE ? NULL : maps_get(index);
}

static void test_modules(void)
{
	const struct module *own = module_of((uintptr_t)test_modules);
	const struct module *libc =
		module_of((uintptr_t)dlsym(RTLD_DEFAULT, "gnu_get_libc_version"));
	const struct module *gone;
	unsigned int known = maps_count();
	char path[4096] = { 0 };
	struct cfi_rule scratch, *rule;
	uintptr_t address;
	void *library;

	if (readlink("/proc/self/exe", path, sizeof(path) - 1) < 0)
		path[0] = 0;
	check(own != NULL && strcmp(own->path, path) == 0, "the program's module has its path");
	check(libc != NULL && strstr(libc->path, "/libc.so") != NULL && libc->path[0] == '/' &&
		      libc->base + libc->offset == libc->start && libc->build_id_size == 20,
	      "libc's module has its path, base and build-id");
	check(module_of((uintptr_t)test_table + 1) == own && maps_count() == known,
	      "a known module is not added twice");

	library = dlopen("libm.so.6", RTLD_NOW);
	address = library == NULL ? 0 : (uintptr_t)dlsym(library, "lgammaf_r");
	gone = module_of(address);
	rule = cfi_find(cfi_table(), address + 1, &scratch);
	check(gone != NULL && strstr(gone->path, "libm") != NULL && maps_count() > known,
	      "a library that is loaded later becomes a new module");
	known = maps_count();
	maps_check();
	check(!gone->is_gone && rule->ip == address + 1,
	      "maps_check() keeps a module that is loaded");
	dlclose(library);
	maps_check();
	check(gone->is_gone, "maps_check() marks a library that was closed");
	check(rule->ip != address + 1, "the rules of an unloaded library are removed");
	library = dlopen("libm.so.6", RTLD_NOW);
	address = library == NULL ? 0 : (uintptr_t)dlsym(library, "lgammaf_r");
	check(maps_find(address) == known && maps_count() == known + 1,
	      "a library that is loaded again becomes another module");
	check(module_of((uintptr_t) "") == NULL || module_of((uintptr_t) "") == own,
	      "an address that is not code is in no module");
}

/* A leaf function. On some processors, its return address is only in a register. */
static NOINLINE int read_word(const volatile int *word)
{
	return *word + 1;
}

static void *hidden_page;

static void on_fault(int signal, siginfo_t *info, void *context)
{
	(void)signal, (void)info, (void)context;
	capture(CAPTURE_DEPTH_MAX);
	mprotect(hidden_page, 4096, PROT_READ);
}

static NOINLINE int fault(void)
{
	int value = read_word(hidden_page);

	__asm__ volatile("");
	return value;
}

/* Whether `frames` has an address in a function of at most 64 bytes. *place: index of the frame. */
static bool finds(const void *function, unsigned int *place)
{
	for (*place = 0; *place < count; ++*place)
		if (frames[*place] - (uintptr_t)function < 64)
			return true;
	return false;
}

static void test_signal(const struct stack_bounds *stack, const char *sentence)
{
	struct sigaction action = { .sa_flags = SA_SIGINFO, .sa_sigaction = on_fault };
	const struct stack_bounds whole = bounds;
	unsigned int leaf, caller;

	hidden_page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	sigaction(SIGSEGV, &action, NULL);
	bounds = *stack;
	fault();
	bounds = whole;
	check(finds((const void *)(uintptr_t)read_word, &leaf) &&
		      finds((const void *)(uintptr_t)fault, &caller) && caller == leaf + 1 &&
		      ends_at_start(),
	      sentence);
	munmap(hidden_page, 4096);
	signal(SIGSEGV, SIG_DFL);
}

#if defined(__aarch64__)
/* From offset 4, the return address is signed; from offset 8, it is not. */
static void test_signed(void)
{
	static const uint8_t code[] = { 0x44, 0x2d, 0x44, 0x2d };
	struct hash_table table;
	struct dwarf_row row;

	build(&table, code, sizeof(code));
	check(find(&table, 0, &row) && !row.ra_is_signed && find(&table, 4, &row) &&
		      row.ra_is_signed && find(&table, 8, &row) && !row.ra_is_signed,
	      "the table says that a return address is signed");
	check(arch_plain_address(0x12) == 0x12, "an unsigned address is unchanged");
}
#endif

/* A signal interrupts a walk at every instruction, and its handler walks the stack, too. */

static volatile int steps_left;
static __attribute__((unused)) int steps_good, steps_bad;

static void on_step(int signal, siginfo_t *info, void *context)
{
#if defined(__x86_64__)
	greg_t *flags = &((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL];
	const struct origin saved_origin = here;
	const unsigned int saved_count = count;
	const enum capture_end saved_end = end;
	static uintptr_t saved_frames[CAPTURE_DEPTH_MAX];

	(void)signal, (void)info;
	memcpy(saved_frames, frames, sizeof(frames));
	capture(CAPTURE_DEPTH_MAX);
	if (ends_at_start())
		steps_good++;
	else
		steps_bad++;
	memcpy(frames, saved_frames, sizeof(frames));
	here = saved_origin;
	count = saved_count;
	end = saved_end;
	if (steps_left > 0 && --steps_left > 0)
		*flags |= 0x100;
	else
		*flags &= ~0x100LL;
#else
	(void)signal, (void)info, (void)context;
#endif
}

static void test_interruptions(void)
{
	struct sigaction action = { .sa_flags = SA_SIGINFO, .sa_sigaction = on_step };
	uintptr_t known[CAPTURE_DEPTH_MAX];
	unsigned int known_count;

	sigaction(SIGTRAP, &action, NULL);
	for (int round = 0; round < 2; round++) {
		recurse(5, CAPTURE_DEPTH_MAX);
		known_count = count;
		memcpy(known, frames, sizeof(known));
		steps_left = 30000;
		raise(SIGTRAP);
		recurse(5, CAPTURE_DEPTH_MAX);
		realign(CAPTURE_DEPTH_MAX);
		recurse(5, CAPTURE_DEPTH_MAX);
		steps_left = 0;
		/* the outermost frames may differ, since recurse() is called at another place */
		check(count == known_count && end == CAPTURE_COMPLETE &&
			      memcmp(frames, known, (count - 5) * sizeof(*frames)) == 0,
		      round == 0 ? "a walk that is interrupted at every instruction is right"
				 : "and once more");
		cfi_forget(maps_find((uintptr_t)test_rows));
	}
#if defined(__x86_64__)
	printf("# %d walks in the handler, %d of them cut\n", steps_good, steps_bad);
	check(steps_good > 1000 && steps_bad == 0,
	      "walks in a signal handler that interrupts a walk are right");
#endif
}

int main(void)
{
	extern void *__libc_stack_end;

	bounds.low = (uintptr_t)__libc_stack_end - (1 << 20);
	bounds.high = (uintptr_t)__libc_stack_end;
	errno = 77;
	test_rows();
	test_refusals();
	test_lies();
	test_walks();
	test_wrong_stacks();
	test_random_stacks();
#if ARCH_CHAINS
	test_chains();
#endif
	test_signal(&bounds, "a walk goes through a signal into a leaf function");
	test_signal(&(struct stack_bounds){ 0, 0 },
		    "a walk goes through a signal into a leaf function on an unknown stack");
#if defined(__aarch64__)
	test_signed();
#endif
	test_table();
	test_interruptions();
	test_growth();
	test_modules();
	printf("1..%d\n", number);
	return failed != 0;
}
