/* SPDX-License-Identifier: MIT */
#include "collect/sink.h"

#include "base/out.h"
#include "collect/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zstd.h>

/* maximum size of one write, in bytes; the heartbeat is incremented after each write */
#define PORTION	    (64u << 10)
#define NUMBERS_MAX 10000 /* maximum number that is tried as a name's ending: .1, .2 ... */
/* how long the collector waits for a reader of a named pipe, in ms */
#define FIFO_PATIENCE 2000
/* how many times the collector waits 10 ms for another collector to release its lock */
#define LOCK_STEPS 40
#define ZSTD_LEVEL 1

extern char **environ;

/* ---- names ---- */

static enum sink_form form_of(const char *out)
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

static const char *file_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

bool sink_needs_program(const struct sink_place *place)
{
	const char *file = file_part(place->out);

	return place->form == SINK_DIRECTORY ||
	       (place->form == SINK_FILE && (strstr(file, "%e") || strstr(file, "%p")));
}

static bool ends_in(const char *out, const char *ending)
{
	size_t length = strlen(out), size = strlen(ending);

	return length > size && !strcmp(out + length - size, ending);
}

/* Whether the sink's format is .htr: the ending of the file's name overrides the setting. */
static bool wants_htr(const struct sink_options *options)
{
	const char *out = options->place->out;

	if (options->place->form != SINK_FILE)
		return options->prefers_htr;
	return ends_in(out, ".htr") ||
	       (options->prefers_htr && !ends_in(out, ".rtrace") && !ends_in(out, ".zst"));
}

/*
 * Replaces characters that a file's name must not contain, and nonprintable characters, by _. A
 * program can choose any name for itself.
 */
static void clean_name(char *to, size_t size, const char *program)
{
	size_t length = strnlen(program, size - 1), at = 0;

	while (at < length) {
		uint32_t code = 0;
		unsigned bytes = utf8_decode(program + at, length - at, &code);

		if (!bytes || !code_is_plain(code) || code == '/') {
			bytes = bytes ? bytes : 1;
			memset(to + at, '_', bytes);
		} else {
			memcpy(to + at, program + at, bytes);
		}
		at += bytes;
	}
	to[length] = 0;
}

/* Copies the path, with %e and %p replaced in its last component. Returns the length. */
static int expand(char *path, size_t size, const char *out, const char *program, int32_t pid)
{
	const char *file = file_part(out);
	int length = snprintf(path, size, "%.*s", (int)(file - out), out);

	for (; *file && length >= 0 && (size_t)length < size; file++) {
		char *to = path + length;
		size_t room = size - (size_t)length;

		if (!strncmp(file, "%e", 2))
			length += snprintf(to, room, "%s", program);
		else if (!strncmp(file, "%p", 2))
			length += snprintf(to, room, "%d", (int)pid);
		else
			length += snprintf(to, room, "%c", *file);
		file += *file == '%' && (file[1] == 'e' || file[1] == 'p');
	}
	return length;
}

bool sink_path(const struct sink_options *options, char *path, size_t size)
{
	enum sink_form form = options->place->form;
	const char *out = options->place->out, *slash = "";
	char program[128];
	int length;

	clean_name(program, sizeof(program), options->program);
	if (form == SINK_FILE && (options->first || sink_needs_program(options->place))) {
		length = expand(path, size, out, program, options->pid);
	} else if (form == SINK_FILE) {
		length = snprintf(path, size, "%s.%s.%d", out, program, (int)options->pid);
	} else {
		const char *directory = form == SINK_DIRECTORY ? out : "";

		if (*directory && directory[strlen(directory) - 1] != '/')
			slash = "/";
		length = snprintf(path, size, "%s%sholdtrace.%s.%d.%s", directory, slash, program,
				  (int)options->pid, wants_htr(options) ? "htr" : "rtrace");
	}
	return length > 0 && (size_t)length < size;
}

int sink_place_open(struct sink_place *place, const char *out, struct error *err)
{
	enum sink_form form = form_of(out);
	size_t length = form == SINK_DIRECTORY ? strlen(out)
			: form == SINK_FILE    ? (size_t)(file_part(out) - out)
					       : 0;
	char path[5120];
	struct stat st;
	int number = 0;

	*place = (struct sink_place){ .out = out, .form = form, .directory = -1 };
	if (length >= sizeof(path))
		return error_set(err, ENAMETOOLONG, "cannot write to %.200s…: the name is too long",
				 out);
	snprintf(path, sizeof(path), "%.*s", length ? (int)length : 1, length ? out : ".");
	place->directory = open(path, O_PATH | O_CLOEXEC);
	if (place->directory < 0)
		place->directory = -errno;
	if (form != SINK_DIRECTORY)
		return 0;
	if (place->directory < 0)
		number = -place->directory;
	else if (fstat(place->directory, &st) == 0 && !S_ISDIR(st.st_mode))
		number = ENOTDIR;
	else if (faccessat(AT_FDCWD, path, W_OK | X_OK, AT_EACCESS) < 0)
		number = errno;
	if (!number)
		return 0;
	sink_place_close(place);
	return error_system(err, number, "cannot write into %s", path);
}

void sink_place_close(struct sink_place *place)
{
	if (place->directory >= 0)
		close(place->directory);
	place->directory = -1;
}

/* ---- opening ---- */

static int open_at(const struct sink *sink, int flags)
{
	return openat(sink->directory, file_part(sink->name), flags | O_CLOEXEC | O_NOCTTY, 0600);
}

static bool look_at_name(const struct sink *sink, struct stat *st)
{
	return fstatat(sink->directory, file_part(sink->name), st, AT_SYMLINK_NOFOLLOW) == 0;
}

/*
 * Whether a file in a directory to which all users can write, such as /tmp, may be a trap. Another
 * user can create a link or a file there under a name that this process will open. This process
 * would then follow the link, or write to that user's file. Linux itself refuses such files if
 * fs.protected_symlinks, protected_fifos and protected_regular are set, but not all systems set
 * them.
 */
static bool is_trap(const struct sink *sink, const struct stat *st)
{
	struct stat directory;

	if (fstat(sink->directory, &directory) < 0)
		return true;
	return st->st_uid != geteuid() && st->st_uid != directory.st_uid &&
	       directory.st_mode & S_ISVTX && directory.st_mode & S_IWOTH;
}

/* Opens a named pipe. Fails after FIFO_PATIENCE, so that the program is not blocked forever. */
static int open_fifo(struct sink *sink)
{
	for (int waited = 0;; waited += 10) {
		int fd = open_at(sink, O_WRONLY | O_NONBLOCK);

		if (fd >= 0) {
			fcntl(fd, F_SETFL, O_WRONLY);
			return fd;
		}
		if (errno != ENXIO || waited >= FIFO_PATIENCE)
			return -1;
		poll(NULL, 0, 10);
	}
}

/* Creates a file under its name. If that name exists, adds a number to it. */
static int open_new(struct sink *sink, struct error *err)
{
	size_t length = strlen(sink->name);

	for (int number = 1; number < NUMBERS_MAX; number++) {
		sink->fd = open_at(sink, O_WRONLY | O_CREAT | O_EXCL);
		if (sink->fd >= 0)
			break;
		if (errno != EEXIST)
			return error_system(err, errno, "cannot create %s", sink->name);
		snprintf(sink->name + length, sizeof(sink->name) - length, ".%d", number);
	}
	if (sink->fd < 0)
		return error_set(err, EEXIST,
				 "cannot create %s: too many numbered files with this name exist: "
				 "delete some",
				 sink->name);
	flock(sink->fd, LOCK_EX | LOCK_NB);
	sink->regular = true;
	return 0;
}

/* Replaces a file that does not belong to this user alone. Fails if it cannot be removed. */
static int open_instead(struct sink *sink, struct error *err)
{
	close(sink->fd);
	sink->fd = -1;
	if (unlinkat(sink->directory, file_part(sink->name), 0) < 0)
		return error_system(err, errno,
				    "cannot replace %s, which does not belong to this user alone",
				    sink->name);
	sink->fd = open_at(sink, O_WRONLY | O_CREAT | O_EXCL);
	if (sink->fd < 0)
		return error_system(err, errno, "cannot create %s", sink->name);
	flock(sink->fd, LOCK_EX | LOCK_NB);
	sink->regular = true;
	return 0;
}

/* Whether the name still leads to the open file. Another run may have replaced the file. */
static bool has_its_name(const struct sink *sink, int flags)
{
	struct stat own, named;

	return fstat(sink->fd, &own) == 0 &&
	       fstatat(sink->directory, file_part(sink->name), &named, flags) == 0 &&
	       own.st_ino == named.st_ino && own.st_dev == named.st_dev;
}

/*
 * Opens and locks an existing file. The lock may belong to another collector that is about to exit,
 * since a launcher does not wait for its collector's exit. So this function waits for the lock, but
 * for a shorter time than traced programs wait for a collector that makes no progress. With --keep,
 * another collector may have replaced the file by a shorter one, so each attempt opens the file by
 * its name again. Returns 0 or a negative errno; -EBUSY: another collector is writing the file.
 */
static int open_soon(struct sink *sink, bool follow)
{
	const struct timespec step = { .tv_nsec = 10000000 };

	for (unsigned i = 0;; i++) {
		sink->fd = open_at(sink, O_WRONLY | O_NONBLOCK | (follow ? 0 : O_NOFOLLOW));
		if (sink->fd < 0)
			return -errno;
		if (flock(sink->fd, LOCK_EX | LOCK_NB) == 0 &&
		    has_its_name(sink, follow ? 0 : AT_SYMLINK_NOFOLLOW))
			return 0;
		if (i == LOCK_STEPS)
			return -EBUSY;
		close(sink->fd);
		nanosleep(&step, NULL);
	}
}

/* Overwrites a file, unless another collector is writing it. follow: whether to follow a link. */
static int open_over(struct sink *sink, bool follow, struct error *err)
{
	int rc = open_soon(sink, follow);
	struct stat st;

	if (rc == -EBUSY)
		return error_set(err, EBUSY,
				 "cannot write %s: another run is writing its trace to it",
				 sink->name);
	if (rc < 0)
		return error_system(err, -rc, "cannot create %s", sink->name);
	/* only a regular file of this user without a second name is overwritten in place */
	if (fstat(sink->fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
	    st.st_nlink != 1)
		return open_instead(sink, err);
	if (ftruncate(sink->fd, 0) < 0 || fchmod(sink->fd, 0600) < 0)
		return error_system(err, errno, "cannot overwrite %s", sink->name);
	sink->regular = true;
	return 0;
}

/* Opens a file with a name that the user gave. */
static int open_named(struct sink *sink, const struct sink_options *options, struct error *err)
{
	struct stat st, target;

	if (look_at_name(sink, &st)) {
		if ((S_ISLNK(st.st_mode) || S_ISFIFO(st.st_mode)) && is_trap(sink, &st))
			return options->force || S_ISFIFO(st.st_mode)
				       ? error_set(err, EACCES,
						   "cannot write %s: it belongs to another user, "
						   "and all "
						   "users may write into its directory",
						   sink->name)
				       : open_new(sink, err);
		/* a device or a named pipe is opened, not replaced */
		if (fstatat(sink->directory, file_part(sink->name), &target, 0) == 0 &&
		    !S_ISREG(target.st_mode) && !S_ISDIR(target.st_mode)) {
			sink->is_htr = ends_in(options->place->out, ".htr");
			sink->fd = open_fifo(sink);
			return sink->fd < 0 ? error_system(err, errno, "cannot open %s", sink->name)
					    : 0;
		}
		if (options->force)
			return open_over(sink, S_ISLNK(st.st_mode), err);
	}
	return open_new(sink, err);
}

static int open_file(struct sink *sink, const struct sink_options *options, struct error *err)
{
	struct stat st;

	if (!sink_path(options, sink->name, sizeof(sink->name) - 16))
		return error_set(err, ENAMETOOLONG, "cannot write to %.200s…: the name is too long",
				 options->place->out);
	sink->directory = options->place->directory;
	if (sink->directory < 0)
		return error_system(err, -sink->directory, "cannot create %s", sink->name);
	sink->is_htr = wants_htr(options);
	if (options->place->form == SINK_FILE && options->first)
		return open_named(sink, options, err);
	/* other users can predict a generated name: only this user's regular file is overwritten */
	if (options->force && look_at_name(sink, &st) && S_ISREG(st.st_mode) &&
	    st.st_uid == geteuid() &&
	    /*
	     * a file that was written during this run belongs to another stream: both have the same
	     * file name if a process executes a program with the same name
	     */
	    (options->first || !options->begun || st.st_mtime < options->begun))
		return open_over(sink, false, err);
	return open_new(sink, err);
}

static int open_descriptor(struct sink *sink, const struct sink_options *options, struct error *err)
{
	int from =
		options->inherited >= 0 ? options->inherited : sink_descriptor(options->place->out);
	struct stat st;

	if (from < 0)
		return error_set(err, EINVAL,
				 "cannot write to %s: expected fd: and the number of a descriptor",
				 options->place->out);
	snprintf(sink->name, sizeof(sink->name), "%s", options->place->out);
	/* the copy must not be 0, 1 or 2, which are replaced by /dev/null later */
	sink->fd = fcntl(from, F_DUPFD_CLOEXEC, 3);
	if (sink->fd < 0)
		return error_system(err, errno, "cannot write to %s", options->place->out);
	if (fstat(sink->fd, &st) == 0 && S_ISREG(st.st_mode))
		sink->locked = flock(sink->fd, LOCK_EX | LOCK_NB) == 0;
	return 0;
}

/* Starts /bin/sh -c LINE with default signal dispositions; the sink writes to its input. */
static int open_command(struct sink *sink, const struct sink_options *options, struct error *err)
{
	const char *line = options->place->out + 1;
	char *const arguments[] = { (char *)"sh", (char *)"-c", (char *)(uintptr_t)line, NULL };
	posix_spawn_file_actions_t actions;
	size_t count = 0, kept = 0;
	char **environment;
	int ends[2], ret;

	snprintf(sink->name, sizeof(sink->name), "%s", options->place->out);
	while (environ[count])
		count++;
	environment = calloc(count + 1, sizeof(*environment));
	if (!environment)
		return error_system(err, ENOMEM, "cannot start '%s'", line);
	/* omits the variables that would cause the command to be traced */
	for (size_t i = 0; i < count; i++)
		if (strncmp(environ[i], "LD_PRELOAD=", 11) && strncmp(environ[i], "HOLDTRACE_", 10))
			environment[kept++] = environ[i];
	if (pipe2(ends, O_CLOEXEC) < 0) {
		ret = errno;
	} else {
		sink->fd = ends[1];
		posix_spawn_file_actions_init(&actions);
		posix_spawn_file_actions_adddup2(&actions, ends[0], STDIN_FILENO);
		ret = spawn_clean(&sink->command, "/bin/sh", &actions, arguments, environment);
		posix_spawn_file_actions_destroy(&actions);
		close(ends[0]);
	}
	free(environment);
	if (!ret)
		return 0;
	sink->command = 0;
	return error_system(err, ret, "cannot start '%s'", line);
}

static void let_go(struct sink *sink)
{
	/* close() releases no lock, since another process shares the open file description */
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

int sink_open(struct sink *sink, const struct sink_options *options, struct error *err)
{
	int ret;

	memset(sink, 0, sizeof(*sink));
	sink->fd = sink->directory = -1;
	sink->waits_for_room = options->waits_for_room;
	/* a descriptor or command gets only the first stream: readers stop at a second handshake */
	if (options->first && options->place->form == SINK_DESCRIPTOR)
		ret = open_descriptor(sink, options, err);
	else if (options->first && options->place->form == SINK_COMMAND)
		ret = open_command(sink, options, err);
	else
		ret = open_file(sink, options, err);
	if (ret == 0 && options->place->form == SINK_FILE && ends_in(options->place->out, ".zst")) {
		sink->packed_room = ZSTD_CStreamOutSize();
		sink->packed = malloc(sink->packed_room);
		sink->zstd = ZSTD_createCCtx();
		if (sink->packed && sink->zstd)
			ZSTD_CCtx_setParameter(sink->zstd, ZSTD_c_compressionLevel, ZSTD_LEVEL);
		else
			ret = error_system(err, ENOMEM, "cannot compress %s", sink->name);
	}
	if (ret < 0)
		let_go(sink);
	return ret;
}

/* ---- writing ---- */

/* Writes at most PORTION bytes at a time. Waits while a pipe is full, even a non-blocking one. */
static int write_plain(struct sink *sink, const void *bytes, size_t size, size_t *written)
{
	struct pollfd ready = { .fd = sink->fd, .events = POLLOUT };
	const char *at = bytes;

	*written = 0;
	while (*written < size) {
		size_t left = size - *written;
		ssize_t wrote = write(sink->fd, at + *written, left < PORTION ? left : PORTION);

		if (wrote < 0 && (errno == EINTR || errno == EAGAIN)) {
			if (errno == EAGAIN)
				poll(&ready, 1, 100);
			continue;
		}
		if (wrote <= 0)
			return wrote < 0 ? -errno : -EIO;
		*written += (size_t)wrote;
		sink->size += (uint64_t)wrote;
		if (sink->heartbeat)
			__atomic_add_fetch(sink->heartbeat, 1, __ATOMIC_RELAXED);
	}
	return 0;
}

/* Compresses and writes data. mode: ZSTD_e_flush or ZSTD_e_end. */
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

/*
 * Makes a name in the sink's directory from a number. The caller tries several numbers until it
 * finds an unused name, since existing files may belong to other programs.
 */
static void name_next(const struct sink *sink, struct sink_next *next, int number)
{
	snprintf(next->name, sizeof(next->name), "%.200s.next-%d-%d", file_part(sink->name),
		 (int)getpid(), number);
}

int sink_make_next(const struct sink *sink, struct sink_next *next, struct error *err)
{
	char directory[32];

	*next = (struct sink_next){ .fd = -1 };
	/* opens the directory by its path in /proc, since sink->directory was opened with O_PATH */
	snprintf(directory, sizeof(directory), "/proc/self/fd/%d", sink->directory);
	next->fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	for (int number = 0; next->fd < 0 && number < NUMBERS_MAX; number++) {
		name_next(sink, next, number);
		next->fd = openat(sink->directory, next->name,
				  O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (next->fd < 0 && errno != EEXIST)
			break;
	}
	if (next->fd >= 0)
		return 0;
	*next->name = '\0';
	return error_system(err, errno, "cannot create the shortened trace that replaces %s",
			    sink->name);
}

void sink_forget_next(const struct sink *sink, struct sink_next *next)
{
	if (*next->name)
		unlinkat(sink->directory, next->name, 0);
	if (next->fd >= 0)
		close(next->fd);
	*next = (struct sink_next){ .fd = -1 };
}

/* Links the file under a temporary name, if it has no name, so that it can be renamed. */
static int link_next(const struct sink *sink, struct sink_next *next)
{
	char path[32];

	if (*next->name)
		return 0;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", next->fd);
	for (int number = 0; number < NUMBERS_MAX; number++) {
		name_next(sink, next, number);
		if (!linkat(AT_FDCWD, path, sink->directory, next->name, AT_SYMLINK_FOLLOW))
			return 0;
		if (errno != EEXIST)
			break;
	}
	*next->name = '\0';
	return -1;
}

static int replace_file(struct sink *sink, struct sink_next *next, uint64_t size, bool lock,
			struct error *err)
{
	struct stat made, named;
	bool is_same;
	int opened;

	if (!has_its_name(sink, AT_SYMLINK_NOFOLLOW))
		return error_set(err, ESTALE, "%s was moved or removed", sink->name);
	if (link_next(sink, next))
		return error_system(err, errno, "cannot replace %s", sink->name);
	/*
	 * Open the file again by its name. The file may have been created without a name; /proc
	 * would always show the original descriptor's file as deleted.
	 */
	opened = openat(sink->directory, next->name, O_WRONLY | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC);
	is_same = opened >= 0 && fstat(next->fd, &made) == 0 && fstat(opened, &named) == 0 &&
		  made.st_ino == named.st_ino && made.st_dev == named.st_dev;
	if (opened >= 0)
		close(is_same ? next->fd : opened);
	if (is_same)
		next->fd = opened;
	/* cannot fail: no other process has opened the file yet */
	if (lock && flock(next->fd, LOCK_EX | LOCK_NB) < 0)
		return error_system(err, errno, "cannot lock the shortened trace that replaces %s",
				    sink->name);
	if (renameat(sink->directory, next->name, sink->directory, file_part(sink->name)))
		return error_system(err, errno, "cannot replace %s", sink->name);
	*next->name = '\0';
	while (dup3(next->fd, sink->fd, O_CLOEXEC) < 0 && (errno == EINTR || errno == EBUSY))
		;
	lseek(sink->fd, (off_t)size, SEEK_SET);
	sink->size = size;
	return 0;
}

int sink_succeed(struct sink *sink, struct sink_next *next, uint64_t size, bool lock,
		 struct error *err)
{
	int ret = replace_file(sink, next, size, lock, err);

	sink_forget_next(sink, next);
	return ret;
}

bool sink_is_link(const struct sink_place *place)
{
	struct stat st;

	return place->form == SINK_FILE &&
	       fstatat(place->directory, file_part(place->out), &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISLNK(st.st_mode);
}

void sink_discard(struct sink *sink)
{
	if (sink->fd < 0)
		return;
	if (sink->regular && !sink->size && has_its_name(sink, AT_SYMLINK_NOFOLLOW))
		unlinkat(sink->directory, file_part(sink->name), 0);
	let_go(sink);
}

bool sink_finished(struct sink *sink)
{
	if (sink->command && waitpid(sink->command, NULL, WNOHANG) == 0)
		return false;
	sink->command = 0;
	return true;
}
