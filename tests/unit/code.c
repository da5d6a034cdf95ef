/* SPDX-License-Identifier: MIT */
/*
 * Tests of collect/code.c, which names code made at run time: perf maps and jitdumps that are
 * valid, hostile, or of another process.
 */
#include "collect/code.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static int number, failed;

static void check(bool is_good, const char *sentence)
{
	printf("%sok %d - %s\n", is_good ? "" : "not ", ++number, sentence);
	failed += !is_good;
}

static struct watch watch;
static char path[64];

/* Begins with two addresses of generated code, and one in a module. */
static void begin(struct code *code)
{
	code_begin(code, &watch, geteuid(), true, time(NULL));
	code_module(code, 0x5000, 0x6000, "/usr/bin/node18", 15);
	code_see(code, 0x1010);
	code_see(code, 0x2010);
	code_see(code, 0x5010);
	code_see(code, 0x1010);
}

static const char *name_of(const struct code *code, uint64_t address)
{
	for (size_t i = 0; i < code->addresses.count; i++)
		if (code->addresses.items[i].address == address)
			return code_name(code, &code->addresses.items[i]);
	return NULL;
}

static bool is_named(const struct code *code, uint64_t address, const char *name)
{
	const char *found = name_of(code, address);

	return name ? found && !strcmp(found, name) : !found;
}

static void put_file(const void *bytes, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0644);

	if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
		exit(99);
	close(fd);
}

static void put_text(const char *text)
{
	put_file(text, strlen(text));
}

static void read_names(struct code *code)
{
	begin(code);
	code_read(code, NULL, NULL);
}

/* Whether the current file is refused with this text in the reason. */
static bool is_refused(const char *why)
{
	struct code code;
	bool is_good;

	read_names(&code);
	is_good = code.problem && strstr(code.problem, why) && !code.named && *code.file;
	if (!is_good)
		printf("# %s\n", code.problem ? code.problem : "no problem");
	code_free(&code);
	return is_good;
}

static const char good[] = "1000 20 one\n2000 20 two words\n5000 100 in a module\n";

static void test_map(void)
{
	struct code code;

	put_text(good);
	read_names(&code);
	check(code.addresses.count == 2 && code.named == 2 && !code.problem &&
		      is_named(&code, 0x1010, "one") && is_named(&code, 0x2010, "two words"),
	      "addresses outside of modules get the names in the map");
	check(code.runtime == CODE_NODE, "the runtime is known by the name of its file");
	code_free(&code);

	put_text("0x0000000000001000 0x0000000000000010 a\r\n1010 10 b\n2011 5 c\n200f 1 d");
	read_names(&code);
	check(is_named(&code, 0x1010, "a") && is_named(&code, 0x2010, NULL),
	      "a return address at the end of a function belongs to it, one at the start does not");
	code_free(&code);

	put_text("1000 20 first\n1000 20 second\n");
	begin(&code);
	put_text("1000 20 first\n1000 20 second\n1000 20 third\n2000 20 late\n2000 20 later\n");
	code_read(&code, NULL, NULL);
	check(is_named(&code, 0x1010, "second") && is_named(&code, 0x2010, "late") &&
		      code.reused == 2,
	      "the last name before the address was seen counts, else the first after it");
	code_free(&code);
}

static void test_lines(void)
{
	static char long_line[300000];
	struct code code;

	put_text("-1000 20 x\n1000 -20 x\n1000\n1000 20\n\n \nxyz 20 x\n1000 xyz x\n0 0 x\n"
		 "1000 0 x\nffffffffffffffffffff 20 x\n1000 ffffffffffffffff x\n"
		 "ffffffffffffffff ffffffffffffffff x\n1000 20 \n2000 20 \033[31m\001y\n");
	read_names(&code);
	check(is_named(&code, 0x1010, NULL) && is_named(&code, 0x2010, "?[31m?y") && !code.problem,
	      "lines that are none are skipped, and control characters replaced");
	code_free(&code);

	memset(long_line, 'a', sizeof(long_line));
	memcpy(long_line, "1000 20 ", 8);
	memcpy(long_line + sizeof(long_line) - 14, "\n2000 20 next\n", 14);
	put_file(long_line, sizeof(long_line));
	read_names(&code);
	check(is_named(&code, 0x1010, NULL) && is_named(&code, 0x2010, "next"),
	      "a line longer than any name is skipped");
	code_free(&code);

	long_line[2000] = '\n';
	put_file(long_line, 2001);
	read_names(&code);
	check(name_of(&code, 0x1010) && strlen(name_of(&code, 0x1010)) == 400,
	      "a long name is shortened");
	code_free(&code);

	put_file("1000 20 a\0b\n2000 20 \0\0\n\0\0\0", 27);
	read_names(&code);
	check(is_named(&code, 0x1010, "a?b"), "bytes of zero end no name");
	code_free(&code);

	code_begin(&code, &watch, geteuid(), true, time(NULL));
	for (uint64_t at = 1; at <= 70000; at++)
		code_see(&code, 0x10000 + at);
	put_text("1000 7fffffffffff everything\n");
	code_read(&code, NULL, NULL);
	check(code.addresses.count == 65536 && code.named == 65536,
	      "one line can name all addresses, of which there are at most 65,536");
	code_free(&code);
}

static void test_refusals(void)
{
	const struct timespec old[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };
	struct code code;
	char target[80];

	put_text(good);
	chmod(path, 0666);
	check(is_refused("written by all users"), "a map that all users can write is not believed");
	chmod(path, 0644);
	if (utimensat(AT_FDCWD, path, old, 0) == 0)
		check(is_refused("older"), "a map of an earlier process is not believed");
	put_text(good);
	if (geteuid() == 0 && chown(path, 1, 1) == 0)
		check(is_refused("another user"), "a map of another user is not believed");
	else
		printf("ok %d - a map of another user is not believed # SKIP not root\n", ++number);
	unlink(path);
	snprintf(target, sizeof(target), "%s.target", path);
	if (rename(path, target) == 0 || symlink("/etc/passwd", path) == 0)
		check(is_refused("symbolic link"), "a symbolic link is not followed");
	unlink(path);
	if (mkfifo(path, 0644) == 0)
		check(is_refused("regular"), "a named pipe does not stop the collector");
	unlink(path);
	if (mkdir(path, 0755) == 0)
		check(is_refused("regular"), "a directory is not read as a map");
	rmdir(path);
	put_text(good);
	if (truncate(path, 1ll << 40) == 0) {
		read_names(&code);
		check(code.named == 2 && code.problem && strstr(code.problem, "too large"),
		      "of a map of 1 TiB a part is read");
		code_free(&code);
	}
	unlink(path);
	read_names(&code);
	check(!code.named && !code.problem && !*code.file, "without a map there is no problem");
	code_free(&code);
	put_text(good);
	code_begin(&code, NULL, 0, true, 0);
	code_see(&code, 0x1010);
	check(!code_read(&code, NULL, NULL), "no map is read for an unknown process");
	code_free(&code);
	unlink(path);
}

static struct {
	struct {
		uint32_t magic, version, size, machine, pad, pid;
		uint64_t time, flags;
	} header;
	struct load {
		uint32_t id, size;
		uint64_t time;
		uint32_t pid, tid;
		uint64_t vma, address, code_size, index;
		char name[8];
		uint8_t code[32];
	} loads[4];
} dump;

static void set_load(int i, uint64_t time, uint64_t address, const char *name)
{
	dump.loads[i] = (struct load){
		.size = sizeof(struct load), .time = time, .address = address, .code_size = 32
	};
	snprintf(dump.loads[i].name, sizeof(dump.loads[i].name), "%s", name);
}

static void test_dump(void)
{
	struct code code;
	bool is_good = true;

	dump.header.magic = 0x4a695444;
	dump.header.size = sizeof(dump.header);
	set_load(0, 1, 0x1000, "one");
	set_load(1, 2, 0x1000, "two");
	set_load(2, UINT64_MAX, 0x1000, "three");
	set_load(3, UINT64_MAX, 0x2000, "four");
	put_file(&dump, sizeof(dump));
	read_names(&code);
	check(is_named(&code, 0x1010, "two") && is_named(&code, 0x2010, "four") && code.reused == 1,
	      "the last name in a jitdump whose time is before that of the address counts");
	code_free(&code);
	for (size_t size = 0; size <= sizeof(dump); size++) {
		put_file(&dump, size);
		read_names(&code);
		is_good &= code.named <= 2 && (size >= sizeof(dump.header)) == !code.problem;
		code_free(&code);
	}
	check(is_good, "a jitdump may end at any byte");
	for (unsigned int i = 0; i < 4000; i++) {
		uint8_t *bytes = (uint8_t *)&dump, kept = bytes[i % sizeof(dump)];

		bytes[i % sizeof(dump)] = (uint8_t)(i * 2654435761u >> 24);
		put_file(&dump, sizeof(dump));
		bytes[i % sizeof(dump)] = kept;
		read_names(&code);
		code_free(&code);
	}
	dump.loads[0].size = 0;
	put_file(&dump, sizeof(dump));
	read_names(&code);
	check(!code.named, "a record without a length ends a jitdump");
	code_free(&code);
	dump.header.magic = 0x4454694a;
	put_file(&dump, sizeof(dump));
	check(is_refused("not a jitdump"), "a jitdump of the other byte order is not read");
	unlink(path);
}

int main(void)
{
	/* no process has this pid, so only this test writes files for it */
	watch.our_pid = getpid();
	watch.pid = 1000000000 + getpid();
	watch.pidfd = -1;
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", watch.pid);
	unlink(path);
	test_map();
	test_lines();
	test_refusals();
	snprintf(path, sizeof(path), "/tmp/jit-%d.dump", watch.pid);
	test_dump();
	printf("1..%d\n", number);
	return failed != 0;
}
