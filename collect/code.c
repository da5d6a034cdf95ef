/* SPDX-License-Identifier: MIT */
#include "collect/code.h"

#include <ctype.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "collect/ticks.h"
#include "process/proc.h"
#include "terms.h"

#define ADDRESSES_MAX 65536u /* addresses outside of modules, for each process */
#define MODULES_MAX   65536u
#define ADDRESS_LIMIT (1ull << 47) /* user-space addresses are lower */
#define ADDRESS_LEAST 4096u
#define FILE_MAX      (128ull << 20) /* bytes that are read of each file */
#define RECORDS_MAX   (1u << 18)     /* records that are read of each jitdump */
#define MATCHES_MAX   (1u << 24)     /* comparisons with addresses, for each file */
#define NAMES_MAX     (16u << 20)    /* bytes of all names, for each process */
#define BUFFER_SIZE   (64u << 10)

void code_begin(struct code *code, const struct watch *watch, uid_t uid, bool is_owner,
		time_t start)
{
	*code = (struct code){ .watch = watch,
			       .uid = uid,
			       .is_owner = is_owner,
			       .start = start,
			       .tmp = -1,
			       .dump = -1 };
	map_init(&code->index);
}

static void close_files(struct code *code)
{
	if (code->is_open && code->tmp >= 0)
		close(code->tmp);
	if (code->is_open && code->dump >= 0)
		close(code->dump);
	code->tmp = code->dump = -1;
}

void code_free(struct code *code)
{
	close_files(code);
	free(code->modules.items);
	free(code->addresses.items);
	free(code->names.items);
	map_clear(&code->index);
	*code = (struct code){ 0 };
}

/* ---- addresses ---- */

static enum code_runtime runtime_of(const char *path, size_t length)
{
	static const struct {
		const char *prefix;
		enum code_runtime runtime;
	} rows[] = {
#define JIT(name, prefix, option) { prefix, CODE_##name },
#include "base/jit.def"
#undef JIT
	};
	const char *slash = memrchr(path, '/', length);
	const char *name = slash ? slash + 1 : path;

	length -= (size_t)(name - path);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		size_t start = strlen(rows[i].prefix);

		/* accepts the prefix alone or followed by a version, but not by other letters */
		if (length >= start && !memcmp(name, rows[i].prefix, start) &&
		    (length == start || name[start] == '.' || name[start] == '-' ||
		     isdigit((unsigned char)name[start])))
			return rows[i].runtime;
	}
	return CODE_NO_RUNTIME;
}

/* Returns the index of the first module that begins after the address. */
static size_t module_after(const struct code *code, uint64_t address)
{
	return ARRAY_SEARCH(code->modules.count, at, code->modules.items[at].from <= address);
}

void code_module(struct code *code, uint64_t from, uint64_t to, const char *path, size_t length)
{
	struct code_range *items;
	size_t at;

	if (!code->watch || from >= to || to > ADDRESS_LIMIT || code->modules.count >= MODULES_MAX)
		return;
	if (code->runtime == CODE_NO_RUNTIME)
		code->runtime = runtime_of(path, length);
	at = module_after(code, from);
	if (at && code->modules.items[at - 1].from == from) {
		if (code->modules.items[at - 1].to < to)
			code->modules.items[at - 1].to = to;
		return;
	}
	items = ARRAY_ADD(&code->modules);
	if (!items)
		return;
	items = code->modules.items;
	memmove(items + at + 1, items + at, (code->modules.count - 1 - at) * sizeof(*items));
	items[at] = (struct code_range){ from, to };
}

/* Whether the process is in the collector's mount namespace, so that it sees the same files. */
static bool is_in_our_namespace(const struct code *code)
{
	char path[64], ours[64] = "", theirs[64] = "";

	snprintf(path, sizeof(path), "/proc/%d/ns/mnt", code->watch->our_pid);
	return readlink("/proc/self/ns/mnt", ours, sizeof(ours) - 1) > 0 &&
	       readlink(path, theirs, sizeof(theirs) - 1) > 0 && !strcmp(ours, theirs);
}

/*
 * Opens the /tmp of the process. If the process belongs to another user than the run's owner, opens
 * only the collector's /tmp: that user may have mounted a file system that never answers.
 */
static int open_tmp(const struct code *code)
{
	const int flags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	char path[64];
	int fd = -1;

	if (code->is_owner && code->watch->our_pid) {
		snprintf(path, sizeof(path), "/proc/%d/root/tmp", code->watch->our_pid);
		fd = open(path, flags);
	}
	/* /proc/PID/root does not exist any more if the process has ended */
	if (fd < 0 && !code->watch->foreign && (code->is_owner || is_in_our_namespace(code)))
		fd = open("/tmp", flags);
	return fd;
}

/* Opens the jitdump that the process has mapped, as perf does. Returns a descriptor or -1. */
static int open_mapped_dump(const struct code *code)
{
	cleanup_free char *maps = NULL;
	cleanup_fd int root = -1;
	struct open_how how = { .flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
				.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };
	char name[64], path[64];
	char *found, *end;

	if (!code->is_owner || !code->watch->our_pid)
		return -1;
	maps = proc_text(code->watch->our_pid, 0, "maps");
	snprintf(name, sizeof(name), "/jit-%d.dump\n", code->watch->pid);
	found = maps ? strstr(maps, name) : NULL;
	if (!found)
		return -1;
	end = found + strlen(name) - 1;
	*end = 0;
	while (found > maps && found[-1] != '\n')
		found--;
	found = strchr(found, '/');
	snprintf(path, sizeof(path), "/proc/%d/root", code->watch->our_pid);
	root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return found && root >= 0 ? (int)syscall(SYS_openat2, root, found, &how, sizeof(how)) : -1;
}

static void map_name(const struct code *code, char name[64])
{
	snprintf(name, 64, "perf-%d.map", code->watch->pid);
}

static uint64_t map_bytes(const struct code *code)
{
	struct stat status;
	char name[64];

	map_name(code, name);
	if (code->tmp < 0 || fstatat(code->tmp, name, &status, AT_SYMLINK_NOFOLLOW))
		return 0;
	return (uint64_t)status.st_size;
}

/* Reads when the process started. Until then, code->start of an attached process is too late. */
static void find_start(struct code *code)
{
	char text[PROC_STAT_SIZE];
	const char *stat = code->watch->our_pid ? proc_stat(code->watch->our_pid, 0, text) : NULL;
	const char *field = stat ? proc_field(stat, 22) : NULL;
	struct timespec now;
	time_t age, start;

	if (!field || clock_gettime(CLOCK_BOOTTIME, &now))
		return;
	age = now.tv_sec - (time_t)(strtoull(field, NULL, 10) / (uint64_t)sysconf(_SC_CLK_TCK));
	start = time(NULL) - age;
	if (start < code->start)
		code->start = start;
}

void code_see(void *context, uint64_t address)
{
	struct code *code = context;
	struct code_address *place;
	size_t after;

	if (!code->watch || address < ADDRESS_LEAST || address >= ADDRESS_LIMIT)
		return;
	after = module_after(code, address);
	if ((after && address <= code->modules.items[after - 1].to) ||
	    map_get(&code->index, 0, address) || code->addresses.count >= ADDRESSES_MAX)
		return;
	if (!code->is_open) {
		code->is_open = true;
		find_start(code);
		code->tmp = open_tmp(code);
		code->dump = open_mapped_dump(code);
	}
	if (map_set(&code->index, 0, address, (uint32_t)code->addresses.count + 1))
		return;
	place = ARRAY_ADD(&code->addresses);
	if (place)
		*place = (struct code_address){ .address = address,
						.seen_ns = ticks_clock_ns(),
						.map_bytes = map_bytes(code) };
}

/* ---- names ---- */

const char *code_name(const struct code *code, const struct code_address *address)
{
	return address->name ? code->names.items + address->name - 1 : NULL;
}

/* Adds a name. Returns its offset in code->names, plus 1, or 0 if it is empty or does not fit. */
static uint32_t add_name(struct code *code, const char *name, size_t length)
{
	size_t at = code->names.count;

	if (length > CODE_NAME_MAX)
		length = CODE_NAME_MAX;
	if (!length || at + length + 1 > NAMES_MAX)
		return 0;
	for (size_t i = 0; i <= length; i++) {
		char *place = ARRAY_ADD(&code->names);

		if (!place) {
			code->names.count = at;
			return 0;
		}
		*place = (char)(i == length ? 0 : iscntrl((unsigned char)name[i]) ? '?' : name[i]);
	}
	return (uint32_t)at + 1;
}

static int by_address(const void *one, const void *two)
{
	const struct code_address *a = one, *b = two;

	return (a->address > b->address) - (a->address < b->address);
}

/* The state while a perf map or a jitdump is read. */
struct reading {
	struct code *code;
	uint64_t matches; /* comparisons so far */
	bool is_dump;
};

/*
 * Gives the name of a function to the return addresses in it. order: the offset of the function's
 * line in the perf map, or the time of its record in the jitdump, in ns.
 */
static void name_function(struct reading *reading, uint64_t from, uint64_t size, uint64_t order,
			  const char *name, size_t length)
{
	struct code *code = reading->code;
	uint32_t added = 0;
	size_t i;

	if (!size || from > ADDRESS_LIMIT || size > ADDRESS_LIMIT)
		return;
	i = ARRAY_SEARCH(code->addresses.count, at, code->addresses.items[at].address <= from);
	for (; i < code->addresses.count; i++) {
		struct code_address *address = &code->addresses.items[i];

		if (address->address > from + size || ++reading->matches > MATCHES_MAX)
			return;
		if (address->name &&
		    order >= (reading->is_dump ? address->seen_ns : address->map_bytes)) {
			const char *old = code_name(code, address);

			address->is_reused |= strlen(old) != length || memcmp(old, name, length);
			continue;
		}
		added = added ? added : add_name(code, name, length);
		if (added)
			address->name = added;
	}
}

static bool read_hex(const char **at, const char *end, uint64_t *value)
{
	const char *start;

	if (end - *at > 2 && (*at)[0] == '0' && (*at)[1] == 'x')
		*at += 2;
	start = *at;
	for (*value = 0; *at < end && isxdigit((unsigned char)**at) && *at - start < 16; ++*at)
		*value = *value << 4 |
			 (uint64_t)(isdigit((unsigned char)**at) ? **at - '0'
								 : (**at | 0x20) - 'a' + 10);
	if (*at == start || *at == end || **at != ' ')
		return false;
	while (*at < end && **at == ' ')
		++*at;
	return true;
}

static void read_line(struct reading *reading, const char *line, const char *end, uint64_t offset)
{
	uint64_t from, size;

	if (read_hex(&line, end, &from) && read_hex(&line, end, &size)) {
		while (end > line && isspace((unsigned char)end[-1]))
			end--;
		name_function(reading, from, size, offset, line, (size_t)(end - line));
	}
}

static void read_map(struct code *code, int fd, void (*beat)(void *), void *context)
{
	struct reading reading = { .code = code };
	cleanup_free char *buffer = malloc(BUFFER_SIZE);
	uint64_t offset = 0; /* offset in the file of the buffer's first byte */
	size_t used = 0;

	while (buffer && offset + used < FILE_MAX && reading.matches <= MATCHES_MAX) {
		ssize_t got = pread(fd, buffer + used, BUFFER_SIZE - used, (off_t)(offset + used));
		const char *line = buffer, *end;

		if (got <= 0)
			return;
		used += (size_t)got;
		while ((end = memchr(line, '\n', used - (size_t)(line - buffer)))) {
			read_line(&reading, line, end, offset + (uint64_t)(line - buffer));
			line = end + 1;
		}
		/* skips a line that is longer than the buffer: its name cannot be used */
		if (line == buffer && used == BUFFER_SIZE)
			line = buffer + used;
		used -= (size_t)(line - buffer);
		offset += (uint64_t)(line - buffer);
		memmove(buffer, line, used);
		if (beat)
			beat(context);
	}
	code->problem = "is too large: holdtrace read only a part of it";
}

/* A jitdump's header, and its load record: tools/perf/Documentation/jitdump-specification.txt */
struct dump_header {
	uint32_t magic, version, size, machine, pad, pid;
	uint64_t timestamp, flags;
};

struct dump_load {
	uint32_t id, size;
	uint64_t timestamp;
	uint32_t pid, tid;
	uint64_t vma, address, code_size, index;
	char name[CODE_NAME_MAX + 1];
};

#define DUMP_MAGIC    0x4a695444u
#define DUMP_TICKS    1u /* flag: timestamps are ticks of the processor's counter, not ns */
#define DUMP_LOAD     0u
#define DUMP_LOAD_LEN (offsetof(struct dump_load, name))

static void read_dump(struct code *code, int fd, void (*beat)(void *), void *context)
{
	struct reading reading = { .code = code, .is_dump = true };
	struct dump_header header;
	uint64_t at;

	if (pread(fd, &header, sizeof(header), 0) != sizeof(header) || header.magic != DUMP_MAGIC ||
	    header.size < sizeof(header)) {
		code->problem = "is not a jitdump for this processor";
		return;
	}
	at = header.size;
	for (uint32_t count = 0; count < RECORDS_MAX; count++) {
		struct dump_load load;
		ssize_t got = pread(fd, &load, sizeof(load), (off_t)at);
		size_t room;

		if (got < 16 || load.size < 16 || at > ADDRESS_LIMIT ||
		    reading.matches > MATCHES_MAX)
			return;
		room = load.size < (size_t)got ? load.size : (size_t)got;
		if (load.id == DUMP_LOAD && room > DUMP_LOAD_LEN)
			name_function(&reading, load.address, load.code_size,
				      header.flags & DUMP_TICKS ? 0 : load.timestamp, load.name,
				      strnlen(load.name, room - DUMP_LOAD_LEN));
		at += load.size;
		if (beat && !(count & 1023))
			beat(context);
	}
	code->problem = "is too large: holdtrace read only a part of it";
}

/* Returns why the names in a file are not trusted, or NULL if they are trusted. */
static const char *find_fault(const struct code *code, int fd)
{
	struct stat status;

	if (fstat(fd, &status))
		return strerror(errno);
	if (!S_ISREG(status.st_mode))
		return "is not a regular file";
	if (status.st_uid != code->uid)
		return "belongs to another user than the process";
	if (status.st_mode & S_IWOTH)
		return "can be written by all users";
	/* file times of the kernel may lag by a few milliseconds */
	if (status.st_mtime + 1 < code->start)
		return "is older than the process";
	return NULL;
}

/* Reads a file with `read` if the file can be trusted. fd: the file, or a negative errno. */
static void read_file(struct code *code, int fd, const char *name,
		      void (*read)(struct code *, int, void (*)(void *), void *),
		      void (*beat)(void *), void *context)
{
	const char *fault;

	if (fd == -ENOENT)
		return;
	snprintf(code->file, sizeof(code->file), "%s", name);
	code->problem = NULL;
	fault = fd < 0 ? (fd == -ELOOP ? "is a symbolic link" : strerror(-fd))
		       : find_fault(code, fd);
	if (fault)
		code->problem = fault;
	else
		read(code, fd, beat, context);
}

static int open_in_tmp(const struct code *code, const char *name)
{
	int fd = code->tmp < 0 ? -1
			       : openat(code->tmp, name,
					O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	return fd >= 0 ? fd : code->tmp < 0 ? -ENOENT : -errno;
}

bool code_read(struct code *code, void (*beat)(void *), void *context)
{
	char name[64];
	int fd;

	if (!code->addresses.count)
		return false;
	qsort(code->addresses.items, code->addresses.count, sizeof(*code->addresses.items),
	      by_address);
	map_name(code, name);
	fd = open_in_tmp(code, name);
	read_file(code, fd, name, read_map, beat, context);
	if (fd >= 0)
		close(fd);
	snprintf(name, sizeof(name), "jit-%d.dump", code->watch->pid);
	if (code->dump < 0)
		code->dump = open_in_tmp(code, name);
	read_file(code, code->dump, name, read_dump, beat, context);
	close_files(code);
	for (size_t i = 0; i < code->addresses.count; i++) {
		code->named += code->addresses.items[i].name != 0;
		code->reused += code->addresses.items[i].is_reused;
	}
	return true;
}
