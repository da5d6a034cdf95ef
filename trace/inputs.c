/* SPDX-License-Identifier: MIT */
#include "trace/inputs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "trace/bundle.h"
#include "trace/state.h"

static int no_memory(struct error *err)
{
	return error_system(err, ENOMEM, "cannot store the list of inputs");
}

static int inputs_add(struct inputs *inputs, const char *path, struct error *err)
{
	const char **place = ARRAY_ADD(inputs);

	if (!place)
		return no_memory(err);
	*place = path;
	return 0;
}

static int add_stream(struct inputs *inputs, const char *path, uint32_t number, struct error *err)
{
	char **place = ARRAY_ADD(&inputs->made);

	if (!place)
		return no_memory(err);
	if (asprintf(place, "%s#%u", path, number) < 0) {
		inputs->made.count--;
		return no_memory(err);
	}
	return inputs_add(inputs, *place, err);
}

/*
 * Sets *bundle to the streams of a file. *bundle stays NULL if the path is not a regular file,
 * cannot be read, or has one stream only.
 */
static int find_streams(const char *path, const struct trace_options *options,
			const struct bundle **bundle, struct error *err)
{
	cleanup_fd int fd = -1;
	struct stat facts;
	bool is_live;
	int rc;

	/* a FIFO is not opened: closing it again would kill its writer with SIGPIPE */
	if (!strcmp(path, "-") || !options->bundles || stat(path, &facts) ||
	    !S_ISREG(facts.st_mode))
		return 0;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &facts) || !S_ISREG(facts.st_mode))
		return 0;
	if (options->opened)
		options->opened(options->user, fd);
	rc = trace_wait(fd, path, options, &is_live, err);
	if (rc == 0 && bundles_find(options->bundles, fd, is_live, bundle, NULL))
		*bundle = NULL;
	return rc;
}

int inputs_expand(struct inputs *inputs, const char *const *paths, size_t count,
		  const struct trace_options *options, struct error *err)
{
	int rc = 0;

	*inputs = (struct inputs){ 0 };
	for (size_t i = 0; rc == 0 && i < count; i++) {
		const struct bundle *bundle = NULL;

		rc = find_streams(paths[i], options, &bundle, err);
		/* a file with a single stream is added under its own name */
		if (rc == 0 && (!bundle || bundle->stream_count < 2))
			rc = inputs_add(inputs, paths[i], err);
		else
			for (size_t k = 0; rc == 0 && k < bundle->stream_count; k++)
				rc = add_stream(inputs, paths[i], bundle->streams[k].number, err);
	}
	return rc;
}

void inputs_free(struct inputs *inputs)
{
	for (size_t i = 0; i < inputs->made.count; i++)
		free(inputs->made.items[i]);
	free(inputs->made.items);
	free(inputs->items);
	*inputs = (struct inputs){ 0 };
}
