/* SPDX-License-Identifier: MIT */
/*
 * Makes code at run time, as a JIT compiler does, whose functions allocate and open files, and
 * writes their names.
 *
 *   compiles map|dump|none [kill]
 *
 * The functions have frame pointers and no unwind tables: outer() calls inner(), which calls a
 * function of the program. inner() was listed before under the name `old`, and is listed later,
 * when it has been called, under the name `later`.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* push rbp; mov rbp, rsp; call rdi; pop rbp; ret: calls its first argument with the others */
static const uint8_t inner_code[] = { 0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3 };
/* push rbp; mov rbp, rsp; call rsi; pop rbp; ret */
static const uint8_t outer_code[] = { 0x55, 0x48, 0x89, 0xe5, 0xff, 0xd6, 0x5d, 0xc3 };

typedef void callee(void);
typedef void inner_function(callee *callee);
typedef void outer_function(callee *callee, inner_function *inner);

static FILE *list;
static int is_dump;

static void list_function(const char *name, const void *code, size_t size)
{
	struct {
		uint32_t id, size;
		uint64_t time;
		uint32_t pid, tid;
		uint64_t vma, address, code_size, index;
	} load = { .address = (uintptr_t)code, .vma = (uintptr_t)code, .code_size = size };
	struct timespec now;

	if (!list)
		return;
	clock_gettime(CLOCK_MONOTONIC, &now);
	load.size = (uint32_t)(sizeof(load) + strlen(name) + 1 + size);
	load.time = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	load.pid = load.tid = (uint32_t)getpid();
	if (is_dump) {
		fwrite(&load, sizeof(load), 1, list);
		fwrite(name, strlen(name) + 1, 1, list);
		fwrite(code, size, 1, list);
	} else {
		fprintf(list, "%lx %zx %s\n", (unsigned long)(uintptr_t)code, size, name);
	}
	fflush(list);
}

static void begin_list(const char *kind)
{
	struct {
		uint32_t magic, version, size, machine, pad, pid;
		uint64_t time, flags;
	} header = { .magic = 0x4a695444, .version = 1, .size = sizeof(header), .machine = 62 };
	char name[64];

	is_dump = !strcmp(kind, "dump");
	if (!strcmp(kind, "none"))
		return;
	snprintf(name, sizeof(name), is_dump ? "jit-%d.dump" : "/tmp/perf-%d.map", (int)getpid());
	list = fopen(name, "w+");
	if (!list)
		exit(1);
	header.pid = (uint32_t)getpid();
	if (is_dump) {
		fwrite(&header, sizeof(header), 1, list);
		fflush(list);
		if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(list), 0) ==
		    MAP_FAILED)
			exit(1);
	}
}

static void *volatile kept;

static void allocate(void)
{
	kept = malloc(12345);
}

static void open_file(void)
{
	if (open("/dev/null", O_RDONLY) < 0)
		exit(1);
}

static void rest(void)
{
	nanosleep(&(struct timespec){ .tv_sec = 1 }, NULL);
}

int main(int argc, char **argv)
{
	uint8_t *page =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	inner_function *inner = (inner_function *)(uintptr_t)page;
	outer_function *outer = (outer_function *)(uintptr_t)(page + 64);

	if (argc < 2 || page == MAP_FAILED)
		return 1;
	memcpy(page, inner_code, sizeof(inner_code));
	memcpy(page + 64, outer_code, sizeof(outer_code));
	mprotect(page, 4096, PROT_READ | PROT_EXEC);
	begin_list(argv[1]);
	list_function("old", page, sizeof(inner_code));
	list_function("JS:*inner /srv/work.js:12:34", page, sizeof(inner_code));
	list_function("void shop.Cart.outer(java.lang.String, int)", page + 64, sizeof(outer_code));
	outer(allocate, inner);
	outer(open_file, inner);
	/* the collector sees the addresses before the next name is there */
	rest();
	list_function("later", page, sizeof(inner_code));
	if (argc > 2)
		raise(SIGKILL);
	return 0;
}
