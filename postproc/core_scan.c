/* SPDX-License-Identifier: MIT */
#define _FILE_OFFSET_BITS 64
#include "core_scan.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "collect/scan_result.h"
#include "collect/spawn.h"

#include "places.h"

#define SCANNER "holdtrace-scan"

/* ---- the scanner ---- */

/*
 * Sets `path` to the path of the scanner: in the directory of this program (as in the build tree),
 * or else in the directory for installed parts.
 */
static void find_scanner(char *path, size_t size)
{
	static const char *const directories[] = { ".", PROGRAM_TO_PARTS };
	char own[PATH_MAX] = "";
	ssize_t length = readlink("/proc/self/exe", own, sizeof(own) - 1);
	char *slash = strrchr(own, '/');

	if (length > 0 && slash)
		*slash = 0;
	for (size_t i = 0; i < sizeof(directories) / sizeof(directories[0]); i++) {
		snprintf(path, size, "%s/%s/%s", own, directories[i], SCANNER);
		if (access(path, X_OK) == 0)
			return;
	}
}

static int run_scanner(int core, int result, const char *const *paths, size_t count,
		       struct error *err)
{
	cleanup_free char **argv = memory_zalloc(count + 5, sizeof(*argv));
	char path[2 * PATH_MAX], texts[2][16];
	posix_spawn_file_actions_t actions;
	/*
	 * give the child descriptor numbers above `core` and `result`, so that neither of the two
	 * dup2() calls closes a descriptor that is still needed
	 */
	const int first = (core > result ? core : result) + 1;
	int rc, status = 0;
	pid_t pid;

	find_scanner(path, sizeof(path));
	snprintf(texts[0], sizeof(texts[0]), "%d", first);
	snprintf(texts[1], sizeof(texts[1]), "%d", first + 1);
	argv[0] = path;
	argv[1] = (char *)(uintptr_t) "core";
	argv[2] = texts[0];
	argv[3] = texts[1];
	memcpy(argv + 4, paths, count * sizeof(*argv));
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, core, first);
	posix_spawn_file_actions_adddup2(&actions, result, first + 1);
	rc = spawn_clean(&pid, path, &actions, argv, NULL);
	posix_spawn_file_actions_destroy(&actions);
	if (rc)
		return error_system(err, rc, "cannot start %s", path);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? 0
				 : error_set(err, EIO, "%s was killed by signal %d", SCANNER,
					     WTERMSIG(status));
}

/* ---- the result ---- */

/* Reads the result of the scanner from its file. */
static int read_result(struct core_scan *scan, int fd, struct error *err)
{
	off_t size = lseek(fd, 0, SEEK_END);
	void *map = size > 0 && (uint64_t)size <= SCAN_RESULT_MOST
			    ? mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, fd, 0)
			    : MAP_FAILED;
	struct scan_result result = { map, (size_t)size, 0 };
	struct trace_notes *notes = &scan->notes;
	struct scan_note note;
	int rc;

	if (map == MAP_FAILED)
		return error_set(err, EIO, "the scanner ended without a result");
	scan->bytes = map;
	scan->size = (size_t)size;
	result.at = strnlen(scan->bytes, scan->size) + 1;
	if (result.at > scan->size)
		return error_set(err, EBADMSG, "the scanner's result is invalid");
	if (scan->bytes[0] == '!')
		return error_set(err, EINVAL, "%s", scan->bytes + 1);
	if (sscanf(scan->bytes, "%" SCNx64 " %" SCNx64 " %" SCNu32 " %" SCNu64, &notes->session[0],
		   &notes->session[1], &notes->stream, &notes->index) != 4)
		return error_set(err, EBADMSG, "the scanner's result is invalid");
	while ((rc = scan_result_next(&result, &note)) == 1) {
		struct wire_value *values =
			memory_alloc((note.count ? note.count : 1) * sizeof(*note.values));

		memcpy(values, note.values, note.count * sizeof(*note.values));
		*ARRAY_ADD(&scan->values) = values;
		*ARRAY_ADD(&scan->items) = (struct trace_note){ note.name, values, note.count };
	}
	notes->items = scan->items.items;
	notes->count = scan->items.count;
	return rc ? error_set(err, EBADMSG, "the scanner's result is invalid") : 0;
}

int core_scan(struct core_scan *scan, const char *core, const char *const *paths, size_t count,
	      struct error *err)
{
	cleanup_fd int file = open(core, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	cleanup_fd int result = memfd_create("holdtrace-scan", MFD_CLOEXEC);
	int rc;

	*scan = (struct core_scan){ .bytes = NULL };
	if (file < 0)
		return error_system(err, errno, "--core=%s", core);
	if (result < 0)
		return error_system(err, errno, "--core");
	rc = run_scanner(file, result, paths, count, err);
	if (rc == 0)
		rc = read_result(scan, result, err);
	return rc ? error_prefix(err, "--core=%.200s", core) : 0;
}

void core_scan_free(struct core_scan *scan)
{
	if (scan->bytes)
		munmap(scan->bytes, scan->size);
	for (size_t i = 0; i < scan->values.count; i++)
		free(scan->values.items[i]);
	free(scan->values.items);
	free(scan->items.items);
}
