/* SPDX-License-Identifier: MIT */
#include "collect/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <zstd.h>

#define PORTION	      (64u << 10) /* written at once, between two heartbeats */
#define NUMBERS_MAX   10000	  /* file names tried: .1, .2 … */
#define FIFO_PATIENCE 2000	  /* ms that a named pipe may be without a reader */
#define ZSTD_LEVEL    1

extern char **environ;

/* ---- names ---- */

/* How a setting of out is meant. */
enum sink_form { SINK_FILE, SINK_DIRECTORY, SINK_DESCRIPTOR, SINK_COMMAND };

static enum sink_form sink_form(const char *out)
{
	struct stat st;
	size_t length = strlen(out);

	if (out[0] == '|')
		return SINK_COMMAND;
	if (!strcmp(out, "stdout") || !strncmp(out, "fd:", 3))
		return SINK_DESCRIPTOR;
	if (!length || out[length - 1] == '/' || (stat(out, &st) == 0 && S_ISDIR(st.st_mode)))
		return SINK_DIRECTORY;
	return SINK_FILE;
}

int sink_descriptor(const char *out)
{
	char *end;
	long number;

	if (!strcmp(out, "stdout"))
		return STDOUT_FILENO;
	if (strncmp(out, "fd:", 3) || out[3] < '0' || out[3] > '9')
		return -1;
	errno = 0;
	number = strtol(out + 3, &end, 10);
	return *end || errno || number > INT_MAX ? -1 : (int)number;
}

bool sink_needs_program(const char *out)
{
	return sink_form(out) == SINK_DIRECTORY;
}

static bool ends_in(const char *out, const char *ending)
{
	size_t length = strlen(out), size = strlen(ending);

	return length > size && !strcmp(out + length - size, ending);
}

static bool is_compressed(const char *out)
{
	return ends_in(out, ".zst");
}

/* What a file's name says wins over the setting. */
static bool wants_htr(const struct sink_wish *wish)
{
	if (sink_form(wish->out) != SINK_FILE)
		return wish->prefers_htr;
	return ends_in(wish->out, ".htr") ||
	       (wish->prefers_htr && !ends_in(wish->out, ".rtrace") && !is_compressed(wish->out));
}

/* A program's name as part of a file's name. */
static void clean_name(char *to, size_t size, const char *program)
{
	size_t i;

	for (i = 0; program[i] && i + 1 < size; i++) {
		unsigned char c = (unsigned char)program[i];

		to[i] = c < 0x20 || c == 0x7f || c == '/' ? '_' : program[i];
	}
	to[i] = 0;
}

bool sink_path(const struct sink_wish *wish, char *path, size_t size)
{
	enum sink_form form = sink_form(wish->out);
	const char *slash = "";
	char program[128];
	int length;

	clean_name(program, sizeof(program), wish->program);
	if (form == SINK_FILE && wish->first) {
		length = snprintf(path, size, "%s", wish->out);
	} else if (form == SINK_FILE) {
		length = snprintf(path, size, "%s.%s.%d", wish->out, program, (int)wish->pid);
	} else {
		const char *directory = form == SINK_DIRECTORY ? wish->out : "";

		if (*directory && directory[strlen(directory) - 1] != '/')
			slash = "/";
		length = snprintf(path, size, "%s%sholdtrace.%s.%d.%s", directory, slash, program,
				  (int)wish->pid, wants_htr(wish) ? "htr" : "rtrace");
	}
	return length > 0 && (size_t)length < size;
}

/* ---- opening ---- */

/* A named pipe without a reader must not hold the program up for ever. */
static int open_fifo(struct sink *sink)
{
	for (int waited = 0;; waited += 10) {
		int fd = open(sink->name, O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

		if (fd >= 0) {
			fcntl(fd, F_SETFL, O_WRONLY);
			return fd;
		}
		if (errno != ENXIO || waited >= FIFO_PATIENCE)
			return -1;
		poll(NULL, 0, 10);
	}
}

/* What exists and is no regular file (a device, a named pipe) is simply written to. */
static bool open_special(struct sink *sink)
{
	struct stat st;

	if (stat(sink->name, &st) < 0 || S_ISREG(st.st_mode) || S_ISDIR(st.st_mode))
		return false;
	sink->fd = open_fifo(sink);
	return true;
}

/* Writes over a file, unless another collector is still writing it. */
static int open_over(struct sink *sink, bool chosen_by_us, struct error *err)
{
	/* who chose the name also chose to follow its links; a name of ours may be a trap in /tmp
	 */
	int flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY | (chosen_by_us ? O_NOFOLLOW : 0);

	sink->fd = open(sink->name, flags, 0666);
	if (sink->fd < 0)
		return error_system(err, errno, "cannot create %s", sink->name);
	if (flock(sink->fd, LOCK_EX | LOCK_NB) < 0)
		return error_set(err, EBUSY,
				 "cannot write %s: another trace is being written to it",
				 sink->name);
	if (ftruncate(sink->fd, 0) < 0)
		return error_system(err, errno, "cannot write over %s", sink->name);
	sink->regular = true;
	return 0;
}

/* Makes a file that was not there before: its name, or the name and a number. */
static int open_new(struct sink *sink, struct error *err)
{
	size_t length = strlen(sink->name);

	for (int number = 1; number < NUMBERS_MAX; number++) {
		sink->fd =
			open(sink->name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY, 0666);
		if (sink->fd >= 0)
			break;
		if (errno != EEXIST)
			return error_system(err, errno, "cannot create %s", sink->name);
		snprintf(sink->name + length, sizeof(sink->name) - length, ".%d", number);
	}
	if (sink->fd < 0)
		return error_set(err, EEXIST, "cannot create %s: too many of that name exist",
				 sink->name);
	flock(sink->fd, LOCK_EX | LOCK_NB);
	sink->regular = true;
	return 0;
}

/* A process that executes a program of the same name has two streams and one name for both. */
static bool is_of_this_run(const char *path, const struct sink_wish *wish)
{
	struct stat st;

	return !wish->first && wish->begun && lstat(path, &st) == 0 && st.st_mtime >= wish->begun;
}

static int open_file(struct sink *sink, const struct sink_wish *wish, struct error *err)
{
	if (!sink_path(wish, sink->name, sizeof(sink->name) - 16))
		return error_set(err, ENAMETOOLONG, "cannot write to %.200s…: the name is too long",
				 wish->out);
	if (open_special(sink)) {
		if (sink->fd < 0)
			return error_system(err, errno, "cannot open %s", sink->name);
		sink->is_htr = ends_in(wish->out, ".htr");
		return 0;
	}
	sink->is_htr = wants_htr(wish);
	if (wish->force && !is_of_this_run(sink->name, wish))
		return open_over(sink, sink_form(wish->out) != SINK_FILE, err);
	return open_new(sink, err);
}

static int open_descriptor(struct sink *sink, const struct sink_wish *wish, struct error *err)
{
	int from = wish->inherited >= 0 ? wish->inherited : sink_descriptor(wish->out);
	struct stat st;

	if (from < 0)
		return error_set(err, EINVAL, "cannot write to %s: not a number of a descriptor",
				 wish->out);
	snprintf(sink->name, sizeof(sink->name), "%s", wish->out);
	/* out of the way of 0, 1 and 2, which become /dev/null */
	sink->fd = fcntl(from, F_DUPFD_CLOEXEC, 3);
	if (sink->fd < 0)
		return error_system(err, errno, "cannot write to %s", wish->out);
	if (fstat(sink->fd, &st) == 0 && S_ISREG(st.st_mode))
		sink->locked = flock(sink->fd, LOCK_EX | LOCK_NB) == 0;
	return 0;
}

/* Our environment without what would have the command traced. To be freed; NULL: no memory. */
static char **clean_environment(void)
{
	size_t count = 0, kept = 0;
	char **clean;

	while (environ[count])
		count++;
	clean = calloc(count + 1, sizeof(*clean));
	for (size_t i = 0; clean && i < count; i++)
		if (strncmp(environ[i], "LD_PRELOAD=", 11) && strncmp(environ[i], "HOLDTRACE_", 10))
			clean[kept++] = environ[i];
	return clean;
}

/* Starts /bin/sh -c line with its input from fd, all signals as they are by default. */
static int start_command(struct sink *sink, const char *line, int fd, struct error *err)
{
	char *const arguments[] = { (char *)"sh", (char *)"-c", (char *)(uintptr_t)line, NULL };
	char **environment = clean_environment();
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none, all;
	int ret;

	if (!environment)
		return error_system(err, ENOMEM, "cannot start '%s'", line);
	sigemptyset(&none);
	sigfillset(&all);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, fd, STDIN_FILENO);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setsigdefault(&attributes, &all);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	ret = posix_spawn(&sink->command, "/bin/sh", &actions, &attributes, arguments, environment);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	free(environment);
	if (ret) {
		sink->command = 0;
		return error_system(err, ret, "cannot start '%s'", line);
	}
	return 0;
}

static int open_command(struct sink *sink, const struct sink_wish *wish, struct error *err)
{
	int ends[2];
	int ret;

	snprintf(sink->name, sizeof(sink->name), "%s", wish->out);
	if (pipe2(ends, O_CLOEXEC) < 0)
		return error_system(err, errno, "cannot start '%s'", wish->out + 1);
	sink->fd = ends[1];
	ret = start_command(sink, wish->out + 1, ends[0], err);
	close(ends[0]);
	return ret;
}

static int start_zstd(struct sink *sink, struct error *err)
{
	sink->packed_room = ZSTD_CStreamOutSize();
	sink->packed = malloc(sink->packed_room);
	sink->zstd = ZSTD_createCCtx();
	if (!sink->packed || !sink->zstd)
		return error_system(err, ENOMEM, "cannot compress %s", sink->name);
	ZSTD_CCtx_setParameter(sink->zstd, ZSTD_c_compressionLevel, ZSTD_LEVEL);
	return 0;
}

static int open_form(struct sink *sink, const struct sink_wish *wish, struct error *err)
{
	enum sink_form form = sink_form(wish->out);

	/* a pipe has room for one stream: readers stop at a second handshake */
	if (form == SINK_DESCRIPTOR && wish->first)
		return open_descriptor(sink, wish, err);
	if (form == SINK_COMMAND && wish->first)
		return open_command(sink, wish, err);
	return open_file(sink, wish, err);
}

static void let_go(struct sink *sink)
{
	/* whoever gave us a descriptor still has it, and the lock with it */
	if (sink->locked)
		flock(sink->fd, LOCK_UN);
	if (sink->fd >= 0)
		close(sink->fd);
	sink->locked = false;
	sink->fd = -1;
	ZSTD_freeCCtx(sink->zstd);
	free(sink->packed);
	sink->zstd = NULL;
	sink->packed = NULL;
}

int sink_open(struct sink *sink, const struct sink_wish *wish, struct error *err)
{
	int ret;

	memset(sink, 0, sizeof(*sink));
	sink->fd = -1;
	ret = open_form(sink, wish, err);
	if (ret == 0 && sink_form(wish->out) == SINK_FILE && is_compressed(wish->out))
		ret = start_zstd(sink, err);
	if (ret < 0)
		let_go(sink);
	return ret;
}

int sink_check(const char *out, struct error *err)
{
	const char *directory = *out ? out : ".";
	struct stat st;

	if (sink_form(out) != SINK_DIRECTORY)
		return 0;
	if (stat(directory, &st) < 0)
		return error_system(err, errno, "cannot write into %s", directory);
	if (!S_ISDIR(st.st_mode))
		return error_system(err, ENOTDIR, "cannot write into %s", directory);
	if (faccessat(AT_FDCWD, directory, W_OK | X_OK, AT_EACCESS) < 0)
		return error_system(err, errno, "cannot write into %s", directory);
	return 0;
}

/* ---- writing ---- */

static void beat(struct sink *sink)
{
	if (sink->heartbeat)
		__atomic_add_fetch(sink->heartbeat, 1, __ATOMIC_RELAXED);
}

/* The descriptor may be of a pipe that somebody else made non-blocking. */
static ssize_t write_some(int fd, const char *bytes, size_t size)
{
	for (;;) {
		ssize_t wrote = write(fd, bytes, size < PORTION ? size : PORTION);
		struct pollfd ready = { .fd = fd, .events = POLLOUT };

		if (wrote >= 0 || (errno != EINTR && errno != EAGAIN))
			return wrote;
		if (errno == EAGAIN)
			poll(&ready, 1, 100);
	}
}

static int write_plain(struct sink *sink, const void *bytes, size_t size, size_t *written)
{
	const char *at = bytes;

	*written = 0;
	while (*written < size) {
		ssize_t wrote = write_some(sink->fd, at + *written, size - *written);

		if (wrote <= 0)
			return wrote < 0 ? -errno : -EIO;
		*written += (size_t)wrote;
		sink->size += (uint64_t)wrote;
		beat(sink);
	}
	return 0;
}

/* Compresses and writes; mode: ZSTD_e_flush or ZSTD_e_end. */
static int write_packed(struct sink *sink, const void *bytes, size_t size, ZSTD_EndDirective mode)
{
	ZSTD_inBuffer in = { .src = bytes, .size = size };
	size_t left, written;
	int ret;

	do {
		ZSTD_outBuffer to = { .dst = sink->packed, .size = sink->packed_room };

		left = ZSTD_compressStream2(sink->zstd, &to, &in, mode);
		if (ZSTD_isError(left))
			return -EIO;
		ret = write_plain(sink, sink->packed, to.pos, &written);
		if (ret < 0)
			return ret;
		beat(sink);
	} while (left);
	return 0;
}

static void cut_to(struct sink *sink, uint64_t size)
{
	if (!sink->regular || ftruncate(sink->fd, (off_t)size) < 0)
		return;
	lseek(sink->fd, (off_t)size, SEEK_SET);
	sink->size = size;
}

int sink_write(struct sink *sink, const void *bytes, size_t size, size_t *written,
	       struct error *err)
{
	uint64_t before = sink->size;
	int ret;

	if (!sink->zstd) {
		ret = write_plain(sink, bytes, size, written);
	} else {
		ret = write_packed(sink, bytes, size, ZSTD_e_flush);
		*written = ret < 0 ? 0 : size;
		if (ret < 0)
			cut_to(sink, before);
	}
	if (ret < 0)
		return error_system(err, -ret, "cannot write %s", sink->name);
	return 0;
}

void sink_cut(struct sink *sink, size_t size)
{
	if (!sink->zstd && size <= sink->size)
		cut_to(sink, sink->size - size);
}

int sink_close(struct sink *sink, struct error *err)
{
	uint64_t before = sink->size;
	int ret = 0;

	if (sink->fd < 0)
		return 0;
	if (sink->zstd)
		ret = write_packed(sink, NULL, 0, ZSTD_e_end);
	if (ret < 0) {
		cut_to(sink, before);
		error_system(err, -ret, "cannot write %s", sink->name);
	}
	let_go(sink);
	return ret;
}

void sink_discard(struct sink *sink)
{
	if (sink->fd < 0)
		return;
	if (sink->regular && !sink->size)
		unlink(sink->name);
	let_go(sink);
}

bool sink_finished(struct sink *sink)
{
	if (sink->command && waitpid(sink->command, NULL, WNOHANG) == 0)
		return false;
	sink->command = 0;
	return true;
}
