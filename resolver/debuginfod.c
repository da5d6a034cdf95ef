/* SPDX-License-Identifier: MIT */
#include "resolver/debuginfod.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>

/* Declarations of elfutils' debuginfod.h. */
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
	const char *module; /* path */
	const struct resolve_options *options;
	time_t told; /* last report, in seconds */
};

/* Loaded once; the same for all callers. */
static struct library library;

static void *function(void *handle, const char *name)
{
	return handle ? dlsym(handle, name) : NULL;
}

/* Returns false if libdebuginfod is not installed. */
static bool open_library(void)
{
	void *handle = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL);

	library.begin = function(handle, "debuginfod_begin");
	library.end = function(handle, "debuginfod_end");
	library.set_progress = function(handle, "debuginfod_set_progressfn");
	library.set_data = function(handle, "debuginfod_set_user_data");
	library.get_data = function(handle, "debuginfod_get_user_data");
	library.find_debuginfo = function(handle, "debuginfod_find_debuginfo");
	library.find_executable = function(handle, "debuginfod_find_executable");
	return library.begin && library.end && library.set_progress && library.set_data &&
	       library.get_data && library.find_debuginfo && library.find_executable;
}

static int tell(struct client *client, long done, long all)
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

int debuginfod_find(const struct file_want *want, const char *module,
		    const struct resolve_options *options)
{
	struct download download = { .module = module, .options = options, .told = time(NULL) };
	struct client *client = open_library() ? library.begin() : NULL;
	find_function *find;
	int fd;

	if (!client)
		return -ENOENT;
	library.set_data(client, &download);
	if (options->progress)
		library.set_progress(client, tell);
	find = want->kind == FILE_EXECUTABLE_FETCHED ? library.find_executable
						     : library.find_debuginfo;
	fd = find(client, want->build_id, (int)want->build_id_size, NULL);
	library.end(client);
	return fd;
}
