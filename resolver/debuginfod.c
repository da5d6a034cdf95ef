/* SPDX-License-Identifier: MIT */
#include "resolver/debuginfod.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* What elfutils' debuginfod.h declares. */
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
	const struct debuginfod_question *question;
	time_t told; /* seconds */
};

/* A child of its own downloads, and for one module; so the library is opened once. */
static struct library library;

static void *function(void *handle, const char *name)
{
	return handle ? dlsym(handle, name) : NULL;
}

/* Returns false where libdebuginfod is not installed. */
static bool open_library(void)
{
	void *handle;

	if (library.begin)
		return true;
	handle = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL);
	library.end = function(handle, "debuginfod_end");
	library.set_progress = function(handle, "debuginfod_set_progressfn");
	library.set_data = function(handle, "debuginfod_set_user_data");
	library.get_data = function(handle, "debuginfod_get_user_data");
	library.find_debuginfo = function(handle, "debuginfod_find_debuginfo");
	library.find_executable = function(handle, "debuginfod_find_executable");
	library.begin = function(handle, "debuginfod_begin");
	return library.begin && library.end && library.set_progress && library.set_data &&
	       library.get_data && library.find_debuginfo && library.find_executable;
}

static int tell(struct client *client, long done, long all)
{
	struct download *download = library.get_data(client);
	const struct debuginfod_question *question = download->question;
	time_t now = time(NULL);
	char text[512];

	if (!question->progress || now == download->told)
		return 0;
	download->told = now;
	if (all > 0)
		snprintf(text, sizeof(text), "%.400s: %ld of %ld KiB", question->name, done >> 10,
			 all >> 10);
	else
		snprintf(text, sizeof(text), "%.400s: asking", question->name);
	question->progress(question->context, text);
	return 0;
}

char *debuginfod_find(const struct debuginfod_question *question)
{
	struct download download = { .question = question, .told = time(NULL) };
	find_function *find;
	struct client *client;
	char *path = NULL;
	int fd;

	if (!open_library())
		return NULL;
	client = library.begin();
	if (!client)
		return NULL;
	library.set_data(client, &download);
	library.set_progress(client, tell);
	find = question->kind == DEBUGINFOD_EXECUTABLE ? library.find_executable
						       : library.find_debuginfo;
	fd = find(client, question->build_id, (int)question->build_id_size, &path);
	library.end(client);
	if (fd < 0)
		return NULL;
	close(fd);
	return path;
}

/* mkdir -p */
static bool make_directories(char *path)
{
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = 0;
		mkdir(path, 0700);
		*slash = '/';
	}
	return mkdir(path, 0700) == 0 || errno == EEXIST;
}

/* As libdebuginfod looks for it (debuginfod_find_debuginfo(3)). */
bool debuginfod_cache(char *path, size_t size)
{
	const char *named = getenv("DEBUGINFOD_CACHE_PATH"), *caches = getenv("XDG_CACHE_HOME");
	const char *home = getenv("HOME");
	struct stat old;
	int length;

	home = home ? home : "";
	snprintf(path, size, "%s/.debuginfod_client_cache", home);
	if (named && *named)
		length = snprintf(path, size, "%s", named);
	else if (stat(path, &old) == 0)
		return true;
	else if (caches && *caches)
		length = snprintf(path, size, "%s/debuginfod_client", caches);
	else
		length = snprintf(path, size, "%s/.cache/debuginfod_client", home);
	return length > 0 && (size_t)length < size && make_directories(path);
}
