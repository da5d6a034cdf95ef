/* SPDX-License-Identifier: MIT */
#include "collect/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <signal.h>
#include <unistd.h>
#include <zstd.h>

static int tests, failures;

static void ok(bool good, const char *sentence)
{
	tests++;
	failures += !good;
	printf("%sok %d - %s\n", good ? "" : "not ", tests, sentence);
}

static void path_is(const char *out, bool first, const char *program, const char *expected)
{
	struct sink_place place;
	struct sink_options options = {
		.place = &place, .first = first, .program = program, .pid = 77
	};
	char path[512], sentence[700];

	sink_place_open(&place, out, NULL);
	if (!sink_path(&options, path, sizeof(path)))
		strcpy(path, "(none)");
	snprintf(sentence, sizeof(sentence), "'%s' is written to %s", out, expected);
	if (strcmp(path, expected))
		printf("# got %s\n", path);
	ok(!strcmp(path, expected), sentence);
	sink_place_close(&place);
}

static struct sink_place place_of(const char *out)
{
	struct sink_place place;

	sink_place_open(&place, out, NULL);
	return place;
}

static bool needs_program(const char *out)
{
	struct sink_place place;
	bool needs = sink_place_open(&place, out, NULL) == 0 && sink_needs_program(&place);

	sink_place_close(&place);
	return needs;
}

static void test_names(void)
{
	mkdir("there", 0777);
	path_is("", true, "prog", "holdtrace.prog.77.rtrace");
	path_is("", true, "a/b\nc", "holdtrace.a_b_c.77.rtrace");
	path_is("x.rtrace", true, "prog", "x.rtrace");
	path_is("x.rtrace", false, "prog", "x.rtrace.prog.77");
	path_is("there", true, "prog", "there/holdtrace.prog.77.rtrace");
	path_is("there/", false, "prog", "there/holdtrace.prog.77.rtrace");
	path_is("stdout", false, "prog", "holdtrace.prog.77.rtrace");
	path_is("|gzip", false, "prog", "holdtrace.prog.77.rtrace");
	path_is("x", false, "a\xe2\x80\xaem\xff\xc3\xa9", "x.a___m_\xc3\xa9.77");
	ok(needs_program("") && needs_program("there") && !needs_program("x") &&
		   !needs_program("|cat"),
	   "only names that we choose wait for the program's");
	ok(sink_descriptor("stdout") == 1 && sink_descriptor("fd:7") == 7 &&
		   sink_descriptor("fd:") == -1 && sink_descriptor("fd:7x") == -1 &&
		   sink_descriptor("fd:99999999999") == -1 && sink_descriptor("fd:-1") == -1,
	   "descriptors are numbers");
}

static int put(const char *out, bool force, const char *text, struct error *err)
{
	struct sink_place place;
	struct sink_options options = { .place = &place,
					.force = force,
					.first = true,
					.inherited = -1,
					.program = "prog",
					.pid = 77 };
	struct sink sink;
	size_t written;
	int ret = sink_place_open(&place, out, err);

	if (ret == 0)
		ret = sink_open(&sink, &options, err);
	sink_place_close(&place);
	if (ret < 0)
		return ret;
	ret = sink_write(&sink, text, strlen(text), &written, err);
	if (ret < 0) {
		sink_close(&sink, NULL);
		return ret;
	}
	ret = sink_close(&sink, err);
	while (!sink_finished(&sink))
		usleep(1000);
	return ret;
}

static bool holds(const char *path, const char *text)
{
	char found[4096] = { 0 };
	FILE *file = fopen(path, "r");

	if (!file)
		return false;
	if (fread(found, 1, sizeof(found) - 1, file) == 0)
		found[0] = 0;
	fclose(file);
	return !strcmp(found, text);
}

static void test_files(void)
{
	struct error err = { 0 };

	put("file", false, "one", &err);
	put("file", false, "two", &err);
	put("file", false, "three", &err);
	ok(holds("file", "one") && holds("file.1", "two") && holds("file.2", "three"),
	   "a file that exists is never written over: .1, .2");
	put("file", true, "4", &err);
	ok(holds("file", "4"), "unless the user says so");
	if (symlink("nowhere", "link") == 0)
		put("link", false, "x", &err);
	ok(access("nowhere", F_OK) < 0 && holds("link.1", "x"),
	   "a link that hangs is not followed");
	if (symlink("nowhere", "there/holdtrace.prog.77.rtrace") == 0)
		put("there", true, "x", &err);
	ok(access("nowhere", F_OK) < 0, "nor one under a name that we chose, even if forced");
	unlink("there/holdtrace.prog.77.rtrace");
	put("there", false, "in", &err);
	ok(holds("there/holdtrace.prog.77.rtrace", "in"), "a directory gets a file with our name");
}

static void test_failures(void)
{
	struct error err = { 0 };
	struct sink_place place = place_of("locked");
	struct sink_options options = { .place = &place,
					.force = true,
					.first = true,
					.inherited = -1,
					.program = "prog",
					.pid = 1 };
	struct sink sink;

	ok(put("/dev/full", false, "x", &err) == -ENOSPC &&
		   !strcmp(err.text, "cannot write /dev/full: No space left on device"),
	   "a full disk is said in a sentence");
	ok(put("missing/", false, "x", &err) == -ENOENT && strstr(err.text, "missing/"),
	   "a directory that is not there is said, too");
	ok(sink_place_open(&place, "missing/", &err) == -ENOENT,
	   "and known before there is a program");
	place = place_of("locked");
	ok(put("fd:x", false, "x", &err) == -EINVAL, "a descriptor must be a number");
	ok(put("fd:999", false, "x", &err) == -EBADF, "and open");
	ok(sink_open(&sink, &options, &err) == 0 && put("locked", true, "x", &err) == -EBUSY,
	   "two collectors do not write one file");
	sink_close(&sink, &err);
	signal(SIGPIPE, SIG_IGN);
	ok(put("|exit 0", false, "", &err) == 0, "a command that reads nothing is no error");
}

static void test_lock(void)
{
	struct sink_place place = place_of("busy");
	struct sink_options options = {
		.place = &place, .first = true, .inherited = -1, .program = "p"
	};
	struct error err = { 0 };
	struct sink sink;
	int fd;

	sink_open(&sink, &options, &err);
	fd = open("busy", O_RDONLY);
	ok(flock(fd, LOCK_SH | LOCK_NB) < 0, "a file is locked while it is written");
	sink_close(&sink, &err);
	ok(flock(fd, LOCK_SH | LOCK_NB) == 0, "and free when it is complete");
	close(fd);
}

/* The previous writer of the file still has the lock, but is about to end. */
static void test_lock_that_ends(void)
{
	struct error err = { 0 };
	int ends[2];
	char byte;

	if (put("soon", false, "x", &err) || pipe(ends))
		return;
	if (fork() == 0) {
		int fd = open("soon", O_RDONLY);

		flock(fd, LOCK_EX);
		if (write(ends[1], "x", 1) == 1)
			usleep(20000);
		_exit(0);
	}
	ok(read(ends[0], &byte, 1) == 1 && put("soon", true, "y", &err) == 0,
	   "one whose writer is about to end is waited for");
	wait(NULL);
	close(ends[0]);
	close(ends[1]);
}

/* The process that has the lock replaces the file by another locked file, and unlocks the first. */
static void test_lock_that_moves(void)
{
	struct error err = { 0 };
	int first, second, ends[2];
	char byte = 0;

	if (put("moves", false, "x", &err) || put("shorter", false, "held", &err) || pipe(ends))
		return;
	if (fork() == 0) {
		first = open("moves", O_RDONLY);
		second = open("shorter", O_RDONLY);
		flock(first, LOCK_EX);
		flock(second, LOCK_EX);
		if (write(ends[1], "x", 1) != 1)
			_exit(1);
		usleep(50000);
		rename("shorter", "moves");
		close(first);
		sleep(2);
		_exit(0);
	}
	ok(read(ends[0], &byte, 1) == 1 && put("moves", true, "y", &err) == -EBUSY,
	   "and one whose writer has put another there meanwhile is its own");
	second = open("moves", O_RDONLY);
	ok(read(second, &byte, 1) == 1 && byte == 'h', "which stays");
	close(second);
	wait(NULL);
	close(ends[0]);
	close(ends[1]);
}

/* A limit on file sizes simulates a disk that becomes full in the middle of a write. */
static void test_cut(void)
{
	struct sink_place place = place_of("small");
	struct sink_options options = {
		.place = &place, .first = true, .inherited = -1, .program = "p"
	};
	struct rlimit before, limit;
	struct error err = { 0 };
	struct sink sink;
	char bytes[1000] = { 0 };
	size_t written = 0;
	struct stat st;
	int ret;

	getrlimit(RLIMIT_FSIZE, &before);
	limit = before;
	limit.rlim_cur = 600;
	signal(SIGXFSZ, SIG_IGN);
	sink_open(&sink, &options, &err);
	setrlimit(RLIMIT_FSIZE, &limit);
	ret = sink_write(&sink, bytes, sizeof(bytes), &written, &err);
	setrlimit(RLIMIT_FSIZE, &before);
	ok(ret == -EFBIG && written == 600, "what fits is written and counted");
	sink_cut(&sink, 100);
	sink_close(&sink, &err);
	ok(stat("small", &st) == 0 && st.st_size == 500, "and cut to where the caller says");
}

static void put_file(const char *name, const char *text)
{
	FILE *file = fopen(name, "w");

	fputs(text, file);
	fclose(file);
}

/* A file replaces another. Files of the user with similar names must stay unchanged. */
static void test_next(void)
{
	struct sink_place place = place_of("kept");
	struct sink_options options = {
		.place = &place, .first = true, .inherited = -1, .program = "p"
	};
	struct error err = { 0 };
	struct sink_next next;
	struct sink sink;
	char foreign[64], path[64], link[64] = "";
	size_t written;
	int fd, before, ret;

	snprintf(foreign, sizeof(foreign), "kept.next-%d-0", (int)getpid());
	put_file(foreign, "of the user");
	put_file("kept.next", "of the user, too");
	sink_open(&sink, &options, &err);
	sink_write(&sink, "old", 3, &written, &err);
	before = open("kept", O_RDONLY);
	ret = sink_make_next(&sink, &next, &err);
	if (ret == 0 && write(next.fd, "new", 3) == 3)
		ret = sink_succeed(&sink, &next, 3, true, &err);
	fd = open("kept", O_RDONLY);
	ok(ret == 0 && flock(fd, LOCK_SH | LOCK_NB) < 0, "the next file is locked by then");
	ok(flock(before, LOCK_SH | LOCK_NB) == 0, "and the one before it no longer");
	snprintf(path, sizeof(path), "/proc/self/fd/%d", sink.fd);
	if (readlink(path, link, sizeof(link) - 1) < 0)
		*link = '\0';
	ok(strlen(link) > 5 && !strcmp(link + strlen(link) - 5, "/kept"), "under its own name");
	sink_write(&sink, "er", 2, &written, &err);
	ok(holds("kept", "newer"), "and is written on");
	close(fd);
	sink_make_next(&sink, &next, &err);
	rename("kept", "moved");
	ok(sink_succeed(&sink, &next, 0, true, &err) == -ESTALE && next.fd < 0,
	   "a file that was moved has no other in its place");
	sink_close(&sink, &err);
	ok(holds(foreign, "of the user") && holds("kept.next", "of the user, too"),
	   "what is called like the next file stays");
	if (symlink("moved", "kept") == 0)
		ok(sink_is_link(&place), "a link is one, wherever it leads");
	close(before);
}

static void test_command(void)
{
	struct error err = { 0 };

	setenv("LD_PRELOAD", "/nowhere.so", 1);
	setenv("HOLDTRACE_OUT", "x", 1);
	setenv("OTHER", "stays", 1);
	put("|cat >piped; echo $LD_PRELOAD$HOLDTRACE_OUT$OTHER >environment", false, "text", &err);
	unsetenv("LD_PRELOAD");
	unsetenv("HOLDTRACE_OUT");
	ok(holds("piped", "text"), "a command reads what we write");
	ok(holds("environment", "stays\n"), "in an environment without our traces");
}

static void test_zstd(void)
{
	struct sink_place place = place_of("p.zst");
	struct sink_options options = {
		.place = &place, .first = true, .inherited = -1, .program = "p"
	};
	struct error err = { 0 };
	struct sink sink;
	char packed[4096], plain[64];
	ZSTD_DCtx *context = ZSTD_createDCtx();
	ZSTD_inBuffer in = { packed, 0, 0 };
	ZSTD_outBuffer to = { plain, sizeof(plain), 0 };
	size_t written;
	FILE *file;

	sink_open(&sink, &options, &err);
	sink_write(&sink, "first", 5, &written, &err);
	sink_write(&sink, "second", 6, &written, &err);
	file = fopen("p.zst", "r");
	in.size = fread(packed, 1, sizeof(packed), file);
	fclose(file);
	ZSTD_decompressStream(context, &to, &in);
	ok(to.pos == 11 && !memcmp(plain, "firstsecond", 11),
	   "what was written can be read before the end, through zstd");
	sink_close(&sink, &err);
	file = fopen("p.zst", "r");
	in.size = fread(packed, 1, sizeof(packed), file);
	fclose(file);
	ok(ZSTD_decompress(plain, sizeof(plain), packed, in.size) == 11, "and the frame is closed");
	ZSTD_freeDCtx(context);
}

int main(void)
{
	char directory[] = "/tmp/holdtrace-sink-XXXXXX";
	char command[64];

	if (!mkdtemp(directory) || chdir(directory) < 0)
		return 99;
	test_names();
	test_files();
	test_failures();
	test_lock();
	test_lock_that_ends();
	test_lock_that_moves();
	test_cut();
	test_next();
	test_command();
	test_zstd();
	printf("1..%d\n", tests);
	snprintf(command, sizeof(command), "rm -r %s", directory);
	return system(command) != 0 || failures != 0;
}
