/* SPDX-License-Identifier: MIT */
#include "resolver/files.h"

#include "base/cleanup.h"
#include "base/memory.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Limit in bytes of a file. Larger files are refused, because not every machine can map them. */
#define SIZE_MAX_BYTES (UINT64_C(4) << 30)
/*
 * Flags for examining a file without opening it: opening some devices has side effects, and opening
 * a FIFO wakes its writer.
 */
#define LOOK_FLAGS (O_PATH | O_CLOEXEC)

/* Opens `path` with O_PATH, as a process with the root directory `root` would. */
static int look_in_root(const char *root, const char *path)
{
	struct open_how how = { .flags = LOOK_FLAGS,
				.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };
	cleanup_fd int directory = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	cleanup_free char *joined = NULL;
	int fd;

	if (directory < 0)
		return -1;
	fd = (int)syscall(SYS_openat2, directory, path, &how, sizeof(how));
	/*
	 * Without openat2() (before Linux 5.6, or in a container that filters it), open `path`
	 * below root like any path; then an absolute symbolic link leads outside of root.
	 */
	if (fd >= 0 || (errno != ENOSYS && errno != EPERM))
		return fd;
	joined = memory_format("%s/%s", root, path);
	return joined ? open(joined, LOOK_FLAGS) : -1;
}

static int open_regular(const char *root, const char *path, struct error *err)
{
	cleanup_fd int place = root ? look_in_root(root, path) : open(path, LOOK_FLAGS);
	struct stat status;
	char link[32];
	int fd;

	if (place < 0)
		return error_system(err, errno, "cannot be opened");
	if (fstat(place, &status) != 0)
		return error_system(err, errno, "cannot be examined");
	if (!S_ISREG(status.st_mode))
		return error_set(err, ENOEXEC, "is not a regular file");
	if ((uint64_t)status.st_size > SIZE_MAX_BYTES)
		return error_set(err, ENOEXEC, "is larger than 4 GiB");
	if (status.st_size < (off_t)sizeof(Elf32_Ehdr))
		return error_set(err, ENOEXEC, "is not an ELF file");
	snprintf(link, sizeof(link), "/proc/self/fd/%d", place);
	fd = open(link, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	return fd < 0 ? error_system(err, errno, "cannot be opened") : fd;
}

int files_open_module(const struct resolve_options *options, const char *path, struct error *err)
{
	/*
	 * copy this process's own vdso, which is the same in all processes of a kernel; an equal
	 * build-id proves that the traced program ran on this kernel
	 */
	if (strcmp(path, "[vdso]") == 0) {
		const ElfW(Ehdr) *header = (const void *)getauxval(AT_SYSINFO_EHDR);
		size_t size;
		int fd;

		if (!header)
			return error_set(err, ENOENT, "has no file");
		size = header->e_shoff + (size_t)header->e_shnum * header->e_shentsize;
		fd = memfd_create("vdso", MFD_CLOEXEC);
		if (fd < 0)
			return error_system(err, errno, "cannot be copied");
		if (write(fd, header, size) == (ssize_t)size)
			return fd;
		close(fd);
		return error_set(err, EIO, "cannot be copied");
	}
	return open_regular(options->root, path, err);
}

static char *debug_path(const char *directory, const char *path, const char *digits,
			const struct file_want *want)
{
	const char *slash = strrchr(path, '/');
	int length = slash ? (int)(slash - path) : 1;

	if (want->number == 0)
		return memory_format("%s/.build-id/%.2s/%s.debug", directory, digits, digits + 2);
	/* the name in .gnu_debuglink must not be a path, because it could lead to any directory */
	if (!want->name[0] || strchr(want->name, '/'))
		return NULL;
	switch (want->number) {
	case 1:
		return memory_format("%.*s/%s", length, slash ? path : ".", want->name);
	case 2:
		return memory_format("%.*s/.debug/%s", length, slash ? path : ".", want->name);
	case 3:
		return memory_format("%s%s%.*s/%s", directory, slash ? "" : "/", length,
				     slash ? path : ".", want->name);
	default:
		return NULL;
	}
}

static char *named_path(const struct file_want *want)
{
	return want->name[0] == '/' ? memory_text(want->name)
				    : memory_format("%s/%s", want->directory, want->name);
}

/*
 * Returns the path of the .dwp file at place want->number: next to the program (0), next to its
 * debug file (1), or in the directory of debug files (2 to 4).
 */
static char *package_path(const char *directory, const char *path, const char *digits,
			  const struct file_want *want)
{
	const char *slash = strrchr(path, '/');

	switch (want->number) {
	case 0:
		return memory_format("%s.dwp", path);
	case 1:
		return memory_format("%s.dwp", want->name);
	case 2:
		return memory_format("%s/.build-id/%.2s/%s.dwp", directory, digits, digits + 2);
	case 3:
		return memory_format("%s/%s.dwp", directory, path);
	case 4:
		return memory_format("%s/%s.dwp", directory, slash ? slash + 1 : path);
	default:
		return NULL;
	}
}

/*
 * ---- debuginfod servers ----
 *
 * libdebuginfod is loaded when it is first used, so that a program that does not use the network
 * does not depend on it. The program sets DEBUGINFOD_URLS and related variables, which name the
 * servers and the time limits. The declarations are copied from elfutils' debuginfod.h.
 */
struct client;
typedef int find_function(struct client *client, const unsigned char *build_id, int size,
			  char **path);
typedef int progress_function(struct client *client, long done, long all);

struct library {
	struct client *(*begin)(void);
	void (*end)(struct client *client);
	void (*set_progress)(struct client *client, progress_function *function);
	void (*set_data)(struct client *client, void *data);
	void *(*get_data)(struct client *client);
	find_function *find_debuginfo, *find_executable;
};

struct download {
	const char *module; /* path of the module */
	const struct resolve_options *options;
	time_t told; /* time of the last progress report, in seconds */
};

/* The functions of libdebuginfod, which is loaded once. */
static struct library library;

static void *find_symbol(void *handle, const char *name)
{
	return handle ? dlsym(handle, name) : NULL;
}

static int report_progress(struct client *client, long done, long all)
{
	struct download *download = library.get_data(client);
	time_t now = time(NULL);
	char text[512];

	if (now == download->told)
		return 0;
	download->told = now;
	if (all > 0)
		snprintf(text, sizeof(text), "%.400s: %ld of %ld KiB", download->module, done >> 10,
			 all >> 10);
	else
		snprintf(text, sizeof(text), "%.400s: asking", download->module);
	download->options->progress(download->options->progress_context, text);
	return 0;
}

/*
 * Fetches a file of kind FILE_EXECUTABLE_FETCHED or FILE_DEBUG_FETCHED. module: path of the module,
 * for progress reports, about one a second. Returns a descriptor of the file in the user's cache,
 * or a negative errno value.
 */
static int fetch_file(const struct file_want *want, const char *module,
		      const struct resolve_options *options)
{
	struct download download = { .module = module, .options = options, .told = time(NULL) };
	void *handle = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL);
	struct client *client;
	find_function *find;
	int fd;

	library.begin = find_symbol(handle, "debuginfod_begin");
	library.end = find_symbol(handle, "debuginfod_end");
	library.set_progress = find_symbol(handle, "debuginfod_set_progressfn");
	library.set_data = find_symbol(handle, "debuginfod_set_user_data");
	library.get_data = find_symbol(handle, "debuginfod_get_user_data");
	library.find_debuginfo = find_symbol(handle, "debuginfod_find_debuginfo");
	library.find_executable = find_symbol(handle, "debuginfod_find_executable");
	/* NULL: libdebuginfod is not installed */
	client = library.begin && library.end && library.set_progress && library.set_data &&
				 library.get_data && library.find_debuginfo &&
				 library.find_executable
			 ? library.begin()
			 : NULL;
	if (!client)
		return -ENOENT;
	library.set_data(client, &download);
	if (options->progress)
		library.set_progress(client, report_progress);
	find = want->kind == FILE_EXECUTABLE_FETCHED ? library.find_executable
						     : library.find_debuginfo;
	fd = find(client, want->build_id, (int)want->build_id_size, NULL);
	library.end(client);
	return fd;
}

int files_open(const struct resolve_options *options, const char *path,
	       const struct file_want *want)
{
	const char *directory = options->debug_dir ? options->debug_dir : RESOLVE_DEBUG_DIRECTORY;
	/*
	 * the root directory to which `directory` is relative; a debug directory from --map is not
	 * below options->root
	 */
	const char *debug_root = options->debug_dir ? NULL : options->root, *root = debug_root;
	char digits[2 * FILES_BUILD_ID_MAX + 1] = "";
	cleanup_free char *found = NULL;
	unsigned number = want->number;

	for (uint32_t i = 0; i < want->build_id_size && i < FILES_BUILD_ID_MAX; i++)
		sprintf(digits + 2 * i, "%02x", want->build_id[i]);
	switch (want->kind) {
	case FILE_DEBUG:
		found = debug_path(directory, path, digits, want);
		root = number == 1 || number == 2 ? options->root : debug_root;
		break;
	case FILE_ALTERNATE:
		if (number == 0)
			found = memory_format("%s/.build-id/%.2s/%s.debug", directory, digits,
					      digits + 2);
		else if (number == 1)
			found = named_path(want);
		root = number == 1 && want->name[0] != '/' ? NULL : debug_root;
		break;
	case FILE_SPLIT:
		found = number == 0 ? named_path(want) : NULL;
		root = NULL;
		break;
	case FILE_PACKAGE:
		found = package_path(directory, path, digits, want);
		root = number == 0 ? options->root : number == 1 ? NULL : debug_root;
		break;
	case FILE_EXECUTABLE_FETCHED:
	case FILE_DEBUG_FETCHED:
		if (number > 0 || !options->debuginfod || want->build_id_size == 0)
			break;
		return fetch_file(want, path, options);
	default:
		break;
	}
	if (!found)
		return -ERANGE;
	/*
	 * the path at this place is made of the build-id, but the build-id is unknown or too short
	 */
	if (want->kind != FILE_SPLIT && number == (want->kind == FILE_PACKAGE ? 2 : 0) &&
	    strlen(digits) < 4)
		return -ENOENT;
	return open_regular(root, found, NULL);
}
