/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes the filter of holdtrace-resolve with sp-rtrace text. The only module that the filter can
 * find is /demo, a copy of /bin/true.
 */
#include "tests/fuzz/fuzz.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "resolver/filter.h"
#include "resolver/resolve.h"

/* Makes a directory with a copy of /bin/true, because below a root no magic link is followed. */
static const char *make_root(void)
{
	static char bytes[1 << 20], path[200], root[100];

	if (!root[0]) {
		cleanup_fd int from = open("/bin/true", O_RDONLY | O_CLOEXEC), to = -1;
		ssize_t size = from < 0 ? 0 : read(from, bytes, sizeof(bytes));

		snprintf(root, sizeof(root), "%s", fuzz_directory());
		snprintf(path, sizeof(path), "%s/demo", root);
		to = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		if (to < 0 || write(to, bytes, (size_t)size) != size)
			exit(99);
	}
	return root;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static int nowhere = -1;
	struct resolve_options options = { .debug_dir = "/nonexistent", .symbols_only = true };
	struct filter_options how = { .keep_resolved = size % 2,
				      .input_name = "input",
				      .output_name = "output" };
	struct filter_result result = { 0 };
	struct error err = { 0 };
	struct resolve *resolve;
	int rc;

	if (nowhere < 0)
		nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
	options.root = make_root();
	if (resolve_create(&resolve, &options, &err))
		return 0;
	rc = filter_text(resolve, fuzz_open(bytes, size), nowhere, &how, &result, &err);
	fuzz_check(rc == 0 || err.text[0], "an error without words");
	resolve_destroy(resolve);
	return 0;
}
