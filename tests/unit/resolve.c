/* SPDX-License-Identifier: MIT */
#include "resolver/resolve.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FOREIGN 0x7f0000000000

/* This program, as a tracer would describe it. */
struct self {
	char path[4096];
	uint8_t build_id[64];
	unsigned build_id_size;
	uint64_t bias, code_start, code_end, code_offset;
};

static int number, failures;
static struct self self;

/* Limit of the number of child processes of the resolver, and their current number. */
static int forks_max = INT_MAX, forks;

pid_t fork(void)
{
	pid_t pid;

	if (forks >= forks_max) {
		errno = EAGAIN;
		return -1;
	}
	pid = _Fork();
	forks += pid > 0;
	return pid;
}

pid_t waitpid(pid_t pid, int *status, int options)
{
	pid_t ended = wait4(pid, status, options, NULL);

	forks -= ended > 0;
	return ended;
}

static bool check(bool is_right, const char *sentence)
{
	printf("%sok %d - %s\n", is_right ? "" : "not ", ++number, sentence);
	failures += !is_right;
	return is_right;
}

/* A function that is not inlined, has several instructions, and is found by its symbol. */
__attribute__((noinline)) static unsigned landmark(unsigned n)
{
	for (unsigned i = 0; i < 10; i++)
		n = n * n + i;
	return n;
}

static void take_note(const char *note, size_t size)
{
	const ElfW(Nhdr) *header = (const void *)note;

	while ((const char *)(header + 1) < note + size) {
		const char *name = (const char *)(header + 1);
		const char *bytes = name + ((header->n_namesz + 3) & ~3u);

		if (header->n_type == NT_GNU_BUILD_ID && strcmp(name, "GNU") == 0 &&
		    header->n_descsz <= sizeof(self.build_id)) {
			memcpy(self.build_id, bytes, header->n_descsz);
			self.build_id_size = header->n_descsz;
		}
		header = (const void *)(bytes + ((header->n_descsz + 3) & ~3u));
	}
}

/* Callback of dl_iterate_phdr() that stores the facts about the first module: this program. */
static int take_self(struct dl_phdr_info *info, size_t size, void *unused)
{
	self.bias = info->dlpi_addr;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];

		if (header->p_type == PT_NOTE)
			take_note((const char *)(self.bias + header->p_vaddr), header->p_memsz);
		if (header->p_type != PT_LOAD || !(header->p_flags & PF_X))
			continue;
		self.code_start = (self.bias + header->p_vaddr) & ~UINT64_C(4095);
		self.code_offset = header->p_offset & ~UINT64_C(4095);
		self.code_end =
			(self.bias + header->p_vaddr + header->p_memsz + 4095) & ~UINT64_C(4095);
	}
	(void)size;
	(void)unused;
	return 1;
}

static struct resolve *create(const struct resolve_options *options)
{
	static const struct resolve_options none;
	struct resolve *resolve;

	if (resolve_create(&resolve, options ? options : &none, NULL) != 0)
		exit(99);
	return resolve;
}

static struct resolve_module module_self(void)
{
	return (struct resolve_module){
		.path = self.path,
		.from = self.code_start - self.code_offset,
		.to = self.code_end,
	};
}

/* Whether the resolver finds landmark() at its address plus `shift`. */
static bool finds_landmark(struct resolve *resolve, uint64_t shift)
{
	struct symbol symbol;

	resolve_address(resolve, (uintptr_t)landmark + shift + 4, false, &symbol, 1);
	return symbol.function && strcmp(symbol.function, "landmark") == 0 &&
	       strcmp(symbol.module, self.path) == 0;
}

/* Whether landmark() is found in a new resolver that has only this module. */
static bool maps(const struct resolve_module *module, uint64_t shift)
{
	struct resolve *resolve = create(NULL);
	bool is_found = resolve_map(resolve, module) == 0 && finds_landmark(resolve, shift);

	resolve_destroy(resolve);
	return is_found;
}

static void test_bases(void)
{
	struct resolve_module module = module_self();
	uint64_t shift = FOREIGN - self.code_start;

	check(maps(&module, 0), "the load base leads to the function");
	module.from = self.code_start;
	module.from = self.code_start;
	check(maps(&module, 0), "the start of the mapping leads to the function");
	module.to += 1 << 20;
	check(!maps(&module, 0), "a mapping that the file cannot have gives no names");
	module = module_self();
	module.exec_start = FOREIGN;
	module.exec_end = FOREIGN + (self.code_end - self.code_start);
	module.offset = self.code_offset;
	check(maps(&module, shift),
	      "the executable range and its offset are preferred to the base");
}

static void test_build_id(void)
{
	struct resolve_module module = module_self();
	struct resolve *resolve = create(NULL);
	struct resolve_state state;
	struct symbol symbol;

	module.build_id = self.build_id;
	module.build_id_size = self.build_id_size;
	check(self.build_id_size > 0 && maps(&module, 0), "the right build-id is accepted");
	self.build_id[0] ^= 1;
	resolve_map(resolve, &module);
	for (int i = 0; i < 3; i++)
		resolve_address(resolve, self.code_start + 16, true, &symbol, 1);
	check(!symbol.function && symbol.is_missing && strcmp(symbol.module, self.path) == 0,
	      "a wrong build-id gives no names");
	check(resolve_state(resolve, 0, &state) && state.reason == RESOLVE_WRONG_FILE &&
		      state.asked == 3 && state.unresolved == 3 &&
		      state.build_id_size == self.build_id_size &&
		      memcmp(state.build_id, self.build_id, self.build_id_size) == 0,
	      "a wrong build-id is reported with its frames");
	check(strstr(state.text, "build-id") && strstr(state.advice, "--map"),
	      "a wrong build-id is reported with advice");
	self.build_id[0] ^= 1;
	resolve_map(resolve, &module);
	check(finds_landmark(resolve, 0), "the same path with the right build-id has names");
	check(resolve_state(resolve, 1, &state) && state.reason == RESOLVE_FINE &&
		      !resolve_state(resolve, 2, &state),
	      "two build-ids of one path are reported separately");
	resolve_destroy(resolve);
}

static bool is_module(struct resolve *resolve, uint64_t address, const char *module)
{
	struct symbol symbol = { .module = "unset" };

	if (resolve_address(resolve, address, true, &symbol, 1) != 1)
		return false;
	return module ? symbol.module && strcmp(symbol.module, module) == 0 : !symbol.module;
}

static void test_mappings(void)
{
	struct resolve *resolve = create(NULL);
	struct resolve_module outer = { .path = "[a]", .from = 0x1000, .to = 0x9000 };
	struct resolve_module inner = { .path = "[b]", .from = 0x3000, .to = 0x5000 };
	struct resolve_module wide = { .path = "[c]", .from = 0x4000, .to = UINT64_MAX };
	struct resolve_module empty = { .path = "[d]", .from = 0x1000, .to = 0x1000 };
	struct symbol symbol;

	check(resolve_map(resolve, &empty) < 0, "an empty range is refused");
	resolve_map(resolve, &outer);
	resolve_map(resolve, &inner);
	check(is_module(resolve, 0x2fff, "[a]") && is_module(resolve, 0x3000, "[b]") &&
		      is_module(resolve, 0x4fff, "[b]") && is_module(resolve, 0x5000, "[a]"),
	      "a mapping inside another cuts it in two");
	resolve_map(resolve, &wide);
	check(is_module(resolve, 0x3fff, "[b]") && is_module(resolve, 0x4000, "[c]") &&
		      is_module(resolve, 0x8000, "[c]") && is_module(resolve, 0xfff, NULL),
	      "a mapping over the ends of others replaces them");
	resolve_map(resolve, &outer);
	check(is_module(resolve, 0x3000, "[a]") && is_module(resolve, 0x8fff, "[a]") &&
		      is_module(resolve, 0x9000, "[c]"),
	      "a mapping that replaced others is replaced by a later one");
	resolve_address(resolve, 0x1000, false, &symbol, 1);
	check(!symbol.module && resolve_totals(resolve).unmapped == 2,
	      "a return address at the start of a mapping belongs to the one before");
	check(resolve_address(resolve, 0x1001, false, NULL, 0) == 1,
	      "a lookup without space for frames returns the count");
	resolve_destroy(resolve);
}

static void refuse(const char *path, enum resolve_reason reason, const char *sentence)
{
	struct resolve_module module = { .path = path, .from = 0x1000, .to = 0x9000 };
	struct resolve *resolve = create(NULL);
	struct resolve_state state = { 0 };

	resolve_map(resolve, &module);
	alarm(10);
	check(is_module(resolve, 0x2000, path) && resolve_state(resolve, 0, &state) &&
		      state.reason == reason && state.text[0],
	      sentence);
	alarm(0);
	resolve_destroy(resolve);
}

static void test_refusals(void)
{
	char directory[] = "/tmp/resolve.XXXXXX", path[64];

	refuse("[vdso]", RESOLVE_SPECIAL, "[vdso] is no file");
	refuse("/nowhere", RESOLVE_MISSING, "a missing file is reported as missing");
	refuse("/tmp", RESOLVE_REFUSED, "a directory is refused");
	refuse("/dev/zero", RESOLVE_REFUSED, "a device is refused");
	refuse("/etc/passwd", RESOLVE_REFUSED, "a text is refused");
	refuse("/bin/sh (deleted)", RESOLVE_MISSING,
	       "a deleted file is not replaced by another one at its path");
	if (!mkdtemp(directory))
		return;
	snprintf(path, sizeof(path), "%s/fifo", directory);
	if (mkfifo(path, 0600) == 0)
		refuse(path, RESOLVE_REFUSED, "opening a FIFO does not block");
	unlink(path);
	rmdir(directory);
}

static void test_machine(void)
{
	struct resolve_module module = module_self();
	struct resolve *resolve = create(NULL);
	struct resolve_state state;

	resolve_expect_machine(resolve, EM_VAX);
	resolve_map(resolve, &module);
	check(!finds_landmark(resolve, 0) && resolve_state(resolve, 0, &state) &&
		      state.reason == RESOLVE_WRONG_MACHINE,
	      "a file for another machine gives no names");
	resolve_destroy(resolve);
}

/* A deleted file is replaced by the file at its path if the build-ids are equal. */
static void test_deleted(void)
{
	struct resolve_module module = module_self();
	char path[sizeof(self.path) + 16];
	struct resolve *resolve = create(NULL);
	struct symbol symbol;

	snprintf(path, sizeof(path), "%s (deleted)", self.path);
	module.path = path;
	module.build_id = self.build_id;
	module.build_id_size = self.build_id_size;
	resolve_map(resolve, &module);
	resolve_address(resolve, (uintptr_t)landmark, true, &symbol, 1);
	check(symbol.function && strcmp(symbol.function, "landmark") == 0,
	      "a deleted file with the same build-id at its path is used");
	resolve_destroy(resolve);
}

static void test_repeats(void)
{
	struct resolve_module module = module_self();
	struct resolve *resolve = create(NULL);
	struct resolve_state state;
	struct symbol first, again;

	resolve_map(resolve, &module);
	resolve_address(resolve, (uintptr_t)landmark, true, &first, 1);
	for (uint64_t i = self.code_start; i < self.code_end; i++)
		resolve_address(resolve, i, true, &again, 1);
	module.from += FOREIGN;
	module.to += FOREIGN;
	resolve_map(resolve, &module);
	resolve_address(resolve, (uintptr_t)landmark + FOREIGN, true, &again, 1);
	check(first.function && first.function == again.function && first.line == again.line,
	      "a file that is mapped twice has one answer for an address");
	check(resolve_state(resolve, 0, &state) && !resolve_state(resolve, 1, &state) &&
		      state.asked == self.code_end - self.code_start + 2,
	      "every frame of a file that is mapped twice is counted");
	resolve_destroy(resolve);
}

/* Callback of dl_iterate_phdr() that stores the facts about the vDSO. */
static int take_vdso(struct dl_phdr_info *info, size_t size, void *found)
{
	(void)size;
	if (info->dlpi_addr == 0 || !strstr(info->dlpi_name, "vdso"))
		return 0;
	*(bool *)found = true;
	return take_self(info, size, NULL);
}

static void test_vdso(void)
{
	struct self program = self;
	struct resolve *resolve = create(NULL);
	void *vdso = dlopen("linux-vdso.so.1", RTLD_NOLOAD | RTLD_NOW);
	void *function = vdso ? dlsym(vdso, "__vdso_clock_gettime") : NULL;
	struct resolve_module module;
	struct symbol symbol;
	bool is_found = false;

	self.build_id_size = 0;
	dl_iterate_phdr(take_vdso, &is_found);
	if (!is_found || !function || !self.build_id_size) {
		printf("ok %d - the kernel's own module # SKIP no vdso\n", ++number);
		printf("ok %d - that of another kernel # SKIP no vdso\n", ++number);
	} else {
		module = module_self();
		module.path = "[vdso]";
		module.build_id = self.build_id;
		module.build_id_size = self.build_id_size;
		resolve_map(resolve, &module);
		resolve_address(resolve, (uintptr_t)function + 1, true, &symbol, 1);
		check(symbol.function && strstr(symbol.function, "clock_gettime"),
		      "the vdso has names");
		self.build_id[0] ^= 1;
		resolve_map(resolve, &module);
		resolve_address(resolve, (uintptr_t)function + 1, true, &symbol, 1);
		check(!symbol.function && !symbol.is_missing && !strcmp(symbol.module, "[vdso]"),
		      "the vdso of another kernel has no names and is not reported");
	}
	resolve_destroy(resolve);
	self = program;
}

/* Maps each module below all others. No kernel does so, but a hostile trace may. */
static void test_many_mappings(void)
{
	struct resolve *resolve = create(NULL);
	struct resolve_module module = { .path = "/nowhere" };
	bool is_mapped = true;
	clock_t begin = clock();

	for (uint64_t i = 200000; i > 0 && is_mapped; i--) {
		module.from = i << 16;
		module.to = module.from + 4096;
		is_mapped = resolve_map(resolve, &module) == 0;
	}
	check(is_mapped && clock() - begin < 10 * CLOCKS_PER_SEC,
	      "200,000 mappings take no more than their time");
	resolve_destroy(resolve);
}

/*
 * Maps the program under this many names and asks for one address in each. processes: limit of
 * child processes. Returns how many of the addresses were resolved.
 */
static unsigned find_under_names(unsigned names, int processes, enum resolve_reason *reason)
{
	struct resolve *resolve = create(&(struct resolve_options){ .jobs = 4 });
	const struct resolve_ask *asks[8];
	struct resolve_state state;
	char path[8][sizeof(self.path) + 16];
	unsigned found = 0;

	for (unsigned i = 0; i < names; i++) {
		struct resolve_module module = module_self();
		uint64_t shift = UINT64_C(0x100000000) * (i + 1);

		snprintf(path[i], sizeof(path[i]), "%.*s%s", (int)(i + 1), "////////", self.path);
		module.path = path[i];
		module.from += shift;
		module.to += shift;
		resolve_map(resolve, &module);
		asks[i] = resolve_ask(resolve, (uintptr_t)landmark + shift + 4, false);
	}
	forks_max = processes;
	resolve_wait(resolve);
	forks_max = INT_MAX;
	for (unsigned i = 0; i < names; i++) {
		struct symbol symbol;

		resolve_take(resolve, asks[i], &symbol, 1);
		found += symbol.function && strcmp(symbol.function, "landmark") == 0;
	}
	*reason = resolve_state(resolve, 0, &state) ? state.reason : RESOLVE_SPECIAL;
	resolve_destroy(resolve);
	return found;
}

static void test_processes(void)
{
	enum resolve_reason reason;

	check(find_under_names(8, 1, &reason) == 8, "one process is enough for eight modules");
	check(find_under_names(8, 3, &reason) == 8, "so are three");
	check(find_under_names(2, 0, &reason) == 0 && reason == RESOLVE_BROKEN,
	      "without child processes there are no names, which is reported");
}

int main(void)
{
	ssize_t length = readlink("/proc/self/exe", self.path, sizeof(self.path) - 1);

	if (length <= 0 || landmark(1) == 1)
		return 99;
	dl_iterate_phdr(take_self, NULL);
	test_bases();
	test_build_id();
	test_mappings();
	test_refusals();
	test_machine();
	test_deleted();
	test_repeats();
	test_vdso();
	test_processes();
	test_many_mappings();
	printf("1..%d\n", number);
	return failures > 0;
}
