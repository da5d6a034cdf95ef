/* SPDX-License-Identifier: MIT */
/*
 * replay FILE|DIRECTORY...: runs a harness without libFuzzer, with each of these inputs in turn. An
 * input that takes ten seconds ends the program. Prints the number of inputs.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "tests/fuzz/fuzz.h"

#define SECONDS 10

static unsigned inputs;

static void replay_file(const char *path)
{
	cleanup_file FILE *file = fopen(path, "rb");
	struct stat facts;
	uint8_t *bytes;
	size_t size;

	if (!file || fstat(fileno(file), &facts) != 0) {
		perror(path);
		exit(99);
	}
	/* exactly `size` bytes, so that a sanitizer detects an access past the end */
	size = (size_t)facts.st_size;
	bytes = malloc(size ? size : 1);
	if (!bytes || fread(bytes, 1, size, file) != size)
		exit(99);
	alarm(SECONDS);
	LLVMFuzzerTestOneInput(bytes, size);
	alarm(0);
	free(bytes);
	inputs++;
}

static void replay(const char *path)
{
	struct dirent **files;
	struct stat facts;
	char name[4096];
	int count;

	if (stat(path, &facts) != 0 || !S_ISDIR(facts.st_mode)) {
		replay_file(path);
		return;
	}
	count = scandir(path, &files, NULL, alphasort);
	for (int i = 0; i < count; i++) {
		snprintf(name, sizeof(name), "%s/%s", path, files[i]->d_name);
		if (files[i]->d_name[0] != '.')
			replay_file(name);
		free(files[i]);
	}
	if (count >= 0)
		free(files);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		replay(argv[i]);
	fprintf(stderr, "%u inputs\n", inputs);
	return 0;
}
